"""What really happens: a scenario created on the plane, its VM's end, and everything taken away.

Owns the order of creation, the waiting, and the reading of the outcome from the places where each
component says it. It decides nothing: the words it looks for are those of the components.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from tests.agreement.scenario import AWAY, HOME, Object, Scenario
from tests.controlplane.injector import Injector
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.nodes import Kubelet
from tests.controlplane.plane import Answer, Plane

from passway.cluster.kinds import kind_of

LIMIT_S: Final = 30.0
STEP_S: Final = 0.02
MERGE: Final = "application/merge-patch+json"


@dataclass(frozen=True)
class Outcome:
    """Where the VM ended: `admission`, `permission`, `networks`, `launcher` (the API server
    does not take the pod), `quota`, `scheduling`, `bound`.

    `words` are those of the component that said no. `feasible` is what the scheduler's filters
    left, None where it was never asked. `fields` are those that admission complained about.
    """

    stage: str
    words: str = ""
    feasible: frozenset[str] | None = None
    fields: tuple[str, ...] = ()
    evicts: bool = False
    """Whether the scheduler made room for it by ending other pods."""


class Real:
    """Creates scenarios one after the other; nothing of one is left when the next begins."""

    def __init__(self, plane: Plane, kubevirt: KubeVirt) -> None:
        self.plane = plane
        self._kubevirt = kubevirt
        self._kubelet = Kubelet(plane)
        self._injector = Injector(plane)
        self._injected = False

    def close(self) -> None:
        self._injector.stop()

    # -- the cluster ------------------------------------------------------------------------------

    def build(self, scenario: Scenario) -> None:
        """Everything but the VM."""
        self._kubevirt.configure(scenario.configuration)
        if scenario.injector != self._injected:
            (self._injector.install if scenario.injector else self._injector.remove)()
            self._injected = scenario.injector
        for name, labels in scenario.namespaces.items():
            made = {"metadata": {"name": name, "labels": labels}}
            self.plane.request("POST", "/api/v1/namespaces", made, expected=(201, 409))
        self._wait(self._has_accounts, "the service accounts")
        for obj in (*scenario.priorities, *scenario.volumes, *scenario.attachments):
            self.plane.request("POST", collection(obj), obj)
        self._kubelet.join(*scenario.nodes)
        for pod in scenario.pods:
            self._run(pod)
        for obj in scenario.quotas:
            self.plane.request("POST", collection(obj), obj)
        self._wait(lambda: self._counted(scenario), "the status of the quotas")
        self._wait(lambda: self._claimed(scenario), "the binding of the claims")

    def _run(self, pod: Object) -> None:
        sent = {**pod, "metadata": {**pod["metadata"]}}
        ends = sent["metadata"].pop("deletionTimestamp", None)
        self.plane.request("POST", collection(sent), sent)
        path = address(sent)
        if pod["status"]["phase"] != "Pending":
            status = {"status": pod["status"]}
            self.plane.request("PATCH", f"{path}/status", status, content=MERGE)
        if ends:
            self.plane.request("DELETE", path)

    def _counted(self, scenario: Scenario) -> bool:
        return all(
            self.plane.request("GET", address(obj)).get("status", {}).get("hard")
            == obj["spec"]["hard"]
            for obj in scenario.quotas
            if obj["kind"] == "ResourceQuota"
        )

    def _claimed(self, scenario: Scenario) -> bool:
        """Claims that name their volume get it as soon as the controller sees both, or never."""
        return all(
            self.plane.request("GET", address(obj)).get("status", {}).get("phase") == "Bound"
            for obj in scenario.volumes
            if obj.get("spec", {}).get("volumeName")
        )

    def _has_accounts(self) -> bool:
        return all(
            self.plane.request(
                "GET", f"/api/v1/namespaces/{name}/serviceaccounts/default", expected=(200, 404)
            ).get("kind") == "ServiceAccount"
            for name in (HOME, AWAY)
        )  # fmt: skip

    # -- the machine ------------------------------------------------------------------------------

    def run(self, scenario: Scenario) -> Outcome:
        """Creates the VM and waits for what becomes of it."""
        try:
            self.plane.request("POST", collection(scenario.vm), scenario.vm)
        except Answer as answer:
            return _refused(answer)
        found: list[Outcome] = []

        def known() -> bool:
            found.extend(self._outcome(scenario.vm["metadata"]["name"]))
            return bool(found)

        self._wait(known, "an outcome")
        return found[0]

    def _outcome(self, name: str) -> Iterator[Outcome]:
        for pod in self._pods(HOME):
            owners = pod["metadata"].get("ownerReferences") or ()
            if any(owner["name"] == name for owner in owners):
                yield from self._scheduled(pod)
                return
        instance = self._get("virtualmachineinstances", name)
        machine = self._get("virtualmachines", name)
        for obj in (instance, machine):
            for condition in ((obj or {}).get("status") or {}).get("conditions") or ():
                if condition.get("reason") == "FailedCreate":
                    yield Outcome(_stage_of(condition["message"]), condition["message"])
                    return

    def _scheduled(self, pod: Object) -> Iterator[Outcome]:
        feasible = self.plane.observer.feasible(pod["metadata"]["uid"])
        if pod["spec"].get("nodeName"):
            yield Outcome("bound", feasible=feasible)
            return
        for condition in pod["status"].get("conditions") or ():
            if condition["type"] == "PodScheduled" and condition["reason"] == "Unschedulable":
                evicts = bool(pod["status"].get("nominatedNodeName"))
                yield Outcome("scheduling", condition["message"], feasible, evicts=evicts)

    def _get(self, plural: str, name: str) -> Object | None:
        path = f"/apis/kubevirt.io/v1/namespaces/{HOME}/{plural}/{name}"
        found = self.plane.request("GET", path, expected=(200, 404))
        return None if found["kind"] == "Status" else found

    def _pods(self, namespace: str) -> list[Object]:
        return self.plane.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]

    # -- the end ----------------------------------------------------------------------------------

    def clear(self) -> None:
        """Takes away everything that scenarios make."""
        root = f"/apis/kubevirt.io/v1/namespaces/{HOME}"
        self.plane.request("DELETE", f"{root}/virtualmachines")
        for namespace in (HOME, AWAY):
            core = f"/api/v1/namespaces/{namespace}"
            self._delete(f"{core}/resourcequotas")
            self._delete(f"{core}/limitranges")
            self._delete(
                f"/apis/k8s.cni.cncf.io/v1/namespaces/{namespace}/network-attachment-definitions"
            )
            self._delete(f"{core}/persistentvolumeclaims")
        self._wait(lambda: self._ended(root), "the end of the VM")
        self._delete("/api/v1/nodes")
        self._delete("/api/v1/persistentvolumes")
        self._wait(self._unclaimed, "the end of the volumes")
        self._delete("/apis/storage.k8s.io/v1/storageclasses")
        for obj in self.plane.request("GET", "/apis/scheduling.k8s.io/v1/priorityclasses")["items"]:
            if obj["metadata"]["name"].startswith("class-"):
                self.plane.request(
                    "DELETE",
                    f"/apis/scheduling.k8s.io/v1/priorityclasses/{obj['metadata']['name']}",
                )

    def _unclaimed(self) -> bool:
        paths = (
            f"/api/v1/namespaces/{HOME}/persistentvolumeclaims", "/api/v1/persistentvolumes",
        )  # fmt: skip
        return not any(self.plane.request("GET", path)["items"] for path in paths)

    def _delete(self, path: str) -> None:
        self.plane.request("DELETE", path)

    def _ended(self, root: str) -> bool:
        left = 0
        for namespace in (HOME, AWAY):
            for pod in self._pods(namespace):
                left += 1
                self._kubelet.remove(namespace, pod["metadata"]["name"])
        for plural in ("virtualmachines", "virtualmachineinstances"):
            left += len(self.plane.request("GET", f"{root}/{plural}")["items"])
        return left == 0

    def _wait(self, ready: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + LIMIT_S
        while not ready():
            self.plane.check()
            if time.monotonic() > end:
                raise TimeoutError(f"{what} did not come in {LIMIT_S:.0f} s")
            time.sleep(STEP_S)


def collection(obj: Object) -> str:
    """Where objects of its kind are created."""
    kind = kind_of(obj["apiVersion"], obj["kind"])
    assert kind is not None, obj
    root = f"/apis/{kind.group}" if kind.group else "/api"
    place = f"/namespaces/{obj['metadata']['namespace']}" if kind.namespaced else ""
    return f"{root}/{kind.version}{place}/{kind.plural}"


def address(obj: Object) -> str:
    return f"{collection(obj)}/{obj['metadata']['name']}"


def _refused(answer: Answer) -> Outcome:
    """The API server did not take the VM."""
    body: Any = answer.body
    message = body.get("message", "") if isinstance(body, dict) else str(body)
    if "exceeded quota" in message:
        return Outcome("quota", message)
    causes = ((body.get("details") or {}).get("causes") or ()) if isinstance(body, dict) else ()
    return Outcome("admission", message, fields=tuple(sorted({c.get("field", "") for c in causes})))


def _stage_of(message: str) -> str:
    """What KubeVirt's controller was told, or says itself."""
    if "is not permitted" in message:
        return "permission"
    if "network attachment" in message:
        return "networks"
    if "exceeded quota" in message or "forbidden" in message:
        return "quota"
    if " is invalid: " in message:
        return "launcher"
    return "admission"
