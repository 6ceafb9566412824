"""Our filters against the real scheduler's: the nodes that are left for a launcher, scene by scene.

The launcher is ours, sent to the API server as a pod; what the scheduler's filters leave is told
by the bench's observer. What each scene must come to is written down too, so that each decides.
"""

import itertools
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from tests.builders import GPU, kubevirt, machine, node, pod
from tests.controlplane.nodes import MERGE, Kubelet
from tests.controlplane.plane import Plane
from tests.controlplane.scenes import (
    HIGH,
    LOW,
    NS,
    OTHER,
    SCENES,
    WORLD,
    Object,
    Scene,
    labelled_vm,
)

from passway.cluster import kinds
from passway.cluster.dump import decode_object
from passway.cluster.kinds import Kind
from passway.cluster.snapshot import Read, Snapshot
from passway.cluster.state import ClusterState
from passway.preflight.eviction import evictions
from passway.preflight.placement import Placement, place
from passway.preflight.walk import ask, check
from passway.service.launcher import launcher_pod

pytestmark = [pytest.mark.plane, pytest.mark.slow]
LIMIT_S: Final = 20
STORAGE: Final = "/apis/storage.k8s.io/v1"
SHARED: Final = {
    "StorageClass": f"{STORAGE}/storageclasses",
    "CSIDriver": f"{STORAGE}/csidrivers",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
}
PATHS: Final = {
    "PersistentVolume": "/api/v1/persistentvolumes",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "CSIStorageCapacity": f"{STORAGE}/namespaces/{{}}/csistoragecapacities",
}


@pytest.fixture(scope="module")
def world(plane: Plane) -> Plane:
    """Classes of storage and of priority, which all scenes share."""
    for item in WORLD:
        plane.request("POST", SHARED[item["kind"]], item, expected=(201, 409))
    return plane


