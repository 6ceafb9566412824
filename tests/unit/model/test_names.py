"""The grammar of each name, its normal form, and an error text that shows a right one."""

import pytest

from passway.model import names
from passway.model.devices import DEVICE_LISTS, ClaimDevice, PluginDevice
from passway.model.names import InvalidName


@pytest.mark.parametrize("text", ["a", "vm-1", "0", "a" * 63])
def test_a_dns_label_is_taken_as_it_is(text):
    assert names.dns_label(text) == text


@pytest.mark.parametrize("text", ["", "A", "-a", "a-", "a.b", "a" * 64, "a\n", "ü", "a_b"])
def test_what_is_not_a_dns_label_is_refused(text):
    with pytest.raises(InvalidName, match="is not a DNS label; use 1 to 63"):
        names.dns_label(text)


@pytest.mark.parametrize("text", ["a", "gpu-node-1.lab.example", "a" * 253])
def test_a_dns_subdomain_is_taken_as_it_is(text):
    assert names.dns_subdomain(text) == text


@pytest.mark.parametrize("text", ["", ".a", "a.", "a..b", "A.b", "a" * 254, "a.-b", "a b"])
def test_what_is_not_a_dns_subdomain_is_refused(text):
    with pytest.raises(InvalidName, match="at most 253"):
        names.dns_subdomain(text)


@pytest.mark.parametrize(
    ("key", "value", "answer"),
    [
        ("zone", "a", True), ("example.com/zone", "", True), ("a.b/c", "D_e.f-g", True),
        ("", "a", False), ("a b", "c", False), ("Example.com/zone", "a", False), ("/a", "b", False),
        ("a", "b c", False), ("a", "x" * 64, False), (f"{'d' * 254}/a", "b", False),
    ],
)  # fmt: skip
def test_what_can_be_a_label(key, value, answer):
    assert names.is_label(key, value) is answer


@pytest.mark.parametrize(
    "text", ["nvidia.com/GA100_A100_PCIE_40GB", "devices.kubevirt.io/kvm", "a/b", "intel.com/x.y-z"]
)
def test_a_resource_name_is_taken_as_it_is(text):
    assert names.resource_name(text) == text


@pytest.mark.parametrize(
    "text",
    ["", "gpu", "/gpu", "nvidia.com/", "NVIDIA.com/gpu", "nvidia.com/-gpu", "nvidia.com/a/b",
     "nvidia.com/" + "a" * 64, "a" * 254 + "/gpu", "nvidia.com/g pu"],
)  # fmt: skip
def test_what_is_not_a_resource_name_is_refused(text):
    with pytest.raises(InvalidName, match=r"write it as vendor\.com/name"):
        names.resource_name(text)


@pytest.mark.parametrize(
    "text", ["kubernetes.io/gpu", "node.kubernetes.io/gpu", "requests.nvidia.com/gpu"]
)
def test_reserved_resource_names_are_refused(text):
    with pytest.raises(InvalidName, match="are reserved"):
        names.resource_name(text)


def test_a_domain_that_only_ends_like_the_reserved_one_is_free():
    assert names.resource_name("notkubernetes.io/gpu") == "notkubernetes.io/gpu"


def test_a_network_name_may_carry_its_namespace():
    assert names.network_name("sriov") == (None, "sriov")
    assert names.network_name("lab/sriov.a") == ("lab", "sriov.a")


@pytest.mark.parametrize("text", ["", "/sriov", "lab/", "a/b/c", "Lab/sriov", "lab.x/sriov"])
def test_what_is_not_a_network_name_is_refused(text):
    with pytest.raises(InvalidName):
        names.network_name(text)


def test_a_pci_vendor_selector_is_upper_case():
    assert names.pci_vendor_selector("10de:20b5") == "10DE:20B5"


@pytest.mark.parametrize(
    "text", ["10DE", "10DE:20B", "10DE:*", " 10DE:20B5", "10DG:20B5", "0x10DE:1"]
)
def test_what_is_not_a_pci_vendor_selector_is_refused(text):
    with pytest.raises(InvalidName, match="10DE:20B5"):
        names.pci_vendor_selector(text)


@pytest.mark.parametrize(
    ("text", "full"),
    [("65:00.0", "0000:65:00.0"), ("0000:AF:1F.7", "0000:af:1f.7"), ("10000:65:00.0", None),
     ("65:20.0", None), ("65:00.8", None), ("65:00", None), ("", None)],
)  # fmt: skip
def test_a_pci_address_is_full_and_in_lower_case(text, full):
    if full:
        assert names.pci_address(text) == full
    else:
        with pytest.raises(InvalidName, match=r"write it as 0000:65:00\.0"):
            names.pci_address(text)


@pytest.mark.parametrize(("text", "full"), [("046D", "046d"), ("0x46d", "046d"), ("0X1", "0001")])
def test_a_usb_id_has_four_digits(text, full):
    assert names.usb_id(text) == full


@pytest.mark.parametrize("text", ["", "0x", "12345", "g", " 1"])
def test_what_is_not_a_usb_id_is_refused(text):
    with pytest.raises(InvalidName, match="four hexadecimal digits"):
        names.usb_id(text)


@pytest.mark.parametrize("text", ["GRID T4-1Q", "i915-GVTg_V5_4", "x" * 128])
def test_an_mdev_name_is_taken_as_it_is(text):
    assert names.mdev_name_selector(text) == text


@pytest.mark.parametrize("text", ["", " GRID", "GRID ", "a/b", "a\tb", "x" * 129, "a\n", " "])
def test_what_is_not_an_mdev_name_is_refused(text):
    with pytest.raises(InvalidName, match="GRID T4-1Q"):
        names.mdev_name_selector(text)


def test_mdev_names_compare_with_spaces_as_underscores():
    assert names.mdev_type_key("GRID T4-1Q") == names.mdev_type_key("GRID_T4-1Q") == "GRID_T4-1Q"


def test_the_nearest_names_come_best_first():
    known = ["nvidia.com/GA100", "nvidia.com/GA102", "intel.com/qat"]
    assert names.nearest("nvidia.com/ga102", known) == ("nvidia.com/GA102",)
    assert names.nearest("nvidia.com/GA101", known) == ("nvidia.com/GA102", "nvidia.com/GA100")
    assert names.nearest("nvidia.com/ga102", known, limit=1) == ("nvidia.com/GA102",)
    assert names.nearest("amd", known) == ()


def test_of_names_that_differ_in_case_only_the_first_is_named_whatever_the_order():
    assert names.nearest("a.b/gpu", ["a.b/gpu", "a.b/GPU"]) == ("a.b/GPU",)
    assert names.nearest("a.b/gpu", ["a.b/GPU", "a.b/gpu"]) == ("a.b/GPU",)


def test_an_error_repeats_only_the_beginning_of_a_long_name():
    with pytest.raises(InvalidName) as refused:
        names.dns_label("A" * 100_000)
    assert len(str(refused.value)) < 250


def test_each_kind_of_device_has_its_list_in_the_spec_and_unset_is_not_false():
    assert DEVICE_LISTS == {"gpu": "gpus", "host-device": "hostDevices"}
    plugin = PluginDevice("g", "gpu", "a.b/gpu", "spec.domain.devices.gpus[0]")
    claim = ClaimDevice("g", "gpu", "claim", "request", "spec.domain.devices.gpus[0]")
    assert plugin.display is plugin.ram_fb is claim.display is claim.ram_fb is None
