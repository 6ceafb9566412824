"""An object is the same record in protobuf and in JSON, whatever of it is there."""

import json
from typing import Any, get_args, get_origin

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import protobufs

from passway.cluster import records as r
from passway.kube import protobuf
from passway.kube.numbers import NUMBERS, OPTIONAL, TIMES

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
WORD = st.sampled_from(["a", "b", "nvidia.com/GA102GL_A10", "cpu", "é"])
AMOUNT = st.sampled_from(["0", "1", "500m", "4Gi", "1e3"])
TIME = (
    st.integers(1, 4_000_000_000)
    .map(lambda seconds: seconds * 1)
    .map(
        lambda seconds: __import__("time").strftime(
            "%Y-%m-%dT%H:%M:%SZ", __import__("time").gmtime(seconds)
        )
    )
)


def objects(record: type[r.Record]) -> st.SearchStrategy[dict[str, Any]]:
    """What an API server writes in JSON of such an object: nothing that is empty."""
    required, possible = {}, {}
    for info in msgspec.structs.fields(record):
        always = info.required or (record, info.name) in {(r.Pod, "spec"), (r.Pod, "status")}
        (required if always else possible)[info.encode_name] = _values(record, info)
    return st.fixed_dictionaries(required, optional=possible).map(
        lambda obj: _as_go_writes(record, obj)
    )


def _values(record: type[r.Record], info: Any) -> st.SearchStrategy[Any]:
    kinds = [one for one in get_args(info.type) or (info.type,) if one is not type(None)]
    kind = kinds[0] if get_origin(info.type) not in {tuple, dict} else info.type
    if info.name in TIMES:
        return TIME
    if kind == r.Amounts:
        return st.dictionaries(WORD, AMOUNT, min_size=1, max_size=3)
    if get_origin(kind) is dict:
        return st.dictionaries(TEXT, TEXT, min_size=1, max_size=3)
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        inside = TEXT if item is str else objects(item)
        return st.lists(inside, min_size=1, max_size=3)
    if isinstance(kind, type) and issubclass(kind, r.Record):
        return objects(kind)
    pointer = info.name in OPTIONAL.get(record, ())
    if kind is bool:
        return st.booleans() if pointer else st.just(value=True)
    if kind is int:
        numbers = st.integers(-(2**31), 2**31 - 1)
        return numbers if pointer else numbers.filter(bool)
    return TEXT if pointer or info.required or info.default == "" else TEXT.filter(bool)


def _as_go_writes(record: type[r.Record], obj: dict[str, Any]) -> dict[str, Any]:
    """Structs that are no pointers are always there."""
    if record is r.Container:
        obj.setdefault("resources", {})
    if record in {r.Pod, r.Node}:
        obj.setdefault("spec", {})
        obj.setdefault("status", {})
    return obj


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("record", [r.Pod, r.Node])
def test_it_is_the_same_record(record, noise):
    read, decode = protobuf.reader(record), msgspec.json.Decoder(record).decode

    @given(objects(record))
    def same(obj):
        assert read(protobufs.message(record, obj, noise)) == decode(json.dumps(obj))

    same()


@pytest.mark.parametrize("record", [r.Pod, r.Node])
@given(data=st.data())
def test_bytes_that_are_no_object_are_told_and_nothing_else(record, data):
    whole = protobufs.message(record, data.draw(objects(record)))
    kept = data.draw(st.integers(0, len(whole)))
    broken = whole[:kept] + data.draw(st.binary(max_size=8))
    try:
        found = protobuf.reader(record)(broken)
    except protobuf.UNREADABLE:
        return
    assert isinstance(found, record)


def test_every_field_of_the_records_has_a_number():
    """Whoever adds a field to a record adds its number to the table."""
    for record in NUMBERS:
        names = {info.name for info in msgspec.structs.fields(record)}
        assert set(NUMBERS[record]) == names, record
        assert OPTIONAL.get(record, frozenset()) <= names
        numbers = list(NUMBERS[record].values())
        assert len(set(numbers)) == len(numbers), record


def test_every_record_below_nodes_and_pods_is_in_the_table():
    seen, waiting = set(), [r.Pod, r.Node]
    while waiting:
        record = waiting.pop()
        if record in seen:
            continue
        seen.add(record)
        for info in msgspec.structs.fields(record):
            found = [info.type]
            while found:
                kind = found.pop()
                found += [one for one in get_args(kind) if isinstance(one, type) or get_args(one)]
                if isinstance(kind, type) and issubclass(kind, r.Record):
                    waiting.append(kind)
    assert seen == set(NUMBERS)


def test_what_many_objects_share_is_read_once_and_forgotten_in_time(monkeypatch):
    monkeypatch.setattr(protobuf, "SHARED", 4)
    read = protobuf.reader(r.Pod)
    for number in range(20):
        made = {"metadata": {"name": "p"}, "status": {}, "spec": {"containers": [
            {"resources": {"requests": {"cpu": str(number % 7)}}}
        ]}}  # fmt: skip
        found = read(protobufs.message(r.Pod, made))
        assert found.spec.containers[0].resources.requests == {"cpu": str(number % 7)}
    assert len(protobuf._parts(r.Resources)) <= 4


def test_a_type_without_a_form_is_a_bug_that_shows():
    class Odd(r.Record, frozen=True):
        value: float = 0.0

    with pytest.raises(TypeError, match=r"Odd\.value: no protobuf form"):
        protobuf._form(Odd, msgspec.structs.fields(Odd)[0])


def test_times_before_1970_and_none():
    for text in ("1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z"):
        made = {"metadata": {"name": "p", "creationTimestamp": text}}
        found = protobuf.reader(r.Pod)(protobufs.message(r.Pod, made))
        assert found.metadata.creation_timestamp == text
    found = protobuf.reader(r.Pod)(protobufs.message(r.Pod, {"metadata": {"name": "p"}}))
    assert found.metadata.creation_timestamp is None
