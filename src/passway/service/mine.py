"""What a tenant may know of devices: whether one is free at all, and the own quota.

No amounts, nodes or holders of others: availability is a word. Pure; a resource shows when it is
advertised or permitted. *Unknown* where nodes or pods were not read.
"""

from typing import Literal

from passway.cluster import kinds, records
from passway.cluster.amounts import parse
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.permitted import permitted_of
from passway.model.quantity import Quantity
from passway.preflight import supply
from passway.service.documents import MyDevice, MyDevices

Available = Literal["free", "none", "unknown"]


def my_devices(snapshot: Snapshot, namespace: str) -> MyDevices:
    """Each resource that is advertised or permitted, by name, as seen from one namespace."""
    permitted = permitted_of(snapshot.kubevirt)
    listed = {permit.resource_name for permit in permitted or ()}
    known = snapshot.read(kinds.KUBEVIRTS).known
    items = []
    for name in sorted({*snapshot.devices(), *listed}):
        hard, used = _quota(snapshot, namespace, name)
        items.append(
            MyDevice(
                resource_name=name,
                available=_available(snapshot, name),
                permitted=(permitted is None or name in listed) if known else None,
                quota_hard=hard,
                quota_used=used,
            )
        )
    return MyDevices(namespace=namespace, items=tuple(items))


def _available(snapshot: Snapshot, resource: str) -> Available:
    if not (snapshot.read(kinds.NODES).known and snapshot.read(kinds.PODS).known):
        return "unknown"
    return "free" if supply.enough(snapshot, resource, 1) else "none"


def _quota(snapshot: Snapshot, namespace: str, resource: str) -> tuple[str | None, str | None]:
    """Hard and used of the quota in force that leaves least; (None, None) where none caps it."""
    key = f"requests.{resource}"
    caps: list[tuple[int, int]] = []
    for (owner, _), quota in snapshot.all(kinds.QUOTAS, records.ResourceQuota).items():
        status = quota.status or records.QuotaStatus()
        hard = parse(status.hard)
        if owner == namespace and key in hard:
            caps.append((hard[key], parse(status.used).get(key, 0)))
    if not caps:
        return None, None
    hard_nanos, used_nanos = min(caps, key=lambda cap: (cap[0] - cap[1], cap[0]))
    return str(Quantity(hard_nanos)), str(Quantity(used_nanos))
