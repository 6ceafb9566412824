"""The check of every field against the table."""

import time

import pytest

from passway.manifest import fields, hints
from passway.manifest.build import MAX_FAULTS
from passway.manifest.fields import check
from passway.manifest.table import Structure, load, places
from passway.manifest.text import read
from passway.model.reasons import render

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: a
spec:
  runStrategy: Always
{vm}
  template:
    metadata: {{}}
    spec:
{vmi}
      domain:
{domain}
        devices:
          rng: {{}}
{devices}
"""
SPEC = "spec.template.spec"
DOMAIN = f"{SPEC}.domain"
DEVICES = f"{DOMAIN}.devices"
NETWORKS = f"{SPEC}.networks"
NUMA = f"{DOMAIN}.cpu.numa.guestMappingPassthrough"
PROBE = "readinessProbe: {httpGet: {port: 1.5}}"
A_QUANTITY = "a quantity (500m, 16Gi)"


def vm(**parts):
    places_of = {"vm": 2, "vmi": 6, "domain": 8, "devices": 10}
    filled = {key: " " * indent + parts.get(key, "# -") for key, indent in places_of.items()}
    return VM.format(**filled)


def faults(text, kind="VirtualMachine"):
    documents = read(text, "f")
    assert documents.faults == ()
    found = list(check(documents.nodes[0], kind))
    for issue in found:
        assert render(issue).message
        name = issue.path.rpartition(".")[2]
        line = text.splitlines()[issue.position.line - 1]
        found_there = name.rstrip("…") in line or "[" in name
        assert issue.reason == "MissingField" or found_there or not issue.path
    return found


def only(text, kind="VirtualMachine"):
    (issue,) = faults(text, kind)
    return issue


def test_a_sound_vm_has_no_faults():
    assert faults(vm()) == []


@pytest.mark.parametrize(
    ("part", "right"),
    [
        ({"domain": "gpus: [{name: a, deviceName: x/y}]"}, f"{DEVICES}.gpus"),
        ({"domain": "hostDevices: []"}, f"{DEVICES}.hostDevices"),
        ({"vmi": "hostdevices: []"}, f"{DEVICES}.hostDevices"),
        ({"vm": "gpus: []"}, f"{DEVICES}.gpus"),
        ({"domain": "hugepages: {pageSize: 2Mi}"}, f"{DOMAIN}.memory.hugepages"),
        ({"vm": "nodeSelector: {a: b}"}, f"{SPEC}.nodeSelector"),
        (
            {"domain": "cpu: {guestMappingPassthrough: {}}"},
            f"{DOMAIN}.cpu.numa.guestMappingPassthrough",
        ),
        ({"vm": "evictionStrategy: None"}, f"{SPEC}.evictionStrategy"),
        ({"domain": "networks: []"}, f"{SPEC}.networks"),
        (
            {"devices": "interfaces: [{name: a, networkName: x}]"},
            f"{NETWORKS}[].multus.networkName",
        ),
        (
            {"vmi": "networks: [{name: a, networkName: x}]"},
            f"{NETWORKS}[0].multus.networkName",
        ),
        ({"vmi": "dedicatedCpuPlacement: true"}, f"{DOMAIN}.cpu.dedicatedCpuPlacement"),
        ({"vmi": "rebootPolicy: Reboot"}, f"{DOMAIN}.rebootPolicy"),
        ({"vm": "status: {}"}, "status"),
    ],
)  # fmt: skip
def test_a_field_in_the_wrong_place_is_told_the_right_one(part, right):
    issue = only(vm(**part))
    assert (issue.reason, issue.params["right"]) == ("MisplacedField", right)


@pytest.mark.parametrize(
    ("part", "field", "near"),
    [
        ({"devices": "gpu: []"}, "gpu", ("gpus",)),
        ({"devices": "disk: []"}, "disk", ("disks",)),
        ({"domain": "Memory: {}"}, "Memory", ("memory",)),
        ({"devices": "gpus: [{name: a, devicename: x}]"}, "devicename", ("deviceName",)),
        ({"vm": "zzz: 1"}, "zzz", None),
        ({"domain": "name: x"}, "name", None),
        ({"domain": "hugepages: 2Mi"}, "hugepages", None),
        ({"vm": "x" * 500 + ": 1"}, "x" * 400 + "…", None),
    ],
)  # fmt: skip
def test_an_unknown_field_is_told_the_nearest(part, field, near):
    issue = only(vm(**part))
    assert (issue.reason, issue.params["field"]) == ("UnknownField", field)
    if near is None:
        assert "right" not in issue.params
    else:
        assert issue.params["near"][:1] == near


@pytest.mark.parametrize(
    ("part", "wanted", "found", "hint"),
    [
        ({"vmi": "nodeSelector: {port: 80}"}, "text", "the number 80", "quote it"),
        ({"vmi": "nodeSelector: {gpu: yes}"}, "text", "true", "quote it"),
        ({"vmi": "nodeSelector: {gpu: off}"}, "text", "false", "quote it"),
        ({"vmi": "nodeSelector: {x: .nan}"}, "text", "the number .nan", "quote it"),
        ({"vmi": "nodeSelector: {x: []}"}, "text", "a list", None),
        ({"vmi": "nodeSelector: big"}, "a mapping", "text", None),
        ({"vmi": "nodeSelector: ''"}, "a mapping", "an empty text", None),
        ({"vm": "running: 'true'"}, "true or false", "text", "remove the quotes"),
        ({"vm": "running: 1"}, "true or false", "the number 1", None),
        ({"domain": "cpu: {cores: '4'}"}, "a whole number", "text", "remove the quotes"),
        ({"domain": "cpu: {cores: four}"}, "a whole number", "text", None),
        ({"domain": "cpu: {cores: 1.5}"}, "a whole number", "the number 1.5", None),
        ({"domain": "cpu: {cores: .inf}"}, "a whole number", "the number .inf", None),
        ({"domain": "cpu: {cores: true}"}, "a whole number", "true", None),
        ({"domain": "cpu: 4"}, "a mapping", "the number 4", None),
        ({"devices": "gpus: {name: a}"}, "a list", "a mapping", 'begin each entry with "- "'),
        ({"devices": "gpus: x"}, "a list", "text", None),
        ({"devices": "gpus: [x]"}, "a mapping", "text", None),
        ({"devices": "gpus: [null]"}, "a mapping", "nothing", None),
        (
            {"domain": "resources: {limits: {cpu: 0.5}}"},
            "a quantity (500m, 16Gi)",
            "the number 0.5",
            "quote it",
        ),
        (
            {"domain": "resources: {limits: {cpu: {}}}"},
            "a quantity (500m, 16Gi)",
            "a mapping",
            None,
        ),
        ({"domain": "resources: {limits: 4}"}, "a mapping", "the number 4", None),
        ({"domain": "rebootPolicy: 4"}, "text", "the number 4", None),
        (
            {"vmi": "readinessProbe: {httpGet: {port: 1.5}}"},
            "a whole number or text",
            "the number 1.5",
            "quote it",
        ),
    ],
)  # fmt: skip
def test_wrong_types(part, wanted, found, hint):
    issue = only(vm(**part))
    assert issue.reason == "WrongType"
    assert (issue.params["wanted"], issue.params["found"]) == (wanted, found)
    assert issue.params.get("hint") == hint


@pytest.mark.parametrize(
    "part",
    [
        {"domain": "cpu: {cores: 2.0, sockets: 0x2}"},
        {"domain": "resources: {limits: {cpu: 2, memory: 1Gi, x/y: '1e3'}, requests: null}"},
        {"domain": "rebootPolicy: Terminate"},
        {"domain": "clock: {utc: {}, unheard: of}"},
        {"vmi": "nodeSelector: {a: null}"},
        {"vmi": "nodeSelector: null"},
        {"vm": "unknown: null"},
        {"vmi": "readinessProbe: {httpGet: {port: 80}}"},
        {"vmi": "readinessProbe: {httpGet: {port: http}}"},
        {"vm": "dataVolumeTemplates: [{metadata: {name: a}, spec: {}, status: {x: 1}}]"},
        {"vm": "dataVolumeTemplates: [{metadata: {ownerReferences: [1]}, spec: {}}]"},
    ],
)
def test_what_the_api_server_takes_is_no_fault(part):
    assert faults(vm(**part)) == []


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"domain": "memory: {guest: 1 Gi}"}, "'1 Gi' is not a quantity"),
        ({"domain": "memory: {guest: ''}"}, "'' is not a quantity"),
        ({"domain": "rebootPolicy: Never"}, '"Never" is none of Reboot, Terminate'),
    ],
)
def test_invalid_values(part, words):
    issue = only(vm(**part))
    assert issue.reason == "InvalidValue"
    assert words in issue.params["problem"]


def test_missing_fields_point_at_the_nearest_parent():
    text = "kind: VirtualMachine\nspec:\n  template:\n    spec:\n      networks: [{pod: {}}]\n"
    found = [(issue.path, issue.position.line) for issue in faults(text)]
    assert found == [("spec.template.spec.networks[0].name", 5), ("spec.template.spec.domain", 4)]
    assert only("kind: x").path == "spec"
    assert only("kind: x\nspec: null").params["field"] == "spec"


def test_a_root_that_is_no_mapping():
    issue = only("[1]")
    assert render(issue).message == "the document must be a mapping, but this is a list"


def test_every_kind_is_walked_to_its_vmi_spec():
    bad = "{domain: {devices: {}, gpus: []}}"
    texts = {
        "VirtualMachineInstance": f"spec: {bad}",
        "VirtualMachineInstanceReplicaSet": f"spec: {{selector: {{}}, template: {{spec: {bad}}}}}",
        "VirtualMachinePool": (
            "spec: {selector: {}, virtualMachineTemplate: {spec: {runStrategy: Always, "
            f"template: {{spec: {bad}}}}}}}}}"
        ),
        "KubevirtMachineTemplate": (
            "spec: {template: {spec: {virtualMachineTemplate: {spec: {runStrategy: Always, "
            f"template: {{spec: {bad}}}}}}}}}}}}}"
        ),
    }
    for kind, text in texts.items():
        issue = only(text, kind)
        assert issue.reason == "MisplacedField"
        assert issue.params["right"].endswith("spec.domain.devices.gpus")


def test_very_many_unknown_fields_end_soon():
    text = "spec:\n" + "".join(f"  runStrategyNumber{number}: 1\n" for number in range(5000))
    start = time.perf_counter()
    found = faults(text)
    assert time.perf_counter() - start < 15
    assert len(found) == MAX_FAULTS
    assert sum("near" in issue.params for issue in found) <= fields.MAX_HINTS


def test_the_table_is_whole():
    table = load()
    assert table.kubevirt == "v1.9.0"
    pending = [kind.shape for kind in table.kinds.values()]
    seen = 0
    while pending:
        shape = table.resolve(pending.pop())
        seen += 1
        if isinstance(shape, Structure):
            parts = (shape.fields is not None, shape.map, shape.list, bool(shape.enum))
            assert sum(bool(part) for part in parts) == 1
            pending.extend((shape.fields or {}).values())
            pending.extend(part for part in (shape.map, shape.list) if part is not None)
        else:
            assert shape == "any" or shape in fields._WANTED
    assert seen > 1000
    assert {place.name for place in places("VirtualMachine")["gpus"]} == {"gpus"}


def test_a_name_without_near_ones_is_no_typing_error():
    assert not hints.is_typing_error("x", ())
