"""Stage 9: the launcher: why its pod could not be rendered, or could not build the domain.

Judged on what can be seen before: the claims that devices name must give one device for each
request, a resource must be asked for as often as devices name it, and it should come from a plugin
that tells KubeVirt the addresses. Names used twice and two boot framebuffers end earlier, at
admission; refusals to render that a stage of its own tells are left to it. Source: kubevirt
pkg/virt-controller/services/template.go, pkg/virt-launcher/virtwrap/device/hostdevice (gpu,
generic, dra) and pkg/dra.
"""

from collections.abc import Iterator
from typing import Final

from passway.cluster import kinds, records
from passway.cluster.amounts import HUGEPAGES, parse
from passway.kubevirt import placement_rules
from passway.kubevirt.admission import memory
from passway.kubevirt.admission.subject import subject_of
from passway.kubevirt.fields import mapping
from passway.kubevirt.launcher_pod import limit_items
from passway.kubevirt.permitted import permitted_of
from passway.manifest.spec import ClaimReference
from passway.model.devices import ClaimDevice
from passway.model.names import is_label
from passway.model.quantity import parse_quantity, quantity
from passway.model.verdict import Issue, Ref, Severity, Stage
from passway.preflight.stage import Question, state

STAGE: Final = Stage.LAUNCHER
FOR_CONTAINERS: Final = frozenset(
    {"nvidia.com/gpu", "nvidia.com/gpu.shared", "amd.com/gpu", "gpu.intel.com/i915",
     "gpu.intel.com/xe"}
)  # fmt: skip
"""Names that the vendors' plugins for containers use; they set no variable of KubeVirt's."""
MIG: Final = "nvidia.com/mig-"


def judge(question: Question) -> Iterator[Issue]:
    """The issues of this stage."""
    yield from _refusals(question)
    yield from _invalid(question)
    yield from _counts(question)
    yield from _plugins(question)
    declared = {claim.name: claim for claim in reversed(question.spec.claims)}
    for device in question.spec.claim_devices:
        if device.claim_name in declared:  # else admission refuses it
            yield from _claim(question, device, declared[device.claim_name])


def _refusals(question: Question) -> Iterator[Issue]:
    for refusal in question.pod.launch.refusals:
        if refusal.cause == "CpuRequestUnwritable":
            path = question.spec.vmi_field("domain.cpu")
            yield question.issue(STAGE, Severity.ERROR, refusal.cause, path)
        elif refusal.cause == "NetworkBindingUnknown":
            read = question.snapshot.read(kinds.KUBEVIRTS)
            if read.known:
                path = question.spec.vmi_field("domain.devices.interfaces")
                (binding,) = refusal.subjects
                yield question.issue(STAGE, Severity.ERROR, refusal.cause, path, binding=binding)
            else:
                what = "whether the network binding exists"
                yield question.issue(
                    STAGE, Severity.UNKNOWN, "KubeVirtUnreadable", state=state(read), what=what
                )


def _invalid(question: Question) -> Iterator[Issue]:
    """What the API server refuses in the pod that KubeVirt renders (pkg/apis/core/validation)."""
    launch, field = question.pod.launch, question.spec.vmi_field
    yield from _pages(question)
    yield from _own_limits(question)
    for key, value in sorted(launch.node_selector.items()):
        if not is_label(key, value):
            yield question.issue(
                STAGE, Severity.ERROR, "LauncherLabelInvalid", label=f"{key}={value}"
            )
    for fault in placement_rules.left_to_the_pod(mapping(question.mutated.vmi, "spec")):
        path = field(fault.path)
        yield question.issue(STAGE, Severity.ERROR, fault.rule, path, (), **fault.params)


def _pages(question: Question) -> Iterator[Issue]:
    """Parts of huge pages; where admission refuses the VM for its pages, that is enough."""
    amounts = question.pod.launch.containers[0].requests
    wanted = {name: amount for name, amount in amounts.items() if name.startswith(HUGEPAGES)}
    subject = subject_of(question.mutated.vmi, question.settings) if wanted else None
    if subject is None or any(memory.hugepages(subject)):
        return
    for resource, amount in sorted(wanted.items()):
        if amount.nanos % parse_quantity(resource.removeprefix(HUGEPAGES)).nanos:
            path = question.spec.vmi_field("domain.memory.hugepages")
            yield question.issue(
                STAGE, Severity.ERROR, "LauncherPagesPartial", path,
                resource=resource, requested=amount,
            )  # fmt: skip


