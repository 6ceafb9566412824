"""Passway on a real Kubernetes and a real KubeVirt: the command line and the REST service.

What a VM gets is said by KubeVirt's own admission and controller and by the real scheduler; the
nodes are objects.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from tests.builders import GPU, T4, pci, quota, vm
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.nodes import Kubelet
from tests.controlplane.plane import NOBODY, Answer, Plane

from passway.api.app import create_app
from passway.api.identity import DEMO, Tokens
from passway.kube.client import KubeCluster
from passway.kube.config import load_config
from passway.main import cli
from passway.model.quantity import parse_quantity

pytestmark = [pytest.mark.plane, pytest.mark.slow]
LIMIT_S = 30
PERMITTED = {"permittedHostDevices": {"pciHostDevices": [pci("10DE:2236", GPU)]}}
MACHINES = "/apis/kubevirt.io/v1/namespaces/{}/virtualmachines"


@pytest.fixture
def cluster(plane: Plane, kubevirt: KubeVirt, kubelet: Kubelet, namespace: str) -> Plane:
    """Two nodes with two GPUs each, which are permitted."""
    kubevirt.configure(PERMITTED)
    kubelet.add("gpu-1", {GPU: 2})
    kubelet.add("gpu-2", {GPU: 2})
    return plane


def run(plane: Plane, *args: str, code: int = 0, stdin: str | None = None) -> str:
    result = CliRunner().invoke(cli, [*args, "--kubeconfig", plane.admin()], input=stdin)
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout


def machines(plane: Plane, namespace: str) -> list[str]:
    listed = plane.request("GET", MACHINES.format(namespace))["items"]
    return [item["metadata"]["name"] for item in listed]


def free(plane: Plane) -> int:
    (found,) = json.loads(run(plane, "get", "devices", "-o", "json"))["resources"]
    return found["free"]


def launcher(plane: Plane, namespace: str) -> dict:
    """The launcher of the only VM, once the scheduler has bound it."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        for pod in plane.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]:
            if pod["spec"].get("nodeName"):
                return pod
        time.sleep(0.05)
    raise AssertionError(plane.request("GET", MACHINES.format(namespace)))


def amounts(containers: list) -> dict:
    """Container -> (requests, limits) in nano-units; a limit alone is its own request, as the API
    server makes it.
    """
    found = {}
    for container in containers:
        given = container.get("resources", {})
        requests, limits = given.get("requests", {}), given.get("limits", {})
        found[container["name"]] = tuple(
            {name: parse_quantity(text).nanos for name, text in part.items()}
            for part in ({**limits, **requests}, limits)
        )
    return found


def create(plane: Plane, namespace: str, resource: str, **options) -> str:
    return run(
        plane, "create", "vm", "one", "-n", namespace, "--image", "example.com/disk:1",
        "--gpu", f"{resource}=1", "--cpus", "2", "--memory", "4Gi", **options,
    )  # fmt: skip


def test_a_vm_is_created_admitted_and_bound_and_its_device_counted(cluster, namespace):
    assert free(cluster) == 4
    create(cluster, namespace, GPU)
    pod = launcher(cluster, namespace)
    assert pod["spec"]["nodeName"] in {"gpu-1", "gpu-2"}
    (row,) = json.loads(run(cluster, "get", "vms", "-n", namespace, "-o", "json"))["items"]
    assert (row["holds"], row["node"]) == ({GPU: 1}, pod["spec"]["nodeName"])
    assert free(cluster) == 3


def test_our_launcher_is_the_one_that_kubevirt_made(cluster, namespace):
    text = json.dumps(vm("one", namespace=namespace, gpus=[GPU]))
    rendered = json.loads(
        run(cluster, "render", "pod", "-f", "-", "-n", namespace, "-o", "json", stdin=text)
    )
    cluster.request("POST", MACHINES.format(namespace), json.loads(text))
    made = launcher(cluster, namespace)
    ours = rendered["pod"]["spec"]
    for part in ("containers", "initContainers"):
        assert amounts(ours[part]) == amounts(made["spec"].get(part, []))
    assert ours["nodeSelector"] == made["spec"]["nodeSelector"]
    assert ours["affinity"] == made["spec"]["affinity"]


def test_what_the_preflight_refuses_leaves_nothing(cluster, namespace):
    create(cluster, namespace, T4, code=1)
    assert machines(cluster, namespace) == []


