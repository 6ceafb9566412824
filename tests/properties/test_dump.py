"""Laws of dumps: JSON and YAML say the same, and no bytes do harm."""

import json

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import GPU, T4, kubevirt, node, pci, pod, quota

from passway.cluster.dump import decode
from passway.cluster.state import ClusterState
from passway.model.errors import InvalidInput

texts = st.sampled_from([
    "", "a", "yes", "null", "~", "010", "0x1f", "1_000", "1e3", ".5", "10:12", "1:30.5", "=", "<<",
    "2026-06-12", "2026-06-12T09:30:00Z", "- a", "a: b", "#", "*a", "&a", "!!int 1", "é", "\u2028",
    "line\nbreak", " space ",
]) | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)  # fmt: skip
labels = st.dictionaries(texts.filter(bool), texts, max_size=3)
amounts = st.sampled_from(["0", "1", "500m", "1Gi", 2, 1.5])
devices = st.dictionaries(st.sampled_from([GPU, T4]), st.integers(0, 9))
nodes = st.builds(node, st.sampled_from(["n", "m"]), devices, labels=labels, cpu=st.just("3920m"))
pods = st.builds(
    pod, st.sampled_from(["p", "q"]), st.none() | st.just("n"),
    st.dictionaries(st.sampled_from([GPU, "cpu", "memory"]), amounts),
    meta=st.builds(lambda labels: {"labels": labels, "annotations": labels}, labels),
)  # fmt: skip
lists = st.builds(
    lambda selector, text: {"pciHostDevices": [pci(selector, "a/b", note=text)]}, texts, texts
)
others = st.builds(lambda labels: {"apiVersion": "v1", "kind": "ConfigMap", "data": labels}, labels)
objects = st.lists(
    nodes | pods | others | lists.map(kubevirt) | st.just(quota("q", {"pods": "1"})), max_size=6
)


def as_list(items):
    return {"apiVersion": "v1", "kind": "List", "items": items}


def as_yaml(value):
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Writes without aliases, as kubectl does."""

    def ignore_aliases(self, data):
        return True


def fed(text):
    made = ClusterState()
    for kind, record in decode(text.encode(), "dump"):
        made.apply(kind, record)
    return made.snapshot()


@settings(deadline=None)
@given(objects)
def test_json_and_yaml_give_equal_states(items):
    states = [
        fed(json.dumps(as_list(items))),
        fed(json.dumps(as_list(items), ensure_ascii=False, indent=2)),
        fed(as_yaml(as_list(items))),
        fed("---\n".join(as_yaml(item) for item in items) or "---"),
    ]
    assert all(state == states[0] for state in states)


def read(data):
    """The objects, or the words of the refusal."""
    try:
        return list(decode(data, "dump"))
    except InvalidInput as error:
        return str(error)


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_bytes_are_read_or_refused(data):
    found = read(data)
    assert found == [] or found.startswith("dump: ")


@settings(deadline=None)
@given(objects.filter(bool), st.data())
def test_a_file_that_was_cut_off_is_refused(items, data):
    text = json.dumps(as_list(items)).encode()
    end = data.draw(st.integers(0, len(text) - 1))
    assert read(text[:end]).startswith("dump: ")


@settings(deadline=None)
@given(st.text("[]{}&*!:<-?,#'\"|> \n ab01", max_size=60))
def test_odd_yaml_is_read_or_refused(text):
    found = read(text.encode())
    assert found == [] or found.startswith("dump: ")
