"""Rules and reasons: each rule has one, and sites become places of the manifest."""

import re
from pathlib import Path

import pytest
from tests.builders import machine, obj, vm

import passway.kubevirt.admission as admission
from passway.kubevirt.admission.cause import Cause, Site
from passway.model.reasons import REASONS
from passway.preflight.refusals import GROUPS, document_path, reason_of, sites

SPEC = {"domain": {"devices": {}}}


def test_a_rule_has_one_reason():
    rules = [rule for group in GROUPS.values() for rule in group]
    assert len(rules) == len(set(rules))
    assert GROUPS.keys() <= REASONS.keys()
    assert not set(rules) & REASONS.keys()


def test_every_rule_in_the_code_has_a_reason():
    grouped = {rule for group in GROUPS.values() for rule in group}
    folder = Path(admission.__file__).parent
    called = r'(?:invalid|required|duplicate|unsupported)\(\s*"([A-Z]\w+)"'
    found = {
        rule
        for file in folder.glob("*.py")
        for rule in re.findall(called, file.read_text(encoding="utf-8"))
    }
    assert len(found) > 60
    assert found - grouped - REASONS.keys() == set()


@pytest.mark.parametrize(
    ("kind", "spec", "path"),
    [
        ("VirtualMachine", {"template": {"spec": SPEC}}, "spec.template"),
        ("VirtualMachineInstance", SPEC, ""),
        ("VirtualMachineInstanceReplicaSet",
         {"selector": {}, "template": {"spec": SPEC}}, "spec.template"),
    ],
)  # fmt: skip
def test_places_in_the_document(kind, spec, path):
    asked = machine(obj("kubevirt.io/v1", kind, "vm", "default", spec=spec))
    prefix = f"{path}." if path else ""
    assert document_path(asked, "spec") == f"{prefix}spec"
    assert document_path(asked, "spec.domain.cpu") == f"{prefix}spec.domain.cpu"
    assert document_path(asked, 'metadata.labels["a"]') == f'{prefix}metadata.labels["a"]'


def test_what_kubevirt_says_twice_is_told_once():
    cause = Cause("FieldValueInvalid", "f", "NetworkUsedTwice",
                  (Site("spec.a", {"name": "x"}), Site("spec.b", {"name": "x"})))  # fmt: skip
    assert [site.path for _, site in sites((cause, cause))] == ["spec.a", "spec.b"]
    assert reason_of(cause) == "DuplicateName"


def test_the_words_of_a_vm_name_it():
    assert machine(vm()).vmi_path == "spec.template.spec"
