"""The schema check that stands before KubeVirt's webhooks: unknown fields, types, missing objects.

Source: kubevirt pkg/util/openapi/openapi.go. It takes no unknown field outside the status, and
refuses wrong types; required fields are checked in objects but not in entries of lists (a GPU
without a name passes). An unreadable quantity is no matter of the schema. A manifest that went
through `parse_manifest` has passed a stricter check with places; this one is for plain objects.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from passway.kubevirt.admission.cause import Cause, Site
from passway.manifest.fields import is_whole
from passway.manifest.nodes import child
from passway.manifest.table import Shape, Structure, load

_TOP: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})


def check(vmi: Mapping[str, Any]) -> Iterator[Cause]:
    """What the schema refuses; these causes have no type and no field."""
    for key in vmi:
        if key not in _TOP:
            yield _cause("SchemaUnknownField", key)
    if vmi.get("spec") is None:
        yield _cause("SchemaFieldMissing", "spec")
    else:
        yield from _value(vmi["spec"], "$vmi", "spec", in_list=False)


def _cause(rule: str, path: str) -> Cause:
    return Cause("", "", rule, (Site(path, {"field": path.rpartition(".")[2]}),))


def _value(value: Any, shape: Shape, path: str, *, in_list: bool) -> Iterator[Cause]:
    shape = load().resolve(shape)
    if value is None:
        return
    if isinstance(shape, str) or shape.enum:
        if not _is_of_type(value, shape if isinstance(shape, str) else "string"):
            yield _cause("SchemaWrongType", path)
    elif not isinstance(value, list if shape.list is not None else Mapping):
        yield _cause("SchemaWrongType", path)
    elif shape.list is not None:
        for index, item in enumerate(value):
            yield from _value(item, shape.list, f"{path}[{index}]", in_list=True)
    elif shape.map is not None:
        for key, item in value.items():
            yield from _value(item, shape.map, child(path, str(key)), in_list=False)
    else:
        yield from _fields(value, shape, path, in_list=in_list)


def _fields(
    value: Mapping[str, Any], shape: Structure, path: str, *, in_list: bool
) -> Iterator[Cause]:
    known = shape.fields or {}
    for key, item in value.items():
        if key in known:
            yield from _value(item, known[key], f"{path}.{key}", in_list=False)
        elif not shape.open:
            yield _cause("SchemaUnknownField", child(path, str(key)))
    if not in_list:
        for key in shape.required:
            if value.get(key) is None:
                yield _cause("SchemaFieldMissing", f"{path}.{key}")


def _is_of_type(value: Any, name: str) -> bool:
    match name:
        case "any":
            return True
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return is_whole(value)
        case "quantity":
            return isinstance(value, str | int | float) and not isinstance(value, bool)
        case _:
            return isinstance(value, str) or is_whole(value)
