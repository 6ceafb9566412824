"""What is read below a root: the vectors' trees as they are, and nothing of hostile ones."""

import os
import stat
import time
from pathlib import Path

import pytest
from tests.conformance import run

from passway.host import reader
from passway.host.reader import Limits, read_tree
from passway.host.tree import HostTree, Link, Text
from passway.kubevirt.discovery import discover
from passway.kubevirt.permitted import KUBEVIRT, permits_in
from passway.model.errors import InvalidInput, TooLarge

ADDRESS = "0000:81:00.0"
DEVICE = f"sys/devices/pci0000:81/{ADDRESS}"


def write(root, entries):
    for path, entry in entries.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        match entry:
            case {"text": text}:
                place.write_text(text, encoding="utf-8")
            case {"link": target}:
                place.symlink_to(target)
            case _:
                place.mkdir(exist_ok=True)


@pytest.fixture
def root(tmp_path):
    """A host with one card."""
    place = tmp_path / "root"
    write(place, {
        f"sys/bus/pci/devices/{ADDRESS}": {"link": f"../../../devices/pci0000:81/{ADDRESS}"},
        f"{DEVICE}/uevent": {"text": "PCI_ID=10DE:2236\n"},
        f"{DEVICE}/driver": {"link": "../../../bus/pci/drivers/vfio-pci"},
        f"{DEVICE}/iommu_group": {"link": "../../../kernel/iommu_groups/45"},
        f"{DEVICE}/config": {"text": "never"},
        f"sys/kernel/iommu_groups/45/devices/{ADDRESS}": {"link": f"../../../../../{DEVICE}"},
        "dev/vfio/45": {"text": "never"}, "dev/vfio/devices/vfio0": {"text": "never"},
        "etc/passwd": {"text": "never"},
    })  # fmt: skip
    return place


def secret_free(tree):
    return not any(isinstance(one, Text) and "never" in one.text for one in tree.entries.values())


CASES = list(run.cases(run.HERE / "vectors" / "node-discovery.jsonl.gz"))


def test_the_vectors_trees_say_the_same_when_they_are_read(tmp_path):
    for number, case in enumerate(CASES):
        given, place = case["input"], tmp_path / str(number)
        write(place, {"sys": {"dir": True}, **given["tree"]})
        permits = permits_in(given["permittedHostDevices"], KUBEVIRT)
        tree = read_tree(place)
        assert discover(tree, permits) == discover(HostTree.of(given["tree"]), permits)
        assert tree.left_out == ()


def test_only_what_is_needed_is_read(root):
    tree = read_tree(root)
    assert secret_free(tree)
    assert tree.text(f"sys/bus/pci/devices/{ADDRESS}/uevent") == "PCI_ID=10DE:2236\n"
    assert tree.names("dev/vfio") == ("45", "devices")
    assert tree.names("dev/vfio/devices") == ("vfio0",)
    assert tree.link_name(f"sys/kernel/iommu_groups/45/devices/{ADDRESS}") == ADDRESS
    assert not tree.exists("etc")
    assert f"{DEVICE}/config" not in tree.entries


def test_no_device_node_is_opened(root, monkeypatch):
    opened, really = [], os.open

    def spy(path, flags, *args, **more):
        opened.append((path, flags))
        return really(path, flags, *args, **more)

    monkeypatch.setattr(os, "open", spy)
    read_tree(root)
    assert {name for name, flags in opened if not flags & os.O_DIRECTORY} == {"uevent"}
    assert all(flags & os.O_NOFOLLOW for _, flags in opened[1:])


@pytest.mark.parametrize("target", ["/etc", "../../../../../../../../etc", "{outside}"])
def test_links_out_of_the_root_lead_nowhere(root, tmp_path, target):
    outside = tmp_path / "outside"
    write(outside, {"uevent": {"text": "never"}, "mdev_supported_types/t/name": {"text": "never"}})
    for folder in ("pci", "usb", "mdev"):
        path = f"sys/bus/{folder}/devices/evil"
        write(root, {path: {"link": target.format(outside=outside)}})
    write(root, {f"{DEVICE}/numa_node": {"link": str(outside / "uevent")}})
    tree = read_tree(root)
    assert secret_free(tree)
    assert tree.text(f"{DEVICE}/numa_node") is None
    assert isinstance(tree.entries["sys/bus/pci/devices/evil"], Link)


