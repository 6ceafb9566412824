"""`explain` on VMs that really stand there: each row of KubeVirt's own status is produced and told.

What stops the VM is real KubeVirt, the real scheduler and the real admission; what a kubelet and
virt-handler would say is played, since there are no nodes.
"""

import json
import time

import pytest
from click.testing import CliRunner
from tests.builders import GPU, T4, pci, quota, referring, vm
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.nodes import MERGE, Kubelet
from tests.controlplane.plane import NOBODY, Answer, Plane
from tests.controlplane.played import INSTANCES, PODS, handle, reject, say, wait
from tests.controlplane.webhooks import webhook

from passway.main import cli

pytestmark = [pytest.mark.plane, pytest.mark.slow]
LIMIT_S = 40
PERMITTED = {"permittedHostDevices": {"pciHostDevices": [pci("10DE:2236", GPU)]}}
MACHINES = "/apis/kubevirt.io/v1/namespaces/{}/virtualmachines"
INSTANCE = "kubevirt.io/virtualmachineinstances"


@pytest.fixture
def cluster(plane: Plane, kubevirt: KubeVirt, kubelet: Kubelet, namespace: str) -> Plane:
    """Two nodes with two GPUs each, which are permitted."""
    kubevirt.configure(PERMITTED)
    kubelet.add("gpu-1", {GPU: 2})
    kubelet.add("gpu-2", {GPU: 2})
    return plane


def create(plane, namespace, **options):
    plane.request(
        "POST", MACHINES.format(namespace),
        vm("one", namespace=namespace, **{"gpus": [GPU], **options}),
    )  # fmt: skip


def ask(plane, namespace, *args, config=None):
    """The explanation as text of JSON or else, and the exit code."""
    result = CliRunner().invoke(
        cli,
        ["explain", "vm", "one", "-n", namespace, *args,
         "--kubeconfig", config or plane.admin()],
    )  # fmt: skip
    assert result.exit_code in {0, 1, 3}, (result.output, result.exception)
    return result.stdout, result.exit_code


def explained(plane, namespace, stage, *reasons, code=1, status=None):
    """The explanation, once the VM has come to that stage and the reasons are those."""
    end = time.monotonic() + LIMIT_S
    while True:
        text, exit_code = ask(plane, namespace, "-o", "json")
        found = json.loads(text)
        told = [issue["reason"] for issue in found["issues"]]
        there = (found["stage"], exit_code) == (stage, code) and told[: len(reasons)] == [*reasons]
        if there and status in {None, found["status"]}:
            return found
        assert time.monotonic() < end, (
            told,
            found["stage"],
            found["said"],
            found["agreement"],
            text,
        )
        time.sleep(0.3)


def said(found):
    return [(words["component"], words["reason"], words["message"]) for words in found["said"]]


def outcomes(found):
    return {item["stage"]: item["outcome"] for item in found["stages"]}


def launcher(plane, namespace, *, bound=True):
    """The name of the only launcher, once the scheduler has bound it."""
    end = time.monotonic() + LIMIT_S
    while True:
        pods = plane.request("GET", PODS.format(namespace))["items"]
        for pod in pods:
            if pod["spec"].get("nodeName") or not bound:
                return pod["metadata"]["name"]
        assert time.monotonic() < end, pods
        time.sleep(0.05)


def stored(plane, namespace):
    return plane.request("GET", f"{INSTANCES.format(namespace)}/one")


def running(plane, namespace, **options):
    """A VM that runs, as far as anybody can tell."""
    create(plane, namespace, **options)
    pod = launcher(plane, namespace)
    Kubelet(plane).run(namespace, pod)
    end = time.monotonic() + LIMIT_S
    while stored(plane, namespace)["status"]["phase"] != "Scheduled":
        assert time.monotonic() < end
        time.sleep(0.05)
    handle(plane, namespace, "one", "Running", {"type": "Ready", "status": "True"})
    return pod


# -- before there is a launcher -------------------------------------------------------------------


