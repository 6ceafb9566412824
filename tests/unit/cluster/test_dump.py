"""Dumps: what kubectl prints is read; what is none ends quickly, with words that say where."""

import datetime as dt
import json
import time

import pytest
import yaml
from tests.builders import GPU, kubevirt, node, obj, pod, quota

from passway.cluster import dump, kinds
from passway.cluster.dump import decode, decode_object
from passway.model.errors import InvalidInput, TooLarge

HYPER = b"apiVersion: hco.kubevirt.io/v1beta1\nkind: HyperConverged\nmetadata: {name: h}\n"
NODE = b"apiVersion: v1\nkind: Node\nmetadata:\n  name: n\n"


def read(text, file="dump"):
    return list(decode(text if isinstance(text, bytes) else text.encode(), file))


def names(text):
    return [(kind.kind, record.metadata.name) for kind, record in read(text)]


def refused(text):
    """The words of the refusal, which must not take long."""
    started = time.monotonic()
    with pytest.raises(InvalidInput) as caught:
        read(text)
    assert time.monotonic() - started < 5
    assert str(caught.value).startswith("dump: ")
    assert "kubectl get" in caught.value.hint
    return str(caught.value).removeprefix("dump: ")


def listed(*items):
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


# -- what kubectl prints --------------------------------------------------------------------------


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_a_list(write):
    text = write(listed(node("n", {GPU: 1}), pod("p", "n"), kubevirt({})))
    assert names(text) == [("Node", "n"), ("Pod", "p"), ("KubeVirt", "kubevirt")]


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_one_object(write):
    assert read(write(node("n", {GPU: 1}))) == [decode_object(node("n", {GPU: 1}))]


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_an_empty_list(write):
    assert read(write(listed())) == []


def test_a_list_of_one_kind():
    text = json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": [node("n")]})
    assert names(text) == [("Node", "n")]


def test_several_documents_some_of_them_lists_some_empty():
    items = yaml.safe_dump(listed(pod("p"), node("b")))
    text = "\n---\n".join(
        ["# a comment", yaml.safe_dump(node("a")), "", items, json.dumps(node("c"))]
    )
    assert names(text) == [("Node", "a"), ("Pod", "p"), ("Node", "b"), ("Node", "c")]


def test_json_documents_one_after_the_other():
    text = f"{json.dumps(node('a'))}\n---\n{json.dumps(node('b'))}\n"
    assert names(text) == [("Node", "a"), ("Node", "b")]


def test_json_with_space_around_it():
    assert names(f"\n\t {json.dumps(node('n'))} \n") == [("Node", "n")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_what_windows_makes_of_it(write, encoding):
    assert names(write(node("n")).encode(encoding)) == [("Node", "n")]


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_kinds_that_are_not_read_are_skipped_whatever_they_hold(write):
    stray = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": 5, "data": {"a": [1]}}
    assert names(write(listed(stray, node("n"), {}))) == [("Node", "n")]
    assert names(write(stray)) == []


def test_times_and_odd_values_stay_text():
    text = NODE + (
        b"  creationTimestamp: 2026-06-12T09:30:00Z\n"
        b"  annotations:\n"
        b"    {day: 2026-06-12, pair: 10:1234, base60: 10:12, float60: 1:30.5, equals: =}\n"
    )
    ((_, found),) = read(text)
    assert found.metadata.creation_timestamp == "2026-06-12T09:30:00Z"
    assert found.metadata.annotations == {
        "day": "2026-06-12", "pair": "10:1234", "base60": "10:12", "float60": "1:30.5",
        "equals": "=",
    }  # fmt: skip


def test_values_of_a_permitted_list_stay_text_too():
    text = (
        b"apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: k}\nspec:\n"
        b"  configuration:\n    permittedHostDevices:\n      pciHostDevices:\n"
        b"      - {pciVendorSelector: 10:1234, resourceName: a/b, disabled: true}\n"
        b"      - {pciVendorSelector: 10:12, resourceName: a/b}\n"
    )
    ((_, found),) = read(text)
    assert found.spec.configuration.permitted_host_devices == {
        "pciHostDevices": [
            {"pciVendorSelector": "10:1234", "resourceName": "a/b", "disabled": True},
            {"pciVendorSelector": "10:12", "resourceName": "a/b"},
        ]
    }  # fmt: skip


def test_numbers_switches_and_nothing_are_read_as_such():
    text = NODE + (
        b"spec: {unschedulable: true}\n"
        b"status: {allocatable: {cpu: 4, memory: 1.5, pods: '110'}, capacity: null}\n"
    )
    ((_, found),) = read(text)
    assert found.spec.unschedulable is True
    assert found.status.allocatable == {"cpu": 4, "memory": 1.5, "pods": "110"}
    assert found.status.capacity is None


# -- what is wrong is named -----------------------------------------------------------------------


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_a_wrong_type_is_named_by_file_item_and_field(write):
    wrong = obj("v1", "Pod", "p", spec={"nodeName": ["n"]})
    words = refused(write(listed(node("a"), node("b"), wrong)))
    assert words == "item 3 (Pod): Expected `str | null`, got `array` - at `$.spec.nodeName`"


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_a_missing_name_is_named(write):
    words = refused(write(listed({"apiVersion": "v1", "kind": "Node", "metadata": {}})))
    assert words.startswith("item 1 (Node): ")
    assert "`name`" in words
    assert "$.metadata" in words


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
@pytest.mark.parametrize("item", [5, "text", None, [1], {"kind": 5}, {"apiVersion": ["v1"]}])
def test_an_item_that_is_no_object_is_named(write, item):
    assert refused(write(listed(node("a"), item))).startswith("item 2: Expected `")


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
@pytest.mark.parametrize("items", [5, "abc", {"a": "b"}, True])
def test_items_that_are_no_list(write, items):
    assert "items`" in refused(write({"apiVersion": "v1", "kind": "List", "items": items}))


def test_a_head_of_the_wrong_type():
    assert refused('{"kind": 5, "items": []}') == "Expected `str`, got `int` - at `$.kind`"


def test_truncated_json():
    text = json.dumps(listed(node("n")))[:-20]
    words = refused(text)
    assert words.startswith("not JSON: Input data was truncated; not YAML: line 1, column ")


def test_json_that_never_was():
    assert refused("{]").startswith("not JSON: JSON is malformed")


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_an_empty_file(text):
    assert refused(text) == "the file is empty"


def test_a_text_that_is_no_object():
    assert refused("Error from server (Forbidden)") == "item 1: Expected `object`, got `str`"


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)), b"\x00\x01\x02", b"\x7fELF\x02\x01\x01\x00", b"\x1f\x8b\x08\x00"],
    ids=["all bytes", "zeros", "elf", "gzip"],
)
def test_binary(data):
    assert refused(data).startswith("not YAML: ")


