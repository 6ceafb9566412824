"""The memory that KubeVirt adds to a guest's: part -> bytes, in the order in which it adds them.

Follows kubevirt pkg/hypervisor/kvm/hypervisorbackend.go (GetMemoryOverhead) and the network part of
pkg/network/netbinding. Each part has a name that a table can show, since quotas fail on the sum.
The ratio of the cluster is calculated in double precision, because KubeVirt does; everything else
is whole bytes.
"""

from typing import Final

from passway.cluster.records import Configuration
from passway.kubevirt.doubles import parse_double, share
from passway.kubevirt.fields import Tree, amount, entries, flag, present
from passway.kubevirt.gates import Version
from passway.kubevirt.traits import (
    binding_names,
    has_sev,
    has_vfio,
    interfaces,
    is_dedicated,
    is_guaranteed,
    vcpus,
)
from passway.model.quantity import NANOS

MIB: Final = 1024**2
PROCESSES: Final = 190 * MIB
"""Monitor 25, launcher 100, virtlogd 25 and virtqemud 40."""
QEMU: Final[tuple[tuple[Version, int], ...]] = (((0, 0), 30 * MIB), ((1, 10), 50 * MIB))
"""QEMU itself, each with the release that it holds from; 1.9.0 was run, main printed the rest."""
WHY: Final[dict[str, str]] = {
    "page tables": "1/512 of the memory request; none for a guest without a request",
    "launcher, libvirt and QEMU": "the processes beside the guest, the same for every VM",
    "vCPUs": "8Mi for each",
    "I/O thread": "the same for every VM",
    "graphics": "unless autoattachGraphicsDevice is false",
    "arm64": "two flash images of the firmware",
    "passthrough devices": "once, for any GPU, host device or SR-IOV interface, claims included",
    "downward metrics": "a disk for them",
    "exec probes": "100Mi once and 10Mi for each",
    "memory encryption": "SEV",
    "TPM": "its emulator",
    "guaranteed resources": "dedicated CPUs, or requests that equal their limits",
    "reserved": "memory.reservedOverhead.addedOverhead",
    "cluster ratio": "additionalGuestMemoryOverheadRatio of the KubeVirt object",
    "passt": "an interface bound by passt",
    "network bindings": "what the binding plugins of the interfaces declare",
}
"""What each part is for, or depends on."""
_PROBES: Final = ("livenessProbe", "readinessProbe")


def memory_overhead(
    vmi: Tree, configuration: Configuration, architecture: str, version: Version
) -> dict[str, int]:
    """The parts that are not zero; their sum is the overhead in that release."""
    qemu = [amount for since, amount in QEMU if since <= version][-1]
    parts = {**_guest_parts(vmi, architecture, qemu), **_feature_parts(vmi)}
    parts["cluster ratio"] = _by_ratio(sum(parts.values()), configuration)
    parts |= _network_parts(vmi, configuration)
    return {name: value for name, value in parts.items() if value}


def _guest_parts(vmi: Tree, architecture: str, qemu: int) -> dict[str, int]:
    graphics = flag(vmi, "spec", "domain", "devices", "autoattachGraphicsDevice")
    return {
        "page tables": _page_tables(vmi),
        "launcher, libvirt and QEMU": PROCESSES + qemu,
        "vCPUs": 8 * MIB * max(_counted_cpus(vmi), 1),
        "I/O thread": 8 * MIB,
        "graphics": 0 if graphics is False else 32 * MIB,
        # Two flash images of the firmware.
        "arm64": 128 * MIB if architecture == "arm64" else 0,
        # Once, not for each device, and for claims and USB devices too.
        "passthrough devices": 1024 * MIB if has_vfio(vmi) else 0,
    }


def _feature_parts(vmi: Tree) -> dict[str, int]:
    probes = sum(present(vmi, "spec", probe, "exec") for probe in _PROBES)
    volumes = entries(vmi, "spec", "volumes")
    tpm = ("spec", "domain", "devices", "tpm")
    has_tpm = present(vmi, *tpm) and flag(vmi, *tpm, "enabled") is not False
    reserved = amount(vmi, "spec", "domain", "memory", "reservedOverhead", "addedOverhead")
    metrics = any(present(volume, "downwardMetrics") for volume in volumes)
    return {
        "downward metrics": MIB if metrics else 0,
        "exec probes": 100 * MIB + 10 * MIB * probes if probes else 0,
        "memory encryption": 256 * MIB if has_sev(vmi) else 0,
        "TPM": 53 * MIB if has_tpm else 0,
        "guaranteed resources": 100 * MIB if is_dedicated(vmi) or is_guaranteed(vmi) else 0,
        "reserved": reserved.value if reserved else 0,
    }


def _page_tables(vmi: Tree) -> int:
    """Of `requests.memory` alone: a guest without a request has none, however large it is."""
    requested = amount(vmi, "spec", "domain", "resources", "requests", "memory")
    return _thousands(requested.nanos, NANOS) * 1000 // 512 if requested else 0


def _counted_cpus(vmi: Tree) -> int:
    """From the topology; without a `cpu` at all, from the limit or else the request."""
    if present(vmi, "spec", "domain", "cpu"):
        return vcpus(vmi)
    for kind in ("limits", "requests"):
        given = amount(vmi, "spec", "domain", "resources", kind, "cpu")
        if given is not None:
            return given.value
    return 0


def _by_ratio(total: int, configuration: Configuration) -> int:
    """What `additionalGuestMemoryOverheadRatio` adds, or takes away."""
    ratio = parse_double(configuration.additional_guest_memory_overhead_ratio or "")
    return 0 if ratio is None else share(_thousands(total), ratio - 1) * 1000


def _network_parts(vmi: Tree, configuration: Configuration) -> dict[str, int]:
    """Added after the ratio."""
    passt = any(
        present(interface, "passtBinding") or present(interface, "passt")
        for interface in interfaces(vmi)
    )
    plugins = configuration.binding_plugins
    used = [amount(plugins.get(name), "computeResourceOverhead", "requests", "memory")
            for name in binding_names(vmi)]  # fmt: skip
    return {
        "passt": 250 * MIB if passt else 0,
        "network bindings": sum(added.value for added in used if added),
    }


def _thousands(number: int, unit: int = 1) -> int:
    """Thousands of a unit, rounded up, like `Quantity.ScaledValue(Kilo)`."""
    return -(-number // (1000 * unit))
