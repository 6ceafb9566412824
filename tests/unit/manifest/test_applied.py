"""A machine whose VMI spec was changed: its views, its document and its places."""

from dataclasses import replace

import pytest
from tests.builders import GPU, machine, vm

from passway.manifest.applied import with_vmi
from passway.manifest.text import MAX_DEPTH

SPEC = machine(vm(cpu={"cores": 2}))
BASE = "spec.template.spec"


def test_the_views_follow_the_new_spec_and_the_document_stays():
    vmi = SPEC.vmi.plain()
    vmi["domain"]["devices"]["gpus"] = ({"name": "g", "deviceName": GPU},)
    vmi["domain"]["cpu"] = {"sockets": 3, "dedicatedCpuPlacement": True}
    made = with_vmi(SPEC, vmi, {"a": "b"})
    assert made is not None
    assert [device.path for device in made.devices] == [f"{BASE}.domain.devices.gpus[0]"]
    assert (made.cpu.sockets, made.cpu.cores, made.cpu.dedicated) == (3, None, True)
    assert (made.document, dict(made.annotations)) == (SPEC.document, {"a": "b"})
    assert made.plain("domain.cpu") == vmi["domain"]["cpu"]


def test_the_same_spec_gives_the_same_machine():
    made = with_vmi(SPEC, SPEC.vmi.plain(), SPEC.annotations)
    assert made is not None
    assert made.vmi.plain() == SPEC.vmi.plain()
    assert replace(made, vmi=SPEC.vmi) == SPEC


@pytest.mark.parametrize(
    "odd",
    [
        {"odd": 1},
        {"domain": {"devices": {}, "cpu": {"cores": "two"}}},
        {"domain": {"devices": {}, "launchSecurity": {1: 2}}},
        {"domain": {"devices": {}}, "nodeSelector": {"a": object()}},
        {},
    ],
)
def test_what_no_vmi_can_be_gives_no_machine(odd):
    assert with_vmi(SPEC, odd, {}) is None


def test_a_tree_that_is_too_deep_gives_no_machine():
    deep: dict[str, object] = {}
    for _ in range(MAX_DEPTH + 1):
        deep = {"a": [deep]}
    assert with_vmi(SPEC, {"domain": {"devices": {}, "firmware": deep}}, {}) is None


def test_what_was_inherited_is_written_at_its_reference():
    inherited = {f"{BASE}.domain.cpu": "spec.instancetype", f"{BASE}.a": "x", f"{BASE}.a.b": "y"}
    spec = replace(SPEC, inherited=inherited)
    assert spec.written(f"{BASE}.domain.cpu") == "spec.instancetype"
    assert spec.written(f"{BASE}.domain.cpu.sockets") == "spec.instancetype"
    assert spec.written(f"{BASE}.domain.cpu.cores") == f"{BASE}.domain.cpu.cores"
    assert spec.written(f"{BASE}.domain.cpus") == f"{BASE}.domain.cpus"
    assert (spec.written(f"{BASE}.a.b[0].c"), spec.written(f"{BASE}.a[1]")) == ("y", "x")
    assert SPEC.written(f"{BASE}.domain.cpu.sockets") == f"{BASE}.domain.cpu.sockets"
