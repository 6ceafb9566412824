"""Discovery beyond the vectors: what Go reads of odd texts, hints, and entries left out."""

import pytest

from passway.host.tree import Directory, HostTree, Link, Text
from passway.kubevirt.discovered import Allocation, SelectorHint, decimal, lines, trimmed
from passway.kubevirt.discovery import discover
from passway.kubevirt.permitted import Permit

A = "0000:81:00.0"


def pci(selector="10DE:2236", resource="n.com/a", **more):
    return Permit(resource, "pci", (selector,), **more)


def mdev(selector="GRID T4-1Q", resource="n.com/t4", **more):
    return Permit(resource, "mediated", (selector,), **more)


def usb(*selectors, resource="u.com/s", **more):
    return Permit(resource, "usb", selectors, **more)


def card(address=A, group="45", pci_id="PCI_ID=10DE:2236\n", driver="vfio-pci", **files):
    place = f"sys/devices/{address}"
    return {
        f"sys/bus/pci/devices/{address}": Link(f"../../../devices/{address}"),
        f"{place}/uevent": Text(pci_id), f"{place}/driver": Link(f"../{driver}"),
        f"{place}/iommu_group": Link(f"../{group}"),
        **{f"{place}/{name}": Text(text) for name, text in files.items()},
    }  # fmt: skip


def vgpu(uuid="u1", group="60", name="GRID T4-1Q\n", directory="nvidia-222", parent=A):
    place, types = f"sys/devices/{parent}/{uuid}", f"sys/devices/{parent}/mdev_supported_types"
    return {
        f"sys/bus/mdev/devices/{uuid}": Link(f"../../../devices/{parent}/{uuid}"),
        f"{place}/mdev_type": Link(f"../mdev_supported_types/{directory}"),
        f"{place}/iommu_group": Link(f"../{group}"), f"dev/vfio/{group}": Text(""),
        f"{types}/{directory}/device_api": Text("vfio-pci\n"),
        **({} if name is None else {f"{types}/{directory}/name": Text(name)}),
    }  # fmt: skip


def stick(name="1-1", ids="46f4/1/0", number="004", extra=""):
    place = f"sys/devices/{name}"
    return {
        f"sys/bus/usb/devices/{name}": Link(f"../../../devices/{name}"),
        f"{place}/idVendor": Text("46f4\n"),
        f"{place}/uevent": Text(f"PRODUCT={ids}\nBUSNUM=001\nDEVNUM={number}\n{extra}"),
    }


def plugins(entries, *permits):
    return discover(HostTree(entries), permits).plugins


# -- PCI ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("1", 1), ("+1\r\n", 1), ("\u00a01\u2003", 1), ("1_0", 0), ("\u0661", 0), ("1.0", 0),
        ("9" * 30, 2**63 - 1), ("-" + "9" * 30, None), ("0" * 30 + "7", 7), ("-0", 0),
        (str(2**63), 2**63 - 1), ("\x1c1", 0), ("-1", None), ("", 0),
    ],
)  # fmt: skip
def test_numa_nodes_are_numbers_as_go_reads_them(text, node):
    (found,) = plugins(card(numa_node=text), pci())
    assert found.devices[0].numa_node == node


def test_an_empty_id_matches_an_empty_selector_but_none_does_not():
    (found,) = plugins(card(pci_id="PCI_ID=\n"), pci(""))
    assert found.ids == ("45",)
    assert plugins(card(pci_id="DRIVER=x\n"), pci("")) == ()


def test_a_real_directory_of_a_device_is_not_one_but_what_is_in_it_is_walked():
    place = f"sys/bus/pci/devices/{A}"
    entries = {f"{place}/uevent": Text("PCI_ID=10DE:2236\n"), f"{place}/driver": Link("vfio-pci")}
    assert plugins({**entries, f"{place}/iommu_group": Link("45")}, pci()) == ()


def test_the_ids_of_a_plugin_are_distinct():
    (found,) = plugins({**card(), **card("0000:81:00.1")}, pci())
    assert found.ids == ("45",)
    assert [device.pci_address for device in found.devices] == ["0000:81:00.1"] * 2


def test_disabled_and_external_entries_have_no_plugin():
    everything = {**card(), **vgpu(), **stick()}
    for more in ({"disabled": True}, {"external": True}):
        assert plugins(everything, pci(**more), mdev(**more), usb("46f4:1", **more)) == ()


def test_plugins_are_sorted_by_kind_and_name():
    found = plugins(
        {**card(), **card("0000:82:00.0", "46", "PCI_ID=10de:1eb8"), **vgpu(), **stick()},
        usb("46f4:1"), pci(resource="z/z"), pci("10DE:1EB8", "a/a"), mdev(),
    )  # fmt: skip
    assert [(one.kind, one.resource_name) for one in found] == [
        ("mdev", "n.com/t4"), ("pci", "a/a"), ("pci", "z/z"), ("usb", "u.com/s"),
    ]  # fmt: skip


# -- mdev -----------------------------------------------------------------------------------------


def test_a_resource_without_a_slash_has_no_plugin_and_spoils_no_other():
    entries = {**vgpu(), **vgpu("u2", "61", "GRID T4-2Q", "nvidia-223")}
    found = plugins(entries, mdev(resource="plain"), mdev("GRID T4-2Q"))
    assert [one.ids for one in found] == [("61",)]


