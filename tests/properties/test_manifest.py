"""Properties of reading a manifest: nothing raises, nothing is lost, positions are true."""

import json
import time

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

import passway.manifest.text as module
from passway.manifest.nodes import MappingNode, Node, ScalarNode, SequenceNode, child, steps
from passway.manifest.scalars import resolve
from passway.manifest.text import MAX_FAULTS, read
from passway.manifest.vm import KINDS, parse_manifest
from passway.model.reasons import render

LIMIT_S = 15.0
UNHURRIED = settings(deadline=None)

_WORDS = st.sampled_from(
    [
        "apiVersion: kubevirt.io/v1\n", "kind: ", *KINDS, "metadata: {name: a}\n", "spec:\n",
        "  template:\n", "    spec:\n", "      domain:\n", "        devices:\n", "gpus: ",
        "hostDevices:\n", "- ", "name: ", "deviceName: nvidia.com/A10\n", "&a ", "*a", "<<: ", "? ",
        "[", "]", "{", "}", ": ", ",", "\n", "  ", "\t", "'", '"', "|\n", ">-\n", "---\n", "...\n",
        "!!str ", "!x ", "%YAML 1.1\n", "# c\n", "null", "yes", "0x1F", "1e3", ".nan", "16Gi",
        "kind: List\nitems:\n", "\ufeff", "\\ud800", "\u2028", "é", "{{ .x }}",
    ]
)  # fmt: skip
_YAMLISH = st.lists(_WORDS | st.text(max_size=3), max_size=60).map("".join)

_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


def _stays_text(text: str) -> bool:
    """PyYAML writes some words unquoted (`y`, `1e3`) that kubectl reads as something else."""
    return isinstance(resolve(text), str)


_PLAIN = _TEXT.filter(_stays_text)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | _PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_PLAIN, inner, max_size=4),
    max_leaves=25,
)  # fmt: skip
_NAMES = st.text("abcnoxy019", min_size=1, max_size=6).map(lambda text: f"d{text}")
_LABELS = st.dictionaries(_NAMES, _PLAIN, max_size=3)


@st.composite
def machines(draw):
    """A VM without faults, as plain values."""
    names = draw(st.lists(_NAMES, max_size=4, unique=True))
    cut = draw(st.integers(0, len(names)))
    devices = [{"name": name, "deviceName": f"vendor.com/{name}"} for name in names]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {
            "name": draw(_NAMES),
            "labels": draw(_LABELS),
        },
        "spec": {
            "runStrategy": "Always",
            "template": {
                "metadata": {"annotations": draw(st.dictionaries(_PLAIN, _PLAIN, max_size=3))},
                "spec": {
                    "nodeSelector": draw(_LABELS),
                    "domain": {
                        "cpu": {"cores": draw(st.integers(1, 512))},
                        "memory": {"guest": f"{draw(st.integers(1, 4096))}Gi"},
                        "devices": {"gpus": devices[:cut], "hostDevices": devices[cut:]},
                    },
                },
            },
        },
    }


def everything(node: Node, path: str = ""):
    """(path, step, node) of everything below a node."""
    entries: list[tuple[str | int, Node]] = []
    if isinstance(node, MappingNode):
        entries = list(node.items())
    elif isinstance(node, SequenceNode):
        entries = list(enumerate(node.items))
    for step, inner in entries:
        below = child(path, step)
        yield below, step, inner
        yield from everything(inner, below)


def must_hold(text):
    start = time.perf_counter()
    manifest = parse_manifest(text, "f")
    assert time.perf_counter() - start < LIMIT_S
    assert manifest.machines or manifest.faults
    assert len(manifest.faults) <= MAX_FAULTS
    for issue in manifest.faults:
        assert render(issue).message
        assert issue.position is not None
        assert issue.position.line >= 1
    places = [(issue.position.line, issue.position.column) for issue in manifest.faults]
    assert places == sorted(places)
    assert manifest == parse_manifest(text, "f")
    for machine in manifest.machines:
        json.dumps(machine.document.plain()).encode()


@given(st.binary(max_size=300))
@UNHURRIED
def test_any_bytes_give_faults_or_machines(data):
    must_hold(data)


@given(_YAMLISH)
@example("kind: List\nitems:\n- &a {kind: VirtualMachine}\n- *a\n")
@UNHURRIED
def test_any_text_gives_faults_or_machines(text):
    must_hold(text)
    must_hold(text.encode("utf-16", "surrogatepass"))


@given(_YAMLISH)
@UNHURRIED
def test_both_scanners_hold(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LOADER", yaml.SafeLoader)
        must_hold(text)


@given(_VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
@UNHURRIED
def test_json_comes_back_as_it_was(value, indent, ascii_only):
    text = json.dumps({"v": value}, indent=indent, ensure_ascii=ascii_only)
    documents = read(text, "f")
    assert documents.faults == ()
    assert [node.plain() for node in documents.nodes] == [{"v": value}]


@given(_VALUES)
@UNHURRIED
def test_yaml_comes_back_as_it_was(value):
    text = yaml.safe_dump({"v": value}, width=60)
    documents = read(text, "f")
    assert documents.faults == ()
    assert [node.plain() for node in documents.nodes] == [{"v": value}]


@given(machines(), st.sampled_from(["json", "tabs", "yaml"]))
@UNHURRIED
def test_a_machine_is_read_whole_with_true_positions(value, form):
    if form == "yaml":
        text = yaml.safe_dump(value, sort_keys=False, width=10_000)
    else:
        text = json.dumps(value, indent="\t" if form == "tabs" else 2)
    (machine,) = parse_manifest(text.encode(), "f").require()
    assert machine.document.plain() == value
    wanted = value["spec"]["template"]["spec"]["domain"]["devices"]
    assert [device.name for device in machine.devices] == [
        device["name"] for key in ("gpus", "hostDevices") for device in wanted[key]
    ]
    lines = text.split("\n")
    for path, step, node in everything(machine.document):
        place = machine.position(path)
        if isinstance(step, str) and step.isalnum() and step.isascii():
            line = lines[place.line - 1]
            assert line[place.column - 1 :].lstrip("\"'").startswith(step)
        assert machine.document.find(path) is node
        if isinstance(node, ScalarNode) and isinstance(node.value, int):
            assert str(node.value) in lines[node.line - 1][node.column - 1 :]


@given(st.lists(st.integers(0, 10**6) | _TEXT.filter(bool), max_size=6))
@UNHURRIED
def test_paths_join_and_split(wanted):
    path = ""
    for step in wanted:
        path = child(path, step)
    assert list(steps(path)) == wanted
