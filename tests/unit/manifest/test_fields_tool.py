"""The derivation of the field table from CRDs."""

import json

import pytest
import yaml
from tools import fields

QUANTITY = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": "^(([KMGTPE]i)|[numkMGTPE])$",
    "x-kubernetes-int-or-string": True,
}
SHARED = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("alpha", "beta", "gamma", "delta")},
}
ROOT = {
    "type": "object",
    "required": ["spec", "kind"],
    "properties": {
        "kind": {"type": "string", "default": "x"},
        "metadata": {"type": "object"},
        "status": {"type": "object"},
        "spec": {
            "type": "object",
            "properties": {
                "domain": SHARED,
                "other": SHARED,
                "limits": {"type": "object", "additionalProperties": QUANTITY},
                "port": {"x-kubernetes-int-or-string": True},
                "policy": {"type": "string", "enum": ["b", "a"]},
                "clock": {
                    "type": "object",
                    "properties": {"utc": {"type": "boolean"}},
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "odd": {},
                "none": {"type": "object"},
                "counts": {"type": "array", "items": {"type": "integer"}},
            },
        },
    },
}
SPEC = {
    "fields": {
        "clock": {"fields": {"utc": "boolean"}, "open": True},
        "counts": {"list": "integer"},
        "domain": "$domain",
        "limits": {"map": "quantity"},
        "none": {"fields": {}},
        "odd": "any",
        "other": "$domain",
        "policy": {"enum": ["a", "b"]},
        "port": "int-or-string",
        "raw": "any",
    }
}


def crd(kind, *schemas):
    versions = [
        {
            "name": f"v{number}",
            "served": number < 3,
            "storage": number == 2,
            "schema": {"openAPIV3Schema": schema},
        }
        for number, schema in enumerate(schemas, 1)
    ]
    return {"spec": {"group": "example.com", "names": {"kind": kind}, "versions": versions}}


@pytest.fixture
def crds(tmp_path):
    for number, file in enumerate(fields.CRDS):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        own = {**ROOT, "properties": {**ROOT["properties"], f"own{number}": {"type": "string"}}}
        text = yaml.safe_dump(crd(f"Kind{number}", own, own, {"type": "string"}))
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_the_table_holds_names_and_types_once(crds):
    text = fields.build(crds)
    assert text == fields.build(crds)
    table = json.loads(text)
    kind = table["kinds"]["Kind0"]
    assert kind["apiVersions"] == ["example.com/v2", "example.com/v1"]
    assert kind["shape"] == {
        "fields": {
            "kind": "string",
            "metadata": "$metadata",
            "own0": "string",
            "spec": "$vmi",
            "status": "any",
        },
        "required": ["spec"],
    }
    assert table["shared"]["$metadata"] == fields.OBJECT_META


def test_a_spec_with_a_domain_is_called_vmi(crds):
    shared = json.loads(fields.build(crds))["shared"]
    inline = {"fields": dict.fromkeys(("alpha", "beta", "delta", "gamma"), "string")}
    assert shared["$domain"] == inline
    assert shared["$vmi"] == SPEC


def test_versions_that_differ_are_refused(crds):
    path = crds / fields.CRDS[1]
    path.write_text(yaml.safe_dump(crd("Kind1", ROOT, SHARED)), encoding="utf-8")
    with pytest.raises(SystemExit, match="the versions differ"):
        fields.build(crds)


def test_the_command_writes_the_table(crds, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fields, "TARGET", tmp_path / "fields.json")
    assert fields.main([str(crds)]) == 0
    assert fields.TARGET.read_text(encoding="utf-8") == fields.build(crds)
    assert fields.main([]) == 2
    assert "usage" in capsys.readouterr().err
