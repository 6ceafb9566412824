"""Whether a VM has what its preference requires: vCPUs, memory, an architecture.

An instance type is measured by what it gives, a VM without one by the fields that the preferred
topology names. Source: kubevirt pkg/instancetype/preference/requirements/*.go (v1.9.0), which tells
the first that is not met. Works on the VMI spec after the preference and KubeVirt's defaults. Where
a VM without any memory crashes KubeVirt's webhook, it counts here as having none.
"""

from typing import Final

from passway.kubevirt.admission.cause import Cause, cause
from passway.kubevirt.fields import Tree, amount, at, mapping, present, text, whole
from passway.kubevirt.instancetype import TEMPLATE, vcpus_of
from passway.kubevirt.topology import ANY, LEVELS, SPREAD, preferred, spread_options
from passway.model.quantity import ZERO, Quantity, quantity
from passway.model.verdict import Param

UNMET: Final = "PreferenceUnmet"
ARCHITECTURE: Final = f"{TEMPLATE}.spec.architecture"
_CPU: Final = f"{TEMPLATE}.spec.domain.cpu"
_MEMORY: Final = f"{TEMPLATE}.spec.domain.memory"
_ALL: Final = ("cores", "sockets", "threads")
_UINT32: Final = 2**32


def unmet(instancetype: Tree | None, preference: Tree, spec: Tree) -> Cause | None:
    """The first requirement that is not met."""
    required = mapping(preference, "requirements")
    found = None
    if present(required, "cpu"):
        found = _cpu(whole(required, "cpu", "guest"), instancetype, preference, spec)
    if found is None and present(required, "memory"):
        found = _memory(amount(required, "memory", "guest") or ZERO, instancetype, spec)
    if found is None and present(required, "architecture"):
        wanted, given = text(required, "architecture"), text(spec, "architecture")
        if wanted != given:
            return _refuse(ARCHITECTURE, resource="architecture", wanted=wanted, given=given)
    return found


def _refuse(path: str, *levels: str, **params: Param) -> Cause:
    field = ", ".join(f"spec.{path}.{level}" for level in levels) or f"spec.{path}"
    return cause("FieldValueNotFound", UNMET, field, path, **params)


def _cpu(wanted: int, instancetype: Tree | None, preference: Tree, spec: Tree) -> Cause | None:
    if instancetype is not None:
        levels: tuple[str, ...] | None = ()
        given, path = vcpus_of(instancetype), "instancetype"
    else:
        levels = _levels(preference)
        given, path = _product(spec, levels or ()), _CPU
    if levels is None or given >= wanted:
        return None
    return _refuse(
        path, *levels,
        resource="cpu", wanted=quantity(wanted), given=quantity(given), levels=levels,
    )  # fmt: skip


def _levels(preference: Tree) -> tuple[str, ...] | None:
    """What the VM's vCPUs are counted by; None for a topology that KubeVirt does not know."""
    topology = preferred(preference)
    if topology == ANY:
        return _ALL
    if topology == SPREAD:
        return LEVELS.get(spread_options(preference)[1], ())
    return (topology,) if topology in _ALL else None


def _product(spec: Tree, levels: tuple[str, ...]) -> int:
    counted = 1 if levels else 0
    for level in levels:
        counted *= whole(spec, "domain", "cpu", level)
    return counted % _UINT32


def _memory(wanted: Quantity, instancetype: Tree | None, spec: Tree) -> Cause | None:
    if instancetype is not None:
        given, path = amount(instancetype, "memory", "guest") or ZERO, "instancetype"
    else:
        given, path = amount(at(spec, "domain"), "memory", "guest") or ZERO, _MEMORY
    if given >= wanted:
        return None
    return _refuse(path, resource="memory", wanted=wanted, given=given)
