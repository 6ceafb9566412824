"""Laws and the RFCs' own examples of merge patches (7386) and JSON patches (6902)."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passway.kube.patch import copied, json_patch, merge, patched, same
from passway.model.errors import Conflict, InvalidInput

scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab/~", max_size=2)
keys = st.text("abc~/", max_size=2)
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)
objects = st.dictionaries(keys, documents, max_size=4)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [  # RFC 7386, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patches_as_in_the_rfc(target, patch, result):
    assert merge(target, patch) == result


@given(documents, documents)
def test_a_merge_patch_applied_twice_changes_nothing_more(target, patch):
    once = merge(target, patch)
    assert same(merge(once, patch), once)


@given(objects, objects)
def test_a_merge_patch_leaves_what_it_does_not_name(target, patch):
    result = merge(target, patch)
    assert all(same(result[key], target[key]) for key in target.keys() - patch.keys())
    assert not any(key in result for key, value in patch.items() if value is None)


@given(documents)
def test_the_empty_merge_patch_changes_no_object(target):
    assert same(merge(target, {}), target if isinstance(target, dict) else {})


def scrambled(value):
    """Changes every container of `value` in place."""
    for item in list(value.values() if isinstance(value, dict) else value):
        if isinstance(item, (dict, list)):
            scrambled(item)
    value.clear()


@given(objects, objects, st.booleans())
def test_no_result_shares_anything_with_its_arguments(target, value, as_merge):
    patch = value if as_merge else [{"op": "add", "path": "/a", "value": value}]
    before = copy.deepcopy((target, patch))
    result = patched(target, patch)
    scrambled(result)
    assert same([target, patch], list(before))


@given(documents)
def test_a_copy_is_the_same_and_equality_is_that_of_json(document):
    assert same(copied(document), document)
    assert same(json.loads(json.dumps(document)), document)


def test_true_is_not_one_but_one_is_one_point_zero():
    assert same(1, 1.0)
    assert not same(1, True)
    assert not same([{"a": False}], [{"a": 0}])
    assert not same([1], [1, 2])
    assert not same({"a": 1}, {"b": 1})
    assert not same({}, [])


@pytest.mark.parametrize("value", [{1: 2}, {"a": {1, 2}}, [(1, 2)], object(), {"a": b"x"}])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(InvalidInput):
        copied(value)


@pytest.mark.parametrize(
    ("document", "operations", "result"),
    [  # RFC 6902, appendix A
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}],
         {"baz": "qux", "foo": "bar"}),
        ({"foo": ["bar", "baz"]}, [{"op": "add", "path": "/foo/1", "value": "qux"}],
         {"foo": ["bar", "qux", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, [{"op": "remove", "path": "/foo/1"}],
         {"foo": ["bar", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, [{"op": "replace", "path": "/baz", "value": "boo"}],
         {"baz": "boo", "foo": "bar"}),
        ({"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
         [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
         {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}),
        ({"foo": ["all", "grass", "cows", "eat"]},
         [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
         {"foo": ["all", "cows", "eat", "grass"]}),
        ({"baz": "qux", "foo": ["a", 2, "c"]},
         [{"op": "test", "path": "/baz", "value": "qux"},
          {"op": "test", "path": "/foo/1", "value": 2}],
         {"baz": "qux", "foo": ["a", 2, "c"]}),
        ({"foo": "bar"}, [{"op": "add", "path": "/child", "value": {"grandchild": {}}}],
         {"foo": "bar", "child": {"grandchild": {}}}),
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}],
         {"foo": "bar", "baz": "qux"}),
        ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
        ({"foo": ["bar"]}, [{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}],
         {"foo": ["bar", ["abc", "def"]]}),
        # further rules of the text
        ({"a": 1}, [{"op": "add", "path": "", "value": [2]}], [2]),
        ({"a": 1}, [{"op": "replace", "path": "", "value": [2]}], [2]),
        ({"a": 1}, [{"op": "add", "path": "/a", "value": None}], {"a": None}),
        ({"a": 1}, [{"op": "move", "from": "/a", "path": "/a"}], {"a": 1}),
        ({"a": {"b": 1}}, [{"op": "copy", "from": "/a", "path": "/a/c"}],
         {"a": {"b": 1, "c": {"b": 1}}}),
        ({"a": [1]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2]}),
        ({"a": [1]}, [{"op": "replace", "path": "/a/0", "value": 2}], {"a": [2]}),
        ({"": 1}, [{"op": "remove", "path": "/"}], {}),
        ({"a": 1}, [], {"a": 1}),
    ],
)  # fmt: skip
def test_json_patches_as_in_the_rfc(document, operations, result):
    assert same(json_patch(document, operations), result)


@pytest.mark.parametrize(
    "operation",
    [
        {},
        "add",
        {"op": "merge", "path": "/a"},
        {"op": ["add"], "path": "/a"},
        {"op": "add", "path": "/b"},
        {"op": "add", "value": 1},
        {"op": "add", "path": "b", "value": 1},
        {"op": "add", "path": "/~2", "value": 1},
        {"op": "add", "path": "/b~", "value": 1},
        {"op": "add", "path": ["b"], "value": 1},
        {"op": "add", "path": "/x/y", "value": 1},
        {"op": "add", "path": "/a/4", "value": 1},
        {"op": "add", "path": "/a/01", "value": 1},
        {"op": "add", "path": "/a/-1", "value": 1},
        {"op": "add", "path": "/a/1e0", "value": 1},
        {"op": "add", "path": "/s/0", "value": 1},
        {"op": "remove", "path": ""},
        {"op": "remove", "path": "/b"},
        {"op": "remove", "path": "/a/-"},
        {"op": "remove", "path": "/a/3"},
        {"op": "replace", "path": "/b", "value": 1},
        {"op": "replace", "path": "/a/3", "value": 1},
        {"op": "move", "path": "/b"},
        {"op": "move", "from": "/b", "path": "/c"},
        {"op": "move", "from": "/o", "path": "/o/p/q"},
        {"op": "copy", "from": "/b", "path": "/c"},
        {"op": "test", "path": "/a"},
    ],
)
def test_a_patch_that_can_never_apply_is_refused(operation):
    with pytest.raises(InvalidInput):
        json_patch({"a": [1, 2, 3], "o": {"p": {}}, "s": "text"}, [operation])


def test_the_message_names_the_operation_and_the_place():
    with pytest.raises(InvalidInput, match=r"operation 1 .*'/b~1c'"):
        json_patch({"a": 1}, [{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/b~1c"}])


@pytest.mark.parametrize("path", ["/a", "/a/0", "/b", "/a/9"])
def test_a_test_that_does_not_hold_is_a_concurrent_change(path):
    with pytest.raises(Conflict) as refused:
        json_patch({"a": ["x"]}, [{"op": "test", "path": path, "value": True}])
    assert refused.value.code == "CONCURRENT_CHANGE"


def test_a_patch_that_fails_halfway_leaves_the_document_alone():
    document = {"a": [1]}
    with pytest.raises(InvalidInput):
        json_patch(document, [{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/a"}])
    assert document == {"a": [1]}


def pointer(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")


@given(objects, keys, documents)
def test_what_is_added_can_be_tested_moved_and_removed(document, key, value):
    path = pointer(key)
    added = json_patch(document, [{"op": "add", "path": path, "value": value}])
    assert same(json_patch(added, [{"op": "test", "path": path, "value": value}]), added)
    moved = json_patch(added, [{"op": "move", "from": path, "path": "/moved"}])
    assert same(moved["moved"], value)
    rest = {name: item for name, item in document.items() if name != key}
    assert same(json_patch(added, [{"op": "remove", "path": path}]), rest)


@given(objects, st.lists(st.dictionaries(st.sampled_from(["op", "path", "from", "value"]),
       st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "", "/a", "/b/0"])),
       max_size=4))  # fmt: skip
def test_any_list_is_applied_or_refused_with_words(document, operations):
    try:
        json_patch(document, operations)
    except (InvalidInput, Conflict) as refused:
        words = str(refused)
    else:
        return
    assert words
