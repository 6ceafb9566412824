"""Field paths, positions and plain values of the tree."""

import pytest

from passway.manifest.nodes import MAX_NAME, child, shorten, steps
from passway.manifest.text import MappingNode, Node, ScalarNode, SequenceNode, read
from passway.model.verdict import Position

TEXT = """\
metadata:
  labels:
    kubevirt.io/size: big
    'odd"key\\': x
items:
- name: a
- name: b
  list: [1, 2.5, true, null]
"""


@pytest.fixture
def document() -> Node:
    documents = read(TEXT, "vm.yaml")
    assert not documents.faults
    return documents.nodes[0]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", ()),
        ("spec", ("spec",)),
        ("spec.gpus[0].name", ("spec", "gpus", 0, "name")),
        ("[3][4]", (3, 4)),
        ('["a.b"].c', ("a.b", "c")),
        ('labels["kubevirt.io/x"]', ("labels", "kubevirt.io/x")),
        (r'l["a\"b\\"]', ("l", 'a"b\\')),
        ("labels.kubevirt-io/x", ("labels", "kubevirt-io/x")),
        ("a." * 200 + "b", ("a",) * 200 + ("b",)),
    ],
)
def test_a_path_splits_into_steps(path, expected):
    assert steps(path) == expected
    if path:
        joined = ""
        for step in expected:
            joined = child(joined, step)
        assert joined == path


@pytest.mark.parametrize("path", [".", "a..b", "a[", "a[x]", "a[0]b", 'a["b]', "a]", "a."])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ValueError, match="not a field path"):
        steps(path)


def test_a_key_longer_than_any_real_one_is_cut():
    assert child("a", "k" * 1000) == "a." + "k" * MAX_NAME + "…"
    assert shorten("k" * MAX_NAME) == "k" * MAX_NAME


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ('metadata.labels["kubevirt.io/size"]', "big"),
        (r'metadata.labels["odd\"key\\"]', "x"),
        ("items[1].list", [1, 2.5, True, None]),
        ("items[1].list[3]", None),
        ("items[0]", {"name": "a"}),
    ],
)
def test_find_follows_a_path(document, path, value):
    found = document.find(path)
    assert found is not None
    assert found.plain() == value


@pytest.mark.parametrize(
    "path", ["none", "items.name", "items[2]", "metadata[0]", "items[0].name.x", "items[0].name[0]"]
)
def test_find_gives_none_where_nothing_is(document, path):
    assert document.find(path) is None


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        ("", 1, 1),
        ("metadata", 1, 1),
        ('metadata.labels["kubevirt.io/size"]', 3, 5),
        ("items[1]", 7, 3),
        ("items[1].list", 8, 3),
        ("items[1].list[1]", 8, 13),
        ("items[1].missing.too", 7, 3),
        ("metadata.missing", 1, 1),
        ("items[9]", 5, 1),
        ("missing", 1, 1),
    ],
)
def test_locate_gives_the_key_or_the_nearest_parent(document, path, line, column):
    assert document.locate(path) == Position("vm.yaml", line, column)


def test_a_value_knows_its_own_place(document):
    size = document.find('metadata.labels["kubevirt.io/size"]')
    assert size.position == Position("vm.yaml", 3, 23)
    assert isinstance(document, MappingNode)
    assert isinstance(document.get("items"), SequenceNode)
    assert isinstance(size, ScalarNode)
    assert document.get("none") is None
    assert [key for key, _ in document.items()] == ["metadata", "items"]


def test_the_same_text_gives_equal_trees(document):
    assert read(TEXT, "vm.yaml").nodes == (document,)
    assert read(TEXT, "other.yaml").nodes != (document,)
