"""What the audit keeps of an object."""

import json
from hashlib import sha256

from passway.service.withheld import LARGEST, kept, without_secrets

SECRET = "#cloud-config\npassword: hunter2"
HASH = f"sha256:{sha256(SECRET.encode()).hexdigest()}"


def test_secret_text_becomes_its_hash_and_the_rest_stays():
    machine = {
        "metadata": {"annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": SECRET, "note": "kept"}},
        "spec": {"template": {"spec": {
            "networkData": SECRET, "networkDataBase64": SECRET, "userDataBase64": SECRET,
            "volumes": [
                {"name": "a", "cloudInitNoCloud": {"userData": SECRET, "secretRef": {"name": "s"}}},
                {"name": "b", "cloudInitConfigDrive": {"networkData": SECRET}},
                {"name": "c", "sysprep": {"configMap": {"name": "c"}}},
                {"name": "d", "containerDisk": {"image": "i:1"}},
            ],
            "userData": SECRET,
        }}},
    }  # fmt: skip
    text = kept(machine)
    assert "hunter2" not in text
    found = json.loads(text)
    assert found["metadata"]["annotations"]["note"] == "kept"
    spec = found["spec"]["template"]["spec"]
    assert (spec["userData"], spec["networkData"], spec["userDataBase64"]) == (HASH,) * 3
    volumes = spec["volumes"]
    assert [item["name"] for item in volumes] == ["a", "b", "c", "d"]
    assert volumes[3]["containerDisk"] == {"image": "i:1"}
    assert volumes[0]["cloudInitNoCloud"].startswith("sha256:")
    assert volumes[2]["sysprep"].startswith("sha256:")


def test_the_same_text_has_the_same_hash_whatever_the_order_of_fields():
    one = without_secrets({"cloudInitNoCloud": {"a": 1, "b": 2}, "userData": ""})
    assert one == without_secrets({"userData": "", "cloudInitNoCloud": {"b": 2, "a": 1}})
    assert one["userData"] == ""


def test_a_large_object_is_kept_as_its_hash_and_nothing_as_nothing():
    found = json.loads(kept({"a": "x" * LARGEST}))
    assert set(found) == {"bytes", "sha256"}
    assert kept(None) is None
    assert kept({"a": (1, 2)}) == '{"a":[1,2]}'
