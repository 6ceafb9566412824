"""What a VM's instance type and preference make of it, before any stage looks.

Owns KubeVirt's order: matchers are checked and inferred, the objects found, the instance type laid
over the template, then the preference, and last the preference's requirements are checked on what
KubeVirt's defaults make of it (kubevirt pkg/virt-api/.../vms-admitter.go, v1.9.0). Every later
stage sees an ordinary spec. An object that is missing or unread is left out, and a conflict leaves
the VM as it is written; each is a finding of the admission stage. A VM that refers to nothing costs
a look-up.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from passway.cluster import kinds
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.admission.cause import Cause
from passway.kubevirt.fields import NOTHING, mapping, present
from passway.kubevirt.inference import infer
from passway.kubevirt.instancetype import apply_instancetype
from passway.kubevirt.matcher import (
    INSTANCETYPE,
    MATCHERS,
    PREFERENCE,
    Match,
    Named,
    Obstacle,
    find,
    malformed,
    named,
    revised,
)
from passway.kubevirt.overlay import Spec, section
from passway.kubevirt.preference import apply_preference
from passway.kubevirt.requirements import ARCHITECTURE, unmet
from passway.kubevirt.vmi import cluster_settings, mutated, vmi_of
from passway.manifest.applied import with_vmi
from passway.manifest.machine import LAYOUTS
from passway.manifest.nodes import MappingNode, child
from passway.manifest.spec import MachineSpec
from passway.model.verdict import Param, Severity
from passway.preflight.refusals import document_path
from passway.preflight.stage import Finding, state

_PATHS: Final = {
    kind: ".".join((*layout.vm, "spec"))
    for kind, layout in LAYOUTS.items()
    if layout.vm is not None
}
"""Kind -> the field path of the VM's own spec."""
_SECTIONS: Final = ("spec.domain.cpu", "spec.domain.memory")
"""What an instance type decides as a whole, even where the VM writes a part of it."""
_ANNOTATIONS: Final = {
    kinds.INSTANCETYPES: "kubevirt.io/instancetype-name",
    kinds.CLUSTER_INSTANCETYPES: "kubevirt.io/cluster-instancetype-name",
    kinds.PREFERENCES: "kubevirt.io/preference-name",
    kinds.CLUSTER_PREFERENCES: "kubevirt.io/cluster-preference-name",
}
"""Kind -> the annotation in which the VMI keeps the object's name."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """A machine with what it refers to, and what was found on the way."""

    spec: MachineSpec
    findings: tuple[Finding, ...] = ()


def refers(spec: MachineSpec) -> bool:
    """Whether the machine is a VM with an instance type or a preference."""
    path = _PATHS.get(spec.ref.kind)
    machine = None if path is None else spec.document.find(path)
    return isinstance(machine, MappingNode) and not MATCHERS.keys().isdisjoint(machine.entries)


def expand(spec: MachineSpec, snapshot: Snapshot) -> Expanded:
    """The machine as KubeVirt works on it; the same one if it refers to nothing."""
    return _Expansion(spec, snapshot).expanded() if refers(spec) else Expanded(spec)


class _Expansion:
    """One run."""

    def __init__(self, spec: MachineSpec, snapshot: Snapshot) -> None:
        self._spec = spec
        self._snapshot = snapshot
        self._path = _PATHS[spec.ref.kind]
        machine = spec.document.find(self._path)
        self._machine = mapping(machine.plain() if machine else None)
        self._findings: list[Finding] = []

    def expanded(self) -> Expanded:
        """Lays over the VM what it refers to, as far as that was found."""
        instancetype, preference = self._match(INSTANCETYPE), self._match(PREFERENCE)
        spec, wanted = self._spec, preference.spec if preference else NOTHING
        if instancetype:
            vmi = _plain(spec)
            if instancetype.clears_memory:
                section(vmi, "spec", "domain").pop("memory", None)
            causes = apply_instancetype(vmi, instancetype.spec, wanted)
            if causes:
                self._refuse(causes, instancetype)
                return Expanded(spec, tuple(self._findings))
            spec = self._laid(spec, vmi, INSTANCETYPE, instancetype)
        if preference:
            vmi = _plain(spec)
            apply_preference(vmi, wanted)
            spec = self._laid(spec, vmi, PREFERENCE, preference)
            if present(wanted, "requirements") and not self._findings:
                self._require(spec, instancetype, preference)
        return Expanded(spec, tuple(self._findings))

    def _match(self, field: str) -> Match | None:
        """The object that the field names; nothing where one of the findings says why."""
        if not present(self._machine, field):
            return None
        matcher, space = mapping(self._machine, field), self._spec.namespace
        found: Named | Match | Obstacle | None = malformed(field, matcher)
        found = found or revised(field, matcher)
        if found is None and present(matcher, "inferFromVolume"):
            found = infer(field, matcher, self._machine, space, self._snapshot)
        elif found is None:
            found = named(matcher)
        if isinstance(found, Named):
            found = find(field, found, space, self._snapshot)
        if isinstance(found, Obstacle):
            params = dict(found.params)
            if found.unread:
                read = self._snapshot.read(found.unread)
                words = state(read, self._snapshot.within.get(found.unread.plural, ()))
                params |= {"kind": found.unread.plural, "state": words}
            self._note(found.reason, found.severity, found.path, **params)
            return None
        return found

    def _laid(self, spec: MachineSpec, vmi: Spec, field: str, match: Match) -> MachineSpec:
        """The machine with the changed VMI; as it was, where no VMI can be like that."""
        annotations = section(vmi, "metadata", "annotations")
        made = with_vmi(
            spec, vmi["spec"], {**annotations, _ANNOTATIONS[match.kind]: match.ref.name}
        )
        if made is None:
            self._note("InstancetypeUnreadable", Severity.UNKNOWN, field, **_named(match))
            return spec
        changed = list(_changes(_plain(spec), vmi))
        if field == INSTANCETYPE:
            changed += [key for key in _SECTIONS if present(match.spec, key.rpartition(".")[2])]
        origin = f"{self._path}.{field}"
        brought = {document_path(spec, path): origin for path in changed}
        return replace(made, inherited={**spec.inherited, **brought})

    def _refuse(self, causes: tuple[Cause, ...], match: Match) -> None:
        for cause in causes:
            for site in cause.sites:
                params = {**_named(match), **site.params}
                self._note(cause.rule, Severity.ERROR, site.path, **params)

    def _require(self, spec: MachineSpec, instancetype: Match | None, preference: Match) -> None:
        kubevirt = self._snapshot.kubevirt
        vmi = mutated(spec, cluster_settings(kubevirt)).vmi
        given = instancetype.spec if instancetype else None
        cause = unmet(given, preference.spec, vmi["spec"])
        if cause is None:
            return
        path = cause.sites[0].path
        configured = path == ARCHITECTURE and kubevirt is None and not spec.plain("architecture")
        severity = Severity.UNKNOWN if configured else Severity.ERROR
        self._note(cause.rule, severity, path, **_named(preference), **cause.params)

    def _note(self, reason: str, severity: Severity, path: str, /, **params: Param) -> None:
        place = f"{self._path}.{path}"
        self._findings.append(Finding(reason, severity, place, params))


def _plain(spec: MachineSpec) -> Spec:
    """The VMI as it is written, with a spec and annotations to write to."""
    vmi = vmi_of(spec)
    section(vmi, "spec")
    return vmi


def _named(match: Match) -> dict[str, Param]:
    return {"kind": match.ref.kind, "name": str(match.ref)}


def _changes(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """The paths of what is new or different, each without what is below it."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in after.items():
            inner = child(path, key)
            if key in before:
                yield from _changes(before[key], value, inner)
            else:
                yield inner
    elif isinstance(before, list) and isinstance(after, list):
        for index, value in enumerate(after):
            inner = child(path, index)
            if index < len(before):
                yield from _changes(before[index], value, inner)
            else:
                yield inner
    elif before != after:
        yield path
