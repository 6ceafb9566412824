"""JSONPath templates, single paths and sorting."""

import msgspec
import pytest

from passway.cli import jsonpath
from passway.cli.options import Usage

VALUE = {
    "kind": "List",
    "none": None,
    "flag": True,
    "items": [
        {"name": "a", "free": 3, "tags": ["x", "y"], "nvidia.com/A10": 1},
        {"name": "b", "free": 10, "tags": []},
    ],
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.items[*].name}", "a b"),
        ("{.items[0].name}", "a"),
        ("{.items[-1].name}", "b"),
        ("{.items[9].name}", ""),
        ("{.items[0:1].name}", "a"),
        ("{.items[:].name}", "a b"),
        ("{$.kind}", "List"),
        ("{@.kind}", "List"),
        ("{kind}", "List"),
        ("{['kind']}", "List"),
        ('{["kind"]}', "List"),
        ("{.items[0]['nvidia.com/A10']}", "1"),
        (r"{.items[0].nvidia\.com/A10}", "1"),
        ("{.items[0].tags}", '["x","y"]'),
        ("{.items[0].tags.*}", "x y"),
        ("{.items[1].*}", "b 10 []"),
        ("{.missing}", ""),
        ("{.kind.deeper}", ""),
        ("{.none}", ""),
        ("{.flag}", "true"),
        ("{.}", msgspec.json.encode(VALUE).decode()),
        ('{.kind}{"\\n"}', "List\n"),
        ("{.kind}{'}'}", "List}"),
        ("kind: {.kind}\\n", "kind: List\n"),
        ("a\\tb\\qc", "a\tb\\qc"),
        ("no braces", "no braces"),
    ],
)
def test_a_template_becomes_text(template, text):
    assert jsonpath.render(template, VALUE) == text


@pytest.mark.parametrize(
    "template",
    ["{.a", "{range .items[*]}", "{.items[?(@.free>1)]}", "{..name}", "{.a[}", "{.a['b]}"],
)
def test_what_is_not_understood_is_refused(template):
    with pytest.raises(Usage):
        jsonpath.render(template, VALUE)


def test_sorting_is_by_amount_then_text_then_nothing():
    items = [{"v": "b"}, {"v": None}, {"v": 10}, {"v": "2Gi"}, {"v": 9}, {}, {"v": "a"}]
    assert jsonpath.sort(items, ".v") == [
        {"v": 9}, {"v": 10}, {"v": "2Gi"}, {"v": "a"}, {"v": "b"}, {"v": None}, {},
    ]  # fmt: skip


def test_sorting_by_what_nothing_has_names_the_fields():
    with pytest.raises(Usage) as caught:
        jsonpath.sort([{"name": "a", "free": 1}], ".size")
    assert caught.value.hint == "the fields are name, free"
    assert jsonpath.sort([], ".size") == []
