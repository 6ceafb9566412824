"""Where a text keeps the permitted list, and the findings with their place in it."""

import json

import pytest

from passway.host.tree import HostTree, Link, Text
from passway.model.errors import InvalidInput, InvalidManifest
from passway.service.discovery import discovery_report, read_permitted

ENTRY = {"mdevNameSelector": "nvidia-222", "resourceName": "n.com/t4"}
OTHER = {"mdevNameSelector": "nvidia-222", "resourceName": "n.com/other"}
LIST = {"mediatedDevices": [None, OTHER, ENTRY]}
TREE = HostTree({
    "sys/class/mdev_bus/c": Link("/sys/devices/c"),
    "sys/devices/c/mdev_supported_types/nvidia-222/name": Text("GRID T4-1Q\n"),
})  # fmt: skip


def kubevirt(permitted):
    return {"kind": "KubeVirt", "spec": {"configuration": {"permittedHostDevices": permitted}}}


def paths(document):
    report = discovery_report(TREE, json.dumps(document).encode(), "f")
    assert {issue.severity for issue in report.issues} == {"warning"}
    return [issue.path for issue in report.issues]


@pytest.mark.parametrize(
    ("document", "prefix"),
    [
        (LIST, ""),
        ({"permittedHostDevices": LIST}, "permittedHostDevices."),
        (kubevirt(LIST), "spec.configuration.permittedHostDevices."),
        ({"kind": "List", "items": [kubevirt(LIST), 1, {"kind": "Pod"}]},
         "spec.configuration.permittedHostDevices."),
        ({"kind": "HyperConverged", "spec": {"permittedHostDevices": LIST}},
         "spec.permittedHostDevices."),
        ({"kind": "HyperConverged", "spec": {"virtualization": {"permittedHostDevices": LIST}}},
         "spec.virtualization.permittedHostDevices."),
    ],
)  # fmt: skip
def test_the_list_is_found_and_findings_have_their_path(document, prefix):
    assert paths(document) == [
        f"{prefix}mediatedDevices[1].mdevNameSelector",
        f"{prefix}mediatedDevices[2].mdevNameSelector",
    ]


def test_findings_have_their_line():
    text = b"mediatedDevices:\n- resourceName: n.com/t4\n  mdevNameSelector: nvidia-222\n"
    (issue,) = discovery_report(TREE, text, "p.yaml").issues
    assert (issue.file, issue.line, issue.column) == ("p.yaml", 3, 3)
    assert "GRID T4-1Q" in issue.message
    assert "GRID T4-1Q" in issue.remedy


def test_a_selector_that_is_no_text_is_found_at_its_list():
    tree = HostTree({
        "sys/class/mdev_bus/c": Link("/sys/devices/c"),
        "sys/devices/c/mdev_supported_types/222/name": Text("GRID T4-1Q\n"),
    })  # fmt: skip
    text = b"mediatedDevices: [{resourceName: n.com/t4, mdevNameSelector: 222}]"
    (issue,) = discovery_report(tree, text, "p.yaml").issues
    assert issue.path == "mediatedDevices"


@pytest.mark.parametrize("document", [kubevirt(None), {"kind": "KubeVirt"}, {}])
def test_an_absent_list_names_nothing(document):
    assert read_permitted(json.dumps(document).encode(), "f").permits == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "no list"), (b"kind: Pod", "no list"), (b"- 1", "no list"), (b"a: 1", "no list"),
        (b"usb: []\n---\nusb: []", "more than one list"),
    ],
)  # fmt: skip
def test_a_text_without_one_list_is_told(text, says):
    with pytest.raises(InvalidInput, match=says):
        read_permitted(text, "f")


def test_faults_of_the_text_are_told():
    with pytest.raises(InvalidManifest) as caught:
        read_permitted(b"a: [", "f")
    assert caught.value.issues


def test_files_that_were_not_read_are_an_unknown():
    tree = HostTree({}, ["sys/a", "sys/b"])
    (issue,) = discovery_report(tree, b"{}", "f").issues
    assert (issue.reason, issue.severity) == ("HostFilesUnread", "unknown")
    assert issue.message.startswith("2 files of the host could not be read (sys/a and sys/b)")
