"""What KubeVirt would make of a VM, over REST: answers, failures as answers, limits."""

import json

import pytest

from passway.api import examples
from passway.api.schemas import MAX_FILE, MAX_FILES, MAX_METADATA
from passway.service.rendering import MAX_ENTRIES

XML = "/api/v1/render/xml"
POD = "/api/v1/render/pod"
VARIABLE = "PCI_RESOURCE_NVIDIA_COM_GA102GL_A10"


def instance(devices=None, **spec):
    return {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {"name": "a", "namespace": "ml"},
        "spec": {"domain": {"devices": devices or {}, "memory": {"guest": "1Gi"}}, **spec},
    }  # fmt: skip


def gpus(*names, **fields):
    return [{"name": name, "deviceName": examples.A10, **fields} for name in names]


CLAIMED = instance(
    {"gpus": [{"name": "g", "claimName": "c", "requestName": "r"}]},
    resourceClaims=[{"name": "c", "resourceClaimName": "mine"}],
)
METADATA = json.dumps(
    {"apiVersion": "metadata.resource.k8s.io/v1alpha1",
     "requests": [{"name": "r", "devices": [
         {"attributes": {"resource.kubernetes.io/pciBusID": {"string": "0000:65:00.0"}}}]}]}
)  # fmt: skip
SRIOV = instance(
    {"interfaces": [{"name": "fast", "sriov": {}}]},
    networks=[{"name": "fast", "multus": {"networkName": "fast"}}],
)
INFO = json.dumps(
    {"interfaces": [{"network": "fast", "deviceInfo": {"pci": {"pci-address": "0000:65:00.0"}}}]}
)


@pytest.mark.parametrize(
    ("body", "device", "alias"),
    [
        (examples.RENDER_XML, "gpus[0] 'gpu'", "ua-gpu-gpu"),
        ({"manifest": CLAIMED, "metadata": {"resourceclaims/mine/r/x-metadata.json": METADATA}},
         "gpus[0] 'g'", "ua-dra-gpu-g"),
        ({"manifest": SRIOV, "network_info": INFO}, "interfaces[0] 'fast'", "ua-sriov-fast"),
        ({"manifest": instance({"hostDevices": gpus("a")}), "env": {VARIABLE: "0000:65:00.0"}},
         "hostDevices[0] 'a'", "ua-hostdevice-a"),
    ],
)  # fmt: skip
async def test_devices_are_rendered_from_what_comes_along(user, body, device, alias):
    answer = await user.post(XML, json=body)
    assert answer.status_code == 200
    found = answer.json()
    assert (found["kind"], found["error"]) == ("HostDevices", None)
    (element,) = found["elements"]
    assert element["device"] == device
    assert 'bus="0x65"' in element["xml"]
    assert f'name="{alias}"' in element["xml"]


async def test_a_failure_of_the_launcher_is_an_answer(user):
    answer = await user.post(XML, json={"manifest": examples.MANIFEST})
    assert answer.status_code == 200
    found = answer.json()
    assert found["elements"] == []
    assert found["machine"] == {"kind": "VirtualMachine", "name": "train-8", "namespace": "ml"}
    error = found["error"]
    assert set(error) == {"code", "device", "looked_for", "message", "hint"}
    assert error["code"] == "DeviceCountMismatch"
    assert error["looked_for"] == [VARIABLE, f"MDEV_{VARIABLE}"]


async def test_a_vmi_with_a_status_shows_only_what_is_attached(user):
    asked = {"manifest": {**SRIOV, "status": {"interfaces": [{"name": "other"}]}}}
    found = (await user.post(XML, json=asked)).json()
    assert (found["elements"], found["error"]) == ([], None)
    found = (await user.post(XML, json={"manifest": SRIOV})).json()
    assert found["error"]["code"] == "NetworkInfoHasNoAddresses"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "manifest"),
        ({"manifest": 1}, "manifest"),
        ({"manifest": ["a"]}, "manifest"),
        ({"manifest": None}, "manifest"),
        ({"manifest": "", "env": {"A": 1}}, "env.A"),
        ({"manifest": "", "env": {"A": "x" * (MAX_FILE + 1)}}, "env.A"),
        ({"manifest": "", "env": {f"A{n}": "" for n in range(MAX_FILES + 1)}}, "env"),
        ({"manifest": "", "metadata": {f"A{n}": "" for n in range(MAX_FILES + 1)}}, "metadata"),
        ({"manifest": "", "metadata": {"a": "x" * (MAX_METADATA + 1)}}, "metadata.a"),
        ({"manifest": "", "network_info": "x" * (MAX_FILE + 1)}, "network_info"),
        ({"manifest": "", "files": {}}, "files"),
    ],
)
async def test_bodies_are_bounded_and_strict(user, body, path):
    answer = await user.post(XML, json=body)
    assert answer.status_code == 400
    assert [issue["path"] for issue in answer.json()["issues"]] == [path]


