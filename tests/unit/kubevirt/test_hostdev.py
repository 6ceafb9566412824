"""The launcher's device translation as a whole: order, errors, the public function."""

import doctest
import json
import subprocess
import sys

import pytest

import passway
from passway.kubevirt import hostdev
from passway.kubevirt.hostdev import Environment, render_hostdev_xml, translate
from passway.kubevirt.hostdev_errors import TranslationError, subject
from passway.kubevirt.hostdev_spec import read_machine, read_vmi
from passway.model.errors import EXIT_NO, PasswayError

VERSION = "metadata.resource.k8s.io/v1alpha1"
GPU = {"name": "g1", "deviceName": "nvidia.com/A10"}
CLAIM = {"name": "g2", "claimName": "c", "requestName": "r"}
A10 = "PCI_RESOURCE_NVIDIA_COM_A10"
CLAIMS = [{"name": "c", "resourceClaimName": "claim"}]
FILE = "resourceclaims/claim/r/x-metadata.json"
INFO = "/etc/podinfo/network-info"


def spec(gpus=(), host_devices=(), interfaces=(), **more):
    devices = {"gpus": gpus, "hostDevices": host_devices, "interfaces": interfaces}
    return {"domain": {"devices": {key: list(value) for key, value in devices.items()}}, **more}


def metadata(attribute, value, request="r"):
    device = {"attributes": {attribute: {"string": value}}}
    return json.dumps({"apiVersion": VERSION, "requests": [{"name": request, "devices": [device]}]})


def network_info(**addresses):
    return json.dumps({
        "interfaces": [
            {"network": name, "deviceInfo": {"pci": {"pci-address": address}}}
            for name, address in addresses.items()
        ]
    })  # fmt: skip


def refused(document, **around):
    with pytest.raises(TranslationError) as caught:
        render_hostdev_xml(document, **around)
    return caught.value


def test_the_docstring_is_true():
    result = doctest.testmod(hostdev, optionflags=doctest.ELLIPSIS)
    assert result.attempted == 5
    assert result.failed == 0


