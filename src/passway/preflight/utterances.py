"""What components mean by their words: from a reason or a message to a stage and a reason of ours.

Owns the fragments by which the messages of virt-controller, the API server, the kubelet and
libvirt are told apart, each with its source. Only what stays the same between releases is compared;
whatever is not recognized means the general reason of the place where it was said.
"""

import re
from dataclasses import dataclass
from typing import Final

from passway.model.verdict import Stage

_WEBHOOK: Final = re.compile(r'admission webhook "([^"\s]{1,253})" denied the request')


@dataclass(frozen=True, slots=True)
class Meaning:
    """The stage that words speak of, and the reason of ours for them."""

    stage: Stage
    reason: str


# virt-controller: services/renderresources.go, network/multus.go; API server: plugin/pkg/admission
_LAUNCHER: Final = (
    ("is not permitted in permittedHostDevices", Meaning(Stage.PERMISSION, "LauncherNotRendered")),
    ("network attachment definition", Meaning(Stage.NETWORKS, "LauncherNotRendered")),
    ("exceeded quota", Meaning(Stage.QUOTA, "LauncherRefused")),
    ("violates PodSecurity", Meaning(Stage.QUOTA, "LauncherRefusedBySecurity")),
    ("denied the request", Meaning(Stage.QUOTA, "LauncherRefusedByWebhook")),
    ("failed to render launch manifest", Meaning(Stage.LAUNCHER, "LauncherNotRendered")),
)
# kubelet: pkg/kubelet/lifecycle, cm/topologymanager, cm/devicemanager
_REJECTIONS: Final = {
    "TopologyAffinityError": "KubeletRejectedTopology",
    "UnexpectedAdmissionError": "KubeletRejectedDevices",
    "SMTAlignmentError": "KubeletRejectedTopology",
    "Evicted": "PodEvicted",
    "NodeAffinity": "KubeletRejectedNode",
    "NodeShutdown": "PodEvicted",
    "Terminated": "PodEvicted",
}
_OUT_OF: Final = "OutOf"
_NOT_PULLED: Final = Meaning(Stage.KUBELET, "ImageNotPulled")
_NOT_CREATED: Final = Meaning(Stage.KUBELET, "ContainerNotCreated")
# kubelet: pkg/kubelet/images, pkg/kubelet/container
_WAITING: Final = {
    **dict.fromkeys(
        ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"), _NOT_PULLED
    ),
    **dict.fromkeys(
        ("CreateContainerConfigError", "CreateContainerError", "RunContainerError",
         "CrashLoopBackOff"),
        _NOT_CREATED,
    ),
}  # fmt: skip
# kubelet: pkg/kubelet/events; the last two are said of images and of containers alike
EVENTS: Final = {
    "FailedCreatePodSandBox": Meaning(Stage.KUBELET, "SandboxNotCreated"),
    "FailedMount": Meaning(Stage.KUBELET, "VolumeNotMounted"),
    "FailedAttachVolume": Meaning(Stage.KUBELET, "VolumeNotMounted"),
    "FailedPrepareDynamicResources": Meaning(Stage.KUBELET, "ClaimNotPrepared"),
    "FailedCreateContainer": _NOT_CREATED,
    "Failed": _NOT_CREATED,
    "BackOff": _NOT_CREATED,
}
# libvirt and QEMU: hw/vfio; KubeVirt: pkg/virt-launcher/virtwrap/device/hostdevice
_DOMAIN: Final = (
    (re.compile(r"group \d+ is not viable|not viable|iommu", re.IGNORECASE),
     Meaning(Stage.HOST, "IommuGroupNotViable")),
    (re.compile(r"VFIO_MAP_DMA|memory lock|RLIMIT_MEMLOCK|cannot allocate memory", re.IGNORECASE),
     Meaning(Stage.HOST, "GuestMemoryNotMapped")),
    (re.compile(r"do(?:es)? not match the number of|failed to (?:pop|create) .*(?:device|address)",
                re.IGNORECASE),
     Meaning(Stage.LAUNCHER, "DevicesNotHandedOver")),
)  # fmt: skip
_OTHER_DOMAIN: Final = Meaning(Stage.LAUNCHER, "DomainNotStarted")


def webhook_of(message: str) -> str | None:
    """The webhook that refused, by the API server's words."""
    found = _WEBHOOK.search(message)
    return found[1] if found else None


def of_launcher(message: str) -> Meaning:
    """Why no launcher was made, by the message of FailedCreate."""
    for fragment, meaning in _LAUNCHER:
        if fragment in message:
            return meaning
    return Meaning(Stage.QUOTA, "LauncherRefused")


def of_rejection(reason: str) -> Meaning | None:
    """Why the kubelet did not take a pod that was bound to its node, by the pod's reason."""
    if reason.startswith(_OUT_OF):
        return Meaning(Stage.KUBELET, "KubeletOutOfResource")
    found = _REJECTIONS.get(reason)
    return Meaning(Stage.KUBELET, found) if found else None


def of_container(reason: str) -> Meaning | None:
    """Why a container does not start, by what it waits for."""
    return _WAITING.get(reason)


def of_event(reason: str, message: str) -> Meaning:
    """Why a bound launcher does not start, by an event with one of the EVENTS' reasons."""
    meaning = EVENTS[reason]
    return _NOT_PULLED if meaning == _NOT_CREATED and "pull" in message.lower() else meaning


def of_domain(message: str) -> Meaning:
    """Why the guest is not started, by the message of virt-handler."""
    for pattern, meaning in _DOMAIN:
        if pattern.search(message):
            return meaning
    return _OTHER_DOMAIN


# the API server: plugin/pkg/admission/{resourcequota,limitranger,podsecurity,serviceaccount}
_SPEAKERS: Final = (
    (re.compile(r"exceeded quota: ([^,\s]{1,253})|failed quota: ([^:\s]{1,253})"),
     "ResourceQuota"),
    (re.compile(r"violates PodSecurity"), "Pod Security"),
    (re.compile(r"ValidatingAdmissionPolicy '([^']{1,253})'"), "ValidatingAdmissionPolicy"),
    (re.compile(r"forbidden: \[?(?:minimum|maximum) .* usage per "), "LimitRange"),
)  # fmt: skip
SERVER: Final = "kube-apiserver"
KUBEVIRT_WEBHOOK: Final = ".kubevirt.io"
MODELLED_SPEAKERS: Final = ("ResourceQuota", "LimitRange", SERVER, "virt-api")


def speaker_of(message: str) -> str:
    """Who refused an object, by the API server's words."""
    webhook = webhook_of(message)
    if webhook is not None:
        own = webhook.endswith(KUBEVIRT_WEBHOOK)
        return f"virt-api ({webhook})" if own else f"webhook {webhook}"
    for pattern, speaker in _SPEAKERS:
        found = pattern.search(message)
        if found:
            name = next((item for item in found.groups() if item), "")
            return f"{speaker} {name}".strip()
    return SERVER
