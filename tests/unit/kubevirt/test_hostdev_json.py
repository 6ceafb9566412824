"""JSON as Go reads it, where that differs from Python."""

import msgspec
import pytest

from passway.kubevirt.hostdev_json import NotJson, next_document, read_document, skip_space, typed


class Thing(msgspec.Struct, frozen=True):
    some_name: str | None = msgspec.field(name="somename", default=None)
    items: tuple[str, ...] | None = None
    table: dict[str, dict[str, int]] | None = None


def read(text):
    return read_document(text, Thing, maps=frozenset({"table"}))


@pytest.mark.parametrize("key", ["somename", "someName", "SOMENAME", "\u017fomeName"])
def test_keys_match_without_case(key):
    assert read(f'{{"{key}": "x"}}') == Thing("x")


@pytest.mark.parametrize("key", ["some_name", "somenamé", "\u0131tems"])
def test_other_keys_are_ignored(key):
    assert read(f'{{"{key}": 1}}') == Thing()


def test_the_kelvin_sign_is_a_k():
    assert typed((("\u212a", "x"),), dict) == {"k": "x"}


def test_a_later_key_wins_whatever_its_case():
    assert read('{"someName": "a", "SomeName": "b", "someName": "c"}').some_name == "c"
    assert read('{"someName": "a", "SomeName": "b"}').some_name == "b"


def test_the_keys_of_maps_are_data_but_not_those_below():
    found = read('{"Table": {"A": {"X": 1}, "a": {"x": 2}, "table": {"Y": 3}}}')
    assert found.table == {"A": {"x": 1}, "a": {"x": 2}, "table": {"y": 3}}


def test_null_is_unset():
    assert read('{"someName": null, "items": null}') == Thing()
    assert read("null") == Thing()


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ('{"a":1,}', "double quotes"),
        ("NaN", "NaN is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ('{"a": "\t"}', "Invalid control character"),
        ("{} x", "more after the first document, at character 3"),
        ("[]", "Expected `object`, got `array`"),
        ('{"items": {}}', "Expected `array | null`, got `object`"),
        ('{"items": [{}]}', "Expected `str`, got `object`"),
        ('{"somename": 5}', "at `$.somename`"),
        ("[" * 100_000, "recursion"),
        (f'{{"x": {"9" * 5000}}}', "digits"),
        ("\ufeff{}", "Expecting value"),
    ],
)
def test_what_is_not_read(text, because):
    with pytest.raises(NotJson, match=because.replace("$", r"\$").replace("|", r"\|")):
        read(text)


def test_white_space_around_a_document():
    assert read(' \t\r\n{"somename": "x"} \n') == Thing("x")
    with pytest.raises(NotJson):
        read("\u00a0{}")


def test_documents_of_a_stream_follow_each_other():
    text = ' {"A": 1}[2]\n null '
    first, second = next_document(text, 0)
    assert (first, second) == ((("A", 1),), 9)
    assert next_document(text, second) == ([2], 14)
    assert next_document(text, 14) == (None, len(text))
    assert skip_space("  ", 0) == 2


def test_depth_is_the_same_for_the_types():
    deep = ()
    for _ in range(100_000):
        deep = (("a", deep),)
    with pytest.raises(NotJson):
        typed(deep, Thing)
