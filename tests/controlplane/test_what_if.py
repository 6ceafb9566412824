"""`what-if` against what then really happens: the same change, made on the real cluster."""

import json
import time

import pytest
import yaml
from click.testing import CliRunner
from tests.builders import GPU, T4, node, pci, vm
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.nodes import MERGE, Kubelet
from tests.controlplane.plane import Plane
from tests.controlplane.played import PODS, handle

from passway.main import cli

pytestmark = [pytest.mark.plane, pytest.mark.slow]
LIMIT_S = 30
PERMITTED = {"permittedHostDevices": {"pciHostDevices": [pci("10DE:2236", GPU)]}}
MACHINES = "/apis/kubevirt.io/v1/namespaces/{}/virtualmachines"


@pytest.fixture
def cluster(plane: Plane, kubevirt: KubeVirt, kubelet: Kubelet, namespace: str) -> Plane:
    """One node with one GPU, which is permitted."""
    kubevirt.configure(PERMITTED)
    kubelet.add("gpu-1", {GPU: 1})
    return plane


def create(plane, namespace, name, **options):
    made = vm(name, namespace=namespace, **{"gpus": [GPU], **options})
    plane.request("POST", MACHINES.format(namespace), made)


def what_if(plane, *args, code, asked=None):
    words = ["what-if", *args, "-o", "json", "--kubeconfig", plane.admin()]
    words += ["-f", "-"] if asked else []
    result = CliRunner().invoke(cli, words, input=json.dumps(asked) if asked else None)
    assert result.exit_code == code, (result.output, result.exception)
    return json.loads(result.stdout)


def bound(plane, namespace, name, expected):
    """Waits until the launcher of a VM is bound to a node, or until it is said that none is."""
    end = time.monotonic() + LIMIT_S
    while True:
        for pod in plane.request("GET", PODS.format(namespace))["items"]:
            if pod["metadata"]["labels"].get("vm.kubevirt.io/name") != name:
                continue
            told = [c for c in pod["status"].get("conditions", ()) if c["type"] == "PodScheduled"]
            if pod["spec"].get("nodeName") == expected and told:
                return pod["metadata"]["name"]
        assert time.monotonic() < end, (name, expected)
        time.sleep(0.05)


def answers(found):
    (item,) = found["asked"]
    return item["before"]["fits"], item["after"]["fits"]


def test_a_vm_stops_and_the_other_gets_its_device(cluster, kubelet, namespace):
    create(cluster, namespace, "one")
    pod = bound(cluster, namespace, "one", "gpu-1")
    second = vm("two", namespace=namespace, gpus=[GPU])
    found = what_if(cluster, "--stop", f"{namespace}/one", code=0, asked=second)
    assert answers(found) == ("no", "yes")
    (item,) = found["asked"]
    assert [issue["reason"] for issue in item["resolved"]] == ["ResourceExhausted"]
    create(cluster, namespace, "two")
    bound(cluster, namespace, "two", None)
    cluster.request("PATCH", f"{MACHINES.format(namespace)}/one",
                    {"spec": {"runStrategy": "Halted"}}, content=MERGE)  # fmt: skip
    kubelet.remove(namespace, pod)
    bound(cluster, namespace, "two", "gpu-1")


def test_a_node_is_drained_and_another_comes(cluster, kubelet, namespace, tmp_path):
    create(cluster, namespace, "one")
    pod = bound(cluster, namespace, "one", "gpu-1")
    found = what_if(cluster, "--drain", "gpu-1", code=1)
    assert (found["together"], [move["node"] for move in found["moved"]]) == ("no", [None])
    made = tmp_path / "node.yaml"
    made.write_text(yaml.safe_dump(node("gpu-2", {GPU: 1})))
    found = what_if(cluster, "--drain", "gpu-1", "--add-node", str(made), code=0)
    assert (found["together"], [move["node"] for move in found["moved"]]) == ("yes", ["gpu-2"])
    # The order counts: a node that comes first is drained as well.
    found = what_if(cluster, "--add-node", str(made), "--drain", "gpu-2", "--drain", "gpu-1",
                    code=1)  # fmt: skip
    assert [change["change"] for change in found["changes"]] == ["add-node", "drain", "drain"]
    # And so it is.
    kubelet.add("gpu-2", {GPU: 1})
    cluster.request(
        "PATCH", "/api/v1/nodes/gpu-1", {"spec": {"unschedulable": True}}, content=MERGE
    )
    cluster.request(
        "POST", f"{PODS.format(namespace)}/{pod}/eviction",
        {"apiVersion": "policy/v1", "kind": "Eviction",
         "metadata": {"name": pod, "namespace": namespace}},
    )  # fmt: skip
    kubelet.remove(namespace, pod)
    bound(cluster, namespace, "one", "gpu-2")


def test_a_vm_that_cannot_be_evicted_stays(cluster, kubelet, namespace):
    create(cluster, namespace, "one", evictionStrategy="LiveMigrate")
    pod = bound(cluster, namespace, "one", "gpu-1")
    kubelet.run(namespace, pod)
    time.sleep(1)
    handle(cluster, namespace, "one", "Running", {
        "type": "LiveMigratable", "status": "False", "reason": "HostDeviceNotLiveMigratable",
    })  # fmt: skip
    found = what_if(cluster, "--drain", "gpu-1", code=1)
    ((impact,),) = [change["impacts"] for change in found["changes"]]
    assert (impact["effect"], found["moved"]) == ("blocks", [])


def test_a_device_is_permitted(cluster, kubevirt, kubelet, namespace):
    kubelet.add("t4", {T4: 1})
    wanted = vm("one", namespace=namespace, gpus=[T4])
    found = what_if(cluster, "--permit", "pci", T4, "10de:1eb8", code=0, asked=wanted)
    assert answers(found) == ("no", "yes")
    listed = [pci("10DE:2236", GPU), pci("10DE:1EB8", T4)]
    kubevirt.configure({"permittedHostDevices": {"pciHostDevices": listed}})
    create(cluster, namespace, "one", gpus=[T4])
    bound(cluster, namespace, "one", "t4")
