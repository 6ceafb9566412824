"""A service account with the rights of a Role in one namespace, on the real API server."""

import json
import time

import pytest
from click.testing import CliRunner
from tests.builders import GPU, pci, quota, vm
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.nodes import Kubelet
from tests.controlplane.plane import Plane

from passway.main import cli

pytestmark = [pytest.mark.plane, pytest.mark.slow]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUPS = ["", "kubevirt.io", "k8s.cni.cncf.io", "instancetype.kubevirt.io", "resource.k8s.io"]


@pytest.fixture
def tenant(plane: Plane, kubevirt: KubeVirt, kubelet: Kubelet, namespace: str) -> str:
    """The kubeconfig of an account that may list everything in its namespace, and nothing else."""
    kubevirt.configure({"permittedHostDevices": {"pciHostDevices": [pci("10DE:2236", GPU)]}})
    kubelet.add("gpu-1", {GPU: 2})
    own = f"/namespaces/{namespace}"
    plane.request("POST", f"/api/v1{own}/serviceaccounts", {"metadata": {"name": "tenant"}})
    rules = [{"apiGroups": GROUPS, "resources": ["*"], "verbs": ["list", "get"]}]
    plane.request("POST", f"{RBAC}{own}/roles", {"metadata": {"name": "tenant"}, "rules": rules})
    plane.request("POST", f"{RBAC}{own}/rolebindings", {
        "metadata": {"name": "tenant"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"},
        "subjects": [{"kind": "ServiceAccount", "name": "tenant", "namespace": namespace}],
    })  # fmt: skip
    token = plane.request(
        "POST", f"/api/v1{own}/serviceaccounts/tenant/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )["status"]["token"]  # fmt: skip
    return plane.kubeconfig(f"tenant-{namespace}", {"token": token}, namespace)


@pytest.fixture
def looking(plane: Plane, tenant: str, namespace: str) -> str:
    """The same, and the right to look at nodes and at KubeVirt's settings."""
    name = f"looking-{namespace}"
    rules = [
        {"apiGroups": [""], "resources": ["nodes", "namespaces"], "verbs": ["list"]},
        {"apiGroups": ["kubevirt.io"], "resources": ["kubevirts"], "verbs": ["list"]},
    ]
    plane.request("POST", f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    plane.request("POST", f"{RBAC}/clusterrolebindings", {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "tenant", "namespace": namespace}],
    })  # fmt: skip
    return tenant


def asked(config: str, namespace: str, code: int) -> dict:
    text = json.dumps(vm("one", namespace=namespace, gpus=[GPU]))
    arguments = ["check", "-f", "-", "-o", "json", "--kubeconfig", config]
    result = CliRunner().invoke(cli, arguments, input=text)
    assert result.exit_code == code, (result.output, result.exception)
    return json.loads(result.stdout)


def capped(plane: Plane, namespace: str) -> None:
    """A quota that allows no GPU, in force."""
    made = quota("gpus", {f"requests.{GPU}": "0"}, namespace=namespace)
    made.pop("status", None)
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    plane.request("POST", path, made)
    end = time.monotonic() + 30
    while not plane.request("GET", f"{path}/gpus").get("status", {}).get("hard"):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_quota_of_the_own_namespace_decides(plane, tenant, namespace):
    capped(plane, namespace)
    verdict = asked(tenant, namespace, 1)
    errors = [issue["reason"] for issue in verdict["issues"] if issue["severity"] == "error"]
    assert errors == ["QuotaExceeded"]
    read = {one["kind"]: one for one in verdict["read"]}
    assert read["resourcequotas"]["read"] == "forbidden"
    assert read["resourcequotas"]["namespaces"] == [namespace]
    assert read["nodes"]["namespaces"] == []


def test_what_others_hold_is_unknown_and_the_right_is_named(plane, looking, namespace):
    verdict = asked(looking, namespace, 3)
    messages = [issue["message"] for issue in verdict["issues"]]
    where = f"in all namespaces (only in {namespace})"
    assert f"pods may not be listed {where}, so the units in use could not be checked" in messages
    assert not any("quotas" in message for message in messages)


def test_the_vms_of_the_own_namespace_are_listed(plane, tenant, namespace):
    path = f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines"
    plane.request("POST", path, vm("one", namespace=namespace))
    arguments = ["get", "vms", "-n", namespace, "-o", "name", "--kubeconfig", tenant]
    result = CliRunner().invoke(cli, arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "virtualmachine/one\n", "")


def test_everything_is_read_and_fresh_for_the_admin(plane, kubevirt, kubelet, namespace):
    kubelet.add("gpu-1", {GPU: 2})
    text = json.dumps(vm("one", namespace=namespace, gpus=[GPU]))
    arguments = ["check", "-f", "-", "-o", "json", "--kubeconfig", plane.admin()]
    verdict = json.loads(CliRunner().invoke(cli, arguments, input=text).stdout)
    read = {one["kind"]: one for one in verdict["read"]}
    assert read["nodes"]["read"] == "read"
    assert int(read["nodes"]["resource_version"]) > 0
    assert all(one["age_seconds"] in range(60) for one in read.values()), read