def test_bytes_that_are_no_text_in_what_is_read():
    assert refused(NODE.replace(b": n", b': "\xff"')).startswith("not YAML: ")
    text = json.dumps(listed(node("n"), node("X"))).encode().replace(b"X", b"\xff")
    assert refused(text) == "item 2 (Node): Invalid UTF-8 encoded string"


def test_a_broken_line_is_named():
    assert refused(NODE + b" x: [1\n").startswith("not YAML: line 5, column 2: ")


# -- hostile --------------------------------------------------------------------------------------


def bomb(levels, item="[{}]", inner="x", first="[x, x, x, x, x, x, x, x, x]"):
    lines = [f"a0: &a0 {first}"]
    for level in range(1, levels):
        aliases = ", ".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} {item.replace('[{}]', f'[{aliases}]')}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(bomb(12), id="alone"),
        pytest.param(
            HYPER.decode() + "spec:\n  " + bomb(12).replace("\n", "\n  "), id="in a field"
        ),
        pytest.param(bomb(12, item="{<<: [{}]}", first="{x: 1}"), id="of merges"),
        pytest.param("&a [*a]", id="that holds itself"),
        pytest.param("metadata: &a {name: n, labels: *a}", id="that holds itself in a field"),
        pytest.param("a: &a {x: 1}\nb: *a", id="that is harmless"),
        pytest.param("a: &a x\nb: *a", id="of a scalar"),
    ],
)  # fmt: skip
def test_aliases_are_refused(text):
    words = refused(text)
    assert words.startswith("not YAML: line ")
    assert "an alias (*) stands here" in words


def test_a_bomb_of_tagged_merges():
    assert "the tag" in refused(bomb(12, item="{!!merge <<: [{}]}", first="{x: 1}"))


def test_an_alias_without_an_anchor():
    assert refused("a: *x") == "not YAML: line 1, column 4: found undefined alias"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"a: " + b"[" * 100_000, id="open brackets"),
        pytest.param(b"a: " + b"[" * 100_000 + b"]" * 100_000, id="brackets"),
        pytest.param(b"- " * 100_000 + b"a", id="dashes"),
        pytest.param(b"? " * 100_000 + b"a", id="keys"),
        pytest.param(HYPER + b"spec: " + b"{a: " * 100_000 + b"}" * 100_000, id="braces"),
        pytest.param(
            HYPER + b"spec:\n" + b"".join(b" " * level + b"a:\n" for level in range(1, 3000)),
            id="indentation",
        ),
        pytest.param(b"{ " + b"[" * 900 + b"]" * 900 + b": 1}", id="a key that is deep"),
    ],
)
def test_deep_yaml(text):
    assert "not YAML: " in refused(text)