class Stage:
    """One test's namespaces on the plane: puts up a scene, asks us and asks the scheduler."""

    def __init__(self, plane: Plane, kubelet: Kubelet, namespace: str) -> None:
        self.plane, self.kubelet = plane, kubelet
        self.namespace, self.other = namespace, f"{namespace}-other"
        self._names = itertools.count(1)
        other = {"metadata": {"name": self.other, "labels": {"team": "x"}}}
        plane.request("POST", "/api/v1/namespaces", other)

    def here(self, item: Any) -> Any:
        """The item with this test's namespaces for the words that stand for them."""
        text = re.sub(rf"\b{NS}\b", self.namespace, json.dumps(item))
        return json.loads(re.sub(rf"\b{OTHER}\b", self.other, text))

    def pods(self, namespace: str | None = None) -> str:
        return f"/api/v1/namespaces/{namespace or self.namespace}/pods"

    def put_up(self, scene: Scene) -> None:
        self.kubelet.join(*scene.nodes)
        for item in self.here(list(scene.objects)):
            path = PATHS[item["kind"]].format(self.namespace)
            self.plane.request("POST", path, item)
        for name in (item["metadata"]["name"] for item in scene.objects if is_prebound(item)):
            self.wait(lambda name=name: self.phase_of_claim(name) == "Bound")
        for item in self.here(list(scene.pods)):
            self.add(item)
        for name, phase in scene.ended.items():
            status = {"status": {"phase": phase}}
            self.plane.request("PATCH", f"{self.pods()}/{name}/status", status, content=MERGE)
        for name in scene.gone:
            kind, _, claim = name.rpartition("/")
            claims = PATHS["PersistentVolumeClaim"].format(self.namespace)
            self.plane.request("DELETE", f"{claims}/{claim}" if kind else f"{self.pods()}/{name}")
        time.sleep(0.4)  # the scheduler's caches: nothing tells when they have it

    def phase_of_claim(self, name: str) -> str:
        claims = PATHS["PersistentVolumeClaim"].format(self.namespace)
        return self.plane.request("GET", f"{claims}/{name}")["status"].get("phase", "")

    def add(self, item: Object) -> Object:
        """A pod that the API server takes; new namespaces get their account a little later."""
        spec = item["spec"]
        for number, container in enumerate([*spec["containers"], *spec.get("initContainers", [])]):
            container.update({"name": container.get("name", f"c{number}"), "image": "example/x"})
            resources = container.setdefault("resources", {})
            asked = {key: text for key, text in resources.get("requests", {}).items() if "/" in key}
            resources["limits"] = {**asked, **resources.get("limits", {})}
        path = self.pods(item["metadata"]["namespace"])
        item = {key: value for key, value in item.items() if key != "status"}
        end = time.monotonic() + LIMIT_S
        while True:
            answer = self.plane.request("POST", path, item, expected=(201, 403))
            if answer["kind"] == "Pod":
                return answer
            assert time.monotonic() < end, answer
            time.sleep(0.1)

    def snapshot(self) -> Snapshot:
        """Everything that the API server has, and a KubeVirt with its gates."""
        state = ClusterState()
        for kind in kinds.ALL:
            state.mark(kind, Read.READ)
            group = f"/apis/{kind.group}" if kind.group else "/api"
            path = f"{group}/{kind.version}/{kind.plural}"
            answer = self.plane.request("GET", path, expected=(200, 404))
            for item in answer.get("items", []) if isinstance(answer, dict) else []:
                add(state, kind, {"apiVersion": kind.api_version, "kind": kind.kind, **item})
        add(state, kinds.KUBEVIRTS, kubevirt())
        return state.snapshot()

    def launcher(self, item: Object) -> Object:
        """Our launcher of a VM, as a pod that the API server takes."""
        spec = machine(self.here(item))
        made = launcher_pod(spec, self.snapshot()).pod
        made["metadata"]["name"] = f"launcher-{next(self._names)}"
        made["metadata"].pop("generateName")
        claims = [volume.claim_name for volume in spec.volumes if volume.claim_name]
        made["spec"]["volumes"] = [
            {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims
        ]
        return made

    def placement(self, item: Object) -> tuple[Snapshot, Placement]:
        snapshot = self.snapshot()
        return snapshot, place(ask(machine(self.here(item)), snapshot, 1), expand=True)

    def feasible(self, made: Object) -> frozenset[str]:
        """The nodes that the real scheduler's filters leave for a pod."""
        uid = made["metadata"]["uid"]
        path = f"{self.pods()}/{made['metadata']['name']}"
        observer = self.plane.observer

        def decided() -> bool:
            found = self.plane.request("GET", path)
            conditions = found.get("status", {}).get("conditions", [])
            return bool(observer.feasible(uid)) or any(
                condition.get("reason") == "Unschedulable" for condition in conditions
            )

        self.wait(decided)
        return observer.feasible(uid)

    def ending(self) -> frozenset[str]:
        """The pods of the namespace that were told to end."""
        items = self.plane.request("GET", self.pods())["items"]
        return frozenset(
            item["metadata"]["name"] for item in items if "deletionTimestamp" in item["metadata"]
        )

    def wait(self, until: Callable[[], bool]) -> None:
        end = time.monotonic() + LIMIT_S
        while not until():
            assert time.monotonic() < end
            time.sleep(0.03)


def add(state: ClusterState, kind: Kind, item: Object) -> None:
    decoded = decode_object(item)
    assert decoded is not None
    assert decoded[0] is kind
    state.apply(*decoded)


def is_prebound(item: Object) -> bool:
    return item["kind"] == "PersistentVolumeClaim" and "volumeName" in item["spec"]


def names(placement: Placement) -> frozenset[str]:
    return frozenset(item.name for item in placement.feasible)


@pytest.fixture
def stage(world: Plane, kubelet: Kubelet, namespace: str) -> Iterator[Stage]:
    made = Stage(world, kubelet, namespace)
    yield made
    for item in world.request("GET", made.pods(made.other))["items"]:
        kubelet.remove(made.other, item["metadata"]["name"])
    world.request("DELETE", f"/api/v1/namespaces/{made.other}")
    volumes = PATHS["PersistentVolume"]
    for item in world.request("GET", volumes)["items"]:
        world.request("DELETE", f"{volumes}/{item['metadata']['name']}", expected=(200, 404))


@pytest.mark.parametrize("scene", SCENES, ids=[scene.name for scene in SCENES])
def test_the_nodes_that_the_filters_leave(stage: Stage, scene: Scene) -> None:
    stage.put_up(scene)
    snapshot, ours = stage.placement(scene.machine)
    verdict = check(machine(stage.here(scene.machine)), snapshot)
    real = stage.feasible(stage.add(stage.launcher(scene.machine)))
    told = {item.name: item.fails for item in ours.nodes if item.fails}
    assert (names(ours), real) == (scene.expected, scene.expected), told
    assert verdict.fits == ("yes" if scene.expected else "no"), verdict.issues
    if scene.evicts is None:
        return
    if scene.evicts:
        stage.wait(lambda: stage.ending() != frozenset())
    time.sleep(0.3)
    assert ours.scene is not None
    preempts = ours.scene.priority.preempts
    found = list(evictions(snapshot, ours.scene, ours)) if preempts else []
    victims = frozenset(victim.name for item in found for victim in item.victims)
    assert (victims, stage.ending()) == (scene.evicts, scene.evicts)
    reasons = {issue.reason for issue in verdict.issues}
    assert ("FitsByEviction" in reasons) == bool(scene.evicts)


def test_a_pod_with_a_nominated_node_keeps_its_room_from_equal_and_lower_ones(stage: Stage) -> None:
    """Two pods make room for an important one; while the second ends, the first one's is kept."""
    gpu = labelled_vm(gpus=[GPU])
    low = [pod(name, "a", {GPU: "1"}, namespace=NS, priorityClassName=LOW) for name in "pq"]
    stage.put_up(Scene("", (node("a", {GPU: 2}),), frozenset(), tuple(low)))
    first = pod("first", None, {GPU: "2"}, namespace=NS, priorityClassName=HIGH)
    stage.add(stage.here(first))
    stage.wait(lambda: stage.ending() == frozenset("pq"))
    stage.wait(lambda: bool(
        stage.plane.request("GET", f"{stage.pods()}/first")["status"].get("nominatedNodeName")
    ))  # fmt: skip
    stage.kubelet.remove(stage.namespace, "p")
    time.sleep(0.5)
    for priority, expected in ((None, frozenset()), (HIGH, frozenset())):
        made = gpu if priority is None else labelled_vm(gpus=[GPU], priorityClassName=priority)
        _, ours = stage.placement(made)
        real = stage.feasible(stage.add(stage.launcher(made)))
        assert (names(ours), real) == (expected, expected)
    top = labelled_vm(gpus=[GPU], priorityClassName="system-node-critical")
    _, ours = stage.placement(top)
    assert names(ours) == frozenset("a")
    assert stage.feasible(stage.add(stage.launcher(top))) == frozenset("a")


@pytest.mark.parametrize(
    ("has", "pending", "expected"),
    [("3800m", None, "b"), ("100m", None, "ab"), ("100m", "Infeasible", "ab")],
)
def test_a_pod_that_is_resized_counts_with_what_it_has(
    stage: Stage, has: str, pending: str | None, expected: str
) -> None:
    asks = "3800m" if pending else "100m"
    held = pod("p", "a", {"cpu": asks}, namespace=NS)
    stage.put_up(Scene("", (node("a", cpu="4"), node("b", cpu="4")), frozenset(), (held,)))
    status = {
        "containerStatuses": [{
            "name": "c0", "image": "x", "imageID": "", "ready": True, "restartCount": 0,
            "resources": {"requests": {"cpu": has}}, "allocatedResources": {"cpu": "100m"},
        }],
        "conditions": [
            {"type": "PodResizePending", "status": "True", "reason": pending}
        ] if pending else [],
    }  # fmt: skip
    stage.plane.request("PATCH", f"{stage.pods()}/p/status", {"status": status}, content=MERGE)
    time.sleep(0.4)
    made = labelled_vm(cpu={"cores": 9})
    _, ours = stage.placement(made)
    real = stage.feasible(stage.add(stage.launcher(made)))
    assert (names(ours), real) == (frozenset(expected), frozenset(expected))
