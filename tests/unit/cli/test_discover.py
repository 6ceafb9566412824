"""`passway discover` on small hosts."""

import json
import re

import pytest
from click.testing import CliRunner

from passway.main import cli

ADDRESSES = ["0000:81:00.0", "0000:82:00.0", "0000:83:00.0", "0000:84:00.0"]
PERMIT = """
pciHostDevices:
- {pciVendorSelector: "10DE:2236", resourceName: nvidia.com/A10}
mediatedDevices:
- {mdevNameSelector: nvidia-222, resourceName: nvidia.com/T4}
usb:
- {resourceName: kubevirt.io/stick, selectors: [{vendor: 46f4, product: "1"}]}
"""


def run(*args, code=0, **more):
    result = CliRunner().invoke(cli, ["discover", *map(str, args)], **more)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "host"
    (place / "sys/bus/pci/devices").mkdir(parents=True)
    (place / "sys/bus/usb/devices").mkdir(parents=True)
    for number, address in enumerate(ADDRESSES):
        device = place / "sys/devices" / address
        device.mkdir(parents=True)
        (place / "sys/bus/pci/devices" / address).symlink_to(f"../../../devices/{address}")
        (device / "uevent").write_text("PCI_ID=10DE:2236\n")
        (device / "driver").symlink_to("../../bus/pci/drivers/vfio-pci")
        (device / "iommu_group").symlink_to(f"../../kernel/iommu_groups/{45 + number}")
        (device / "numa_node").write_text(f"{number % 2}\n")
    types = place / "sys/devices" / ADDRESSES[0] / "mdev_supported_types/nvidia-222"
    types.mkdir(parents=True)
    (types / "name").write_text("GRID T4-1Q\n")
    stick = place / "sys/devices/1-1"
    stick.mkdir()
    (place / "sys/bus/usb/devices/1-1").symlink_to("../../../devices/1-1")
    (stick / "idVendor").write_text("46f4\n")
    (stick / "uevent").write_text("PRODUCT=46f4/1/0\nBUSNUM=1\nDEVNUM=4\nDEVNAME=bus/usb/001/004\n")
    return place


@pytest.fixture
def permit(tmp_path):
    path = tmp_path / "permit.yaml"
    path.write_text(PERMIT)
    return path


def test_the_table_and_the_wrong_selector(root, permit):
    done = run("--root", root, "--permit", permit)
    head, pci, usb = done.stdout.splitlines()
    assert head.split() == ["RESOURCE", "KIND", "DEVICES", "IDS", "NUMA", "HEALTHY"]
    assert re.split(" {3,}", pci) == [
        "nvidia.com/A10", "pci", "0000:81:00.0,0000:82:00.0,0000:83:00.0 +1",
        "45,46,47 +1", "0,1", "4",
    ]  # fmt: skip
    assert "46f4:0001-01:04" in usb
    assert "<none>" in usb
    assert f"warning: {permit}:5:4: MediatedSelectorNamesDirectory: " in done.stderr
    assert "hint: Set mdevNameSelector to the name: GRID T4-1Q." in done.stderr


def test_wide_shows_all(root, permit):
    text = run("--root", root, "--permit", permit, "-o", "wide").stdout
    assert "0000:84:00.0" in text
    assert "/dev/vfio/48" in text


def test_the_document(root, permit):
    found = json.loads(run("--root", root, "--permit", permit, "-o", "json").stdout)
    assert found["kind"] == "DiscoveryReport"
    pci, usb = found["items"]
    assert pci["env"] == {"PCI_RESOURCE_NVIDIA_COM_A10": ",".join(ADDRESSES)}
    assert pci["devices"][1] == {
        "id": "46", "health": "Healthy", "numa_node": 1, "pci_address": "0000:82:00.0",
        "uuid": None, "usb": [],
    }  # fmt: skip
    assert usb["devices"][0]["usb"] == [
        {"id": "46f4:0001-01:04", "device_path": "/dev/bus/usb/001/004"}
    ]
    assert [issue["reason"] for issue in found["issues"]] == ["MediatedSelectorNamesDirectory"]
    names = run("--root", root, "--permit", permit, "-o", "name").stdout
    assert names == "pci/nvidia.com/A10\nusb/kubevirt.io/stick\n"


def test_the_list_may_come_on_stdin_and_find_nothing(root):
    assert run("--root", root, "--permit", "-", input="{}").stdout == "no plugin\n"


def test_unread_files_make_the_answer_unknown(root, permit):
    (root / "sys/devices" / ADDRESSES[0] / "uevent").write_text("x" * 70_000)
    done = run("--root", root, "--permit", permit, code=3)
    assert "HostFilesUnread" in done.stderr
    assert "3" in done.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [("kind: Pod", "no list of permitted devices"), ("a: [", "permit.yaml:2:1: InvalidSyntax")],
)
def test_a_list_that_cannot_be_read_is_told(root, permit, text, says):
    permit.write_text(text)
    assert says in run("--root", root, "--permit", permit, code=2).stderr


def test_a_root_that_is_none_is_told(root, permit):
    assert "no sys in it" in run("--root", root.parent, "--permit", permit, code=2).stderr
    assert "No such file" in run("--root", root / "none", "--permit", permit, code=2).stderr
    assert run("--root", root, code=2)