def test_the_package_offers_it_and_imports_it_late():
    assert passway.render_hostdev_xml is render_hostdev_xml
    assert passway.TranslationError is TranslationError
    with pytest.raises(AttributeError, match="'passway' has no attribute 'x'"):
        passway.x  # noqa: B018 - asking is the point
    code = (
        "import sys, passway; assert 'passway.kubevirt' not in sys.modules\n"
        "passway.render_hostdev_xml; assert 'passway.kubevirt' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


ALL = spec(
    gpus=[GPU, CLAIM],
    host_devices=[{"name": "h1", "deviceName": "a/b"}, {**CLAIM, "name": "h2"}],
    interfaces=[{"name": "n1", "sriov": {}}, {"name": "n2", "sriov": {}}],
    networks=[
        {"name": "n1", "multus": {"networkName": "x"}},
        {"name": "n2", "resourceClaim": {"claimName": "c", "requestName": "r"}},
    ],
    resourceClaims=CLAIMS,
)
AROUND = {
    "env": {A10: "0000:01:00.0", "USB_RESOURCE_A_B": "1:4"},
    "metadata": {FILE: metadata("resource.kubernetes.io/pciBusID", "0000:02:00.0")},
    "network_info": network_info(n1="0000:03:00.0"),
}


def aliases(document, **around):
    vmi = read_machine(document)
    return [device.alias for device in translate(vmi, Environment(**around))]


def test_the_launchers_order():
    assert aliases(ALL, **AROUND) == [
        "sriov-n1", "sriov-n2", "usb-host-h1", "dra-hostdevice-h2", "gpu-g1", "dra-gpu-g2",
    ]  # fmt: skip
    assert len(render_hostdev_xml(ALL, **AROUND)) == 6


def test_the_first_failure_in_that_order_ends_it():
    network = {"network_info": AROUND["network_info"]}
    assert refused(ALL).device == "interfaces[0] 'n1'"
    assert refused(ALL, **network).device == "interfaces[1] 'n2'"
    files = {"metadata": AROUND["metadata"]}
    assert refused(ALL, **network, **files).device == "hostDevices[0] 'h1'"
    usb = {"USB_RESOURCE_A_B": "1:4"}
    assert refused(ALL, **network, **files, env=usb).device == "gpus[0] 'g1'"


def test_an_empty_object_has_no_devices():
    for document in ({}, {"spec": {}}, {"spec": None}, {"domain": None}, {"domain": {}}):
        assert render_hostdev_xml(document) == []


def test_a_vmi_says_which_networks_are_attached_and_a_vm_cannot_yet():
    interfaces = spec(
        interfaces=[{"name": "n1", "sriov": {}}], networks=[{"name": "n1", "multus": {}}]
    )
    around = {"network_info": network_info(n1="0000:03:00.0")}
    attached = {"interfaces": [{"name": "n1", "infoSource": "domain, multus-status"}]}
    assert aliases(interfaces, **around) == ["sriov-n1"]
    assert aliases({"spec": {"template": {"spec": interfaces}}}, **around) == ["sriov-n1"]
    assert aliases({"spec": interfaces}, **around) == []
    assert aliases({"spec": interfaces, "status": attached}, **around) == ["sriov-n1"]
    assert aliases({"spec": interfaces, "status": None}, **around) == []


def test_without_a_status_the_networks_of_claims_are_those_of_claims_only():
    interfaces = spec(
        interfaces=[{"name": "n1", "sriov": {}}],
        networks=[{"name": "n1", "resourceClaim": {"claimName": "c", "requestName": "r"}}],
        resourceClaims=CLAIMS,
    )
    assert aliases(interfaces, metadata=AROUND["metadata"]) == ["sriov-n1"]


def test_plugins_sort_by_kind_and_claims_by_the_spec():
    def other(name):
        return {**CLAIM, "name": name, "requestName": name}

    document = spec(
        gpus=[{"name": "m", "deviceName": "a/m"}, {"name": "p", "deviceName": "a/p"}],
        host_devices=[other("m"), other("p")],
        resourceClaims=CLAIMS,
    )
    files = {
        "resourceclaims/claim/m/x-metadata.json": metadata("mdevUUID", "u", request="m"),
        "resourceclaims/claim/p/x-metadata.json": metadata(
            "resource.kubernetes.io/pciBusID", "0000:02:00.0", request="p"
        ),
    }
    env = {"MDEV_PCI_RESOURCE_A_M": "u", "PCI_RESOURCE_A_P": "0000:01:00.0"}
    assert aliases(document, env=env, metadata=files) == [
        "dra-hostdevice-m", "dra-hostdevice-p", "gpu-p", "gpu-m",
    ]  # fmt: skip


def test_the_first_mdev_of_claims_shows_unless_somebody_has_a_say():
    second = {**CLAIM, "name": "second"}
    files = {"metadata": {FILE: metadata("mdevUUID", "u")}}

    def displays(*gpus):
        vmi = read_machine(spec(gpus, resourceClaims=CLAIMS))
        return [found.shown for found in translate(vmi, Environment(**files))]

    assert displays(CLAIM, second) == [(True, True), (False, False)]
    off = {"virtualGPUOptions": {"display": {"enabled": False}}}
    assert displays(CLAIM, {**second, **off}) == [(False, False), (False, False)]


def test_an_mdev_of_a_host_devices_claim_has_the_model_of_its_architecture():
    files = {"metadata": {FILE: metadata("mdevUUID", "u")}}
    for architecture, model in (("s390x", "vfio-ap"), ("S390X", "vfio-pci"), (None, "vfio-pci")):
        document = spec([CLAIM], [CLAIM], resourceClaims=CLAIMS, architecture=architecture)
        found = translate(read_machine(document), Environment(**files))
        assert [one.model for one in found] == [model, "vfio-pci"]


def test_claims_and_interfaces_may_lack_their_names():
    nameless = {"claimName": "c", "requestName": "r"}
    claimed = spec([nameless], [nameless], resourceClaims=CLAIMS)
    for attribute, value in (
        ("mdevUUID", "u"), ("resource.kubernetes.io/pciBusID", "0000:02:00.0"),
    ):  # fmt: skip
        files = {"metadata": {FILE: metadata(attribute, value)}}
        assert aliases(claimed, **files) == ["dra-hostdevice-", "dra-gpu-"]
    by_claim = spec(
        interfaces=[{"sriov": {}}], networks=[{"resourceClaim": nameless}], resourceClaims=CLAIMS
    )
    assert aliases(by_claim, **files) == ["sriov-"]
    by_network = {"spec": spec(interfaces=[{"sriov": {}}])}
    by_network["status"] = {"interfaces": [{"name": "", "infoSource": "multus-status"}]}
    info = json.dumps({"interfaces": [{"deviceInfo": {"pci": {"pci-address": "0000:03:00.0"}}}]})
    assert aliases(by_network, network_info=info) == ["sriov-"]


def test_entries_may_lack_their_names():
    document = spec(gpus=[{}], host_devices=[{}])
    env = {"PCI_RESOURCE_": "0000:01:00.0"}
    assert aliases(document, env=env) == ["hostdevice-", "gpu-"]
    assert refused(document, env={}).device == "hostDevices[0] ''"


# The message up to its cause, for each way to fail.
WORDS = [
    (
        spec([GPU]),
        {},
        ("DeviceCountMismatch", "VariableMissing"),
        (
            "gpus[0] 'g1': no address for resource nvidia.com/A10: the launcher has none of "
            f"{A10} or MDEV_{A10}"
        ),
    ),
    (
        spec(host_devices=[{"name": "h", "deviceName": "a/b"}]),
        {},
        ("DeviceCountMismatch", "VariableMissing"),
        (
            "hostDevices[0] 'h': no address for resource a/b: the launcher has none of "
            "PCI_RESOURCE_A_B or MDEV_PCI_RESOURCE_A_B or USB_RESOURCE_A_B"
        ),
    ),
    (
        spec([GPU, {**GPU, "name": "second"}]),
        {"env": {A10: "0000:01:00.0"}},
        ("DeviceCountMismatch", "TooFewAddresses"),
        f"gpus[1] 'second': no address is left for resource nvidia.com/A10 in {A10}",
    ),
    (
        spec([GPU]),
        {"env": {A10: "0000:01:00.0", f"MDEV_{A10}": "u"}},
        ("DeviceCountMismatch", "AddressedTwice"),
        (
            "gpus[0] 'g1': more than one address for one entry of resource nvidia.com/A10, from "
            f"{A10} or MDEV_{A10}"
        ),
    ),
    (
        spec([GPU, CLAIM]),
        {"env": {A10: "0000:01:00.0", "PCI_RESOURCE_": "0000:02:00.0"}},
        ("DeviceCountMismatch", "ClaimAddressed"),
        "gpus[1] 'g2': it has a claim, and yet a device from PCI_RESOURCE_ as well",
    ),
    (
        spec([GPU]),
        {"env": {A10: " 65:00.0"}},
        ("PciAddressMalformed", None),
        f"gpus[0] 'g1': ' 65:00.0' from {A10} is not a PCI address",
    ),
    (
        spec(host_devices=[{"name": "h", "deviceName": "a/b"}]),
        {"env": {"USB_RESOURCE_A_B": "14"}},
        ("UsbAddressMalformed", None),
        "hostDevices[0] 'h': 14 from USB_RESOURCE_A_B is not a USB address",
    ),
    (
        spec([{"name": "g", "claimName": "c"}]),
        {},
        ("ClaimReferenceIncomplete", None),
        (
            "gpus[0] 'g': it has only part of a claim reference; claimName and requestName must "
            "both be set"
        ),
    ),
    (
        spec(host_devices=[{"name": "g", "requestName": "c"}]),
        {},
        ("ClaimReferenceIncomplete", None),
        (
            "hostDevices[0] 'g': it has only part of a claim reference; claimName and requestName "
            "must both be set"
        ),
    ),
    (
        spec([CLAIM]),
        {},
        ("ClaimDeviceUnresolved", "ClaimNotListed"),
        "gpus[0] 'g2': its claim c is not in spec.resourceClaims",
    ),
    (
        spec([CLAIM], resourceClaims=CLAIMS),
        {},
        ("ClaimDeviceUnresolved", "MetadataFileMissing"),
        (
            "gpus[0] 'g2': no metadata file "
            "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/claim/r/*-metadata.json"
        ),
    ),
    (
        spec([{**CLAIM, "requestName": "../r"}], resourceClaims=CLAIMS),
        {},
        ("ClaimDeviceUnresolved", "MetadataFileMissing"),
        "gpus[0] 'g2': no metadata file of request '../r' of claim 'c'",
    ),
    (
        spec([CLAIM], resourceClaims=CLAIMS),
        {"metadata": {FILE: "", FILE.replace("x-", "y-"): ""}},
        ("ClaimDeviceUnresolved", "MetadataFilesAmbiguous"),
        (
            "gpus[0] 'g2': 2 metadata files match "
            "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/claim/r/*-metadata.json, "
            "but KubeVirt reads exactly one"
        ),
    ),
    (
        spec([CLAIM], resourceClaims=CLAIMS),
        {"metadata": {FILE: "{}"}},
        ("ClaimDeviceUnresolved", "MetadataMalformed"),
        (
            f"gpus[0] 'g2': the metadata file /var/run/kubernetes.io/dra-device-attributes/{FILE} "
            "cannot be used: an object in it has no apiVersion"
        ),
    ),
    (
        spec([CLAIM], resourceClaims=CLAIMS),
        {"metadata": {FILE: metadata("x", "y", request="r/sub")}},
        ("ClaimDeviceUnresolved", "MetadataRequestMissing"),
        f"gpus[0] 'g2': /var/run/kubernetes.io/dra-device-attributes/{FILE} has no request named r",
    ),
    (
        spec([CLAIM], resourceClaims=CLAIMS),
        {"metadata": {FILE: metadata("x", "y")}},
        ("ClaimDeviceUnresolved", "MetadataAttributeMissing"),
        (
            f"gpus[0] 'g2': the device in /var/run/kubernetes.io/dra-device-attributes/{FILE} has "
            "no attribute mdevUUID or resource.kubernetes.io/pciBusID"
        ),
    ),
    (
        spec([CLAIM], resourceClaims=CLAIMS),
        {"metadata": {FILE: metadata("resource.kubernetes.io/pciBusID", "65:00.0")}},
        ("PciAddressMalformed", None),
        (
            "gpus[0] 'g2': 65:00.0 from /var/run/kubernetes.io/dra-device-attributes/"
            f"{FILE} is not a PCI address"
        ),
    ),
    (
        spec(
            interfaces=[{"name": "n", "sriov": {}}],
            networks=[{"name": "n", "resourceClaim": {"claimName": "c", "requestName": "r"}}],
            resourceClaims=CLAIMS,
        ),
        {"metadata": {FILE: metadata("mdevUUID", "u")}},
        ("ClaimDeviceUnresolved", "MetadataAttributeMissing"),
        (
            "interfaces[0] 'n': the device in /var/run/kubernetes.io/dra-device-attributes/"
            f"{FILE} has no attribute resource.kubernetes.io/pciBusID"
        ),
    ),
    (
        spec(interfaces=[{"name": "n", "sriov": {}}]),
        {"network_info": ""},
        ("NetworkInfoMissing", None),
        f"interfaces[0] 'n': {INFO} stays empty",
    ),
    (
        spec(interfaces=[{"name": "n", "sriov": {}}]),
        {"network_info": "[]"},
        ("NetworkInfoMalformed", None),
        f"interfaces[0] 'n': {INFO} cannot be read: Expected `object`, got `array`",
    ),
    (
        spec(interfaces=[{"name": "x", "bridge": {}}, {"name": "n", "sriov": {}}]),
        {},
        ("NetworkInfoHasNoAddresses", None),
        f"interfaces[1] 'n': {INFO} is absent or has no PCI address",
    ),
    (
        spec(interfaces=[{"name": "n", "sriov": {}}]),
        {"network_info": network_info(m="0000:01:00.0")},
        ("NetworkAddressMissing", None),
        f"interfaces[0] 'n': {INFO} has no PCI address left for network n",
    ),
    (
        spec(interfaces=[{"name": "n", "sriov": {}}]),
        {"network_info": network_info(n="1:0.0")},
        ("PciAddressMalformed", None),
        f"interfaces[0] 'n': 1:0.0 from {INFO} is not a PCI address",
    ),
    (
        spec(interfaces=[{"name": "n", "sriov": {}, "pciAddress": "0a:00.0"}]),
        {"network_info": network_info(n="0000:01:00.0")},
        ("GuestPciAddressMalformed", None),
        "interfaces[0] 'n': its pciAddress 0a:00.0 is not a PCI address",
    ),
    (
        {"domain": {"devices": {"gpus": "x"}}},
        {},
        ("SpecMalformed", None),
        (
            "the object cannot be read as a VM: Expected `array | null`, got `str` - at "
            "`$.spec.domain.devices.gpus`"
        ),
    ),
    (
        {"spec": {"template": "x"}},
        {},
        ("SpecMalformed", None),
        "the object cannot be read as a VM: Expected `object`, got `str`",
    ),
    (
        spec(interfaces=[{"bootOrder": -1}]),
        {},
        ("SpecMalformed", None),
        (
            "the object cannot be read as a VM: Expected `int` >= 0 - at "
            "`$.spec.domain.devices.interfaces[0].bootOrder`"
        ),
    ),
]


@pytest.mark.parametrize(("document", "around", "codes", "message"), WORDS)
def test_errors_name_the_device_what_was_looked_for_and_the_cause(document, around, codes, message):
    error = refused(document, **around)
    assert (error.code, error.because) == codes
    what, _, cause = str(error).partition("; usual cause: ")
    assert what == message
    assert cause
    assert error.hint
    assert "{" not in cause + error.hint
    assert all(place in str(error) for place in error.looked_for)


def test_requests_with_no_or_many_devices_in_words():
    def failing(devices):
        text = json.dumps({
            "apiVersion": VERSION, "requests": [{"name": "r", "devices": devices}],
        })  # fmt: skip
        return refused(spec([CLAIM], resourceClaims=CLAIMS), metadata={FILE: text})

    assert failing([]).because == "MetadataRequestEmpty"
    assert "has no device; usual cause" in str(failing([]))
    assert failing([{}, {}]).because == "MetadataRequestHasManyDevices"
    assert "has more than one device; usual cause" in str(failing([{}, {}]))


def test_an_error_is_an_expected_failure_of_passway():
    error = refused(spec([GPU]))
    assert isinstance(error, PasswayError)
    assert error.kind.exit_code == EXIT_NO
    assert error.looked_for == (A10, f"MDEV_{A10}")


def test_a_whole_error():
    error = refused(spec([GPU]))
    assert str(error) == (
        "gpus[0] 'g1': no address for resource nvidia.com/A10: the launcher has none of "
        f"{A10} or MDEV_{A10}; usual cause: the resource is served by a device plugin that sets "
        "no KubeVirt variable, or the variable belongs to a resource of another name"
    )
    assert error.hint == (
        "let KubeVirt's own plugin or NVIDIA's KubeVirt plugin serve nvidia.com/A10, and compare "
        "deviceName with the permitted resourceName letter by letter"
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("", "''"),
        ("x ", "'x '"),
        ("a\nb", r"'a\nb'"),
        ("\ud800", r"'\ud800'"),
        ("x" * 120, "x" * 120),
        ("x" * 121, "x" * 120 + "…"),
        ("{value}", "{value}"),
    ],
)
def test_text_from_outside_is_cut_and_quoted_where_it_must(value, shown):
    error = TranslationError("SpecMalformed", "", value=value)
    assert str(error).startswith(f"the object cannot be read as a VM: {shown}; usual cause")


def test_a_subject_is_bounded():
    assert subject("gpus", 3, "x" * 5000) == f"gpus[3] '{'x' * 120}'"
    assert subject("gpus", 3, None) == "gpus[3] ''"


def test_a_mismatch_is_only_seen_in_the_sum():
    first, second = GPU, {**GPU, "name": "second"}
    env = {A10: "0000:01:00.0", f"MDEV_{A10}": "u"}
    assert aliases(spec([first, second]), env=env) == ["gpu-g1", "gpu-g1"]


def test_two_framebuffers_translate_and_are_for_admission_to_refuse():
    display = {"virtualGPUOptions": {"display": {"ramFB": {}}}}
    gpus = [{**GPU, **display}, {**GPU, **display, "name": "second"}]
    devices = translate(read_vmi({"spec": spec(gpus)}), Environment(env={f"MDEV_{A10}": "u1,u2"}))
    assert [device.shown for device in devices] == [(True, True), (True, True)]
