"""Rules on the machine as a whole: names, machine type, firmware, probes, policies, architecture.

Sources: kubevirt pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go and
pkg/virt-api/webhooks/{amd64,arm64,s390x}.go. Not modelled: access credentials, launch security,
Hyper-V dependencies, affinity and spread constraints; KubeVirt may refuse a VM for those.
"""

from collections.abc import Iterator
from typing import Final

from passway.kubevirt.admission.cause import (
    Cause,
    gate_off,
    invalid,
    required,
    unsupported,
)
from passway.kubevirt.admission.disks import MAX_SERIAL, SERIAL
from passway.kubevirt.admission.subject import DEVICES, DOMAIN, Object, Subject
from passway.kubevirt.default_devices import DISK_TARGETS
from passway.manifest.nodes import child
from passway.model.names import InvalidName, dns_label, dns_subdomain

FIRMWARE: Final = f"{DOMAIN}.firmware"
PROBES: Final = ("readinessProbe", "livenessProbe")
HANDLERS: Final = ("httpGet", "tcpSocket", "exec", "guestAgentPing")
IO_POLICIES: Final = ("shared", "auto", "supplementalPool")
EVICTION_STRATEGIES: Final = ("LiveMigrate", "LiveMigrateIfPossible", "None", "External")
DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
SOUND_MODELS: Final = ("ich9", "ac97")
RESERVED_LABELS: Final = frozenset(
    {
        "kubevirt.io/created-by",
        "kubevirt.io/migrationJobUID",
        "kubevirt.io/nodeName",
        "kubevirt.io/migrationTargetNodeName",
        "kubevirt.io/schedulable",
        "kubevirt.io/install-strategy",
    }
)
GATED_ANNOTATIONS: Final = (
    ("kubevirt.io/ignitiondata", "ExperimentalIgnitionSupport", "IgnitionGateOff"),
    ("hooks.kubevirt.io/hookSidecars", "Sidecar", "SidecarGateOff"),
)
VIDEO_TYPES: Final = {
    "amd64": ("vga", "cirrus", "virtio", "ramfb", "bochs"),
    "arm64": ("virtio", "ramfb"),
    "s390x": ("virtio",),
}
WATCHDOGS: Final = {"amd64": "i6300esb", "s390x": "diag288"}
ARM64_BUSES: Final = ("", "virtio", "scsi")


def names(subject: Subject) -> Iterator[Cause]:
    """Host name and subdomain."""
    for field, check in (("hostname", dns_label), ("subdomain", dns_subdomain)):
        name = subject.spec.get(field, "")
        if name:
            try:
                check(name)
            except InvalidName:
                yield invalid("HostNameMalformed", f"spec.{field}", field=field, name=name)


def machine_type(subject: Subject) -> Iterator[Cause]:
    """The machine type is one that the cluster allows."""
    machine, settings = subject.domain["machine"]["type"], subject.settings
    if not settings.allows_machine(subject.architecture, machine):
        allowed = settings.machine_patterns(subject.architecture)
        yield invalid(
            "MachineTypeUnsupported", f"{DOMAIN}.machine.type", machine=machine, allowed=allowed
        )


def serial(subject: Subject) -> Iterator[Cause]:
    """The firmware's serial number."""
    text, path = subject.domain["firmware"].get("serial", ""), f"{FIRMWARE}.serial"
    if len(text) > MAX_SERIAL:
        yield invalid("SerialTooLong", path, limit=MAX_SERIAL)
    if text and not SERIAL.fullmatch(text):
        yield invalid("SerialMalformed", path)


def start_strategy(subject: Subject) -> Iterator[Cause]:
    """Starting paused is all there is, and a liveness probe would not stand it."""
    strategy = subject.spec.get("startStrategy")
    if strategy is None:
        return
    if strategy != "Paused":
        yield invalid("StartStrategyUnknown", "spec.startStrategy", strategy=strategy)
    elif "livenessProbe" in subject.spec:
        yield invalid("PausedWithLivenessProbe", "spec.startStrategy")


def inputs(subject: Subject) -> Iterator[Cause]:
    """Input devices are tablets on USB or virtio."""
    for index, device in enumerate(subject.devices.get("inputs", ())):
        path = f"{DEVICES}.inputs[{index}]"
        if device["bus"] not in {"virtio", "usb"}:
            yield invalid("InputUnsupported", f"{path}.bus", field="bus", value=device["bus"])
        if device["type"] != "tablet":
            yield invalid("InputUnsupported", f"{path}.type", field="type", value=device["type"])


def io_threads(subject: Subject) -> Iterator[Cause]:
    """The policy is known, and a pool has a size."""
    policy = subject.domain.get("ioThreadsPolicy")
    if policy is None:
        return
    if policy not in IO_POLICIES:
        yield invalid(
            "IoThreadsPolicyUnknown", f"{DOMAIN}.ioThreadsPolicy", policy=policy,
            allowed=IO_POLICIES,
        )  # fmt: skip
    count = subject.domain.get("ioThreads", {}).get("supplementalPoolThreadCount", 0)
    if policy == "supplementalPool" and count < 1:
        field = f"{DOMAIN}.ioThreads.count"
        yield invalid("IoThreadsCountMissing", field, f"{DOMAIN}.ioThreadsPolicy")


def probes(subject: Subject) -> Iterator[Cause]:
    """A probe has one handler, and one that asks over the network needs the pod network."""
    for name in PROBES:
        if name in subject.spec:
            yield from _handlers(f"spec.{name}", subject.spec[name])
    if not any("pod" in network for network in subject.networks):
        for name in PROBES:
            for handler in HANDLERS[:2]:
                if handler in subject.spec.get(name, {}):
                    yield invalid("ProbeNeedsPodNetwork", f"spec.{name}.{handler}", probe=name)


