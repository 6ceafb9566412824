"""What a matcher with `inferFromVolume` stands for: the labels of the volume's claim say.

A claim that exists is looked up, also behind a DataVolume template that clones one. DataVolumes and
DataSources are not read here, so whatever they might say is unknown. What cannot be inferred
refuses the VM, or drops the matcher where its policy says so. Source: kubevirt
pkg/instancetype/infer/{handler,volume}.go (v1.9.0).
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from passway.cluster import kinds, records
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.fields import Tree, entries, mapping, present, text
from passway.kubevirt.matcher import IGNORE, INSTANCETYPE, Named, Obstacle
from passway.model.verdict import Param, Ref, Severity

NAME_LABEL: Final = "instancetype.kubevirt.io/default-{field}"
KIND_LABEL: Final = "instancetype.kubevirt.io/default-{field}-kind"


@dataclass(frozen=True, slots=True)
class _Cannot:
    """Nothing can be inferred; `pardoned` by the policy Ignore."""

    problem: str
    pardoned: bool = True


@dataclass(frozen=True, slots=True)
class _Unread:
    """What would have to be read."""

    what: str


_Source: TypeAlias = Ref | _Cannot | _Unread
"""The claim whose labels decide, or why there is none."""


def infer(
    field: str, matcher: Tree, machine: Tree, namespace: str, snapshot: Snapshot
) -> Named | Obstacle | None:
    """Kind and name for a matcher of this VM's spec; None where the matcher is dropped."""
    volume = text(matcher, "inferFromVolume")
    source = _source(volume, machine, namespace)
    found = _labelled(field, source, snapshot) if isinstance(source, Ref) else source
    is_lenient = text(matcher, "inferFromVolumeFailurePolicy") == IGNORE
    params: dict[str, Param] = {"field": field, "volume": volume}
    path = f"{field}.inferFromVolume"
    if isinstance(found, Named):
        clears = is_lenient and field == INSTANCETYPE
        return Named(found.kind, found.name, clears)
    if isinstance(found, _Unread):
        params["what"] = found.what
        return Obstacle("InferenceUndecided", Severity.UNKNOWN, path, params)
    if is_lenient and found.pardoned:
        return None
    params["problem"] = found.problem
    return Obstacle("InferenceFailed", Severity.ERROR, path, params)


def _source(name: str, machine: Tree, namespace: str) -> _Source:
    volumes = entries(machine, "template", "spec", "volumes")
    volume = next((item for item in volumes if text(item, "name") == name), None)
    if volume is None:
        return _Cannot("the VM has no such volume", pardoned=False)
    if present(volume, "persistentVolumeClaim"):
        return _claim(text(volume, "persistentVolumeClaim", "claimName"), namespace)
    if not present(volume, "dataVolume"):
        return _Cannot("it is neither a PersistentVolumeClaim nor a DataVolume")
    wanted = text(volume, "dataVolume", "name")
    for template in entries(machine, "dataVolumeTemplates"):
        if text(template, "metadata", "name") == wanted:
            return _cloned(mapping(template, "spec"))
    return _Unread(f'the DataVolume "{wanted}"')


def _cloned(spec: Tree) -> _Source:
    """What a DataVolume template is made from."""
    if present(spec, "source", "pvc"):
        cloned = mapping(spec, "source", "pvc")
        return _claim(text(cloned, "name"), text(cloned, "namespace"))
    if text(spec, "sourceRef", "kind") == "DataSource":
        return _Unread(f'the DataSource "{text(spec, "sourceRef", "name")}"')
    return _Cannot("its DataVolume template copies no PersistentVolumeClaim and no DataSource")


def _claim(name: str, namespace: str) -> Ref:
    return Ref(kinds.VOLUME_CLAIMS.kind, name, namespace)


def _labelled(field: str, claim: Ref, snapshot: Snapshot) -> Named | _Cannot | _Unread:
    if not snapshot.read(kinds.VOLUME_CLAIMS, claim.namespace).known:
        return _Unread(f'the PersistentVolumeClaim "{claim}"')
    claims = snapshot.all(kinds.VOLUME_CLAIMS, records.PersistentVolumeClaim)
    found = claims.get((claim.namespace or "", claim.name))
    if found is None:
        return _Cannot(f'there is no PersistentVolumeClaim "{claim}"', pardoned=False)
    labels = found.metadata.labels or {}
    name, label = labels.get(NAME_LABEL.format(field=field)), NAME_LABEL.format(field=field)
    if name is None:
        return _Cannot(f'the PersistentVolumeClaim "{claim}" has no label {label}')
    return Named(labels.get(KIND_LABEL.format(field=field), ""), name)