def test_a_link_without_a_parent_and_a_type_without_a_name_are_passed_by():
    entries = vgpu()
    entries["sys/bus/mdev/devices/u1"] = Link("flat")
    flat = {path.replace(f"sys/devices/{A}/u1", "sys/bus/mdev/devices/flat"): entry
            for path, entry in entries.items()}  # fmt: skip
    types = f"/sys/devices/{A}/mdev_supported_types"
    flat["sys/bus/mdev/devices/flat/mdev_type"] = Link(f"{types}/nvidia-222")
    assert plugins(flat, mdev()) == ()
    named = vgpu(name=None) | {f"sys/devices/{A}/mdev_supported_types/nvidia-222/name": Directory()}
    assert plugins(named, mdev("nvidia-222")) == ()


def test_a_missing_vfio_node_fails_the_allocation():
    entries = vgpu()
    del entries["dev/vfio/60"]
    (found,) = plugins(entries, mdev())
    assert found.allocation == Allocation({}, (), "AllocateFailed")


@pytest.mark.parametrize(
    "where",
    [
        {"sys/class/mdev_bus/c": Link("/sys/devices/c")},
        {"sys/bus/pci/devices/c": Link("/sys/devices/c")},
    ],
)
def test_a_selector_that_names_the_directory_is_pointed_out(where):
    types = "sys/devices/c/mdev_supported_types"
    entries = {
        **where, f"{types}/nvidia-222/name": Text("GRID T4-1Q\n"),
        f"{types}/nvidia-223/name": Text("\n"), f"{types}/i915-GVTg/available": Text("1"),
    }  # fmt: skip
    given = (mdev("nvidia-222"), mdev("GRID T4-1Q"), mdev("nvidia-223"), mdev("i915-GVTg"), pci())
    found = discover(HostTree(entries), given).hints
    assert found == (SelectorHint("n.com/t4", "nvidia-222", ("GRID T4-1Q",)),)


def test_the_hint_comes_from_devices_too_and_names_every_name():
    entries = {**vgpu(), **vgpu("u2", "61", "GRID A10-1Q", parent="0000:82:00.0")}
    (hint,) = discover(HostTree(entries), [mdev(" nvidia-222 ")]).hints
    assert hint.names == ("GRID A10-1Q", "GRID T4-1Q")
    assert discover(HostTree(vgpu(name=None)), [mdev("nvidia-222")]).hints == ()
    both = {**vgpu(), **vgpu("u2", "61", "nvidia-222", "nvidia-9")}
    assert discover(HostTree(both), [mdev("nvidia-222")]).hints == ()


# -- USB ------------------------------------------------------------------------------------------


def test_an_entry_without_selectors_is_left_out_and_takes_nothing():
    (found,) = plugins(stick(), usb(), usb("46f4:0001"))
    assert found.ids == ("u.com/s-XXXX-0",)
    assert found.allocation is None


@pytest.mark.parametrize(
    "selector",
    ["46f4", "46f4:1:2", "0x46f4:1", "46f4:", "g:1", "46_f4:1", "٤:1", f"{'0' * 70}46f4:1"],
)
def test_selectors_that_go_cannot_read_take_nothing(selector):
    assert plugins(stick(), usb(selector)) == ()


@pytest.mark.parametrize("selector", ["+46F4:1", "46f4:-0x", "80000000:1", "-80000000:1"])
def test_numbers_have_a_sign_and_32_bits(selector):
    assert bool(plugins(stick(), usb(selector))) == selector.startswith("+")


@pytest.mark.parametrize(
    "extra",
    ["BUSNUM=\n", "DEVNUM=1x\n", "PRODUCT=1/2\n", "PRODUCT=1/2/3/4\n", "PRODUCT=1/2/x\n",
     "PRODUCT=1/2/3/x\n", "BUSNUM=4294967296\n", "BUSNUM=x\nBUSNUM=1\n"],
)  # fmt: skip
def test_a_number_that_is_none_hides_the_device(extra):
    assert plugins(stick(extra=extra), usb("46f4:1")) == ()


@pytest.mark.parametrize(
    ("line", "path"),
    [("", ""), ("DEVNAME=bus/usb/001/004\r\n", "/dev/bus/usb/001/004"),
     ("DEVNAME=/a/./b//c", "/dev/a/b/c"), ("DEVNAME=../x", "/x"), ("DEVNAME=../../..", "/"),
     ("DEVNAME=a=b", ""), ("OTHER=1\nDEVNAME=", "/dev")],
)  # fmt: skip
def test_the_device_node_is_below_dev(line, path):
    (found,) = plugins(stick(extra=line), usb("46f4:1"))
    assert found.devices[0].usb[0].device_path == path


def test_equal_devices_are_taken_one_for_each_use():
    entries = {**stick("1-1"), **stick("1-2"), **stick("1-3", number="5")}
    (found,) = plugins(entries, usb("46f4:1", "46f4:1"))
    numbers = [[one.device_number for one in device.usb] for device in found.devices]
    assert numbers == [[4, 4], [5, 5]]


def test_a_device_without_a_uevent_and_real_directories():
    entries = stick()
    del entries["sys/devices/1-1/uevent"]
    assert plugins(entries, usb("46f4:1")) == ()
    real = {"sys/bus/usb/devices/h/1-1/idVendor": Text(""),
            "sys/bus/usb/devices/h/1-1/uevent": Text("PRODUCT=46f4/1/0")}  # fmt: skip
    assert len(plugins(real, usb("46f4:1"))) == 1


# -- text as Go reads it --------------------------------------------------------------------------


def test_lines_and_white_space():
    assert lines("a\r\nb\n") == ["a", "b", ""]
    assert trimmed("\x85\u3000 a\x1c\u200b \v") == "a\x1c\u200b"
    assert decimal("12") == 12
    assert decimal("1234567890123456789") == 1234567890123456789