def _handlers(path: str, probe: Object) -> Iterator[Cause]:
    given = tuple(handler for handler in HANDLERS if handler in probe)
    name = path.rpartition(".")[2]
    if len(given) > 1:
        yield invalid("ProbeHandlerCount", path, probe=name, count=len(given))
    elif not given:
        yield required("ProbeHandlerCount", path, probe=name, count=0)


def firmware(subject: Subject) -> Iterator[Cause]:
    """One boot loader; secure boot needs system management mode."""
    loader = subject.domain["firmware"].get("bootloader", {})
    if "efi" in loader and "bios" in loader:
        yield invalid("BootLoadersBoth", f"{FIRMWARE}.bootloader")
    secure = "efi" in loader and loader["efi"].get("secureBoot") is not False
    if secure and not subject.domain["features"].get("smm", {}).get("enabled"):
        yield invalid("SecureBootNeedsSmm", DOMAIN, f"{FIRMWARE}.bootloader.efi")


def dns_policy(subject: Subject) -> Iterator[Cause]:
    """The DNS policy is one of Kubernetes."""
    policy = subject.spec.get("dnsPolicy", "")
    if policy and policy not in DNS_POLICIES:
        yield unsupported("DnsPolicyUnknown", "spec.dnsPolicy", policy=policy, allowed=DNS_POLICIES)
    if policy == "None" and "dnsConfig" not in subject.spec:
        yield required("DnsConfigMissing", "spec.dnsConfig", "spec.dnsPolicy")


def eviction(subject: Subject) -> Iterator[Cause]:
    """The eviction strategy is known."""
    strategy = subject.spec["evictionStrategy"]
    if strategy not in EVICTION_STRATEGIES:
        yield invalid(
            "EvictionStrategyUnknown", "spec.evictionStrategy",
            strategy=strategy, allowed=EVICTION_STRATEGIES,
        )  # fmt: skip


def sound(subject: Subject) -> Iterator[Cause]:
    """A sound card has a name and a known model."""
    device = subject.devices.get("sound")
    if device is None:
        return
    field, path = "spec.Sound", f"{DEVICES}.sound"
    model = device.get("model", "")
    if model and model not in SOUND_MODELS:
        yield invalid("SoundModelUnsupported", field, f"{path}.model", model=model)
    if not device["name"]:
        yield invalid("SoundNameMissing", field, path)


def gated_devices(subject: Subject) -> Iterator[Cause]:
    """Devices that need a gate."""
    if subject.devices.get("autoattachVSOCK") and not subject.on("VSOCK"):
        yield gate_off("VsockGateOff", "VSOCK", f"{DEVICES}.autoattachVSOCK")
    if "downwardMetrics" in subject.devices and not subject.on("DownwardMetrics"):
        yield gate_off("DownwardMetricsGateOff", "DownwardMetrics", f"{DEVICES}.downwardMetrics")


def metadata(subject: Subject) -> Iterator[Cause]:
    """Labels that only KubeVirt may set, and annotations that need a gate."""
    reserved = sorted(RESERVED_LABELS.intersection(subject.labels))
    if reserved:
        yield unsupported(
            "LabelReserved", "metadata.labels", child("metadata.labels", reserved[0]),
            labels=tuple(reserved),
        )  # fmt: skip
    for annotation, gate, rule in GATED_ANNOTATIONS:
        if subject.annotations.get(annotation) and not subject.on(gate):
            place = child("metadata.annotations", annotation)
            yield invalid(rule, "metadata.annotations", place, gate=gate, field=annotation)


def architecture(subject: Subject) -> Iterator[Cause]:
    """What an architecture has no device for."""
    name = subject.architecture
    if name not in VIDEO_TYPES:
        yield invalid(
            "ArchitectureUnsupported", "spec.architecture",
            architecture=name, allowed=tuple(VIDEO_TYPES),
        )  # fmt: skip
        return
    if name == "arm64":
        yield from _arm64(subject)
    watchdog = subject.devices.get("watchdog")
    if watchdog is not None:
        known = WATCHDOGS.get(name, "")
        if [action for action in WATCHDOGS.values() if action in watchdog] != [known]:
            yield _missing(name, "watchdog", f"{DEVICES}.watchdog")
    if name == "arm64" and "sound" in subject.devices:
        yield _missing(name, "sound", f"{DEVICES}.sound")
    video = subject.devices.get("video")
    if video is not None and video.get("type", "") not in VIDEO_TYPES[name]:
        yield _missing(name, "video type", f"{DEVICES}.video.type")


def _arm64(subject: Subject) -> Iterator[Cause]:
    loader = subject.domain["firmware"].get("bootloader", {})
    if "bios" in loader:
        yield _missing("arm64", "BIOS", f"{FIRMWARE}.bootloader.bios")
    if "efi" in loader and loader["efi"].get("secureBoot"):
        field = f"{FIRMWARE}.bootloader.efi"
        yield _missing("arm64", "secure boot", f"{field}.secureboot", f"{field}.secureBoot")
    if subject.cpu["model"] != "host-passthrough":
        yield _missing("arm64", "CPU model", f"{DOMAIN}.cpu.model")
    for index, disk in enumerate(subject.disks):
        for target in DISK_TARGETS:
            if disk.get(target, {}).get("bus", "") not in ARM64_BUSES:
                yield _missing("arm64", "disk bus", f"{DEVICES}.disks[{index}].{target}.bus")


def _missing(architecture: str, what: str, field: str, path: str | None = None) -> Cause:
    return unsupported("ArchitectureLacks", field, path, architecture=architecture, what=what)