async def test_a_body_has_a_largest_size(user):
    assert (await user.post(XML, json={"manifest": "#" * 2**21})).status_code == 413


async def test_faults_of_a_text_have_lines_and_those_of_an_object_none(user):
    answer = await user.post(XML, json={"manifest": "kind: VirtualMachine\nspec: 1\n"})
    assert answer.json()["code"] == "INVALID_MANIFEST"
    assert any(issue["line"] == 2 for issue in answer.json()["issues"])
    answer = await user.post(XML, json={"manifest": {**examples.MANIFEST, "spec": 1}})
    problem = answer.json()
    assert (problem["status"], problem["code"]) == (400, "INVALID_MANIFEST")
    assert problem["issues"]
    assert all(issue["line"] is None for issue in problem["issues"])


@pytest.mark.parametrize("field", ["gpus", "hostDevices"])
async def test_a_machine_with_too_many_devices_is_refused(user, field):
    names = [f"g{n}" for n in range(MAX_ENTRIES + 1)]
    answer = await user.post(XML, json={"manifest": instance({field: gpus(*names)})})
    assert answer.status_code == 400
    assert answer.json()["detail"] == f"{field} has 257 entries; at most 256"


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "", "a\u0000b", "\ud800"])
async def test_metadata_with_hostile_names_is_only_text(user, path):
    body = json.dumps({"manifest": CLAIMED, "metadata": {path: METADATA}})
    headers = {"Content-Type": "application/json"}
    answer = await user.post(XML, content=body, headers=headers)
    assert answer.status_code == 200
    assert answer.json()["error"]["code"] == "ClaimDeviceUnresolved"


async def test_a_claim_that_names_a_way_out_finds_nothing(user):
    way = {"gpus": [{"name": "g", "claimName": "c", "requestName": "../../../etc"}]}
    claims = [{"name": "c", "resourceClaimName": ".."}]
    asked = {"manifest": instance(way, resourceClaims=claims), "metadata": {"x": METADATA}}
    found = (await user.post(XML, json=asked)).json()
    assert found["error"]["code"] == "ClaimDeviceUnresolved"


# -- the pod ---------------------------------------------------------------------------------------


async def test_the_pod_is_a_manifest_with_its_overhead(user):
    answer = await user.post(POD, json=examples.MANIFEST)
    assert answer.status_code == 200
    found = answer.json()
    pod = found["pod"]
    assert (found["kind"], found["error"], found["unread"]) == ("LauncherPod", None, {})
    assert (pod["apiVersion"], pod["kind"]) == ("v1", "Pod")
    assert pod["metadata"]["generateName"] == "virt-launcher-train-8-"
    compute = pod["spec"]["containers"][0]
    assert compute["resources"]["limits"][examples.A10] == "1"
    assert found["requests"][examples.A10] == "1"
    assert found["overhead_total"] == sum(part["bytes"] for part in found["overhead"])
    assert pod["metadata"]["annotations"]["kubevirt.io/memory-overhead-bytes"] == str(
        found["overhead_total"]
    )


async def test_a_refusal_stands_beside_the_pod(user):
    manifest = instance({"gpus": [{"name": "g", "deviceName": "nvidia.com/nothing"}]})
    answer = await user.post(POD, json=manifest)
    assert answer.status_code == 200
    found = answer.json()
    assert found["error"]["code"] == "DeviceNotPermitted"
    assert '"nvidia.com/nothing"' in found["error"]["message"]
    assert found["pod"]["spec"]["containers"]


async def test_one_machine_at_a_time(user):
    text = f"{examples.MANIFEST_TEXT}---\n{examples.MANIFEST_TEXT}"
    for path, body in ((XML, {"json": {"manifest": text}}), (POD, {"content": text})):
        headers = {"Content-Type": "application/yaml"} if path == POD else {}
        answer = await user.post(path, headers=headers, **body)
        assert answer.status_code == 400
        assert "2 machines" in answer.json()["detail"]
