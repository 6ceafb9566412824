"""VMI and the launcher's environment -> libvirt elements: each of the six builders on its own, then
the launcher's whole run, whose result follows from the six.
"""

from collections.abc import Callable
from xml.etree import ElementTree as ET

from tests.conformance.difference import Difference

from passway.kubevirt.hostdev import Environment, translate
from passway.kubevirt.hostdev_claim import claim_gpu_devices, claim_host_devices
from passway.kubevirt.hostdev_element import HostDevice, render
from passway.kubevirt.hostdev_errors import TranslationError
from passway.kubevirt.hostdev_plugin import gpu_devices, host_devices
from passway.kubevirt.hostdev_spec import Vmi, read_vmi
from passway.kubevirt.hostdev_sriov import sriov_claim_devices, sriov_devices

Builder = Callable[[Vmi, Environment], tuple[HostDevice, ...]]

# In the launcher's order.
BUILDERS: dict[str, Builder] = {
    "sriov": lambda vmi, around: sriov_devices(vmi, around.network_info),
    "sriovDRA": lambda vmi, around: sriov_claim_devices(vmi, around.metadata),
    "generic": lambda vmi, around: host_devices(vmi, around.env),
    "draGeneric": lambda vmi, around: claim_host_devices(vmi, around.metadata),
    "gpu": lambda vmi, around: gpu_devices(vmi, around.env),
    "draGPU": lambda vmi, around: claim_gpu_devices(vmi, around.metadata),
}

# Ours -> the vectors'.
CODES = {
    code: code
    for code in (
        "ClaimDeviceUnresolved", "ClaimReferenceIncomplete", "DeviceCountMismatch",
        "GuestPciAddressMalformed", "NetworkAddressMissing", "NetworkInfoHasNoAddresses",
        "NetworkInfoMalformed", "NetworkInfoMissing", "PciAddressMalformed", "UsbAddressMalformed",
        "ClaimNotListed", "MetadataAttributeMissing", "MetadataFileMissing",
        "MetadataFilesAmbiguous", "MetadataMalformed", "MetadataRequestEmpty",
        "MetadataRequestHasManyDevices", "MetadataRequestMissing",
    )
}  # fmt: skip


def differences(case: dict) -> list[Difference]:
    """What differs from KubeVirt, for each builder and for the whole run."""
    given, expected = case["input"], {key: wanted(value) for key, value in case["expected"].items()}
    around = Environment(given["env"], given["files"], given["networkInfo"])
    vmi = read_vmi(given["vmi"])
    got = {key: outcome(BUILDERS[key], vmi, around) for key in expected}
    if expected.keys() == BUILDERS.keys():
        expected["translate"] = _whole(expected)
        got["translate"] = outcome(translate, vmi, around)
    return [
        Difference(f"expected.{key}", value, got[key])
        for key, value in expected.items()
        if value != got[key]
    ]


def wanted(value: dict) -> dict:
    """The expected outcome with XML in canonical form; for a crash upstream, the sane result."""
    value = value["suggested"] if "panic" in value else value
    return {"xml": [*map(_canonical, value["xml"])]} if "xml" in value else value


def outcome(builder: Builder, vmi: Vmi, around: Environment) -> dict:
    """Ours, in the vectors' form."""
    try:
        return {"xml": [_canonical(render(device)) for device in builder(vmi, around)]}
    except TranslationError as error:
        failure = {"error": CODES[error.code]}
        if error.code == "ClaimDeviceUnresolved":
            failure["because"] = CODES[error.because]
        return failure


def _whole(expected: dict[str, dict]) -> dict:
    in_order = [expected[key] for key in BUILDERS]
    failure = next((value for value in in_order if "error" in value), None)
    return failure or {"xml": [element for value in in_order for element in value["xml"]]}


def _canonical(xml: str) -> str:
    return ET.canonicalize(xml)
