"""Stage 1: what KubeVirt's admission refuses.

In this form the placement rules (NUMA passthrough, dedicated CPUs, hugepages), the device gates and
the claims that devices name; rule numbers are those of facts on virt-api's validating webhooks
(kubevirt pkg/virt-api/webhooks, pkg/dra/admitter). What is not modelled is not guessed: an
instance type that was not applied is unknown.
"""

from collections.abc import Iterator
from typing import Final

from passway.cluster import kinds, records
from passway.cluster.snapshot import Read
from passway.kubevirt.gates import gates_of
from passway.manifest.spec import MachineSpec
from passway.model.names import nearest
from passway.model.quantity import InvalidQuantity, Quantity, parse_quantity
from passway.model.verdict import Issue, Severity, Stage
from passway.preflight.stage import Question, state

STAGE: Final = Stage.ADMISSION
CLAIM_GATES: Final = {"gpu": "GPUsWithDRA", "host-device": "HostDevicesWithDRA"}


def judge(question: Question) -> Iterator[Issue]:
    """The issues of this stage."""
    yield from _namespace(question)
    yield from _placement(question)
    yield from _claims(question)
    yield from _gates(question)
    if question.spec.instancetype:
        yield question.issue(
            STAGE,
            Severity.UNKNOWN,
            "InstancetypeNotApplied",
            "spec.instancetype",
            kind=question.spec.instancetype.kind,
            name=question.spec.instancetype.name,
        )


def _namespace(question: Question) -> Iterator[Issue]:
    yield from question.unread(STAGE, kinds.NAMESPACES, "whether the namespace exists")
    snapshot, namespace = question.snapshot, question.spec.namespace
    found = [name for _, name in snapshot.all(kinds.NAMESPACES, records.Named)]
    if snapshot.read(kinds.NAMESPACES).known and namespace not in found:
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "NamespaceMissing",
            "metadata.namespace",
            namespace=namespace,
            near=nearest(namespace, found),
        )


def _placement(question: Question) -> Iterator[Issue]:
    spec = question.spec
    numa = spec.vmi_field("domain.cpu.numa.guestMappingPassthrough")
    if spec.cpu.numa_passthrough and not spec.cpu.dedicated:
        yield question.issue(STAGE, Severity.ERROR, "NumaWithoutDedicatedCpus", numa)
    if spec.cpu.numa_passthrough and not spec.memory.hugepages:
        yield question.issue(STAGE, Severity.ERROR, "NumaWithoutHugepages", numa)
    if spec.memory.hugepages and not _divides(spec.memory.hugepages, _asked(spec)):
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "InvalidHugepages",
            spec.vmi_field("domain.memory.hugepages.pageSize"),
            page_size=spec.memory.hugepages,
            memory=_asked(spec) or "",
        )


def _asked(spec: MachineSpec) -> Quantity | None:
    """The memory that pages must make up."""
    return spec.requests.get("memory") or spec.memory.guest or spec.limits.get("memory")


def _divides(page_size: str, memory: Quantity | None) -> bool:
    """Upstream crashes on a page size of zero; here it divides nothing."""
    try:
        page = parse_quantity(page_size).nanos
    except InvalidQuantity:
        return False
    return page > 0 and (memory is None or memory.nanos % page == 0)


def _claims(question: Question) -> Iterator[Issue]:
    declared = [claim.name for claim in question.spec.claims]
    seen: set[tuple[str, str]] = set()
    for device in question.spec.claim_devices:
        if device.claim_name not in declared:
            yield question.issue(
                STAGE,
                Severity.ERROR,
                "ClaimNotDeclared",
                f"{device.path}.claimName",
                device=device.name,
                claim=device.claim_name,
                near=nearest(device.claim_name, declared),
            )
        pair = (device.claim_name, device.request_name)
        if pair in seen:
            yield question.issue(
                STAGE,
                Severity.ERROR,
                "ClaimRequestReused",
                f"{device.path}.requestName",
                claim=pair[0],
                request=pair[1],
            )
        seen.add(pair)


def _gates(question: Question) -> Iterator[Issue]:
    """Gates that the VM's devices need; without a KubeVirt object nothing would run at all."""
    needed = {
        CLAIM_GATES[device.kind]: f"{device.path}.claimName"
        for device in reversed(question.spec.claim_devices)
    }
    if any(device.kind == "host-device" for device in question.spec.devices):
        needed["HostDevices"] = question.spec.vmi_field("domain.devices.hostDevices")
    read = question.snapshot.read(kinds.KUBEVIRTS)
    if read is Read.EMPTY:
        yield question.issue(STAGE, Severity.ERROR, "KubeVirtMissing")
    elif not read.known and needed:
        yield question.issue(
            STAGE,
            Severity.UNKNOWN,
            "KubeVirtUnreadable",
            state=state(read),
            what=f"the feature gates {', '.join(sorted(needed))}",
        )
    elif read.known:
        gates = gates_of(question.snapshot.kubevirt)
        for gate, path in sorted(needed.items()):
            if not gates.on(gate):
                yield question.issue(
                    STAGE,
                    Severity.ERROR,
                    "FeatureGateOff",
                    path,
                    gate=gate,
                    field=path.rpartition(".")[2],
                )
