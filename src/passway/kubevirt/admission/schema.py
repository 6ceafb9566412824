"""The schema check that stands before KubeVirt's webhooks: unknown fields, types, missing objects.

Source: kubevirt pkg/util/openapi/openapi.go. It takes no unknown field outside the status, and
refuses wrong types; required fields are checked in objects but not in entries of lists (a GPU
without a name passes). An unreadable quantity is no matter of the schema. A manifest that went
through `parse_manifest` has passed a stricter check with places; this one is for plain objects.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from passway.kubevirt.admission.cause import Cause, Site
from passway.manifest.fields import is_whole
from passway.manifest.nodes import child
from passway.manifest.table import Shape, Structure, load

_TOP: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})


def _is_number_or_text(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


_IS_OF_TYPE: Final[Mapping[str, Callable[[Any], bool]]] = {
    "any": lambda _: True,
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": is_whole,
    "quantity": _is_number_or_text,
    "int-or-string": lambda value: isinstance(value, str) or is_whole(value),
}


def check(vmi: Mapping[str, Any]) -> tuple[Cause, ...]:
    """What the schema refuses; these causes have no type and no field."""
    found = [_cause("SchemaUnknownField", key) for key in vmi if key not in _TOP]
    if vmi.get("spec") is None:
        found.append(_cause("SchemaFieldMissing", "spec"))
    else:
        _value(vmi["spec"], "$vmi", "spec", found)
    return tuple(found)


def _cause(rule: str, path: str) -> Cause:
    return Cause("", "", rule, (Site(path, {"field": path.rpartition(".")[2]}),))


def _value(value: Any, shape: Shape, path: str, found: list[Cause], in_list: bool = False) -> None:
    """Checks a value that is not null."""
    shape = load().resolve(shape)
    if isinstance(shape, str) or shape.enum:
        if not _IS_OF_TYPE[shape if isinstance(shape, str) else "string"](value):
            found.append(_cause("SchemaWrongType", path))
    elif shape.list is not None and isinstance(value, list):
        for index, item in enumerate(value):
            _value(item, shape.list, f"{path}[{index}]", found, True)
    elif shape.list is None and isinstance(value, dict):
        _mapping(value, shape, path, found, in_list)
    else:
        found.append(_cause("SchemaWrongType", path))


def _mapping(
    value: Mapping[str, Any], shape: Structure, path: str, found: list[Cause], in_list: bool
) -> None:
    known = shape.fields or {}
    for key, item in value.items():
        inner = shape.map if shape.map is not None else known.get(key)
        if inner is None:
            if not shape.open:
                found.append(_cause("SchemaUnknownField", child(path, str(key))))
        elif item is not None:
            _value(item, inner, child(path, key) if shape.map else f"{path}.{key}", found)
    missing = [key for key in shape.required if value.get(key) is None and not in_list]
    found.extend(_cause("SchemaFieldMissing", f"{path}.{key}") for key in missing)
