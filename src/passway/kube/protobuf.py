"""Records from Kubernetes' protobuf encoding: the same values that the JSON of an object gives.

Owns the way from a record's own fields and their numbers to messages of the protobuf library, and
from those to records. Only what records have is declared, so the rest is skipped. Parts that are
alike in most objects of a cluster (resources, volumes, times) stay bytes, and each distinct one is
read once. What makes a record of a message is one expression, put together from the record's
fields as `dataclasses` does it: a loop over them takes three times as long. This module imports
the library, so it is loaded when the first list is asked for.
"""

import time
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec
from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

from passway.cluster import records as r
from passway.kube.numbers import NUMBERS, OPTIONAL, TIMES

R = TypeVar("R", bound=r.Record)
F: Final = descriptor_pb2.FieldDescriptorProto
PACKAGE: Final = "passway"
UNREADABLE: Final = (message.DecodeError, ValueError, OverflowError, RecursionError)
OWN: Final = frozenset({
    r.Pod, r.PodMeta, r.PodSpec, r.PodStatus, r.Container, r.OwnerReference,
    r.Node, r.Meta, r.NodeSpec, r.NodeStatus,
})  # fmt: skip
"""Messages that are read in each object. All others are parts that many objects share."""
SHARED: Final = 16_384
"""Distinct parts of one type that are remembered."""
# What a field is that was not sent, where an empty value would be one that was.
_NO_PART: Final = b"\0"
_NO_TEXT: Final = "\0"
_NO_NUMBER: Final = -(2**63)


class _Form(NamedTuple):
    """How one field is declared, and the expression for the record's value of it.

    In the expression `{}` is the message's attribute; a message of its own stands in `whole`.
    """

    kind: int
    value: str = "{}"
    repeated: bool = False
    type_name: str = ""
    absent: str = ""
    whole: type[r.Record] | None = None
    part: type[r.Record] | None = None


@cache
def reader(record: type[R]) -> Callable[[bytes], R]:
    """Bytes of one object -> its record; raises one of UNREADABLE."""
    parse, make = message_class(record).FromString, _maker(record)
    return lambda body: make(parse(body))


def message_class(record: type[r.Record]) -> Any:
    """The library's class for the message that is read of a record."""
    return _classes()[record.__name__]


# -- what is declared -----------------------------------------------------------------------------


@cache
def _classes() -> Mapping[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="passway/records.proto", package=PACKAGE, syntax="editions",
        edition=descriptor_pb2.EDITION_2023,  # refuses texts that are no UTF-8
    )  # fmt: skip
    _declare(file, "Quantity", [("string", 1, _Form(F.TYPE_STRING))])
    _declare(file, "Time", [("seconds", 1, _Form(F.TYPE_INT64, absent=str(_NO_NUMBER)))])
    for record in NUMBERS:
        _declare_record(file, record)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        declared.name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{PACKAGE}.{declared.name}")
        )
        for declared in file.message_type
    }


def _declare_record(file: Any, record: type[r.Record]) -> None:
    """One message; the inner one too where JSON has its fields in the outer one."""
    fields: list[tuple[str, int, _Form]] = []
    inner: dict[int, list[tuple[str, int, _Form]]] = {}
    for info in msgspec.structs.fields(record):
        number, form = NUMBERS[record][info.name], _form(record, info)
        if isinstance(number, tuple):
            inner.setdefault(number[0], []).append((info.name, number[1], form))
        else:
            fields.append((info.name, number, form))
    for number, held in inner.items():
        name = f"{record.__name__}{number}"
        _declare(file, name, held)
        fields.append((f"inner{number}", number, _Form(F.TYPE_MESSAGE, type_name=name)))
    _declare(file, record.__name__, fields)


def _declare(file: Any, name: str, fields: Iterable[tuple[str, int, _Form]]) -> None:
    made = file.message_type.add(name=name)
    for field, number, form in fields:
        type_name = form.type_name
        if form.kind == F.TYPE_GROUP:  # stands for a map, which is a repeated message
            entry = made.nested_type.add(name=f"{field.title().replace('_', '')}Entry")
            entry.options.map_entry = True
            _field(entry, "key", 1, _Form(F.TYPE_STRING))
            kind = F.TYPE_MESSAGE if type_name else F.TYPE_STRING
            _field(entry, "value", 2, _Form(kind, type_name=type_name))
            form = _Form(F.TYPE_MESSAGE, repeated=True, type_name=f"{name}.{entry.name}")
        _field(made, field, number, form)


def _field(holder: Any, name: str, number: int, form: _Form) -> None:
    holder.field.add(
        name=name, number=number, type=form.kind,
        label=F.LABEL_REPEATED if form.repeated else F.LABEL_OPTIONAL,
        type_name=f".{PACKAGE}.{form.type_name}" if form.type_name else None,
        default_value=form.absent or None,
    )  # fmt: skip


