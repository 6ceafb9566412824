"""What nodes would do on a plane that has none: nodes as objects, and a kubelet's reports.

Owns the two requests that stand for a kubelet: the status of a node (capacity, health of devices)
and the status of a pod (Running, Failed, gone). Nothing here decides anything.
"""

from typing import Any, Final

from tests.builders import node
from tests.controlplane.plane import Plane

NODES: Final = "/api/v1/nodes"
MERGE: Final = "application/merge-patch+json"
GATE: Final = "kubevirt.io/virtual-machine-unpaused"


class Kubelet:
    """Reports for every node of the plane."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def join(self, *made: dict[str, Any]) -> None:
        """Nodes of `tests.builders.node`, ready; their status comes with the first request."""
        for item in made:
            status = {**item["status"], "conditions": [{"type": "Ready", "status": "True"}]}
            self._plane.request("POST", NODES, {**item, "status": status})

    def add(self, name: str, devices: dict[str, int] | None = None, **options: Any) -> None:
        """One node that KubeVirt can use, with these devices."""
        self.join(node(name, devices, **options))

    def report(self, name: str, resource: str, allocatable: int, capacity: int) -> None:
        """The health of the devices of one resource: what is allocatable of its capacity."""
        status = {
            "allocatable": {resource: str(allocatable)}, "capacity": {resource: str(capacity)},
        }  # fmt: skip
        self._plane.request("PATCH", f"{NODES}/{name}/status", {"status": status}, content=MERGE)

    def run(self, namespace: str, name: str, phase: str = "Running") -> None:
        """A bound pod runs, or has ended as `phase` says."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        pod = self._plane.request("GET", path)
        running = phase == "Running"
        kept = [c for c in pod["status"].get("conditions", ()) if c["type"] == GATE]
        state = {"running": {}} if running else {"terminated": {"exitCode": 1}}
        ready = ("Ready", "ContainersReady", "Initialized", "PodScheduled")
        status = {
            "phase": phase,
            "conditions": [
                *kept, *({"type": kind, "status": "True" if running else "False"} for kind in ready)
            ],
            "containerStatuses": [
                {
                    "name": container["name"], "image": container.get("image", ""), "imageID": "",
                    "ready": running, "started": running, "restartCount": 0, "state": state,
                }
                for container in pod["spec"]["containers"]
            ],
        }  # fmt: skip
        self._plane.request("PATCH", f"{path}/status", {"status": status}, content=MERGE)

    def remove(self, namespace: str, name: str) -> None:
        """A pod that was told to end is gone."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        options = {"gracePeriodSeconds": 0, "kind": "DeleteOptions", "apiVersion": "v1"}
        self._plane.request("DELETE", path, options, expected=(200, 404))

    def leave(self, *names: str) -> None:
        """Nodes go."""
        for name in names:
            self._plane.request("DELETE", f"{NODES}/{name}", expected=(200, 404))