def test_a_quota_is_seen_before_anything_is_created(cluster, namespace):
    made = quota("gpus", {f"requests.{GPU}": "0"}, namespace=namespace)
    made.pop("status", None)
    cluster.request("POST", f"/api/v1/namespaces/{namespace}/resourcequotas", made)
    end = time.monotonic() + LIMIT_S
    path = f"/api/v1/namespaces/{namespace}/resourcequotas/gpus"
    while not cluster.request("GET", path).get("status", {}).get("hard"):
        assert time.monotonic() < end
        time.sleep(0.05)
    text = json.dumps(vm("one", namespace=namespace, gpus=[GPU]))
    verdict = json.loads(run(cluster, "check", "-f", "-", "-o", "json", stdin=text, code=1))
    assert [issue["reason"] for issue in verdict["issues"] if issue["severity"] == "error"] == [
        "QuotaExceeded"
    ]


def test_a_permit_changes_the_list_and_kubevirt_follows(cluster, kubevirt, namespace):
    kubevirt.configure({"permittedHostDevices": {"pciHostDevices": []}})
    create(cluster, namespace, GPU, code=1)
    run(cluster, "permit", "pci", GPU, "--selector", "10DE:2236", "--yes")
    create(cluster, namespace, GPU)
    assert launcher(cluster, namespace)
    run(cluster, "unpermit", GPU, "--yes", code=5)  # in use


def test_who_may_read_nothing_is_told_what_is_missing(cluster, namespace):
    config = cluster.kubeconfig(NOBODY, {"token": cluster.token(NOBODY)})
    text = json.dumps(vm("one", namespace=namespace, gpus=[GPU]))
    found = subprocess.run(
        [sys.executable, "-m", "passway", "check", "-f", "-", "-o", "json", "--kubeconfig", config],
        input=text, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (3, "")
    verdict = json.loads(found.stdout)
    assert verdict["fits"] == "unknown"
    assert any("nodes may not be listed" in issue["message"] for issue in verdict["issues"])


def test_ages_are_those_of_now(cluster):
    document = json.loads(run(cluster, "get", "devices", "-o", "json"))
    assert abs(datetime.fromisoformat(document["at"]) - datetime.now(UTC)) < timedelta(minutes=1)


def test_the_plugin_of_the_real_kubectl(cluster, namespace, tmp_path):
    folder = Path(sys.executable).parent
    assert shutil.which("kubectl-passway", path=str(folder))
    ended = subprocess.run(
        [*cluster.kubectl()[:2], "passway", "get", "devices", "-o", "name"],
        env={"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(tmp_path),
             "KUBECONFIG": cluster.admin()},
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, f"device/{GPU}\n"), ended.stderr


# -- the service ----------------------------------------------------------------------------------


@asynccontextmanager
async def service(plane: Plane):
    cluster = KubeCluster(load_config(plane.admin()))
    app = create_app(cluster, Tokens(DEMO))
    async with app.router.lifespan_context(app):
        await app.state.service.mirror.ready(LIMIT_S)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://passway",
            headers={"Authorization": "Bearer demo-admin"},
        ) as client:  # fmt: skip
            yield client


async def test_the_service_creates_vms_on_the_real_cluster(cluster, namespace):
    body = {
        "name": "one", "namespace": namespace, "image": "example.com/disk:1", "cpus": 2,
        "memory": 4096, "devices": [{"name": "g", "device_name": GPU}],
    }  # fmt: skip
    async with service(cluster) as client:
        refused = await client.post("/api/vms", json={
            **body, "devices": [{"name": "g", "device_name": T4}]
        })  # fmt: skip
        assert refused.status_code == 422
        assert machines(cluster, namespace) == []
        made = await client.post("/api/vms", json=body)
        assert made.status_code == 201, made.text
        assert machines(cluster, namespace) == ["one"]
        pod = launcher(cluster, namespace)
        end = time.monotonic() + LIMIT_S
        while True:  # the mirror follows the watch
            listed = (await client.get("/api/v1/vms", params={"namespace": namespace})).json()
            if listed["items"] and listed["items"][0]["node"] == pod["spec"]["nodeName"]:
                break
            assert time.monotonic() < end, listed
            await asyncio.sleep(0.05)
    with pytest.raises(Answer):
        cluster.request("GET", f"{MACHINES.format(namespace)}/two")
