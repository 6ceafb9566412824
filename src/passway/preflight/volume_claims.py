"""The launcher's claims: how each stands, and what the filters read of it.

Owns the way from a claim to the values that `scheduler.volumes` judges nodes by: its volume, the
volumes that could be bound to it, or the class by which one would be made. Hotplugged volumes are
not the launcher's, and are left out. Source: kube-scheduler plugins/volumebinding,
volumerestrictions and volumezone, v1.36.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from passway.cluster import kinds, records
from passway.cluster.amounts import parse
from passway.cluster.fold import FoldedPod
from passway.cluster.labels import matches_selector
from passway.manifest.spec import Volume
from passway.preflight.stage import Question
from passway.scheduler.volumes import PLACES, Bound, Candidate, Provision, Unbound, Volumes

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
SINGLE_POD: Final = "ReadWriteOncePod"
STORAGE: Final = "storage"

Standing: TypeAlias = Literal[
    "unread", "later", "missing", "deleting", "lost", "bound", "waiting", "unbound", "class unread"
]
REFUSING: Final = frozenset({"missing", "deleting", "lost", "unbound"})


@dataclass(frozen=True, slots=True)
class Claimed:
    """A volume of the VM that stands on a claim, with what is known of that."""

    volume: Volume
    standing: Standing
    claim: records.PersistentVolumeClaim | None = None

    @property
    def name(self) -> str:
        return self.volume.claim_name or ""

    @property
    def spec(self) -> records.ClaimSpec:
        found = self.claim.spec if self.claim else None
        return found or records.ClaimSpec()


def claimed(question: Question) -> tuple[Claimed, ...]:
    """The launcher's volumes that stand on a PersistentVolumeClaim; each claim once."""
    found: dict[str, Claimed] = {}
    for volume in question.spec.volumes:
        if volume.claim_name and not _is_hotplugged(question, volume):
            found.setdefault(volume.claim_name, _claimed(question, volume))
    return tuple(found.values())


def volumes_of(question: Question) -> Volumes:
    """What the filters read of the claims."""
    items = claimed(question)
    bound = [bound_of(question, item) for item in items if item.standing == "bound"]
    unbound = [_unbound(question, item) for item in items if item.standing == "waiting"]
    refused = any(item.standing in REFUSING or users(question, item) for item in items)
    return Volumes(tuple(bound), tuple(unbound), refused)


def _claimed(question: Question, volume: Volume) -> Claimed:
    snapshot = question.snapshot
    if not question.read(kinds.VOLUME_CLAIMS).known:
        return Claimed(volume, "unread")
    claims = snapshot.all(kinds.VOLUME_CLAIMS, records.PersistentVolumeClaim)
    claim = claims.get((question.spec.namespace, volume.claim_name or ""))
    if claim is None:
        later = volume.source == "dataVolume" or _made_later(question, volume)
        return Claimed(volume, "later" if later else "missing")
    return Claimed(volume, _standing(question, Claimed(volume, "unread", claim)), claim)


def _standing(question: Question, item: Claimed) -> Standing:
    """Of a claim that exists (VolumeBinding PreFilter, GetPodVolumeClaims)."""
    claim, snapshot, spec = item.claim, question.snapshot, item.spec
    assert claim is not None  # noqa: S101 - asked only of claims that exist
    phase = claim.status.phase if claim.status else None
    if phase == "Lost":
        return "lost"
    if claim.metadata.deletion_timestamp:
        return "deleting"
    if spec.volume_name and (annotation(item, BIND_COMPLETED) or phase == "Bound"):
        known = snapshot.read(kinds.VOLUMES).known
        return "bound" if _volume(question, item) else "lost" if known else "unread"
    if spec.volume_name or not class_name(item):
        return "unbound"
    if not snapshot.read(kinds.STORAGE_CLASSES).known:
        return "class unread"
    found = _class(question, item)
    waits = found is not None and found.volume_binding_mode == "WaitForFirstConsumer"
    if not waits:
        return "unbound"
    return "waiting" if snapshot.read(kinds.VOLUMES).known else "unread"


def bound_of(question: Question, item: Claimed) -> Bound:
    volume = _volume(question, item)
    assert volume is not None  # noqa: S101 - asked only of bound claims
    affinity = volume.spec.node_affinity if volume.spec else None
    labels = volume.metadata.labels or {}
    zones = {key: labels[key].split("__") for key in PLACES if key in labels}
    return Bound(
        item.name,
        affinity.required if affinity else None,
        tuple(
            (key, frozenset(value.strip() for value in values))
            for key, values in zones.items()
            if all(value.strip() for value in values)
        ),
    )