@pytest.mark.parametrize("depth", [100_000, 1_000_000])
def test_deep_json(depth):
    skipped = b'{"kind": "x", "x": ' + b"[" * depth + b"]" * depth + b"}"
    assert "recursion" in refused(skipped)
    hyper = (
        b'{"apiVersion": "hco.kubevirt.io/v1", "kind": "HyperConverged", "metadata": {"name": "h"}'
    )
    assert "recursion" in refused(
        hyper + b', "spec": ' + b'{"a":' * depth + b"1" + b"}" * (depth + 1)
    )


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['true']",
        "!!python/name:os.system",
        "!!python/object/new:os.system [x]",
        "!custom x",
        "!!timestamp 2026-06-12",
        "!!timestamp never",
        "!!binary eA==",
        "!!set {a}",
        "!!omap [a: b]",
        "!!merge x",
        "!!value x",
    ],
)
def test_tags_that_make_objects_are_refused(value):
    assert refused(f"a: {value}").startswith("not YAML: line 1, column 4: could not determine")


@pytest.mark.parametrize(
    "value",
    ["!!int ''", "!!int x", "!!float ''", "!!float x", "!!bool maybe", "9" * 5000],
    ids=lambda value: value[:12],
)
def test_values_that_do_not_fit_their_tag(value):
    assert refused(f"a: {value}") == "not YAML: a value does not fit its type"


@pytest.mark.parametrize(
    "value", ["!!int [1]", "!!float {a: b}", "!!str [a]", "!!seq a", "!!map a"]
)
def test_collections_and_scalars_are_not_mistaken_for_each_other(value):
    assert refused(f"a: {value}").startswith("not YAML: line 1, column 4: expected a")


def test_keys_that_are_no_text():
    assert "unhashable key" in refused("? [a]\n: b")
    assert refused(NODE + b"1: 2\n").startswith("item 1: Expected `str`")


def test_a_dump_over_the_limit(monkeypatch):
    monkeypatch.setattr(dump, "MAX_BYTES", 10)
    with pytest.raises(TooLarge, match=r"^dump: 11 bytes are more than a dump may have \(10\)$"):
        read(b"x" * 11)


def test_yaml_has_a_limit_of_its_own(monkeypatch):
    monkeypatch.setattr(dump, "MAX_YAML_BYTES", 10)
    assert names(json.dumps(node("n"))) == [("Node", "n")]
    with pytest.raises(TooLarge, match="more than YAML may have") as caught:
        read(NODE)
    assert "-o json" in caught.value.hint


def test_large_json_that_is_cut_off_is_called_so(monkeypatch):
    monkeypatch.setattr(dump, "MAX_YAML_BYTES", 10)
    words = refused(json.dumps(node("n"))[:-1])
    assert words == "not JSON: Input data was truncated; and too large to be read as YAML"


# -- objects as they are --------------------------------------------------------------------------


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_some_objects_as_plain_values(write):
    items = [node("n"), pod("p", "n"), {"kind": "Event", "a": "2026-01-01T00:00:00Z"}]
    wanted = frozenset({"Pod", "Event"})
    assert list(dump.plain(write(listed(*items)).encode(), "f", wanted)) == items[1:]
    assert list(dump.plain(write(items[1]).encode(), "f", wanted)) == [items[1]]
    assert list(dump.plain(write(items[0]).encode(), "f", wanted)) == []


def test_plain_json_documents_one_after_the_other():
    text = f"{json.dumps(pod('p'))}\n---\n{json.dumps(pod('q'))}"
    found = dump.plain(text.encode(), "f", frozenset({"Pod"}))
    assert list(found) == [pod("p"), pod("q")]


# -- one object as plain values -------------------------------------------------------------------


def test_an_object_as_the_api_gives_it():
    kind, found = decode_object(quota("q", {"pods": "1"}))
    assert kind is kinds.QUOTAS
    assert found.spec.hard == {"pods": "1"}
    assert decode_object({"apiVersion": "v1", "kind": "Secret"}) is None
    assert decode_object({"apiVersion": None, "kind": None}) is None


def test_an_object_with_a_wrong_type():
    with pytest.raises(InvalidInput, match=r"^Node: Expected `object \| null`, got `int` - at"):
        decode_object(node("n") | {"spec": 5})
    with pytest.raises(InvalidInput, match=r"got `datetime`|Expected `str"):
        decode_object(obj("v1", "Node", "n", meta={"uid": dt.date(2026, 6, 12)}))
