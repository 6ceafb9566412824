"""Resource names to variables, PCI addresses to parts, USB variables to devices."""

from tests.conformance.difference import Difference
from tests.conformance.kinds.hostdevice_translation import BUILDERS, outcome, wanted

from passway.kubevirt.addresses import parse_pci, usb_devices_found, variable_name
from passway.kubevirt.hostdev import Environment
from passway.kubevirt.hostdev_spec import read_vmi


def differences(case: dict) -> list[Difference]:
    """What differs from KubeVirt."""
    given, expected = case["input"], dict(case["expected"])
    match case["kind"]:
        case "envvar":
            got = {"envVar": variable_name(given["prefix"], given["resourceName"])}
        case "pci":
            got = _pci(given["address"])
        case "usb":
            got = _usb(given)
            expected["create"] = wanted(expected["create"])
        case kind:
            got = {"kind": f"{kind} is not known"}
    return [] if got == expected else [Difference("expected", expected, got)]


def _pci(text: str) -> dict:
    address = parse_pci(text)
    return address.attributes() if address else {"error": "PciAddressMalformed"}


def _usb(given: dict) -> dict:
    vmi = read_vmi({"spec": {"domain": {"devices": {"hostDevices": given["hostDevices"]}}}})
    resources = [entry.resource for entry in vmi.host_devices]
    return {
        "usbDevicesFound": usb_devices_found(resources, given["env"]),
        "create": outcome(BUILDERS["generic"], vmi, Environment(given["env"])),
    }
