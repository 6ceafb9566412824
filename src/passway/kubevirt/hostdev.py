"""What KubeVirt's launcher makes of a VM's devices: the libvirt `<hostdev>` elements.

Owns the launcher's order of the six builders and that the first failure ends it, and the public
`render_hostdev_xml`. The domain converter's later work (guest PCI placement, iommufd, NUMA) is
not modelled. It follows kubevirt main of 2026-08-22 (d923fdb815cd); `releases` says where releases
are known to differ.
Source: kubevirt pkg/virt-launcher/virtwrap/manager.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from passway.kubevirt.hostdev_claim import claim_gpu_devices, claim_host_devices
from passway.kubevirt.hostdev_element import HostDevice, render
from passway.kubevirt.hostdev_plugin import gpu_devices, host_devices
from passway.kubevirt.hostdev_spec import Vmi, read_machine
from passway.kubevirt.hostdev_sriov import sriov_claim_devices, sriov_devices


@dataclass(frozen=True, slots=True)
class Environment:
    """What the launcher finds around it.

    `env`: its environment variables. `metadata`: path below
    /var/run/kubernetes.io/dra-device-attributes -> text. `network_info`: text of
    /etc/podinfo/network-info, None where there is no such file.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    network_info: str | None = None


def translate(vmi: Vmi, environment: Environment) -> tuple[HostDevice, ...]:
    """All devices of a VMI, in the launcher's order. Raises `TranslationError` for the first."""
    return (
        *sriov_devices(vmi, environment.network_info),
        *sriov_claim_devices(vmi, environment.metadata),
        *host_devices(vmi, environment.env),
        *claim_host_devices(vmi, environment.metadata),
        *gpu_devices(vmi, environment.env),
        *claim_gpu_devices(vmi, environment.metadata),
    )


def render_hostdev_xml(
    spec: Mapping[str, Any],
    *,
    env: Mapping[str, str] | None = None,
    metadata: Mapping[str, str] | None = None,
    network_info: str | None = None,
) -> list[str]:
    """The `<hostdev>` elements that KubeVirt's launcher would give libvirt, as XML.

    `spec` is a VirtualMachineInstance, a VirtualMachine, or the spec of a VMI, as plain mappings.
    `env` holds the launcher's variables, `metadata` the files of claims (path below
    /var/run/kubernetes.io/dra-device-attributes -> text), `network_info` the text of
    /etc/podinfo/network-info. Without a VMI's status every SR-IOV interface counts as attached.

    Raises `passway.TranslationError` for the first device that the launcher would fail on; it
    has a `code`, the `device`, what was `looked_for` and a `hint`.

    >>> import passway
    >>> spec = {
    ...     "domain": {
    ...         "devices": {
    ...             "gpus": [{"name": "gpu1", "deviceName": "nvidia.com/GA102GL_A10"}],
    ...         }
    ...     }
    ... }
    >>> env = {"PCI_RESOURCE_NVIDIA_COM_GA102GL_A10": "0000:65:00.0"}
    >>> for element in passway.render_hostdev_xml(spec, env=env):
    ...     print(element.replace("><", ">\\n<"))
    <hostdev type="pci" managed="no">
    <source>
    <address type="pci" domain="0x0000" bus="0x65" slot="0x00" function="0x0" />
    </source>
    <alias name="ua-gpu-gpu1" />
    </hostdev>
    >>> passway.render_hostdev_xml(spec)
    Traceback (most recent call last):
        ...
    passway.kubevirt.hostdev_errors.TranslationError: gpus[0] 'gpu1': ...
    """
    environment = Environment(env or {}, metadata or {}, network_info)
    return [render(device) for device in translate(read_machine(spec), environment)]