def test_a_vmi_that_a_webhook_refuses(cluster, namespace):
    with webhook(cluster, namespace, INSTANCE, deny="not on my cluster") as name:
        create(cluster, namespace)
        found = explained(cluster, namespace, "admission", "InstanceRefused")
    assert (found["phase"], found["state"]) == (None, "waiting")
    ((component, reason, message),) = said(found)
    assert (component, reason) == (name, "FailedCreate")
    assert message.endswith(f'admission webhook "{name}" denied the request: not on my cluster')
    assert outcomes(found)["permission"] == "not_reached"


def test_an_instance_type_that_is_missing(cluster, namespace):
    made = referring("missing", name="one", namespace=namespace, gpus=[GPU])
    cluster.request("POST", MACHINES.format(namespace), made)
    found = explained(cluster, namespace, "admission", "InstancetypeMissing")
    assert found["agreement"] == "agrees"
    assert "missing" in said(found)[0][2]


def test_a_device_that_is_not_permitted_and_then_is(cluster, kubevirt, namespace):
    create(cluster, namespace, gpus=[T4])
    found = explained(cluster, namespace, "permission", "DeviceNotPermitted")
    why = f"GPU {T4} is not permitted in permittedHostDevices configuration"
    assert said(found) == [
        ("virt-controller", "FailedCreate", f"failed to render launch manifest: {why}")
    ]
    assert (found["agreement"], found["phase"]) == ("agrees", "Pending")
    assert [issue["reason"] for issue in found["also"]] == ["ResourceNotAdvertised"]
    # The back-off has grown to some ten seconds: KubeVirt does not look before that.
    time.sleep(12)
    Kubelet(cluster).add("t4", {T4: 1})
    kubevirt.configure({"permittedHostDevices": {"pciHostDevices": [pci("10DE:1EB8", T4)]}})
    found = explained(cluster, namespace, "permission", "LauncherNotRendered", "CauseGone")
    assert (found["agreement"], found["verdict"]["fits"]) == ("cause_gone", "yes")
    assert launcher(cluster, namespace)  # and then it does, by itself


def capped(plane, namespace, key, amount):
    made = quota("gpus", {key: amount}, namespace=namespace)
    made.pop("status")
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    plane.request("POST", path, made)
    end = time.monotonic() + LIMIT_S
    while not plane.request("GET", f"{path}/gpus").get("status", {}).get("hard"):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_launcher_that_a_quota_refuses(cluster, namespace):
    capped(cluster, namespace, f"requests.{GPU}", "0")
    create(cluster, namespace)
    found = explained(cluster, namespace, "quota", "QuotaExceeded")
    ((component, reason, message),) = said(found)
    assert (component, reason, found["agreement"]) == ("virt-controller", "FailedCreate", "agrees")
    assert "exceeded quota: gpus, requested: requests." in message
    assert found["said"][0]["count"] >= 1


def test_a_quota_that_the_own_launcher_fills_does_not_stand_in_its_way(cluster, namespace):
    capped(cluster, namespace, f"requests.{GPU}", "1")
    running(cluster, namespace)
    found = explained(cluster, namespace, None, code=0)
    assert (found["state"], found["also"]) == ("running", [])
    assert found["verdict"]["fits"] == "yes"


