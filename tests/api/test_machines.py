"""Creating and judging VMs over REST: what refuses, what stands in the answer, what is left."""

import asyncio
import json

import pytest
from tests import builders

from passway.api import examples
from passway.cluster import kinds

KEY = "ssh-ed25519 AAAAC3Nza me@here"
YAML = {"Content-Type": "application/yaml"}
INSTANCE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: a}
spec: {domain: {devices: {}}}
"""
BUSY = {**examples.MACHINE, "devices": [{"name": "gpu", "device_name": examples.T4}]}


async def names(cluster):
    return {
        (vm["metadata"]["namespace"], vm["metadata"]["name"])
        for vm in (await cluster.list(kinds.MACHINES))[0]
    }


def changed(**fields):
    return {**examples.MACHINE, **fields}


async def test_a_vm_is_created_as_it_was_asked_for(user, cluster):
    body = changed(
        devices=[{"name": "gpu", "device_name": examples.A10},
                 {"name": "card", "device_name": "intel.com/QAT_4XXX_VF", "kind": "host-device"}],
        labels={"team": "a", "example.com/tier": ""},
        run_strategy="Halted",
    )  # fmt: skip
    answer = await user.post("/api/vms?dry_run=true", json=body)
    assert answer.status_code == 422  # no permit for the card, and no node with both
    body["devices"].pop()
    answer = await user.post("/api/vms", json=body)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert (made["name"], made["namespace"], made["dry_run"]) == ("train-7", "ml", False)
    assert made["uid"]
    assert [(item["reason"], item["severity"]) for item in made["issues"]] == [
        ("PinnedToNode", "warning")
    ]
    assert answer.headers["Location"] == "/api/v1/vms/ml/train-7"
    assert (await user.get(answer.headers["Location"])).json()["name"] == "train-7"
    stored = await cluster.get(kinds.MACHINES, "train-7", "ml")
    assert stored["metadata"]["labels"] == {"team": "a", "example.com/tier": ""}
    assert stored["spec"]["runStrategy"] == "Halted"
    devices = stored["spec"]["template"]["spec"]["domain"]["devices"]
    assert devices["gpus"] == [{"name": "gpu", "deviceName": examples.A10}]


async def test_everything_of_the_short_form_reaches_the_vm(user, cluster):
    body = {
        "name": "full", "namespace": "ml", "cpus": 2, "memory": 2048,
        "disks": [
            {"name": "boot", "data_volume": "full-boot", "bus": "scsi",
             "new": {"storage": "20Gi", "url": "docker://quay.io/containerdisks/fedora:43",
                     "storage_class": "fast"}},
            {"name": "data", "persistent_volume_claim": "datasets"},
            {"name": "tools", "container_disk": "quay.io/tools:1"},
        ],
        "interfaces": [{"name": "lan", "network_type": {"bridge": {"name": "lan"}}}],
        "pod_network": False, "ssh_keys": [KEY],
        "eviction_strategy": "LiveMigrateIfPossible", "run_strategy": "Halted",
    }  # fmt: skip
    refused = await user.post("/api/vms", json=body)
    reasons = {issue["reason"]: issue["severity"] for issue in refused.json()["issues"]}
    assert (refused.status_code, reasons) == (
        422,
        {"AttachmentMissing": "error", "VolumeMissing": "error", "VolumeNotPlaced": "unknown"},
    )
    await cluster.create(kinds.ATTACHMENTS, builders.attachment("lan", None, "ml"))
    claim = {"spec": {"volumeName": "pv"}, "status": {"phase": "Bound"}}
    await cluster.create(
        kinds.VOLUME_CLAIMS, builders.obj("v1", "PersistentVolumeClaim", "datasets", "ml", **claim)
    )
    await cluster.create(kinds.VOLUMES, builders.obj("v1", "PersistentVolume", "pv"))
    for _ in range(100):
        if (await user.post("/api/vms?dry_run=true", json=body)).status_code == 200:
            break
        await asyncio.sleep(0.01)
    answer = await user.post("/api/vms", json=body)
    assert answer.status_code == 201, answer.text
    spec = (await cluster.get(kinds.MACHINES, "full", "ml"))["spec"]
    (template,) = spec["dataVolumeTemplates"]
    assert template == {
        "metadata": {"name": "full-boot"},
        "spec": {
            "source": {"registry": {"url": "docker://quay.io/containerdisks/fedora:43"}},
            "storage": {"resources": {"requests": {"storage": "20Gi"}}, "storageClassName": "fast"},
        },
    }
    instance = spec["template"]["spec"]
    assert instance["volumes"] == [
        {"name": "boot", "dataVolume": {"name": "full-boot"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "datasets"}},
        {"name": "tools", "containerDisk": {"image": "quay.io/tools:1"}},
        {"name": "cloudinit", "cloudInitNoCloud": {
            "userData": f"#cloud-config\nssh_authorized_keys:\n  - {KEY}\n"}},
    ]  # fmt: skip
    devices = instance["domain"]["devices"]
    assert devices["disks"] == [
        {"name": "boot", "disk": {"bus": "scsi"}, "bootOrder": 1},
        {"name": "data", "disk": {"bus": "virtio"}},
        {"name": "tools", "disk": {"bus": "virtio"}},
        {"name": "cloudinit", "disk": {"bus": "virtio"}},
    ]
    assert devices["interfaces"] == [{"name": "lan", "bridge": {}}]
    assert instance["networks"] == [{"name": "lan", "multus": {"networkName": "lan"}}]
    assert instance["evictionStrategy"] == "LiveMigrateIfPossible"


async def test_an_sriov_interface_becomes_a_multus_network(user, cluster):
    answer = await user.post("/api/vms", json=examples.SRIOV_MACHINE)
    assert answer.status_code == 201, answer.text
    spec = (await cluster.get(kinds.MACHINES, "edge-7", "telco"))["spec"]["template"]["spec"]
    assert {"name": "storage", "sriov": {}} in spec["domain"]["devices"]["interfaces"]
    assert {"name": "storage", "multus": {"networkName": "storage"}} in spec["networks"]


async def test_a_request_that_is_sent_again_makes_one_vm(user, cluster):
    key = {"Idempotency-Key": "4f9c-1"}
    first = await user.post("/api/vms", json=examples.MACHINE, headers=key)
    assert (first.status_code, first.json()["repeated"]) == (201, False)
    before = await names(cluster)
    again = await user.post("/api/vms", json=examples.MACHINE, headers=key)
    assert (again.status_code, again.json()["repeated"]) == (200, True)
    assert again.json()["uid"] == first.json()["uid"]
    assert again.json()["verdict"] is None
    assert await names(cluster) == before
    # Another request with the key, the same one of somebody else, and without a key.
    other = await user.post("/api/vms", json=changed(name="other"), headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert "train-7" in other.json()["detail"]
    plain = await user.post("/api/vms", json=examples.MACHINE)
    assert (plain.status_code, plain.json()["code"]) == (409, "ALREADY_EXISTS")
    user.headers["Authorization"] = "Bearer demo-admin"
    others = await user.post("/api/vms", json=examples.MACHINE, headers=key)
    assert (others.status_code, others.json()["code"]) == (409, "ALREADY_EXISTS")
    marks = (await cluster.get(kinds.MACHINES, "train-7", "ml"))["metadata"]
    assert "4f9c-1" not in json.dumps(marks)
    # A VM that is gone can be made anew.
    await cluster.delete(kinds.MACHINES, "train-7", "ml")
    user.headers["Authorization"] = "Bearer demo-user"
    assert (await user.post("/api/vms", json=examples.MACHINE, headers=key)).status_code == 201


async def test_two_requests_with_one_key_at_once_make_one_vm(user, cluster):
    key = {"Idempotency-Key": "k"}
    answers = await asyncio.gather(
        *(user.post("/api/v1/vms", json=examples.MANIFEST, headers=key) for _ in range(5))
    )
    assert sorted(answer.status_code for answer in answers) == [200] * 4 + [201]
    assert len({answer.json()["uid"] for answer in answers}) == 1


@pytest.mark.parametrize("key", ["", "a b", "k" * 256])
async def test_a_key_is_visible_and_bounded(user, cluster, key):
    before = await names(cluster)
    answer = await user.post("/api/vms", json=examples.MACHINE, headers={"Idempotency-Key": key})
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    assert [issue["path"] for issue in answer.json()["issues"]] == ["Idempotency-Key"]
    assert await names(cluster) == before


async def test_a_dry_run_answers_the_same_and_writes_nothing(user, cluster):
    before = await names(cluster)
    answer = await user.post("/api/vms?dry_run=true", json=examples.MACHINE)
    assert answer.status_code == 200
    assert answer.json()["dry_run"] is True
    assert "Location" not in answer.headers
    assert await names(cluster) == before


async def test_a_preflight_that_says_no_refuses_and_leaves_nothing(user, cluster):
    before = await names(cluster)
    body = {**BUSY, "namespace": "design", "cpus": 512,
            "devices": [{"name": "gpu", "device_name": "nvidia.com/NO_SUCH"}]}  # fmt: skip
    answer = await user.post("/api/vms", json=body)
    problem = answer.json()
    assert answer.status_code == problem["status"] == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["code"] == "DEVICE_PREFLIGHT_FAILED"
    errors = [item for item in problem["issues"] if item["severity"] == "error"]
    assert {item["reason"] for item in errors} >= {"DeviceNotPermitted", "ResourceNotAdvertised"}
    assert all(item["message"] in problem["detail"] for item in errors)
    assert await names(cluster) == before


async def test_a_name_is_taken_once(user):
    assert (await user.post("/api/vms", json=examples.MACHINE)).status_code == 201
    answer = await user.post("/api/vms", json=examples.MACHINE)
    assert (answer.status_code, answer.json()["code"]) == (409, "ALREADY_EXISTS")


async def test_a_namespace_that_is_not_there_is_told_by_the_preflight(admin):
    answer = await admin.post("/api/vms", json=changed(namespace="desing"))
    assert answer.status_code == 422
    (issue,) = [i for i in answer.json()["issues"] if i["reason"] == "NamespaceMissing"]
    assert "there is design" in issue["message"]


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        ({"name": "No"}, ["name"]),
        ({"name": "n" * 64}, ["name"]),
        ({"namespace": "a_b"}, ["namespace"]),
        ({"cpus": 0}, ["cpus"]),
        ({"cpus": 513, "memory": 0}, ["cpus", "memory"]),
        ({"cpu_numa_passthrough": True}, ["cpu_numa_passthrough", "cpu_numa_passthrough"]),
        ({"cpu_numa_passthrough": True, "cpu_dedicated_placement": True},
         ["cpu_numa_passthrough"]),
        ({"name": "No", "cpu_numa_passthrough": True, "memory_hugepages_page_size": "1Gi"},
         ["name", "cpu_numa_passthrough"]),
        ({"devices": [{"name": "a", "device_name": "gpu"}]}, ["devices[0].device_name"]),
        ({"devices": [{"name": "a", "device_name": "a.b/c"}] * 2}, ["devices"]),
        ({"devices": [{"name": f"d{i}", "device_name": "a.b/c"} for i in range(17)]},
         ["devices"]),
        ({"interfaces": [{"name": "default", "network_type": {"sriov": {"name": "a/B"}}}]},
         ["interfaces[0].network_type.sriov.name", "interfaces"]),
        # shapes, from here on
        ({"cpus": "4"}, ["cpus"]),
        ({"cpus": 4.5}, ["cpus"]),
        ({"cpus": True}, ["cpus"]),
        ({"name": None, "image": 1}, ["name", "image"]),
        ({"image": ""}, ["image"]),
        ({"image": "a b"}, ["image"]),
        ({"image": "i" * 513}, ["image"]),
        ({"devices": {}}, ["devices"]),
        ({"devices": [1]}, ["devices[0]"]),
        ({"devices": [{"name": "a", "device_name": "a.b/c", "kind": "fpga", "extra": 1}]},
         ["devices[0].kind", "devices[0].extra"]),
        ({"interfaces": [{"name": "a"}]}, ["interfaces[0].network_type"]),
        ({"interfaces": [{"name": "a", "network_type": {}}]}, ["interfaces[0].network_type"]),
        ({"interfaces": [{"name": "a", "network_type": {"sriov": {"name": "b"},
                                                        "bridge": {"name": "b"}}}]},
         ["interfaces[0].network_type"]),
        ({"disks": [{"name": "a"}]}, ["disks[0]"]),
        ({"disks": [{"name": "a", "container_disk": "a", "data_volume": "b"}]}, ["disks[0]"]),
        ({"disks": [{"name": "a", "container_disk": "a", "new": {"storage": "1Gi"}}]},
         ["disks[0]"]),
        ({"eviction_strategy": "Never"}, ["eviction_strategy"]),
        ({"ssh_keys": [1]}, ["ssh_keys[0]"]),
        ({"interfaces": [{"name": "a", "network_type": {"sriov": {"name": "b"}}}] * 17},
         ["interfaces"]),
        ({"memory_hugepages_page_size": "4Ki"}, ["memory_hugepages_page_size"]),
        ({"run_strategy": "Sometimes"}, ["run_strategy"]),
        ({"labels": {"-": "a"}}, ['labels.-.[key]']),
        ({"labels": []}, ["labels"]),
        ({"cpu_dedicated_placement": "yes", "unknown": 1}, ["cpu_dedicated_placement", "unknown"]),
    ],
)  # fmt: skip
async def test_a_malformed_request_is_400_with_every_fault(user, cluster, fields, paths):
    before = await names(cluster)
    answer = await user.post("/api/vms", json=changed(**fields))
    assert answer.status_code == 400, answer.text
    problem = answer.json()
    assert problem["code"] == "INVALID_REQUEST"
    if "labels" not in fields:
        assert [issue["path"] for issue in problem["issues"]] == paths
    assert all("nput should" not in issue["message"] for issue in problem["issues"])
    assert await names(cluster) == before


async def test_missing_fields_are_named_all_at_once(user):
    problem = (await user.post("/api/vms", json={})).json()
    assert [issue["path"] for issue in problem["issues"]] == ["name", "cpus", "memory"]
    assert problem["detail"] == 'required field "name" is missing (and 2 more)'
    problem = (await user.post("/api/vms", json={"name": "a", "cpus": 1, "memory": 1})).json()
    assert problem["detail"] == "image: name an image, or a disk to boot from"


async def test_faults_of_a_body_have_a_place(user):
    answer = await user.post(
        "/api/vms", content=b'{\n "name": 7}', headers={"Content-Type": "application/json"}
    )
    issue = next(issue for issue in answer.json()["issues"] if issue["path"] == "name")
    assert (issue["file"], issue["line"], issue["column"]) == ("request", 2, 2)
    assert issue["message"] == "name must be text, but this is the number 7"


@pytest.mark.parametrize("media_type", ["application/yaml", "text/yaml", "text/plain"])
async def test_a_manifest_is_created_from_yaml(user, cluster, media_type):
    headers = {"Content-Type": f"{media_type}; charset=utf-8"}
    answer = await user.post("/api/v1/vms", content=examples.MANIFEST_TEXT, headers=headers)
    assert answer.status_code == 201, answer.text
    assert (await cluster.get(kinds.MACHINES, "train-9", "ml"))["kind"] == "VirtualMachine"


async def test_a_manifest_without_a_namespace_takes_that_of_the_query(user, cluster):
    body = {**examples.MANIFEST, "metadata": {"name": "here"}}
    assert (await user.post("/api/v1/vms?namespace=ml", json=body)).status_code == 201
    assert (await cluster.get(kinds.MACHINES, "here", "ml"))["metadata"]["namespace"] == "ml"
    assert (await user.post("/api/v1/vms?dry_run=true&namespace=web", json=body)).status_code == 200


async def test_a_manifest_that_would_not_run_is_refused(user, cluster):
    before = await names(cluster)
    text = examples.MANIFEST_TEXT.replace(examples.A10, "nvidia.com/NO_SUCH")
    answer = await user.post("/api/v1/vms", content=text, headers=YAML)
    assert (answer.status_code, answer.json()["code"]) == (422, "DEVICE_PREFLIGHT_FAILED")
    assert await names(cluster) == before


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (examples.MANIFEST_TEXT.replace("cores:", "coers:"), "INVALID_MANIFEST", "1 fault"),
        ("just text", "INVALID_MANIFEST", "fault"),
        ("", "INVALID_MANIFEST", "fault"),
        ("a: [", "INVALID_MANIFEST", "fault"),
        (f"{examples.MANIFEST_TEXT}---\n{examples.MANIFEST_TEXT}", "INVALID_REQUEST", "2 machines"),
        (examples.MANIFEST_TEXT.replace("name: train-9", "generateName: t-"),
         "INVALID_REQUEST", "needs a name"),
        (INSTANCE, "INVALID_REQUEST", "only a VirtualMachine"),
        (b"a: \xff", "INVALID_MANIFEST", "fault"),
    ],
)  # fmt: skip
async def test_what_is_no_vm_manifest_is_400(user, cluster, text, code, words):
    before = await names(cluster)
    answer = await user.post("/api/v1/vms", content=text, headers=YAML)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert words in answer.json()["detail"]
    assert await names(cluster) == before


async def test_faults_of_a_manifest_are_all_listed_with_their_place(user):
    text = examples.MANIFEST_TEXT.replace("cores:", "coers:").replace("deviceName", "devicename")
    problem = (await user.post("/api/v1/preflight", content=text, headers=YAML)).json()
    assert [(i["path"].rpartition(".")[2], i["line"]) for i in problem["issues"]] == [
        ("coers", 11), ("gpus[0]", 15), ("devicename", 16)
    ]  # fmt: skip


async def test_a_quota_on_memory_says_what_kubevirt_adds(user):
    body = {**examples.MACHINE, "namespace": "web", "memory": 16 * 1024}
    refused = await user.post("/api/vms", json=body)
    assert (refused.status_code, refused.json()["code"]) == (422, "DEVICE_PREFLIGHT_FAILED")
    text = examples.MANIFEST_TEXT.replace("namespace: ml", "namespace: web")
    judged = await user.post("/api/v1/preflight?replicas=4", content=text, headers=YAML)
    rendered = (await user.post("/api/v1/render/pod", content=text, headers=YAML)).json()
    for answer in (refused, judged):
        (issue,) = [
            issue for issue in answer.json()["issues"]
            if issue["reason"] == "QuotaExceeded" and "requests.memory" in issue["message"]
        ]  # fmt: skip
        assert {"part", "bytes", "why"} == issue["overhead"][0].keys()
        assert "passthrough devices" in [part["part"] for part in issue["overhead"]]
    assert [part["bytes"] for part in issue["overhead"]] == [
        4 * part["bytes"] for part in rendered["overhead"]
    ]


async def test_a_device_preflight_creates_nothing(user, cluster):
    before = await names(cluster)
    answer = await user.post("/api/v1/devices/preflight", json=examples.PREFLIGHT)
    found = answer.json()
    assert answer.status_code == 200
    assert found["ok"] is False
    assert "VfPoolExhausted" in {issue["reason"] for issue in found["issues"]}
    assert all(issue["line"] is None for issue in found["issues"])
    assert await names(cluster) == before


@pytest.mark.parametrize(
    ("body", "ok"),
    [
        ({}, True),
        ({"devices": [{"device_name": examples.A10}], "namespace": "ml"}, True),
        ({"devices": [{"device_name": examples.T4}], "namespace": "ml"}, False),
        ({"sriov_networks": ["plain"], "namespace": "telco"}, True),
        ({"sriov_networks": ["storage", "telco/storage"], "namespace": "telco"}, True),
        ({"sriov_networks": ["nowhere"]}, False),
        ({"dedicated_cpus": True, "numa_passthrough": True, "hugepages": "1Gi"}, True),
        ({"memory": 10_000_000}, False),
    ],
)
async def test_ok_is_false_exactly_when_an_error_says_so(user, body, ok):
    found = (await user.post("/api/v1/devices/preflight", json=body)).json()
    assert found["ok"] is ok, found
    assert found["ok"] == all(issue["severity"] != "error" for issue in found["issues"])


async def test_numa_without_its_needs_is_malformed_in_a_preflight_too(user):
    answer = await user.post("/api/v1/devices/preflight", json={"numa_passthrough": True})
    assert answer.status_code == 400
    assert len(answer.json()["issues"]) == 2


async def test_a_verdict_for_one_machine_a_list_for_several(user):
    one = await user.post("/api/v1/preflight", content=examples.MANIFEST_TEXT, headers=YAML)
    assert (one.json()["kind"], one.json()["fits"]) == ("Verdict", "yes")
    two = f"{examples.MANIFEST_TEXT}---\n{examples.MANIFEST_TEXT}"
    several = await user.post("/api/v1/preflight", content=two, headers=YAML)
    assert several.json()["kind"] == "VerdictList"
    assert len(several.json()["items"]) == 2
    assert (await user.post("/api/v1/fit", content=two, headers=YAML)).status_code == 400


async def test_replicas_and_expand_reach_the_preflight(user):
    path = "/api/v1/preflight?replicas=10000&expand=true"
    found = (await user.post(path, content=examples.MANIFEST_TEXT, headers=YAML)).json()
    assert (found["fits"], found["replicas"]) == ("no", 10000)
    assert len(found["nodes"]) == 12


@pytest.mark.parametrize(
    "query",
    ["replicas=0", "replicas=10001", "replicas=1.0", "replicas=", "replicas=+1", "replicas=1_0",
     "replicas=" + "9" * 400, "expand=1", "expand=", "expand=True", "namespace=A_B", "namespace=",
     "unknown=1", "expand=true&expand=true", "replicas=1&replicas=2"],
)  # fmt: skip
async def test_a_query_that_is_not_exactly_right_is_400(user, query):
    answer = await user.post(f"/api/v1/preflight?{query}", json=examples.MANIFEST)
    assert answer.status_code == 400, answer.text
    assert answer.json()["issues"][0]["path"] == query.partition("=")[0]


async def test_fit_counts_and_names_what_ends_it(user):
    found = (await user.post("/api/v1/fit", json=examples.MANIFEST)).json()
    assert (found["kind"], found["places"]) == ("Fit", 3)
    assert found["limits"] == {examples.A10: 2}


async def test_a_long_manifest_is_judged_as_a_short_one(user):
    long = examples.MANIFEST_TEXT + "#" * 100_000
    for path in ("preflight", "fit"):
        answers = [
            (await user.post(f"/api/v1/{path}", content=text, headers=YAML)).json()
            for text in (long, examples.MANIFEST_TEXT)
        ]
        assert answers[0] == answers[1]
    padded = await user.post(
        "/api/vms?dry_run=true",
        content=b'{"padding": "%s"}' % (b"x" * 100_000),
        headers={"Content-Type": "application/json"},
    )
    assert padded.status_code == 400


# -- a VM that exists, and a cluster that does not -------------------------------------------------


async def test_a_vm_that_waits_is_explained(user):
    found = (await user.get("/api/v1/vms/ml/train-big/explanation")).json()
    assert (found["kind"], found["stage"], found["agreement"]) == (
        "Explanation", "scheduling", "agrees",
    )  # fmt: skip
    assert found["said"][0]["component"] == "kube-scheduler"
    assert (await user.get("/api/v1/vms/ml/nobody/explanation")).status_code == 404
    assert (await user.get("/api/v1/vms/kube-system/x/explanation")).status_code == 403


async def what_if(client, *changes, status=200, **body):
    answer = await client.post("/api/v1/what-if", json={"changes": [*changes], **body})
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_the_same_question_on_a_changed_cluster(admin):
    gpus = [{"name": f"g{index}", "deviceName": examples.A10} for index in range(3)]
    domain = {"memory": {"guest": "1Gi"}, "devices": {"gpus": gpus}}
    wanted = {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {"name": "three", "namespace": "ml"}, "spec": {"domain": domain},
    }  # fmt: skip
    for manifest in (wanted, json.dumps(wanted)):
        found = await what_if(admin, {"stop": "train-1"}, manifest=manifest, namespace="ml")
        (item,) = found["asked"]
        assert (item["before"]["fits"], item["after"]["fits"]) == ("no", "yes")


async def test_a_drain_after_a_node_has_come(admin):
    found = await what_if(admin, *examples.WHAT_IF_DRAIN["changes"])
    assert [change["change"] for change in found["changes"]] == ["add-node", "drain"]
    assert len(found["moved"]) == 2


@pytest.mark.parametrize(
    "change",
    [
        {}, {"drain": "a", "stop": "b"}, {"drain": "a", "namespace": "ml"},
        {"permit": {"kind": "pci", "resource_name": "a.b/c"}},
        {"permit": {"kind": "pci", "resource_name": "a.b/c", "pci_vendor_selector": "x",
                    "mdev_name_selector": "y"}},
        {"add_node": {"kind": "Pod", "metadata": {"name": "p"}}},
        {"add_node": {"kind": "Odd", "metadata": {"name": "p"}}},
        {"add_node": {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "much"}}}},
    ],
)  # fmt: skip
async def test_a_change_that_is_none(admin, change):
    await what_if(admin, change, status=400)


async def test_what_is_supposed_must_be_there(admin):
    await what_if(admin, {"drain": "nowhere"}, status=404)
    await what_if(admin, {"stop": "nobody"}, status=404)
    differs = {"kind": "pci", "resource_name": examples.A10, "pci_vendor_selector": "10de:0000"}
    await what_if(admin, {"permit": differs}, status=409)
    await what_if(admin, status=400)
    await what_if(admin, {"drain": "worker-1"}, namespace="No Name", status=400)
    await what_if(admin, {"stop": "a", "namespace": "No Name"}, status=400)


async def test_the_api_server_is_asked_too(user):
    answer = await user.post("/api/v1/preflight?server_dry_run=true", json=examples.MANIFEST)
    found = answer.json()
    assert [(item["object"]["kind"], item["outcome"]) for item in found["server"]] == [
        ("VirtualMachine", "accepted"), ("Pod", "accepted"),
    ]  # fmt: skip
    listed = (await user.get("/api/v1/my/vms?namespace=ml")).json()["items"]
    assert "train-8" not in {item["name"] for item in listed}
