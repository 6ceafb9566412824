"""The client and the mirror on the real API server: forms, restarts, compaction."""

import asyncio
import json
import signal
import urllib.request
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.builders import GPU, node
from tests.controlplane.nodes import Kubelet
from tests.controlplane.plane import Plane
from tests.faulty import until

from passway.cluster import kinds
from passway.cluster import records as r
from passway.kube.client import KubeCluster
from passway.kube.config import load_config
from passway.kube.numbers import NUMBERS
from passway.service.mirror import Mirror

pytestmark = [pytest.mark.plane, pytest.mark.slow]
FINALIZER = "example.dev/held"
SELECTOR = {
    "matchLabels": {"app": "db"},
    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
}
TERM = {
    "topologyKey": "kubernetes.io/hostname", "labelSelector": SELECTOR,
    "namespaces": ["default"], "namespaceSelector": SELECTOR,
    "matchLabelKeys": ["layer"], "mismatchLabelKeys": ["rack"],
}  # fmt: skip
AMOUNTS = {"requests": {"cpu": "500m"}, "limits": {"memory": "1Gi"}}
STATUS = {
    "phase": "Running", "resources": AMOUNTS, "allocatedResources": {"cpu": "3"},
    "conditions": [{"type": "PodResizeInProgress", "status": "True", "reason": "Deferred"}],
    "containerStatuses": [
        {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 0,
         "resources": AMOUNTS, "allocatedResources": {"cpu": "500m"}},
    ],
    "initContainerStatuses": [
        {"name": "s", "image": "i", "imageID": "", "ready": True, "restartCount": 0},
    ],
}  # fmt: skip
"""As a kubelet reports it of a pod that is being resized."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def everything(namespace: str) -> dict[str, Any]:
    """A pod with every field that is read of one."""
    return {
        "metadata": {
            "name": "full", "namespace": namespace,
            "labels": {"app": "db", "empty": "", "layer": "t", "rack": "r"},
            "finalizers": [FINALIZER],
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1",
                 "controller": False},
            ],
        },
        "spec": {
            "nodeName": "full", "runtimeClassName": "heavy", "priorityClassName": "high",
            "resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "4", "memory": "1Gi"}},
            "containers": [
                {"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 8080},
                                                      {"containerPort": 2, "protocol": "UDP"}],
                 "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "1Gi"}}},
                {"name": "d", "image": "i"},
            ],
            "initContainers": [{"name": "s", "image": "i", "restartPolicy": "Always"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "pvc"}},
                        {"name": "e", "emptyDir": {}}],
            "resourceClaims": [{"name": "a", "resourceClaimName": "claim"},
                               {"name": "b", "resourceClaimTemplateName": "template"}],
            "affinity": {
                "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "k", "operator": "Exists"}],
                     "matchFields": [{"key": "metadata.name", "operator": "In",
                                      "values": ["full"]}]},
                ]}},
                "podAffinity": {REQUIRED: [TERM]},
                "podAntiAffinity": {REQUIRED: [TERM]},
            },
            "tolerations": [
                {"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"},
                {"operator": "Exists"},
            ],
            "topologySpreadConstraints": [
                {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                 "labelSelector": SELECTOR, "minDomains": 2, "nodeAffinityPolicy": "Ignore",
                 "nodeTaintsPolicy": "Honor"},
            ],
        },
    }  # fmt: skip


POD_LEVEL = {"PodStatus.resources", "PodStatus.allocated_resources"}
POD_LEVEL_MINOR = 36
"""Older servers drop what a kubelet says of the resources of a pod as a whole."""


@pytest.fixture
def full(plane: Plane, kubelet: Kubelet, namespace: str, request: pytest.FixtureRequest) -> Plane:
    """Objects that together have every field of the table."""
    made = node("full", {GPU: 2}, taints=[{"key": "k", "value": "v", "effect": "NoExecute"}],
                unschedulable=True)  # fmt: skip
    conditions = [
        {"type": "Ready", "status": "True", "reason": "Fine",
         "lastHeartbeatTime": "2026-06-12T09:30:00Z"},
        {"type": "DiskPressure", "status": "False"},
    ]  # fmt: skip
    made["status"]["conditions"] = conditions
    made["metadata"]["annotations"] = {"kubevirt.io/heartbeat": "2026-06-12T09:30:00Z"}
    made["metadata"]["ownerReferences"] = everything(namespace)["metadata"]["ownerReferences"]
    made["metadata"]["finalizers"] = [FINALIZER]
    plane.request("POST", "/api/v1/nodes", made)
    kubelet.add("plain")
    plane.request("POST", "/apis/node.k8s.io/v1/runtimeclasses", {
        "metadata": {"name": "heavy"}, "handler": "h", "overhead": {"podFixed": {"cpu": "100m"}},
    }, expected=(201, 409))  # fmt: skip
    plane.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
        "metadata": {"name": "high"}, "value": 7,
    }, expected=(201, 409))  # fmt: skip
    pods = f"/api/v1/namespaces/{namespace}/pods"
    plane.request("POST", pods, everything(namespace))
    request.addfinalizer(lambda: _release(plane, f"{pods}/full", "/api/v1/nodes/full"))  # noqa: PT021
    plane.request(
        "POST", pods, {"metadata": {"name": "plain"},
                       "spec": {"schedulerName": "none",
                                "containers": [{"name": "c", "image": "i"}]}},
    )  # fmt: skip
    for name, status in (("full", STATUS), ("plain", {"nominatedNodeName": "plain"})):
        plane.request(
            "PATCH", f"{pods}/{name}/status", {"status": status},
            content="application/merge-patch+json",
        )  # fmt: skip
    for path in (f"{pods}/full", "/api/v1/nodes/full"):
        plane.request("DELETE", path)
    return plane


def _release(plane: Plane, *paths: str) -> None:
    for path in paths:
        plane.request(
            "PATCH", path, {"metadata": {"finalizers": None}},
            content="application/merge-patch+json", expected=(200, 404),
        )  # fmt: skip


def _unset(found: list[Any]) -> set[str]:
    """The fields of the table that no object has."""
    seen: set[tuple[type, str]] = set()

    def look(value: Any) -> None:
        if isinstance(value, tuple):
            for one in value:
                look(one)
        if isinstance(value, r.Record):
            for info in msgspec.structs.fields(type(value)):
                inner = getattr(value, info.name)
                if inner not in {None, ""} if isinstance(inner, str | None) else True:
                    seen.add((type(value), info.name))
                    look(inner)

    look(tuple(found))
    table = {(record, name) for record, names in NUMBERS.items() for name in names}
    return {f"{record.__name__}.{name}" for record, name in table - seen}


async def test_the_real_server_gives_the_same_records_in_both_forms(full: Plane) -> None:
    found: list[Any] = []
    async with KubeCluster(load_config(full.admin())) as cluster:
        for kind in (kinds.NODES, kinds.PODS):
            objects, version = await cluster.list(kind)
            listed: Any = list[kind.record]  # type: ignore[name-defined]
            wanted = msgspec.convert(objects, listed, strict=False)
            records = []
            async with aclosing(cluster.pages(kind)) as pages:
                async for page in pages:
                    records += page.records
            key = lambda record: (record.metadata.namespace or "", record.metadata.name)  # noqa: E731
            assert sorted(records, key=key) == sorted(wanted, key=key)
            assert version
            found += records
    old = int(full.request("GET", "/version")["minor"]) < POD_LEVEL_MINOR
    assert _unset(found) == {"Meta.namespace"} | (POD_LEVEL if old else set())


async def test_a_watch_gives_the_same_records_in_both_forms(full: Plane, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    async with KubeCluster(load_config(full.admin())) as cluster:
        _, version = await cluster.list(kinds.PODS)
        for number in range(3):
            full.request(
                "PATCH", f"{pods}/plain", {"metadata": {"labels": {"n": str(number)}}},
                content="application/merge-patch+json",
            )  # fmt: skip
        async with aclosing(cluster.watch(kinds.PODS, version)) as events:
            async with asyncio.timeout(20):
                seen = [await anext(events) for _ in range(3)]
        objects, _ = await cluster.list(kinds.PODS, namespace)
    wanted = [msgspec.convert(one, r.Pod, strict=False) for one in objects]
    assert seen[-1].record in wanted
    assert seen[-1].version == seen[-1].record.metadata.resource_version


# -- a plane that is ill-treated ------------------------------------------------------------------


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """API server and etcd alone, to be killed."""
    with Plane(Path(tmp_path_factory.mktemp("own")), only_api=True) as started:
        yield started


@asynccontextmanager
async def followed(plane: Plane) -> Any:
    async with (
        KubeCluster(load_config(plane.admin()), timeout_s=10.0) as cluster,
        Mirror(cluster, read=(kinds.NODES, kinds.NAMESPACES)) as mirror,
    ):
        await mirror.ready(30)
        yield mirror, cluster


async def equal(mirror: Mirror, cluster: KubeCluster, limit_s: float = 30.0) -> None:
    fresh = Mirror(cluster, read=(kinds.NODES, kinds.NAMESPACES))
    await fresh.read()
    wanted = fresh.snapshot()
    await until(
        lambda: (
            (mirror.snapshot().nodes, mirror.snapshot().objects) == (wanted.nodes, wanted.objects)
        ),
        limit_s,
    )


async def test_after_a_restart_of_the_api_server(own: Plane) -> None:
    kubelet = Kubelet(own)
    kubelet.add("before")
    async with followed(own) as (mirror, cluster):
        own.component("kube-apiserver").stop()
        assert "before" in mirror.snapshot().nodes
        await asyncio.to_thread(own.start_apiserver)
        kubelet.add("after")
        kubelet.leave("before")
        await equal(mirror, cluster)
        assert set(mirror.snapshot().nodes) == {"after"}
    kubelet.leave("after")


async def test_after_a_restart_and_a_compaction(own: Plane) -> None:
    """What the watch would go on from is not in the history any more."""
    kubelet = Kubelet(own)
    async with followed(own) as (mirror, cluster):
        own.component("kube-apiserver").stop()
        await asyncio.to_thread(own.start_apiserver)
        kubelet.add("one", {GPU: 1})
        kubelet.leave("one")
        kubelet.add("two", {GPU: 1})
        _compact(own)
        own.component("kube-apiserver").stop()
        await asyncio.to_thread(own.start_apiserver)
        await equal(mirror, cluster)
        assert set(mirror.snapshot().nodes) == {"two"}
    kubelet.leave("two")


def _compact(plane: Plane) -> None:
    def call(path: str, body: dict[str, Any]) -> Any:
        url = f"http://127.0.0.1:{plane.etcd_port}{path}"
        with urllib.request.urlopen(url, json.dumps(body).encode(), timeout=20) as answer:
            return json.loads(answer.read())

    revision = call("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
    call("/v3/kv/compaction", {"revision": revision, "physical": True})


async def test_while_etcd_is_paused(own: Plane) -> None:
    kubelet = Kubelet(own)
    async with followed(own) as (mirror, cluster):
        own.component("etcd").signal(signal.SIGSTOP)
        await asyncio.sleep(1)
        assert mirror.snapshot().read(kinds.NODES).known
        own.component("etcd").signal(signal.SIGCONT)
        await asyncio.to_thread(own.component("kube-apiserver").wait_until, own.is_ready)
        kubelet.add("late")
        await equal(mirror, cluster)
    kubelet.leave("late")