def test_a_launcher_that_a_limit_range_refuses(cluster, namespace):
    cluster.request(
        "POST", f"/api/v1/namespaces/{namespace}/limitranges",
        {"metadata": {"name": "caps"},
         "spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}},
    )  # fmt: skip
    create(cluster, namespace)
    found = explained(cluster, namespace, "quota")
    assert found["agreement"] == "agrees"
    assert any("memory" in issue["message"] for issue in found["issues"])
    assert "1Gi" in said(found)[0][2]


def test_a_launcher_that_pod_security_refuses(cluster, namespace):
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    path = f"/api/v1/namespaces/{namespace}"
    cluster.request("PATCH", path, {"metadata": {"labels": labels}}, content=MERGE)
    create(cluster, namespace)
    found = explained(cluster, namespace, "quota", "LauncherRefusedBySecurity")
    assert 'violates PodSecurity "restricted:latest"' in said(found)[0][2]
    assert found["agreement"] == "not_modelled"


def test_a_launcher_that_a_webhook_refuses(cluster, namespace):
    with webhook(cluster, namespace, "pods", deny="no launchers here") as name:
        create(cluster, namespace)
        found = explained(cluster, namespace, "quota", "LauncherRefusedByWebhook")
    assert said(found)[0][0] == name
    assert name in found["issues"][0]["message"]


def test_an_attachment_that_is_missing(cluster, kubevirt, namespace):
    disabled = {
        "developerConfiguration": {"disabledFeatureGates": ["ExternalNetResourceInjection"]}
    }
    kubevirt.configure({**PERMITTED, **disabled})
    create(cluster, namespace, sriov=["missing"])
    found = explained(cluster, namespace, "networks")
    assert found["agreement"] == "agrees"
    assert said(found)[0][2] == (
        "failed to render launch manifest: failed to locate network attachment definition "
        f"{namespace}/missing"
    )


# -- volumes --------------------------------------------------------------------------------------

DISK = {
    "volumes": [{"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}],
    "devices": {"disks": [{"name": "disk", "disk": {"bus": "virtio"}}]},
}


def test_a_claim_that_does_not_exist(cluster, namespace):
    create(cluster, namespace, **DISK)
    found = explained(cluster, namespace, "scheduling", "VolumeMissing", status="ErrorPvcNotFound")
    assert found["agreement"] == "agrees"
    assert said(found) == [(
        "virt-controller", "FailedPvcNotFound",
        f"PVC {namespace}/disk does not exist, waiting for it to appear",
    )]  # fmt: skip


def test_a_claim_that_waits_for_its_volume(cluster, namespace):
    storage = f"late-{namespace}"
    cluster.request(
        "POST", "/apis/storage.k8s.io/v1/storageclasses",
        {"metadata": {"name": storage}, "provisioner": "example.com/none",
         "volumeBindingMode": "WaitForFirstConsumer"},
    )  # fmt: skip
    cluster.request(
        "POST", f"/api/v1/namespaces/{namespace}/persistentvolumeclaims",
        {"metadata": {"name": "disk"},
         "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": storage,
                  "resources": {"requests": {"storage": "1Gi"}}}},
    )  # fmt: skip
    create(cluster, namespace, **DISK)
    explained(cluster, namespace, "scheduling", "VolumesNotReady", status="WaitingForVolumeBinding")
    cluster.request("DELETE", f"/apis/storage.k8s.io/v1/storageclasses/{storage}")


# -- with a launcher ------------------------------------------------------------------------------


def test_a_launcher_for_which_there_is_no_node(cluster, namespace):
    create(cluster, namespace, gpus=[GPU] * 3)
    found = explained(
        cluster, namespace, "scheduling", "ResourceExhausted", status="ErrorUnschedulable"
    )
    assert found["agreement"] == "agrees"
    ((component, reason, message),) = said(found)
    assert (component, reason) == ("kube-scheduler", "Unschedulable")
    assert message.startswith(f"0/2 nodes are available: 2 Insufficient {GPU}.")
    assert outcomes(found) | {"kubelet": "not_reached", "launcher": "not_reached"} == outcomes(
        found
    )


def test_a_launcher_that_is_held_back_by_a_gate(cluster, namespace):
    gate = [{"op": "add", "path": "/spec/schedulingGates", "value": [{"name": "example.com/aaq"}]}]
    with webhook(cluster, namespace, "pods", patch=gate):
        create(cluster, namespace)
        found = explained(cluster, namespace, "scheduling", "SchedulingGated")
    assert said(found)[0][:2] == ("kube-scheduler", "SchedulingGated")
    assert (found["status"], found["agreement"]) == ("Starting", "not_modelled")


def test_a_claim_that_was_not_made(cluster, namespace):
    create(
        cluster, namespace, gpus=[],
        devices={"gpus": [{"name": "g", "claimName": "c", "requestName": "r"}]},
        resourceClaims=[{"name": "c", "resourceClaimTemplateName": "missing"}],
    )  # fmt: skip
    found = explained(cluster, namespace, "claims", "ClaimNotMade")
    ((component, reason, message),) = said(found)
    assert (component, reason) == ("resource_claim", "FailedResourceClaimCreation")
    assert "missing" in message


REJECTIONS = [
    ("TopologyAffinityError", "Resources cannot be allocated with Topology locality",
     "KubeletRejectedTopology"),
    ("UnexpectedAdmissionError", "Allocate failed due to no healthy devices present",
     "KubeletRejectedDevices"),
    ("OutOfcpu", "Node didn't have enough resource: cpu, requested: 200", "KubeletOutOfResource"),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "message", "ours"), REJECTIONS)
def test_a_launcher_that_the_kubelet_rejects(cluster, namespace, reason, message, ours):
    create(cluster, namespace)
    pod = launcher(cluster, namespace)
    reject(cluster, namespace, pod, reason, message)
    found = explained(cluster, namespace, "kubelet", ours)
    assert ("kubelet", reason, message) in said(found)
    Kubelet(cluster).remove(namespace, pod)
    # The pod and the VMI are gone: the events still tell.
    found = explained(cluster, namespace, "kubelet", ours, "StartFailed", status="CrashLoopBackOff")
    assert found["state"] == "failing"
    assert ("kubelet", reason, message) in said(found)
    assert "1 time " in found["issues"][1]["message"]


def test_an_image_that_cannot_be_pulled(cluster, namespace):
    create(cluster, namespace)
    wait(cluster, namespace, launcher(cluster, namespace), "ImagePullBackOff", "Back-off pulling")
    found = explained(cluster, namespace, "kubelet", "ImageNotPulled", status="ImagePullBackOff")
    assert said(found)[0] == ("kubelet", "ImagePullBackOff", "Back-off pulling")


def test_a_sandbox_that_cannot_be_created(cluster, namespace):
    create(cluster, namespace)
    pod = launcher(cluster, namespace)
    text = 'plugin type="multus" failed (add): no VF left in pool'
    say(cluster, namespace, ("Pod", pod), "FailedCreatePodSandBox", text)
    found = explained(cluster, namespace, "kubelet", "SandboxNotCreated")
    assert said(found) == [("kubelet", "FailedCreatePodSandBox", text)]


DOMAINS = [
    ("internal error: vfio 0000:65:00.0: group 12 is not viable", "host", "IommuGroupNotViable"),
    ("vfio 0000:65:00.0: failed to setup container: VFIO_MAP_DMA failed: Cannot allocate memory",
     "host", "GuestMemoryNotMapped"),
    ("the number of GPU/s do not match the number of devices", "launcher", "DevicesNotHandedOver"),
    ("something else", "launcher", "DomainNotStarted"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "stage", "ours"), DOMAINS)
def test_a_guest_that_is_not_started(cluster, namespace, text, stage, ours):
    create(cluster, namespace)
    pod = launcher(cluster, namespace)
    Kubelet(cluster).run(namespace, pod)
    explained(cluster, namespace, "launcher", code=0)  # nothing is wrong yet
    message = f"server error. command SyncVMI failed: {text}"
    condition = {"type": "Synchronized", "status": "False", "message": message,
                 "reason": "Synchronizing with the Domain failed."}  # fmt: skip
    say(cluster, namespace, ("VirtualMachineInstance", "one"), "SyncFailed", message,
        component="virt-handler")  # fmt: skip
    handle(cluster, namespace, "one", "Scheduled", condition)
    found = explained(cluster, namespace, stage, ours)
    assert said(found)[0] == ("virt-handler", condition["reason"], message)
    assert (found["state"], found["agreement"]) == ("failing", "not_modelled")
    handle(cluster, namespace, "one", "Failed")
    Kubelet(cluster).remove(namespace, pod)
    explained(cluster, namespace, stage, ours, "StartFailed", status="CrashLoopBackOff")


def test_a_launcher_that_did_not_become_guaranteed(cluster, kubevirt, kubelet, namespace):
    kubevirt.configure({**PERMITTED, "developerConfiguration": {"featureGates": ["CPUManager"]}})
    kubelet.add("pinned", {GPU: 1}, labels={"kubevirt.io/cpumanager": "true"})
    path = "/spec/containers/0/resources/limits/cpu"
    with webhook(cluster, namespace, "pods", patch=[{"op": "replace", "path": path, "value": "9"}]):
        create(cluster, namespace, cpu={"cores": 2, "dedicatedCpuPlacement": True})
        pod = launcher(cluster, namespace)
    kubelet.run(namespace, pod)
    found = explained(cluster, namespace, "launcher", "NotGuaranteed")
    assert said(found)[0][:2] == ("virt-controller", "FailedGuaranteeResources")


# -- a VM that runs, or shall not -----------------------------------------------------------------


def test_a_vm_that_runs(cluster, namespace):
    running(cluster, namespace)
    found = explained(cluster, namespace, None, code=0)
    assert (found["state"], found["node"]) == (
        "running",
        stored(cluster, namespace)["status"]["nodeName"],
    )
    assert (found["issues"], found["also"], found["agreement"]) == ([], [], "nothing_said")


def test_a_vm_that_is_stopped(cluster, namespace):
    create(cluster, namespace, run_strategy="Halted", gpus=[T4])
    found = explained(cluster, namespace, None, code=0)
    assert found["state"] == "stopped"
    assert [issue["reason"] for issue in found["also"]] == [
        "DeviceNotPermitted", "ResourceNotAdvertised",
    ]  # fmt: skip


def test_a_vm_that_a_drain_waits_for(cluster, namespace):
    pod = running(cluster, namespace, evictionStrategy="LiveMigrate")
    handle(cluster, namespace, "one", "Running", {
        "type": "LiveMigratable", "status": "False", "reason": "HostDeviceNotLiveMigratable",
        "message": "VMI uses a PCI host devices",
    })  # fmt: skip
    node = stored(cluster, namespace)["status"]["nodeName"]
    cluster.request("PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}},
                    content=MERGE)  # fmt: skip
    with pytest.raises(Answer, match="virt-launcher-eviction-interceptor"):
        cluster.request(
            "POST", f"{PODS.format(namespace)}/{pod}/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction",
             "metadata": {"name": pod, "namespace": namespace}},
        )  # fmt: skip
    found = explained(cluster, namespace, "lifecycle", "EvictionRefused", code=0)
    assert said(found)[0][:2] == ("virt-handler", "HostDeviceNotLiveMigratable")
    assert node in found["issues"][0]["message"]


