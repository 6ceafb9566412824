"""Stage 4: the network attachments of SR-IOV interfaces, and the pools behind them.

Owns the chain CRD -> attachment -> pool annotation -> resource -> who asks for it. With the gate
ExternalNetResourceInjection on, KubeVirt leaves the request for a virtual function to the webhook
of network-resources-injector; without that webhook the VM starts without its function. An empty
pool is told here, and left out of the scheduling stage.
"""

from collections.abc import Iterator
from typing import Final

from passway.cluster import kinds, records
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.gates import gates_of
from passway.manifest.spec import Interface, MachineSpec
from passway.model.names import nearest
from passway.model.quantity import quantity
from passway.model.verdict import Issue, Ref, Severity, Stage
from passway.preflight import supply
from passway.preflight.stage import Question, ref

STAGE: Final = Stage.NETWORKS
CRD: Final = "network-attachment-definitions.k8s.cni.cncf.io"
POOL: Final = "k8s.v1.cni.cncf.io/resourceName"
INJECTOR: Final = "network-resources-injector"
GATE: Final = "ExternalNetResourceInjection"


def functions(spec: MachineSpec, snapshot: Snapshot) -> dict[str, int]:
    """The virtual functions that the launcher asks for: resource -> count, one a network.

    None where KubeVirt leaves that to the injector and the injector is not there.
    """
    return {} if _injector_missing(snapshot) else needed(spec, snapshot)


def needed(spec: MachineSpec, snapshot: Snapshot) -> dict[str, int]:
    """The virtual functions that the machine's networks need, whoever asks for them."""
    wanted: dict[str, int] = {}
    for interface in spec.interfaces:
        pool = pool_of(_attachment(interface, spec, snapshot))
        if pool:
            wanted[pool] = wanted.get(pool, 0) + 1
    return wanted


def judge(question: Question) -> Iterator[Issue]:
    """The issues of this stage."""
    interfaces = [item for item in question.spec.interfaces if item.attachment]
    if not interfaces:
        return
    if multus_installed(question.snapshot) is False:
        for interface in interfaces:
            yield question.issue(
                STAGE,
                Severity.ERROR,
                "MultusMissing",
                interface.attachment_path,
                network=interface.name,
            )
        return
    own, snapshot = question.spec.namespace, question.snapshot
    spaces = sorted({attachment_key(item.attachment or "", own)[0] for item in interfaces})
    unread = [space for space in spaces if not snapshot.read(kinds.ATTACHMENTS, space).known]
    for space in unread[:1]:
        what = "the network attachments"
        yield from question.unread(STAGE, kinds.ATTACHMENTS, what, space)
    for interface in interfaces:
        if attachment_key(interface.attachment or "", own)[0] not in unread:
            yield from _judge(question, interface)
    if not unread:
        yield from _injector(question, interfaces)


def multus_installed(snapshot: Snapshot) -> bool | None:
    """Whether the CRD is there; None (which counts as there) where that was not read."""
    if snapshot.all(kinds.ATTACHMENTS, records.Named):
        return True
    if not snapshot.read(kinds.CRDS).known:
        return None
    return ("", CRD) in snapshot.all(kinds.CRDS, records.Named)


def attachment_key(name: str, namespace: str) -> tuple[str, str]:
    """`[namespace/]name` as written in a VM of that namespace -> key."""
    given, slash, rest = name.rpartition("/")
    return (given if slash else namespace, rest)


def _attachment(
    interface: Interface, spec: MachineSpec, snapshot: Snapshot
) -> records.Named | None:
    if not interface.attachment:
        return None
    key = attachment_key(interface.attachment, spec.namespace)
    return snapshot.all(kinds.ATTACHMENTS, records.Named).get(key)


def pool_of(attachment: records.Named | None) -> str | None:
    """The resource that an attachment takes its virtual functions from."""
    return (attachment.metadata.annotations or {}).get(POOL) if attachment else None


def pools(snapshot: Snapshot) -> dict[str, list[Ref]]:
    """Pool resource -> the attachments that take from it, sorted; permits do not apply to them."""
    found: dict[str, list[Ref]] = {}
    for key, attachment in sorted(snapshot.all(kinds.ATTACHMENTS, records.Named).items()):
        pool = pool_of(attachment)
        if pool:
            found.setdefault(pool, []).append(ref(kinds.ATTACHMENTS, key))
    return found


def _judge(question: Question, interface: Interface) -> Iterator[Issue]:
    snapshot, spec = question.snapshot, question.spec
    attachment = _attachment(interface, spec, snapshot)
    key = attachment_key(interface.attachment or "", spec.namespace)
    subject = ref(kinds.ATTACHMENTS, key)
    path = interface.attachment_path
    if attachment is None:
        known = snapshot.all(kinds.ATTACHMENTS, records.Named)
        near = nearest(key[1], [name for namespace, name in known if namespace == key[0]])
        yield question.issue(
            STAGE, Severity.ERROR, "AttachmentMissing", path, attachment=subject, near=near
        )
        return
    pool = pool_of(attachment)
    if pool is None:
        if interface.sriov:
            yield question.issue(
                STAGE, Severity.WARNING, "AttachmentWithoutPool", path, attachment=subject
            )
        return
    yield from _supply(question, interface, subject, pool)


def _supply(question: Question, interface: Interface, subject: Ref, pool: str) -> Iterator[Issue]:
    snapshot = question.snapshot
    if not snapshot.read(kinds.NODES).known:
        return  # the scheduling stage says so
    wanted = question.pod.requests.get(pool, 0)
    path = interface.attachment_path
    if not supply.advertised(snapshot, pool):
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "VfPoolNotAdvertised",
            path,
            attachment=subject,
            resource=pool,
            near=nearest(pool, list(snapshot.devices())),
        )
    elif not supply.enough(snapshot, pool, wanted):
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "VfPoolExhausted",
            path,
            tuple(sorted(snapshot.advertisers[pool])),
            attachment=subject,
            resource=pool,
            wanted=quantity(wanted),
            free=supply.free(snapshot, pool),
            holders=supply.holders(snapshot, pool),
        )


def _injector(question: Question, interfaces: list[Interface]) -> Iterator[Issue]:
    snapshot = question.snapshot
    pools = sorted(needed(question.spec, snapshot))
    if not pools or not gates_of(snapshot.kubevirt).on(GATE):
        return
    yield from question.unread(
        STAGE, kinds.MUTATING_WEBHOOKS, "whether network-resources-injector is installed"
    )
    if _injector_missing(snapshot):
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "InjectorMissing",
            interfaces[0].attachment_path,
            resource=tuple(pools),
        )


def _injector_missing(snapshot: Snapshot) -> bool:
    """It is known not to be there, and KubeVirt leaves the functions to it."""
    if not gates_of(snapshot.kubevirt).on(GATE):
        return False
    if not snapshot.read(kinds.MUTATING_WEBHOOKS).known:
        return False
    hooks = snapshot.all(kinds.MUTATING_WEBHOOKS, records.MutatingWebhookConfiguration)
    named = [name for _, name in hooks]
    named += [hook.name for entry in hooks.values() for hook in entry.webhooks or ()]
    return not any(INJECTOR in name for name in named)
