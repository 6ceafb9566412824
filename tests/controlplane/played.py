"""What a kubelet and virt-handler say, beyond that a pod runs: rejections, events, conditions.

Owns the requests that stand for their words. The objects are real and everybody else reacts to them
as always; nothing here decides anything.
"""

from datetime import UTC, datetime
from typing import Any, Final

from tests.controlplane.nodes import MERGE
from tests.controlplane.plane import Plane

PODS: Final = "/api/v1/namespaces/{}/pods"
INSTANCES: Final = "/apis/kubevirt.io/v1/namespaces/{}/virtualmachineinstances"


def say(
    plane: Plane, namespace: str, about: tuple[str, str], reason: str, message: str,
    component: str = "kubelet",
) -> None:  # fmt: skip
    """An event about an object (kind, name)."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    kind, name = about
    plane.request(
        "POST",
        f"/api/v1/namespaces/{namespace}/events",
        {
            "metadata": {"generateName": f"{name}.", "namespace": namespace},
            "involvedObject": {"kind": kind, "name": name, "namespace": namespace},
            "reason": reason, "message": message, "type": "Warning", "count": 1,
            "firstTimestamp": now, "lastTimestamp": now, "source": {"component": component},
        },
    )  # fmt: skip


def reject(plane: Plane, namespace: str, name: str, reason: str, message: str) -> None:
    """The kubelet does not take a bound pod."""
    say(plane, namespace, ("Pod", name), reason, message)
    status = {"phase": "Failed", "reason": reason, "message": message}
    path = f"{PODS.format(namespace)}/{name}/status"
    plane.request("PATCH", path, {"status": status}, content=MERGE)


def wait(plane: Plane, namespace: str, name: str, reason: str, message: str) -> None:
    """The containers of a bound pod wait."""
    path = f"{PODS.format(namespace)}/{name}"
    pod = plane.request("GET", path)
    statuses = [
        {
            "name": container["name"], "image": "x", "imageID": "", "ready": False,
            "restartCount": 0, "state": {"waiting": {"reason": reason, "message": message}},
        }
        for container in pod["spec"]["containers"]
    ]  # fmt: skip
    plane.request(
        "PATCH", f"{path}/status", {"status": {"containerStatuses": statuses}}, content=MERGE
    )


def handle(plane: Plane, namespace: str, name: str, phase: str, *conditions: Any) -> None:
    """virt-handler's report on a VMI that was handed over to it."""
    path = f"{INSTANCES.format(namespace)}/{name}"
    found = plane.request("GET", path)
    given = {condition["type"] for condition in conditions}
    kept = [item for item in found["status"].get("conditions", ()) if item["type"] not in given]
    status = {**found["status"], "phase": phase, "conditions": [*kept, *conditions]}
    plane.request(
        "PUT", path, {**found, "status": status},
        headers={
            "Impersonate-User": "system:serviceaccount:kubevirt:kubevirt-handler",
            "Impersonate-Extra-authentication.kubernetes.io%2Fnode-name": status["nodeName"],
        },
    )  # fmt: skip
