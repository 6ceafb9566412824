"""Rules on memory: amounts, huge pages, guest against limit, reserved overhead, any memory at all.

Source: kubevirt pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go. A page
size of zero makes KubeVirt divide by zero and panic; here it is a cause on the page size. Negative
page sizes and sizes that no kernel has are accepted there, and so here.
"""

from collections.abc import Iterator
from typing import Final

from passway.kubevirt.admission.cause import Cause, gate_off, invalid, required
from passway.kubevirt.admission.cpu import MEMORY_LIMIT, MEMORY_REQUEST
from passway.kubevirt.admission.subject import DOMAIN, Subject, requested
from passway.model.quantity import InvalidQuantity, Quantity, parse_quantity

MEMORY: Final = f"{DOMAIN}.memory"
PAGE_SIZE: Final = f"{MEMORY}.hugepages.pageSize"
LEAST_REQUEST: Final = parse_quantity("1M")


def amounts(subject: Subject) -> Iterator[Cause]:
    """Amounts that are too small, and a request above the limit."""
    request, limit = requested(subject.requests, "memory"), requested(subject.limits, "memory")
    if request.value < 0 or (request.value > 0 and request < LEAST_REQUEST):
        yield invalid("MemoryRequestTooSmall", MEMORY_REQUEST, amount=request)
    if limit.value < 0:
        yield invalid("MemoryLimitNegative", MEMORY_LIMIT, amount=limit)
    if 0 < limit.value < request.value:
        yield invalid("MemoryRequestAboveLimit", MEMORY_REQUEST, amount=request, limit=limit)


def _asked(subject: Subject) -> Quantity:
    """The memory that pages must make up: the request, else the guest's, else the limit."""
    request = requested(subject.requests, "memory")
    if request.nanos:
        return request
    guest = subject.guest
    return requested(subject.limits, "memory") if guest is None else guest


def hugepages(subject: Subject) -> Iterator[Cause]:
    """Huge pages must make up the memory exactly."""
    if "hugepages" not in subject.memory:
        return
    written = subject.memory["hugepages"].get("pageSize", "")
    try:
        page = parse_quantity(written)
    except InvalidQuantity:
        yield invalid("PageSizeUnparsable", PAGE_SIZE, page_size=written)
        return
    memory = _asked(subject)
    if memory.value < page.value:
        yield invalid(
            "MemoryBelowPageSize", MEMORY_REQUEST, PAGE_SIZE, page_size=written, memory=memory
        )
    elif not page.value:
        yield invalid("PageSizeZero", PAGE_SIZE, page_size=written, memory=memory)
    elif memory.value % page.value:
        yield invalid(
            "MemoryNotPageMultiple", MEMORY_REQUEST, PAGE_SIZE, page_size=written, memory=memory
        )


def guest_limit(subject: Subject) -> Iterator[Cause]:
    """The guest's memory is held against the limit only where VMs are not updated live."""
    guest, limit = subject.guest, requested(subject.limits, "memory")
    if subject.settings.live_update or guest is None:
        return
    if limit.value and limit.value < guest.value:
        yield invalid("GuestMemoryAboveLimit", f"{MEMORY}.guest", amount=guest, limit=limit)


def reserved_overhead(subject: Subject) -> Iterator[Cause]:
    """Reserved overhead needs its gate."""
    if "reservedOverhead" in subject.memory and not subject.on("ReservedOverheadMemlock"):
        yield gate_off(
            "ReservedOverheadGateOff", "ReservedOverheadMemlock", f"{MEMORY}.reservedOverhead"
        )


def present(subject: Subject) -> Iterator[Cause]:
    """A VMI needs memory from somewhere."""
    if requested(subject.requests, "memory").value:
        return
    if "guest" not in subject.memory and "hugepages" not in subject.memory:
        yield required("MemoryMissing", "", "spec.domain")
