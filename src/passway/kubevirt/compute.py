"""CPU, memory, huge pages and storage of the compute container.

Follows kubevirt pkg/virt-controller/services/renderresources.go and template.go
(VMIResourcePredicates): the order of the steps matters, because each reads what the ones before it
wrote. The quirks are kept: pinned VMs limit memory to what they request, huge pages are counted
after the overcommit, and a quota on limits makes limits.
"""

from typing import Final

from passway.cluster.labels import matches_selector
from passway.kubevirt.doubles import Unprintable, cpu_share, exact_share, parse_double, share
from passway.kubevirt.fields import Tree, amount, flag, present, text
from passway.kubevirt.ledger import Ledger
from passway.kubevirt.surroundings import Surroundings
from passway.kubevirt.traits import annotations, has_hugepages, is_dedicated, pool_threads, vcpus
from passway.model.quantity import ZERO, Quantity, quantity

STORAGE: Final = quantity(50_000_000)
HUGEPAGES: Final = "hugepages-"
EVEN_PARITY: Final = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
MEMORY_RATIO: Final = "alpha.kubevirt.io/auto-memory-limits-ratio"
DEFAULT_MEMORY_RATIO: Final = 2.0
_LIMITS: Final = ("spec", "domain", "resources", "limits")


def add_storage(ledger: Ledger) -> None:
    """KubeVirt's own scratch space comes on top of the user's."""
    ledger.requests["ephemeral-storage"] = STORAGE + ledger.requests.get("ephemeral-storage", ZERO)
    if "ephemeral-storage" in ledger.limits:
        ledger.limits["ephemeral-storage"] += STORAGE


def add_memory_request(ledger: Ledger, vmi: Tree, overcommit: int) -> None:
    """The guest's memory becomes a request, where the user made none.

    From the limit, else the guest by the overcommit, else one huge page.
    """
    if ledger.requests.get("memory", ZERO).nanos:
        return
    limit = ledger.limits.get("memory")
    if limit and limit.nanos:
        ledger.requests["memory"] = limit
    if "memory" in ledger.requests:
        return
    memory = ("spec", "domain", "memory")
    guest = amount(vmi, *memory, "guest") or amount(vmi, *memory, "hugepages", "pageSize")
    if guest is not None and guest.value > 0:
        ledger.requests["memory"] = (
            guest if overcommit == 100 else quantity(guest.value * 100 // overcommit, guest.format)
        )


def add_cpu(ledger: Ledger, vmi: Tree, around: Surroundings) -> bool:
    """Pinned CPUs or a share of them. False where KubeVirt crashes on its own number."""
    if is_dedicated(vmi):
        _pin(ledger, vmi)
        return True
    count = vcpus(vmi) + pool_threads(vmi)
    if not count:
        return True
    if _limits_cpu(vmi, around):
        ledger.counted_limits["cpu"] = quantity(count)
    try:
        ledger.counted_requests["cpu"] = cpu_share(count, around.cpu_ratio)
    except Unprintable:
        ledger.counted_requests["cpu"] = exact_share(count, around.cpu_ratio)
        return False
    return True


def _pin(ledger: Ledger, vmi: Tree) -> None:
    count, pool = vcpus(vmi), pool_threads(vmi)
    for book in (ledger.limits, ledger.requests):
        if count:
            book["cpu"] = quantity(count + pool)
        elif "cpu" in book:
            book["cpu"] += quantity(pool)
    if flag(vmi, "spec", "domain", "cpu", "isolateEmulatorThread"):
        threads = quantity(_emulator_threads(ledger.limits.get("cpu", ZERO), vmi))
        ledger.limits["cpu"] = threads + ledger.limits.get("cpu", ZERO)
        if "cpu" in ledger.requests:
            ledger.requests["cpu"] += threads
    if "memory" in ledger.requests:
        ledger.limits["memory"] = ledger.requests["memory"]


def _emulator_threads(pinned: Quantity, vmi: Tree) -> int:
    """Two, where one would leave an odd sum; the pool's threads count twice in that question."""
    pools = text(vmi, "spec", "domain", "ioThreadsPolicy") == "supplementalPool"
    counted = pinned.value + (pool_threads(vmi) if pools else 0)
    return 2 if EVEN_PARITY in annotations(vmi) and counted % 2 == 0 else 1


def add_overhead(ledger: Ledger, vmi: Tree, overhead: Quantity) -> None:
    """Huge pages take the guest's memory; the overhead is ordinary memory."""
    if has_hugepages(vmi):
        _add_hugepages(ledger, vmi, overhead)
        return
    requested = ledger.requests.get("memory", ZERO)
    overcommits = flag(vmi, "spec", "domain", "resources", "overcommitGuestOverhead")
    ledger.requests["memory"] = requested if overcommits else requested + overhead
    if "memory" in ledger.limits:
        ledger.limits["memory"] += overhead


def _add_hugepages(ledger: Ledger, vmi: Tree, overhead: Quantity) -> None:
    memory = ("spec", "domain", "memory")
    resource = f"{HUGEPAGES}{text(vmi, *memory, 'hugepages', 'pageSize')}"
    guest = amount(vmi, *memory, "guest")
    requested = ledger.requests.get("memory", ZERO)
    pages = guest if guest is not None and requested.value > guest.value else requested
    ledger.counted_requests[resource] = ledger.counted_limits[resource] = pages
    ledger.requests["memory"] = _beyond(requested, guest) + overhead
    if "memory" in ledger.limits:
        ledger.limits["memory"] = _beyond(ledger.limits["memory"], guest) + overhead


def _beyond(given: Quantity, guest: Quantity | None) -> Quantity:
    """What is more than the guest's memory."""
    return given - guest if guest is not None and given.value > guest.value else ZERO


def add_memory_limit(ledger: Ledger, vmi: Tree, around: Surroundings) -> None:
    """A quota on memory limits of the namespace makes a limit, if the user set none."""
    if "limits.memory" not in around.quota_keys or present(vmi, *_LIMITS, "memory"):
        return
    ratio = parse_double(around.namespace_labels.get(MEMORY_RATIO, ""))
    requested = ledger.requests.get("memory", ZERO)
    ledger.counted_limits["memory"] = quantity(
        share(requested.value, ratio if ratio is not None and ratio >= 1 else DEFAULT_MEMORY_RATIO),
        requested.format,
    )


def _limits_cpu(vmi: Tree, around: Surroundings) -> bool:
    """A quota on CPU limits, or a namespace that the cluster selects for it."""
    if present(vmi, *_LIMITS, "cpu"):
        return False
    selector = around.configuration.auto_cpu_limit_namespace_label_selector
    return "limits.cpu" in around.quota_keys or (
        selector is not None and matches_selector(selector, around.namespace_labels)
    )