# -- who asks -------------------------------------------------------------------------------------


def test_who_may_not_read_events_is_told_so(cluster, namespace):
    rights = "/apis/rbac.authorization.k8s.io/v1"
    role = {
        "metadata": {"name": "vms"},
        "rules": [
            {"apiGroups": ["kubevirt.io"], "verbs": ["get"],
             "resources": ["virtualmachines", "virtualmachineinstances"]},
        ],
    }  # fmt: skip
    cluster.request("POST", f"{rights}/namespaces/{namespace}/roles", role)
    cluster.request("POST", f"{rights}/namespaces/{namespace}/rolebindings", {
        "metadata": {"name": "vms"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "vms"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": NOBODY}],
    })  # fmt: skip
    create(cluster, namespace, gpus=[T4])
    explained(cluster, namespace, "permission", "DeviceNotPermitted")
    config = cluster.kubeconfig(NOBODY, {"token": cluster.token(NOBODY)})
    text, code = ask(cluster, namespace, "-o", "json", config=config)
    found = json.loads(text)
    assert (found["stage"], found["agreement"], code) == ("permission", "agrees", 1)
    assert found["unread"] == {"events": "forbidden", "pods": "forbidden"}


def test_what_a_person_reads(cluster, namespace):
    create(cluster, namespace, gpus=[T4])
    explained(cluster, namespace, "permission", "DeviceNotPermitted")
    text, _ = ask(cluster, namespace)
    first, _, rest = text.partition("\n\n")
    assert first == f"VirtualMachine {namespace}/one: waiting at permission (Starting)"
    assert "virt-controller says of VirtualMachineInstance" in rest
    assert "our walk, asked again, finds the same" in rest
