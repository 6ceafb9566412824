"""Rules on CPUs: amounts, dedicated CPUs, NUMA passthrough, real time, features, hotplug.

Source: kubevirt pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go. Rules on
the memory of VMs with dedicated CPUs are here too, because KubeVirt asks for them in one go.
"""

from collections.abc import Iterator
from typing import Final

from passway.kubevirt.admission.cause import Cause, invalid, required, unsupported
from passway.kubevirt.admission.subject import DOMAIN, Subject, requested

CPU: Final = f"{DOMAIN}.cpu"
REQUEST: Final = f"{DOMAIN}.resources.requests.cpu"
LIMIT: Final = f"{DOMAIN}.resources.limits.cpu"
MEMORY_REQUEST: Final = f"{DOMAIN}.resources.requests.memory"
MEMORY_LIMIT: Final = f"{DOMAIN}.resources.limits.memory"
DEDICATED: Final = f"{CPU}.dedicatedCpuPlacement"
PASSTHROUGH: Final = f"{CPU}.numa.guestMappingPassthrough"
POLICIES: Final = frozenset({"", "force", "require", "optional", "disable", "forbid"})
MAX_THREADS: Final = 2


def amounts(subject: Subject) -> Iterator[Cause]:
    """Negative amounts, and a request above the limit."""
    request, limit = requested(subject.requests, "cpu"), requested(subject.limits, "cpu")
    if request.milli_value < 0:
        yield invalid("CpuRequestNegative", REQUEST, amount=request)
    if limit.milli_value < 0:
        yield invalid("CpuLimitNegative", LIMIT, amount=limit)
    if 0 < limit.milli_value < request.milli_value:
        yield invalid("CpuRequestAboveLimit", REQUEST, amount=request, limit=limit)


def pinning(subject: Subject) -> Iterator[Cause]:
    """What dedicated CPUs ask for."""
    if not subject.dedicated:
        return
    yield from _pinned_memory(subject)
    yield from _whole_cpus(subject)
    yield from _equal_memory(subject)
    request, limit = requested(subject.requests, "cpu"), requested(subject.limits, "cpu")
    if request.value > 0 and limit.value > 0 and request.value != limit.value:
        yield invalid("DedicatedCpuRequestNotLimit", DEDICATED, amount=request, limit=limit)
    counts = (request.value, limit.value)
    if max(counts) > 0 and subject.vcpus not in counts:
        yield invalid(
            "DedicatedCpuTopologyConflict", DEDICATED,
            vcpus=subject.vcpus, amount=request if request.value > 0 else limit,
        )  # fmt: skip
    threads = subject.cpu.get("threads", 0)
    if threads > 1 and subject.architecture == "arm64":
        yield invalid(
            "Arm64Threads", "spec.architecture", f"{CPU}.threads", threads=threads, most=1
        )
    if threads > MAX_THREADS:
        yield invalid(
            "DedicatedCpuTooManyThreads",
            DEDICATED,
            f"{CPU}.threads",
            threads=threads,
            most=MAX_THREADS,
        )


def _pinned_memory(subject: Subject) -> Iterator[Cause]:
    given = (requested(subject.requests, "memory"), requested(subject.limits, "memory"))
    other = "hugepages" in subject.memory or "guest" in subject.memory
    if not other and not any(amount.value for amount in given):
        yield invalid("DedicatedCpuNeedsMemory", MEMORY_LIMIT, f"{DOMAIN}.memory")


def _whole_cpus(subject: Subject) -> Iterator[Cause]:
    for rule, path, held in (
        ("DedicatedCpuRequestFractional", REQUEST, subject.requests),
        ("DedicatedCpuLimitFractional", LIMIT, subject.limits),
    ):
        amount = requested(held, "cpu")
        if amount.value > 0 and amount.value * 1000 != amount.milli_value:
            yield invalid(rule, path, amount=amount)


def _equal_memory(subject: Subject) -> Iterator[Cause]:
    request, limit = requested(subject.requests, "memory"), requested(subject.limits, "memory")
    if request.value > 0 and limit.value > 0 and request.value != limit.value:
        yield invalid("DedicatedMemoryRequestNotLimit", MEMORY_REQUEST, amount=request, limit=limit)


def numa(subject: Subject) -> Iterator[Cause]:
    """What NUMA passthrough asks for."""
    if "guestMappingPassthrough" not in subject.cpu.get("numa", {}):
        return
    if not subject.dedicated:
        yield invalid("NumaWithoutDedicatedCpus", PASSTHROUGH)
    if "hugepages" not in subject.memory:
        yield invalid("NumaWithoutHugepages", PASSTHROUGH)


def emulator_thread(subject: Subject) -> Iterator[Cause]:
    """A CPU of its own for the emulator needs dedicated CPUs."""
    if subject.cpu.get("isolateEmulatorThread") and not subject.dedicated:
        yield invalid("EmulatorThreadNeedsDedicatedCpus", f"{CPU}.isolateEmulatorThread")


def features(subject: Subject) -> Iterator[Cause]:
    """The policies of CPU features."""
    for index, feature in enumerate(subject.cpu.get("features", ())):
        policy = feature.get("policy", "")
        if policy not in POLICIES:
            yield unsupported(
                "CpuFeaturePolicyUnsupported", f"{CPU}.features[{index}].policy",
                feature=feature["name"], policy=policy,
            )  # fmt: skip


def hotplug(subject: Subject) -> Iterator[Cause]:
    """No more sockets than the most there may be."""
    most, sockets = subject.cpu.get("maxSockets", 0), subject.cpu.get("sockets", 0)
    if most and sockets > most:
        yield invalid("SocketsAboveMaximum", f"{CPU}.sockets", sockets=sockets, most=most)


def realtime(subject: Subject) -> Iterator[Cause]:
    """What real time asks for."""
    if "realtime" not in subject.cpu:
        return
    if not subject.dedicated:
        yield required(
            "RealtimeNeedsDedicatedCpus",
            DEDICATED,
            f"{CPU}.realtime",
            field="dedicatedCpuPlacement",
        )
    if "guestMappingPassthrough" not in subject.cpu.get("numa", {}):
        yield required(
            "RealtimeNeedsNuma", PASSTHROUGH, f"{CPU}.realtime", field="guestMappingPassthrough"
        )
