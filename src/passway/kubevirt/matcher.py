"""Which object a VM's `instancetype` or `preference` names: KubeVirt calls that field a matcher.

Owns the look-up by kind and name, and what stands in its way. A name that nothing has is accepted
at creation, but the VM controller then never starts the VM; a malformed matcher is refused at once.
ControllerRevisions are not read, so what a revision says is unknown. Sources: kubevirt
pkg/instancetype/find, pkg/instancetype/preference/find, pkg/instancetype/webhooks/vm/*.go and
pkg/instancetype/controller/vm/controller.go (v1.9.0). Inference is in `inference`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from passway.cluster import kinds, records
from passway.cluster.kinds import Kind
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.fields import Tree, mapping, present, text
from passway.model.names import nearest
from passway.model.verdict import Param, Ref, Severity

INSTANCETYPE: Final = "instancetype"
PREFERENCE: Final = "preference"
MATCHERS: Final[Mapping[str, tuple[Kind, Kind]]] = {
    INSTANCETYPE: (kinds.INSTANCETYPES, kinds.CLUSTER_INSTANCETYPES),
    PREFERENCE: (kinds.PREFERENCES, kinds.CLUSTER_PREFERENCES),
}
"""Field of the VM's spec -> the kind of the namespace, and that of the cluster (the default)."""
_WHAT: Final = {
    INSTANCETYPE: "the size and the devices that the VM takes from there",
    PREFERENCE: "what the VM's preference adds and requires",
}
IGNORE: Final = "Ignore"
POLICIES: Final = (IGNORE, "Reject")


@dataclass(frozen=True, slots=True)
class Match:
    """The object that a matcher stands for.

    `clears_memory`: the VM's own memory is dropped, since the inference might have failed.
    """

    kind: Kind
    ref: Ref
    spec: Tree
    clears_memory: bool = False


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why there is none, as a reason of the registry; `path` leads from the VM's spec.

    `unread` is the kind that would have to be read.
    """

    reason: str
    severity: Severity
    path: str
    params: Mapping[str, Param]
    unread: Kind | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A kind and a name, as written or inferred."""

    kind: str
    name: str
    clears_memory: bool = False


def malformed(field: str, matcher: Tree) -> Obstacle | None:
    """What the mutating webhook refuses in a matcher by itself."""
    volume, policy = text(matcher, "inferFromVolume"), "inferFromVolumeFailurePolicy"
    if not volume and not text(matcher, "name"):
        return _malformed(field, "", "needs a name or inferFromVolume")
    for key in ("name", "kind"):
        if volume and text(matcher, key):
            return _malformed(field, key, "cannot stand beside inferFromVolume")
    if present(matcher, policy) and text(matcher, policy) not in POLICIES:
        return _malformed(field, policy, f"is {' or '.join(POLICIES)}")
    return None


def _malformed(field: str, key: str, problem: str) -> Obstacle:
    path = f"{field}.{key}" if key else field
    return Obstacle("MatcherInvalid", Severity.ERROR, path, {"field": path, "problem": problem})


def named(matcher: Tree) -> Named:
    """What a matcher says by itself."""
    return Named(text(matcher, "kind"), text(matcher, "name"))


def revised(field: str, matcher: Tree) -> Obstacle | None:
    """A matcher that takes the object as an earlier revision has it."""
    revision = text(matcher, "revisionName")
    if not revision:
        return None
    params: dict[str, Param] = {"field": field, "revision": revision}
    return Obstacle("RevisionNotRead", Severity.UNKNOWN, f"{field}.revisionName", params)


def find(field: str, wanted: Named, namespace: str, snapshot: Snapshot) -> Match | Obstacle:
    """The object of that kind and name."""
    kind = _kind(field, wanted.kind)
    if kind is None:
        problem = f"names {wanted.kind[:80]}, which is no kind for it"
        return _malformed(field, "", problem)
    space = namespace if kind.namespaced else ""
    ref = Ref(kind.kind, wanted.name, space or None)
    if not snapshot.read(kind, space or None).known:
        return Obstacle("KindUnread", Severity.UNKNOWN, field, {"what": _WHAT[field]}, kind)
    known = snapshot.all(kind, records.Instancetype)
    found = known.get((space, wanted.name))
    if found is None:
        near = nearest(wanted.name, [name for held, name in known if held == space])
        params: dict[str, Param] = {"kind": kind.kind, "name": str(ref), "near": near}
        reason = "InstancetypeMissing" if field == INSTANCETYPE else "PreferenceMissing"
        return Obstacle(reason, Severity.ERROR, field, params)
    return Match(kind, ref, mapping(found.spec), wanted.clears_memory)


def _kind(field: str, written: str) -> Kind | None:
    """In any case, in the singular or plural; the cluster's kind where none is written."""
    of_namespace, of_cluster = MATCHERS[field]
    folded = written.lower()
    for kind in (of_cluster, of_namespace):
        if folded in {kind.kind.lower(), kind.plural}:
            return kind
    return None if written else of_cluster