def _own_limits(question: Question) -> Iterator[Issue]:
    """A request of the VM above the limit that KubeVirt writes where a quota wants limits.

    A limit that is the default of a limit range is told by the quota stage.
    """
    container = question.pod.launch.containers[0]
    defaults = [
        (resource, amount)
        for item in limit_items(question.snapshot, question.spec.namespace)
        for resource, amount in parse(item.default).items()
    ]
    for resource in ("cpu", "memory"):
        request, limit = container.requests.get(resource), container.limits.get(resource)
        if request is None or limit is None or request <= limit:
            continue
        if (resource, limit.nanos) not in defaults and resource not in question.spec.limits:
            yield question.issue(
                STAGE, Severity.ERROR, "LauncherRequestAboveLimit",
                question.path_of(resource), resource=resource, request=request, limit=limit,
            )  # fmt: skip


def _counts(question: Question) -> Iterator[Issue]:
    """What the VM itself writes for a resource replaces KubeVirt's count of its devices."""
    spec = question.spec
    names = [device.resource_name for device in spec.plugin_devices]
    for resource in sorted(set(names)):
        for field, given in (("requests", spec.requests), ("limits", spec.limits)):
            count = quantity(names.count(resource))
            if resource in given and given[resource] != count:
                yield question.issue(
                    STAGE,
                    Severity.ERROR,
                    "DeviceCountDiffers",
                    spec.vmi_field(f'domain.resources.{field}["{resource}"]'),
                    resource=resource,
                    given=given[resource],
                    devices=names.count(resource),
                )


def _plugins(question: Question) -> Iterator[Issue]:
    permitted = permitted_of(question.snapshot.kubevirt) or ()
    own = {permit.resource_name for permit in permitted if not permit.external}
    for device in question.spec.plugin_devices:
        name = device.resource_name
        if name not in own and (name in FOR_CONTAINERS or name.startswith(MIG)):
            path = f"{device.path}.deviceName"
            yield question.issue(
                STAGE, Severity.WARNING, "DeviceForContainers", path, resource=name
            )


def _claim(question: Question, device: ClaimDevice, claim: ClaimReference) -> Iterator[Issue]:
    kind = kinds.CLAIM_TEMPLATES if claim.template_name else kinds.RESOURCE_CLAIMS
    yield from question.unread(STAGE, kind, f"the request of device {device.name}")
    found = _requests(question, claim)
    if found is None:
        return  # the claims stage says so
    subject = Ref(kind.kind, claim.template_name or claim.claim_name or "", question.spec.namespace)
    request = next((item for item in found if item.name == device.request_name), None)
    reason = "ClaimRequestMissing" if request is None else _unusable(request)
    if reason:
        yield question.issue(
            STAGE,
            Severity.ERROR,
            reason,
            f"{device.path}.requestName",
            device=device.name,
            claim=subject,
            request=device.request_name,
            count=(request.devices or 0) if request else 0,
        )


def _unusable(request: records.DeviceRequest) -> str:
    """Why KubeVirt cannot use the request; empty where it can."""
    if request.first_available:
        return "RequestPrioritized"
    return "RequestHasManyDevices" if request.many else ""


def _requests(
    question: Question, claim: ClaimReference
) -> tuple[records.DeviceRequest, ...] | None:
    """The requests of the claim or template; None where there is no such object."""
    snapshot, namespace = question.snapshot, question.spec.namespace
    if claim.template_name:
        templates = snapshot.all(kinds.CLAIM_TEMPLATES, records.ResourceClaimTemplate)
        template = templates.get((namespace, claim.template_name))
        spec = template.spec.spec if template and template.spec else None
        return records.requests_of(spec) if template else None
    claims = snapshot.all(kinds.RESOURCE_CLAIMS, records.ResourceClaim)
    found = claims.get((namespace, claim.claim_name or ""))
    return records.requests_of(found.spec) if found else None
