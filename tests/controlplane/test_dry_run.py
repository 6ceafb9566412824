"""`check --server-dry-run` on the real cluster: what its own admission says, beside ours."""

import json
import time

import pytest
from click.testing import CliRunner
from tests.builders import GPU, pci, quota, vm
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.nodes import MERGE, Kubelet
from tests.controlplane.plane import NOBODY, Plane
from tests.controlplane.played import PODS
from tests.controlplane.webhooks import webhook

from passway.main import cli

pytestmark = [pytest.mark.plane, pytest.mark.slow]
LIMIT_S = 30
PERMITTED = {"permittedHostDevices": {"pciHostDevices": [pci("10DE:2236", GPU)]}}
MACHINES = "/apis/kubevirt.io/v1/namespaces/{}/virtualmachines"


@pytest.fixture
def cluster(plane: Plane, kubevirt: KubeVirt, kubelet: Kubelet, namespace: str) -> Plane:
    """One node with two GPUs, which are permitted."""
    kubevirt.configure(PERMITTED)
    kubelet.add("gpu-1", {GPU: 2})
    return plane


def tried(plane, namespace, *, code, config=None, **options):
    """The verdict with the server's words: (of the VM, of the launcher, the whole)."""
    made = json.dumps(vm("one", namespace=namespace, **{"gpus": [GPU], **options}))
    result = CliRunner().invoke(
        cli,
        ["check", "-f", "-", "-o", "json", "--server-dry-run",
         "--kubeconfig", config or plane.admin()],
        input=made,
    )  # fmt: skip
    assert result.exit_code == code, (result.output, result.exception)
    found = json.loads(result.stdout)
    for path in (MACHINES, PODS):
        assert plane.request("GET", path.format(namespace))["items"] == []  # nothing was made
    machine, pod = found["server"]
    return machine, pod, found


def reasons(found):
    return [issue["reason"] for issue in found["issues"] if issue["severity"] == "error"]


def limited(plane, namespace, plural, made):
    plane.request("POST", f"/api/v1/namespaces/{namespace}/{plural}", made)


def test_both_are_accepted(cluster, namespace):
    machine, pod, found = tried(cluster, namespace, code=0)
    assert (machine["outcome"], machine["agreement"]) == ("accepted", "agrees")
    assert (pod["outcome"], pod["agreement"]) == ("accepted", "agrees")
    assert machine["object"] == {
        "kind": "VirtualMachine", "name": "one", "namespace": namespace,
    }  # fmt: skip
    assert found["fits"] == "yes"


def test_what_virt_api_refuses(cluster, namespace):
    machine, pod, found = tried(
        cluster, namespace, code=1, cpu={"cores": 2, "isolateEmulatorThread": True}
    )
    assert (machine["outcome"], machine["agreement"]) == ("refused", "agrees")
    assert machine["by"] == "virt-api (virtualmachine-validator.kubevirt.io)"
    assert [cause["field"] for cause in machine["causes"]] == [
        "spec.template.spec.domain.cpu.isolateEmulatorThread"
    ]
    assert pod["outcome"] == "accepted"
    assert len(reasons(found)) == 1


def test_what_a_quota_refuses(cluster, namespace):
    made = quota("gpus", {f"requests.{GPU}": "0"}, namespace=namespace)
    made.pop("status")
    limited(cluster, namespace, "resourcequotas", made)
    end = time.monotonic() + LIMIT_S
    path = f"/api/v1/namespaces/{namespace}/resourcequotas/gpus"
    while not cluster.request("GET", path).get("status", {}).get("hard"):
        assert time.monotonic() < end
        time.sleep(0.05)
    machine, pod, found = tried(cluster, namespace, code=1)
    assert machine["outcome"] == "accepted"
    assert (pod["outcome"], pod["agreement"], pod["by"]) == (
        "refused", "agrees", "ResourceQuota gpus",
    )  # fmt: skip
    assert "exceeded quota: gpus" in pod["message"]
    assert reasons(found) == ["QuotaExceeded"]


def test_what_a_limit_range_refuses(cluster, namespace):
    limited(cluster, namespace, "limitranges", {
        "metadata": {"name": "caps"},
        "spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]},
    })  # fmt: skip
    _, pod, found = tried(cluster, namespace, code=1)
    assert (pod["outcome"], pod["agreement"]) == ("refused", "agrees")
    assert "1Gi" in pod["message"]
    assert reasons(found)


def test_what_pod_security_refuses_and_warns_of(cluster, namespace):
    level = {"pod-security.kubernetes.io/warn": "restricted"}
    path = f"/api/v1/namespaces/{namespace}"
    cluster.request("PATCH", path, {"metadata": {"labels": level}}, content=MERGE)
    _, pod, _ = tried(cluster, namespace, code=0)
    assert pod["outcome"] == "accepted"
    (warning,) = pod["warnings"]
    assert 'would violate PodSecurity "restricted:latest": seccompProfile' in warning
    enforced = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.request("PATCH", path, {"metadata": {"labels": enforced}}, content=MERGE)
    _, pod, found = tried(cluster, namespace, code=1)
    assert (pod["outcome"], pod["agreement"], pod["by"]) == (
        "refused", "not_modelled", "Pod Security",
    )  # fmt: skip
    assert (found["fits"], reasons(found)) == ("yes", [])
    # The same words as for the launcher that KubeVirt makes: nothing of ours is in them.
    assert pod["message"].endswith(
        'violates PodSecurity "restricted:latest": seccompProfile (pod or containers '
        '"guest-console-log", "compute" must set securityContext.seccompProfile.type to '
        '"RuntimeDefault" or "Localhost")'
    )


def test_what_a_webhook_refuses_and_warns_of(cluster, namespace):
    with webhook(cluster, namespace, "pods", deny="not today", warnings=("soon gone",)) as name:
        _, pod, _ = tried(cluster, namespace, code=1)
    assert (pod["by"], pod["agreement"]) == (f"webhook {name}", "not_modelled")
    assert pod["message"].endswith("denied the request: not today")
    assert pod["warnings"] == ["soon gone"]


def test_a_vm_of_that_name_is_no_refusal(cluster, namespace):
    cluster.request("POST", MACHINES.format(namespace), vm("one", namespace=namespace))
    made = json.dumps(vm("one", namespace=namespace, gpus=[GPU]))
    result = CliRunner().invoke(
        cli, ["check", "-f", "-", "--server-dry-run", "--kubeconfig", cluster.admin()], input=made
    )
    assert result.exit_code == 0, result.output
    assert f"API server: VirtualMachine {namespace}/one: accepted (" in result.stdout
    assert "already exists" in result.stdout


def test_who_may_not_create_is_told_what_is_missing(cluster, namespace):
    config = cluster.kubeconfig(NOBODY, {"token": cluster.token(NOBODY)})
    machine, pod, _ = tried(cluster, namespace, code=3, config=config)
    assert (machine["outcome"], pod["outcome"]) == ("not_tried", "not_tried")
    assert machine["message"] == (
        f'not allowed: create virtualmachines.kubevirt.io in namespace "{namespace}"'
    )
    assert pod["message"] == f'not allowed: create pods in namespace "{namespace}"'
