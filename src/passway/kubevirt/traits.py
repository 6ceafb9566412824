"""What a defaulted VMI is, as far as more than one part of its launcher depends on it.

One function a trait: how many CPUs, whether it is dedicated or wants guaranteed resources, which
launch security it asks for, which device entries are a plugin's and which a claim's. Sources are
kubevirt pkg/util/hardware, pkg/vmitrait and api/core/v1/types.go.
"""

from collections.abc import Iterator

from passway.kubevirt.fields import Tree, amounts, at, entries, flag, mapping, present, text, whole
from passway.model.quantity import ZERO


def vcpus(vmi: Tree) -> int:
    """sockets x cores x threads of those that are set; 0 where none is."""
    cpu = mapping(vmi, "spec", "domain", "cpu")
    parts = [
        part for part in (whole(cpu, name) for name in ("sockets", "cores", "threads")) if part
    ]
    product = 1 if parts else 0
    for part in parts:
        product *= part
    return product


def pool_threads(vmi: Tree) -> int:
    """Supplemental I/O threads, which get CPUs of their own."""
    return max(whole(vmi, "spec", "domain", "ioThreads", "supplementalPoolThreadCount"), 0)


def is_dedicated(vmi: Tree) -> bool:
    """Its CPUs are pinned."""
    return flag(vmi, "spec", "domain", "cpu", "dedicatedCpuPlacement") is True


def is_guaranteed(vmi: Tree) -> bool:
    """Dedicated, or requests that equal the limits for CPU and memory and are not zero.

    A memory limit without a request counts as both.
    """
    if is_dedicated(vmi):
        return True
    resources = mapping(vmi, "spec", "domain", "resources")
    requests, limits = amounts(resources, "requests"), amounts(resources, "limits")
    memory, cpu = limits.get("memory", ZERO), limits.get("cpu", ZERO)
    if not memory.nanos or not cpu.nanos or requests.get("cpu") != cpu:
        return False
    requested = requests.get("memory", ZERO)
    return requested == memory or not requested.nanos


def has_hugepages(vmi: Tree) -> bool:
    """Guest memory comes from huge pages."""
    return present(vmi, "spec", "domain", "memory", "hugepages")


def has_vfio(vmi: Tree) -> bool:
    """Any GPU, host device or SR-IOV interface, whatever stands behind it."""
    devices = mapping(vmi, "spec", "domain", "devices")
    return bool(at(devices, "gpus") or at(devices, "hostDevices")) or any(
        present(interface, "sriov") for interface in interfaces(vmi)
    )


def has_sev(vmi: Tree) -> bool:
    """SEV of any kind, SEV-SNP included."""
    security = mapping(vmi, "spec", "domain", "launchSecurity")
    return present(security, "sev") or present(security, "snp")


def interfaces(vmi: Tree) -> tuple[Tree, ...]:
    """The network interfaces."""
    return entries(vmi, "spec", "domain", "devices", "interfaces")


def networks(vmi: Tree) -> tuple[Tree, ...]:
    """The networks that the interfaces connect to."""
    return entries(vmi, "spec", "networks")


def device_entries(vmi: Tree, kind: str) -> tuple[Tree, ...]:
    """The entries of `gpus` or `hostDevices`."""
    return entries(vmi, "spec", "domain", "devices", kind)


def names_claim(device: Tree) -> bool:
    """It refers to a claim; an empty reference is none, as it does not survive being written."""
    return bool(text(device, "claimName") or text(device, "requestName"))


def plugin_resources(vmi: Tree, kind: str) -> Iterator[str]:
    """The resources that device plugins must serve: one unit an entry. With both, neither."""
    for device in device_entries(vmi, kind):
        if text(device, "deviceName") and not names_claim(device):
            yield text(device, "deviceName")


def device_claims(vmi: Tree, kind: str) -> Iterator[tuple[str, str]]:
    """(claim, request) of each entry that a claim stands for."""
    for device in device_entries(vmi, kind):
        if not text(device, "deviceName") and names_claim(device):
            yield text(device, "claimName"), text(device, "requestName")


def binding_names(vmi: Tree) -> tuple[str, ...]:
    """The network binding plugins in use, each once, in their order."""
    found = (text(interface, "binding", "name") for interface in interfaces(vmi))
    return tuple(dict.fromkeys(name for name in found if name))


def namespace(vmi: Tree) -> str:
    """The VMI's namespace."""
    return text(vmi, "metadata", "namespace") or "default"


def annotations(vmi: Tree) -> Tree:
    """The VMI's annotations."""
    return mapping(vmi, "metadata", "annotations")