def _unbound(question: Question, item: Claimed) -> Unbound:
    found = [
        Candidate(
            name,
            _amount(spec.capacity),
            spec.node_affinity.required if spec.node_affinity else None,
            reserved=spec.claim_ref is not None,
        )
        for (_, name), volume in question.snapshot.all(
            kinds.VOLUMES, records.PersistentVolume
        ).items()
        if _serves(item, volume, spec := volume.spec or records.VolumeSpec())
    ]
    return Unbound(
        item.name,
        size(item),
        tuple(sorted(found, key=lambda candidate: (candidate.size_nanos, candidate.name))),
        _provision(question, item),
        annotation(item, SELECTED_NODE) or None,
    )


def _serves(item: Claimed, volume: records.PersistentVolume, spec: records.VolumeSpec) -> bool:
    """A volume could be bound to the claim, on whatever node."""
    wanted = item.spec
    if (
        (volume.metadata.annotations or {}).get(OLD_CLASS, spec.storage_class_name or "")
        != class_name(item)
        or volume.metadata.deletion_timestamp
        or _amount(spec.capacity) < size(item)
        or (spec.volume_mode or "Filesystem") != (wanted.volume_mode or "Filesystem")
        or (spec.volume_attributes_class_name or "") != (wanted.volume_attributes_class_name or "")
    ):
        return False
    if spec.claim_ref is not None:
        return _is_reserved(item, spec.claim_ref)
    phase = volume.status.phase if volume.status else None
    return (
        phase == "Available"
        and (
            wanted.selector is None
            or matches_selector(wanted.selector, volume.metadata.labels or {})
        )
        and set(wanted.access_modes or ()) <= set(spec.access_modes or ())
    )


def _is_reserved(item: Claimed, found: records.ClaimReference) -> bool:
    claim = item.claim
    return (
        claim is not None
        and (found.name, found.namespace) == (item.name, claim.metadata.namespace or "default")
        and found.uid in {"", claim.metadata.uid}
    )


def _provision(question: Question, item: Claimed) -> Provision | None:
    """How a volume would be made for it (volumebinding checkVolumeProvisions)."""
    found = _class(question, item)
    if found is None or found.provisioner in {"", NO_PROVISIONER}:
        return None
    return Provision(found.allowed_topologies or (), _pools(question, item, found.provisioner))


def _pools(
    question: Question, item: Claimed, provisioner: str
) -> tuple[records.LabelSelector, ...] | None:
    """Where there is enough storage, if the driver tells (hasEnoughCapacity)."""
    snapshot, wanted = question.snapshot, size(item)
    drivers = snapshot.all(kinds.CSI_DRIVERS, records.CSIDriver)
    driver = drivers.get(("", provisioner))
    tells = driver is not None and driver.spec is not None and driver.spec.storage_capacity
    if not tells or not wanted:
        return None
    capacities = snapshot.all(kinds.STORAGE_CAPACITIES, records.CSIStorageCapacity)
    return tuple(
        pool.node_topology
        for pool in capacities.values()
        if pool.storage_class_name == class_name(item)
        and pool.node_topology is not None
        and _limit(pool) >= wanted
    )


def _limit(pool: records.CSIStorageCapacity) -> int:
    text = pool.capacity if pool.maximum_volume_size is None else pool.maximum_volume_size
    return -1 if text is None else _amount({STORAGE: text})


def users(question: Question, item: Claimed) -> list[FoldedPod]:
    """The assigned pods with a claim that only one pod may use (VolumeRestrictions)."""
    if SINGLE_POD not in (item.spec.access_modes or ()):
        return []
    snapshot = question.snapshot
    return [
        pod
        for pod in snapshot.assigned_in((question.spec.namespace,))
        if item.name in pod.volume_claims and pod.node in snapshot.nodes
    ]


def _volume(question: Question, item: Claimed) -> records.PersistentVolume | None:
    volumes = question.snapshot.all(kinds.VOLUMES, records.PersistentVolume)
    return volumes.get(("", item.spec.volume_name or ""))


def _class(question: Question, item: Claimed) -> records.StorageClass | None:
    classes = question.snapshot.all(kinds.STORAGE_CLASSES, records.StorageClass)
    return classes.get(("", class_name(item)))


def class_name(item: Claimed) -> str:
    return annotation(item, OLD_CLASS) or item.spec.storage_class_name or ""


def annotation(item: Claimed, name: str) -> str:
    annotations = item.claim.metadata.annotations if item.claim else None
    return (annotations or {}).get(name, "")


def size(item: Claimed) -> int:
    resources = item.spec.resources
    return _amount(resources.requests if resources else None)


def _amount(amounts: records.Amounts | None) -> int:
    return parse(amounts).get(STORAGE, 0)


def _is_hotplugged(question: Question, volume: Volume) -> bool:
    found = question.spec.document.find(f"{volume.path}.{volume.source}.hotpluggable")
    return found is not None and found.plain() is True


def _made_later(question: Question, volume: Volume) -> bool:
    """The VM brings a DataVolume template of that name."""
    document, index = question.spec.document, 0
    while (made := document.find(f"spec.dataVolumeTemplates[{index}]")) is not None:
        name = made.find("metadata.name")
        if name is not None and name.plain() == volume.claim_name:
            return True
        index += 1
    return False
