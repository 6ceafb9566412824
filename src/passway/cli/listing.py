"""The tables of `get`, one a noun: which columns, and what a cell says when it is not known.

Owns no data: rows are the items of the documents. Amounts that depend on pods are `<unknown>` when
the pods were not read, since a guess would look like an answer.
"""

from collections.abc import Collection
from datetime import UTC, datetime

from passway.cli.table import Column, Table
from passway.cli.words import UNKNOWN, age, listed
from passway.service import documents as d
from passway.service.audit import AuditEntry

Unread = Collection[str]


def now() -> str:
    """The moment that ages are told at when a document has none."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def devices(found: d.DeviceInventory) -> Table:
    counted = "pods" not in found.unread
    return Table(
        (
            Column("RESOURCE", lambda item: item.resource_name),
            Column("KIND", lambda item: item.kind),
            Column("ADVERTISED", lambda item: item.advertised),
            Column("USED", lambda item: item.used if counted else UNKNOWN),
            Column("FREE", lambda item: item.free if counted else UNKNOWN),
            Column("PERMITTED", _permitted),
            Column("NODES", lambda item: len(item.nodes)),
            Column("CAPACITY", lambda item: item.capacity, wide=True),
            Column("HOLDERS", lambda item: listed(item.holders), wide=True),
            Column("SELECTORS", lambda item: listed(item.selectors), wide=True),
        ),
        found.resources,
    )


def _permitted(item: d.ResourceDocument) -> str:
    """SR-IOV functions come through a network attachment, which needs no permission."""
    if item.kind == "sriov" and not item.permitted:
        return "n/a"
    return answered(item.permitted)


def answered(value: bool | None) -> str:
    return UNKNOWN if value is None else "yes" if value else "no"


def nodes(found: d.NodeList, unread: Unread) -> Table:
    counted = "pods" not in unread
    at = found.at or now()
    return Table(
        (
            Column("NAME", lambda item: item.name),
            Column("STATUS", node_status),
            Column("DEVICES", lambda item: _amounts(item.devices, counted)),
            Column("VMS", lambda item: item.machines if counted else UNKNOWN),
            Column("AGE", lambda item: age(item.created, at)),
            Column("CPU-FREE", lambda item: item.cpu_free if counted else UNKNOWN, wide=True),
            Column("MEM-FREE", lambda item: item.memory_free if counted else UNKNOWN, wide=True),
            Column("HUGEPAGES-FREE", lambda item: _pages(item, counted), wide=True),
            Column("CPU-MANAGER", lambda item: answered(item.cpu_manager), wide=True),
            Column("TAINTS", lambda item: listed(item.taints), wide=True),
        ),
        found.items,
    )


def node_status(node: d.NodeDocument) -> str:
    """`Ready,SchedulingDisabled`, as kubectl has it, and whether KubeVirt takes it."""
    words = ["Ready" if node.ready else "NotReady"]
    if not node.schedulable:
        words.append("SchedulingDisabled")
    if not node.kubevirt_schedulable:
        words.append("NoKubeVirt")
    return ",".join(words)


def _amounts(amounts: tuple[d.Amount, ...], counted: bool) -> str:
    """`nvidia.com/X=1/4`: free of allocatable."""
    return listed(
        f"{item.resource_name}={item.free if counted else '?'}/{item.allocatable}"
        for item in amounts
    )


def _pages(node: d.NodeDocument, counted: bool) -> str:
    return listed(
        f"{item.page_size}={item.free if counted else '?'}/{item.allocatable}"
        for item in node.hugepages
        if item.allocatable != "0"
    )


def machines(found: d.MachineList, *, all_namespaces: bool) -> Table:
    at = found.at or now()
    namespace = (Column("NAMESPACE", lambda item: item.namespace),) if all_namespaces else ()
    return Table(
        (
            *namespace,
            Column("NAME", lambda item: item.name),
            Column("STATUS", lambda item: item.status),
            Column("NODE", lambda item: item.node),
            Column("DEVICES", lambda item: counted_names(item.devices)),
            Column("AGE", lambda item: age(item.created, at)),
            Column("RUN-STRATEGY", lambda item: item.run_strategy, wide=True),
            Column("HOLDS", lambda item: amounts_of(item.holds), wide=True),
        ),
        found.items,
    )


def counted_names(names: tuple[str, ...]) -> str:
    """`nvidia.com/X=2`: each name once, with how often it occurs."""
    return amounts_of({name: names.count(name) for name in names})


def amounts_of(amounts: dict[str, int]) -> str:
    return listed(f"{name}={amount}" for name, amount in sorted(amounts.items()))


def permits(found: d.PermitList) -> Table:
    return Table(
        (
            Column("RESOURCE", lambda item: item.resource_name),
            Column("KIND", lambda item: item.kind),
            Column("EXTERNAL", lambda item: answered(item.external_resource_provider)),
            Column("NODES", lambda item: item.nodes),
            Column("SELECTOR", lambda item: item.selector),
        ),
        found.items,
    )


def pools(found: d.PoolList, unread: Unread) -> Table:
    counted = "pods" not in unread
    return Table(
        (
            Column("RESOURCE", lambda item: item.resource_name),
            Column("ADVERTISED", lambda item: item.advertised),
            Column("USED", lambda item: item.used if counted else UNKNOWN),
            Column("FREE", lambda item: item.free if counted else UNKNOWN),
            Column("NODES", lambda item: len(item.nodes)),
            Column("NETWORKS", lambda item: listed(item.networks)),
            Column("CAPACITY", lambda item: item.capacity, wide=True),
        ),
        found.items,
    )


def audit(found: d.AuditList) -> Table:
    return Table(
        (
            Column("ROW", lambda row: row.sequence),
            Column("TIME", lambda row: row.time),
            Column("USER", lambda row: row.user),
            Column("ACTION", lambda row: row.action),
            Column("KIND", lambda row: row.kind),
            Column("OBJECT", _object),
            Column("RESULT", lambda row: row.result or row.phase),
            Column("OF-ROW", lambda row: row.intent),
            Column("SOURCE", lambda row: row.source, wide=True),
            Column("REQUEST", lambda row: row.request_id, wide=True),
            Column("REPLICA", lambda row: row.replica, wide=True),
            Column("DETAIL", lambda row: row.detail, wide=True),
        ),
        found.items,
    )


def _object(row: AuditEntry) -> str:
    return f"{row.namespace}/{row.name}" if row.namespace else row.name