def _form(record: type[r.Record], info: msgspec.structs.FieldInfo) -> _Form:
    """From the type that the record's field has; raises TypeError for one that is not known."""
    kind, optional = _bare(info.type), info.name in OPTIONAL.get(record, ())
    otherwise = "" if info.required or info.default == "" else f" or {info.default!r}"
    if info.name in TIMES:
        return _Form(F.TYPE_BYTES, "_time({})", absent=r"\000")
    if kind == dict[str, str]:
        return _Form(F.TYPE_GROUP, "_mapped({})")
    if kind == r.Amounts:
        return _Form(F.TYPE_GROUP, "_amounts({})", type_name="Quantity")
    if get_origin(kind) is tuple:
        return _listed(get_args(kind)[0], otherwise)
    if isinstance(kind, type) and issubclass(kind, r.Record):
        return _message(kind, info)
    if kind is str:
        if optional:
            return _Form(F.TYPE_STRING, "_text({})", absent=_NO_TEXT)
        return _Form(F.TYPE_STRING, f"{{}}{otherwise}")
    if kind in {int, bool}:
        if optional:
            value = f"_{kind.__name__}({{}})"
            return _Form(F.TYPE_INT64, value, absent=str(_NO_NUMBER))
        return _Form(F.TYPE_INT64, f"({kind.__name__}({{}}){otherwise})")
    raise TypeError(f"{record.__name__}.{info.name}: no protobuf form for {info.type}")


def _bare(kind: Any) -> Any:
    """The type without its None."""
    if get_origin(kind) in {Union, types.UnionType}:
        left = tuple(one for one in get_args(kind) if one is not type(None))
        return left[0] if len(left) == 1 else Union[left]  # noqa: UP007 - made at run time
    return kind


def _listed(item: Any, otherwise: str) -> _Form:
    if item is str:
        return _Form(F.TYPE_STRING, f"(tuple({{}}){otherwise})", repeated=True)
    name = item.__name__
    if item in OWN:
        value = f"(tuple(map(_make_{name}, {{}})){otherwise})"
        return _Form(F.TYPE_MESSAGE, value, repeated=True, type_name=name, whole=item)
    value = f"(tuple(map(_part_{name}.__getitem__, {{}})){otherwise})"
    return _Form(F.TYPE_BYTES, value, repeated=True, part=item)


def _message(kind: type[r.Record], info: msgspec.structs.FieldInfo) -> _Form:
    name = kind.__name__
    if kind not in OWN:
        return _Form(F.TYPE_BYTES, f"_part_{name}[{{}}]", absent=r"\000", part=kind)
    # A required one that is missing has no name, like one that is empty, and is refused for that.
    value = f"_make_{name}({{}})"
    if not info.required:
        value += f' if found.HasField("{info.name}") else None'
    return _Form(F.TYPE_MESSAGE, value, type_name=name, whole=kind)


# -- from messages to records ---------------------------------------------------------------------


@cache
def _maker(record: type[R]) -> Callable[[Any], R]:
    """A message of the record's -> the record."""
    known: dict[str, Any] = {
        "_record": record, "_time": _time, "_mapped": _mapped, "_amounts": _amounts,
        "_text": _text, "_int": _int, "_bool": _bool,
    }  # fmt: skip
    values = []
    for info in msgspec.structs.fields(record):
        number, form = NUMBERS[record][info.name], _form(record, info)
        inner = f"inner{number[0]}." if isinstance(number, tuple) else ""
        values.append(form.value.format(f"found.{inner}{info.name}"))
        if form.whole is not None:
            known[f"_make_{form.whole.__name__}"] = _maker(form.whole)
        if form.part is not None:
            known[f"_part_{form.part.__name__}"] = _parts(form.part)
    # Made of our own names only: fields of records, and numbers.
    made: Callable[[Any], R] = eval(f"lambda found: _record({', '.join(values)})", known)  # noqa: S307
    return made


class _Parts(dict[bytes, Any]):
    """Bytes of a part -> its record; each is read once. Nothing that a record holds is changed."""

    def __init__(self, record: type[r.Record]) -> None:
        super().__init__({_NO_PART: None})
        self._record = record

    def __missing__(self, body: bytes) -> Any:
        if len(self) >= SHARED:
            self.clear()
            self[_NO_PART] = None
        made = self[body] = reader(self._record)(body)
        return made


@cache
def _parts(record: type[r.Record]) -> _Parts:
    return _Parts(record)


def _text(text: str) -> str | None:
    return None if text == _NO_TEXT else text


def _int(number: int) -> int | None:
    return None if number == _NO_NUMBER else number


def _bool(number: int) -> bool | None:
    return None if number == _NO_NUMBER else bool(number)


def _mapped(found: Mapping[str, str]) -> dict[str, str] | None:
    return {name: found[name] for name in found} or None


def _amounts(found: Mapping[str, Any]) -> dict[str, str] | None:
    return {name: found[name].string for name in found} or None


@lru_cache(maxsize=SHARED)
def _time(body: bytes) -> str | None:
    """As the API writes it in JSON: RFC 3339 in UTC, whole seconds."""
    if body == _NO_PART:
        return None
    seconds = _classes()["Time"].FromString(body).seconds
    if seconds == _NO_NUMBER:
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
