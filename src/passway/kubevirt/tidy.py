"""A VMI spec as it looks after KubeVirt read and wrote it once.

KubeVirt's webhooks decode the object into Go structures and encode it again, which loses what the
structures do not tell apart: an empty text, list or map is the same as none, and so is 0 or false
where the field is no pointer; required fields appear even when nobody set them. Rules see only
that form, so an empty `hostDevices: []` of a VMI needs no gate. Works on the table of fields; the
input is never touched. Quantities come out in the API server's own spelling.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from passway.manifest.table import Shape, Structure, Table, load
from passway.model.quantity import parse_quantity

# (field that holds it, field) of texts that are pointers: an empty one stays.
_KEPT_TEXTS: Final = frozenset(
    {
        ("resourceClaims", "resourceClaimName"),
        ("resourceClaims", "resourceClaimTemplateName"),
        ("resourceClaim", "claimName"),
        ("resourceClaim", "requestName"),
        ("spec", "evictionStrategy"),
        ("spec", "startStrategy"),
        ("domain", "ioThreadsPolicy"),
        ("disks", "errorPolicy"),
    }
)
# … and of numbers and flags that are no pointers: 0 or false is the same as none.
_LOST: Final = frozenset(
    {
        ("cpu", "sockets"),
        ("cpu", "cores"),
        ("cpu", "threads"),
        ("cpu", "maxSockets"),
        ("cpu", "dedicatedCpuPlacement"),
        ("cpu", "isolateEmulatorThread"),
        ("resources", "overcommitGuestOverhead"),
        ("multus", "default"),
        ("interfaces", "acpiIndex"),
        ("disk", "readonly"),
        ("lun", "readonly"),
        ("lun", "reservation"),
        ("kvm", "hidden"),
        ("persistentVolumeClaim", "readOnly"),
        ("persistentVolumeClaim", "hotpluggable"),
        ("dataVolume", "hotpluggable"),
    }
)
_ZERO: Final[Mapping[str, Any]] = {"string": "", "integer": 0, "quantity": "0", "boolean": False}


def tidy(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The VMI spec after one round; raises InvalidQuantity.

    Takes what the schema accepts. Fields that the table does not know are kept as they are.
    """
    tidied = _fields(spec, _vmi_shape(), load(), "spec")
    tidied.setdefault("domain", {}).setdefault("devices", {})
    tidied["domain"].setdefault("resources", {})
    return tidied


@lru_cache(maxsize=1)
def _vmi_shape() -> Structure:
    shape = load().resolve("$vmi")
    assert isinstance(shape, Structure)  # noqa: S101 - the table is ours
    return shape


def _fields(value: Mapping[str, Any], shape: Structure, table: Table, name: str) -> dict[str, Any]:
    known = shape.fields or {}
    made: dict[str, Any] = {}
    for key, inner in value.items():
        if inner is None:
            continue
        written = _value(inner, known.get(key, "any"), table, key)
        if key in shape.required or not _is_lost(written, name, key):
            made[key] = written
    for key in shape.required:
        if key not in made:
            zero = _zero(known[key])
            if zero is not None:
                made[key] = zero
    return made


def _value(value: Any, shape: Shape, table: Table, name: str) -> Any:
    shape = table.resolve(shape)
    if isinstance(shape, str):
        return _simple(value, shape)
    if shape.fields is not None:
        return _fields(value, shape, table, name)
    if shape.list is not None:
        return [_value(item, shape.list, table, name) for item in value]
    if shape.map is None:
        return value  # a text of an enumeration
    made = {
        key: _value(inner, shape.map, table, key)
        for key, inner in value.items()
        if inner is not None
    }
    return made or None


def _simple(value: Any, shape: str) -> Any:
    if shape == "quantity":
        return str(parse_quantity(str(value)))
    return int(value) if isinstance(value, float) and shape == "integer" else value


def _is_lost(value: Any, holder: str, key: str) -> bool:
    if value is None or value == []:
        return True
    if value == "":
        return (holder, key) not in _KEPT_TEXTS
    return not value and value != {} and (holder, key) in _LOST


def _zero(shape: Shape) -> Any:
    return _ZERO.get(shape) if isinstance(shape, str) else None
