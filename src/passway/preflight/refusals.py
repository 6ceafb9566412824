"""From the causes of KubeVirt's admission to reasons and to places in the manifest.

Owns which rule is told by which reason: a rule's own name where it needs words of its own, else the
reason of its group. A field path of the VMI becomes one of the document, so that the issue has line
and column.
"""

from collections.abc import Iterator
from typing import Final

from passway.kubevirt.admission.cause import Cause, Site
from passway.manifest.spec import MachineSpec

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "AmountNegative": ("CpuRequestNegative", "CpuLimitNegative", "MemoryLimitNegative"),
    "BindingDiscontinued": ("SlirpDiscontinued", "MacvtapDiscontinued", "PasstDiscontinued"),
    "BlockSizeInvalid": ("BlockSizeTwice", "BlockSizeLogicalLarger", "BlockSizeUnsupported"),
    "BootOrderInvalid": ("BootOrderZero", "BootOrderDuplicate"),
    "ClaimIncomplete": (
        "GpuClaimNameMissing",
        "GpuRequestNameMissing",
        "HostDeviceClaimNameMissing",
        "HostDeviceRequestNameMissing",
    ),
    "ClaimNameInvalid": ("ClaimNameMissing", "ClaimNameMalformed"),
    "ClaimReferenceCount": ("ClaimReferenceMissing", "ClaimReferenceAmbiguous"),
    "ClaimReferenceInvalid": ("ClaimReferenceMalformed",),
    "ClaimRequestReused": ("ClaimRequestShared", "NetworkClaimRequestReused"),
    "CloudInitInvalid": (
        "CloudInitNotBase64",
        "CloudInitSourcesMany",
        "CloudInitTooLong",
        "CloudInitEmpty",
    ),
    "DedicatedAmountsDiffer": ("DedicatedCpuRequestNotLimit", "DedicatedMemoryRequestNotLimit"),
    "DedicatedCpuFractional": ("DedicatedCpuRequestFractional", "DedicatedCpuLimitFractional"),
    "DeviceAndClaim": ("GpuHasNameAndClaim", "HostDeviceHasNameAndClaim"),
    "DeviceWithoutSource": ("GpuHasNeither", "HostDeviceHasNeither"),
    "DiskBusUnsupported": (
        "CdromOnVirtio",
        "SataDiskReadOnly",
        "IoThreadNeedsVirtio",
        "DiskAddressNeedsVirtio",
    ),
    "DiskNameInvalid": ("DiskNameMalformed",),
    "DiskOptionUnsupported": ("DiskModeUnsupported",),
    "DnsPolicyInvalid": ("DnsPolicyUnknown", "DnsConfigMissing"),
    "DuplicateName": (
        "DiskNameDuplicate",
        "NetworkNameDuplicate",
        "NetworkUsedTwice",
        "VolumeNameDuplicate",
    ),
    "FilePathInvalid": ("FilePathMalformed",),
    "GraceAnnotation": ("GraceRootComplexPlacement", "GraceNeedsPciHole64"),
    "GraceMachine": ("GraceArchitecture", "GraceMachineType", "GraceNeedsDedicatedCpus"),
    "GuestPciAddressInvalid": ("InterfacePciAddressMalformed", "DiskPciAddressMalformed"),
    "HostDiskInvalid": ("HostDiskTypeUnknown", "HostDiskCapacityIdle"),
    "HostNameInvalid": ("HostNameMalformed",),
    "InterfaceNameInvalid": ("InterfaceNameMalformed",),
    "InterfaceStateUnsupported": (
        "SriovStateUnsupported",
        "InterfaceStateUnknown",
        "InterfaceStateNeedsBridge",
        "DefaultInterfaceAbsent",
    ),
    "InvalidHugepages": (
        "MemoryBelowPageSize",
        "MemoryNotPageMultiple",
        "PageSizeUnparsable",
        "PageSizeZero",
    ),
    "IoThreadsPolicyUnsupported": ("IoThreadsPolicyUnknown", "IoThreadsCountMissing"),
    "MacAddressInvalid": ("InterfaceMacMalformed", "InterfaceMacTooLong", "InterfaceMacReserved"),
    "MemoryMissing": ("DedicatedCpuNeedsMemory",),
    "MixedDeviceSources": ("GpusMixed",),
    "NetworkClaimIncomplete": ("NetworkClaimNameMissing", "NetworkRequestNameMissing"),
    "NetworkClaimNeedsSriov": ("NetworkClaimNeedsSriovOrPlugin",),
    "NetworkClaimNotDeclared": ("NetworkClaimNotListed",),
    "NetworkTypeCount": ("NetworkTypeMissing", "NetworkTypeAmbiguous"),
    "PodNetworkTwice": ("MultusDefaultTwice", "PodNetworkBesideMultusDefault"),
    "PortInvalid": (
        "PortNameDuplicate",
        "PortNameMalformed",
        "PortMissing",
        "PortOutOfRange",
        "PortProtocolUnknown",
    ),
    "RealtimeIncomplete": ("RealtimeNeedsDedicatedCpus", "RealtimeNeedsNuma"),
    "RequestAboveLimit": ("CpuRequestAboveLimit", "MemoryRequestAboveLimit"),
    "SerialInvalid": ("SerialMalformed", "SerialTooLong"),
    "SoundInvalid": ("SoundModelUnsupported", "SoundNameMissing"),
    "StartStrategyUnsupported": ("StartStrategyUnknown", "PausedWithLivenessProbe"),
    "ThreadsTooMany": ("Arm64Threads", "DedicatedCpuTooManyThreads"),
}
_REASONS: Final = {rule: reason for reason, rules in GROUPS.items() for rule in rules}
GATE_OFF: Final = "FeatureGateOff"


def reason_of(cause: Cause) -> str:
    """The reason that tells the rule; every rule about a gate has the same one."""
    return GATE_OFF if "gate" in cause.params else _REASONS.get(cause.rule, cause.rule)


def sites(causes: tuple[Cause, ...]) -> Iterator[tuple[Cause, Site]]:
    """Every site once: KubeVirt says some things twice."""
    told: list[tuple[str, Site]] = []
    for cause in causes:
        for site in cause.sites:
            key = (reason_of(cause), site)
            if key not in told:
                told.append(key)
                yield cause, site


def document_path(spec: MachineSpec, path: str) -> str:
    """The path from the document's root of a path from the VMI's root."""
    if path == "spec":
        return spec.vmi_path
    if path.startswith("spec."):
        return spec.vmi_field(path.removeprefix("spec."))
    root = spec.vmi_path.removesuffix("spec")
    return f"{root}{path}"