@pytest.mark.parametrize("path", ["sys/bus", "sys/class/mdev_bus", "dev", "sys"])
def test_a_folder_that_is_a_link_is_not_entered(tmp_path, path):
    outside = tmp_path / "outside"
    write(outside, {"pci/devices/x": {"link": "y"}, "vfio/never": {"text": ""}})
    write(tmp_path / "root", {path: {"link": str(outside)}, "sys/x": {"dir": True}} if path != "sys"
          else {"sys": {"link": str(outside)}})  # fmt: skip
    tree = read_tree(tmp_path / "root")
    assert tree.entries == {}
    assert tree.left_out


def test_loops_and_long_ways_end(root):
    write(root, {
        "sys/bus/pci/devices/a": {"link": "b"}, "sys/bus/pci/devices/b": {"link": "a"},
        "sys/bus/pci/devices/self": {"link": "self/x"},
        "sys/bus/pci/devices/file": {"text": "x"},
        "sys/bus/pci/devices/far": {"link": f"{DEVICE}/none"},
        "sys/bus/pci/devices/deep": {"link": "/" + "sys/bus/../../" * 200 + DEVICE},
    })  # fmt: skip
    tree = read_tree(root)
    assert tree.text("sys/bus/pci/devices/deep/uevent") == "PCI_ID=10DE:2236\n"
    assert not tree.exists("sys/bus/pci/devices/a/uevent")
    assert tree.left_out == ()
    assert read_tree(root, Limits(depth=3)).text(f"{DEVICE}/uevent") is None


def test_what_cannot_be_read_is_named(root, monkeypatch):
    write(root, {
        f"{DEVICE}/numa_node": {"text": "0" * 70_000},
        "sys/bus/usb/devices": {"text": "no folder"},
    })  # fmt: skip
    (root / os.fsdecode(b"sys/bus/pci/devices/\xff")).symlink_to("x")
    (root / "sys/bus/pci/devices/bytes").symlink_to(os.fsdecode(b"\xfe"))
    really = os.open

    def refuse(path, flags, *args, **more):
        if path == "uevent":
            raise PermissionError
        return really(path, flags, *args, **more)

    monkeypatch.setattr(os, "open", refuse)
    tree = read_tree(root)
    assert tree.left_out == (
        "sys/bus/pci/devices/?", "sys/bus/pci/devices/bytes", "sys/bus/usb/devices",
        f"{DEVICE}/numa_node", f"{DEVICE}/uevent",
    )  # fmt: skip
    assert tree.link_name(f"{DEVICE}/driver") == "vfio-pci"


def test_a_pipe_in_the_place_of_a_file_is_passed_by(root):
    (root / DEVICE / "uevent").unlink()
    os.mkfifo(root / DEVICE / "uevent")
    assert read_tree(root).text(f"{DEVICE}/uevent") is None


def test_bytes_that_are_no_text_are_replaced(root):
    (root / DEVICE / "uevent").write_bytes(b"\xff")
    assert read_tree(root).text(f"{DEVICE}/uevent") == "�"


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (Limits(entries=3), "more than 3 files"),
        (Limits(total_bytes=3), "more than 3 bytes"),
        (Limits(seconds=-1), "longer than -1 s"),
    ],
)
def test_over_a_limit_there_is_no_answer(root, limits, says):
    with pytest.raises(TooLarge, match=says):
        read_tree(root, limits)


def test_every_descriptor_is_closed(root):
    before = len(list(Path("/proc/self/fd").iterdir()))
    read_tree(root)
    with pytest.raises(TooLarge):
        read_tree(root, Limits(entries=3))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_root_that_is_none_is_told(root, tmp_path):
    for path in (tmp_path / "none", root / "etc" / "passwd", tmp_path / "a\0b"):
        with pytest.raises(InvalidInput):
            read_tree(path)
    with pytest.raises(InvalidInput, match="no sys in it"):
        read_tree(tmp_path)


def test_a_large_host_is_read_in_seconds(tmp_path):
    for number in range(500):
        address = f"0000:{number // 256:02x}:{number % 256 // 8:02x}.{number % 8}-{number}"
        place = f"sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/{address}"
        write(tmp_path, {
            f"sys/bus/pci/devices/{address}": {"link": f"../../../../{place}"},
            f"{place}/uevent": {"text": "PCI_ID=10DE:2236\n"},
        })  # fmt: skip
    start = time.monotonic()
    tree = read_tree(tmp_path)
    assert time.monotonic() - start < 5
    assert len(tree.names("sys/bus/pci/devices")) == 500


def test_the_types_of_files_are_those_of_the_links_themselves(root):
    top = os.open(root, os.O_RDONLY)
    try:
        one = reader._Reader(top, Limits())
        assert one.kind(("sys", "bus", "pci", "devices", ADDRESS)) == stat.S_IFLNK
        assert one.kind(("none",)) is None
    finally:
        os.close(top)
