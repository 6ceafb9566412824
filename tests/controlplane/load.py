"""A loaded plane: 1,000 nodes and 30,000 running pods, made once and kept as etcd's data.

Owns what the load is (launchers like real ones, some nodes tainted or cordoned) and how it is made
quickly: a bearer token, connections that stay, two processes, and no component beside the API
server and etcd. What was made is kept in the user's cache under a hash of everything that goes
into it; a plane that starts from it is ready in seconds.
"""

import hashlib
import http.client
import json
import multiprocessing
import shutil
import ssl
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from tests.builders import GPU, pci
from tests.controlplane.build import cache, programs
from tests.controlplane.kubevirts import OBJECT, KubeVirt
from tests.controlplane.plane import Plane

NODES: Final = 1_000
PODS: Final = 30_000
NAMESPACES: Final = 20
WITH_GPU: Final = 10
"""One node in so many has eight GPUs, of which its first six pods hold one each."""
WORKERS: Final = 2
CONNECTIONS: Final = 8
FAST: Final = {"GOGC": "400"}
Object = dict[str, Any]


def loaded(folder: Path, nodes: int = NODES, pods: int = PODS) -> Plane:
    """A plane, not started, whose data is the load; made first if nobody made it yet."""
    kept = cache() / f"load-{_digest(nodes, pods)}" / "etcd.tar.gz"
    if not kept.exists():
        _make(kept, nodes, pods)
    with tarfile.open(kept) as archive:
        archive.extractall(folder, filter="data")
    return Plane(folder, only_api=True)


def _digest(nodes: int, pods: int) -> str:
    program = Path(programs("kubernetes")["etcd"][0]).parent.name
    summed = hashlib.sha256(json.dumps([program, nodes, pods]).encode())
    summed.update(Path(__file__).read_bytes())
    return summed.hexdigest()[:16]


def _make(kept: Path, nodes: int, pods: int) -> None:
    print(f"loading {nodes} nodes and {pods} pods; this takes minutes, once", file=sys.stderr)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
        folder = Path(scratch)
        with Plane(folder / "plane", only_api=True, environment=FAST) as plane:
            start = time.monotonic()
            fill(plane, nodes, pods)
            print(f"loaded in {time.monotonic() - start:.0f} s", file=sys.stderr)
            plane.end()
        made = folder / "etcd.tar.gz"
        with tarfile.open(made, "w:gz", compresslevel=1) as archive:
            archive.add(folder / "plane" / "etcd", "etcd")
        shutil.rmtree(folder / "plane")
        made.replace(kept)


def fill(plane: Plane, nodes: int, pods: int) -> None:
    """Creates everything on a running plane."""
    kubevirt = KubeVirt(plane)
    kubevirt.define()
    kubevirt.configure({"permittedHostDevices": {"pciHostDevices": [pci("10DE:2236", GPU)]}})
    assert plane.request("GET", OBJECT)
    for number in range(NAMESPACES):
        meta = {"metadata": {"name": namespace(number)}}
        plane.request("POST", "/api/v1/namespaces", meta)
        accounts = f"/api/v1/namespaces/{namespace(number)}/serviceaccounts"
        plane.request("POST", accounts, {"metadata": {"name": "default"}})
    address = (plane.port, plane.token(), plane.keys.authority)
    _spread(_nodes, address, nodes, nodes)
    _spread(_pods, address, pods, nodes)


Address = tuple[int, str, str]


def _spread(work: Any, address: Address, count: int, nodes: int) -> None:
    """`work` on all numbers below `count`, by processes with threads."""
    lanes = WORKERS * CONNECTIONS
    context = multiprocessing.get_context("spawn")
    running = [
        context.Process(
            target=_lanes,
            args=(work, address, range(first, lanes, WORKERS), lanes, count, nodes),
        )
        for first in range(WORKERS)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join()
    if any(process.exitcode for process in running):
        raise RuntimeError("the plane was not loaded")


def _lanes(
    work: Any, address: Address, own: range, lanes: int, count: int, nodes: int
) -> None:  # fmt: skip
    with ThreadPoolExecutor(len(own)) as threads:
        for done in [
            threads.submit(work, Connection(address), range(lane, count, lanes), nodes)
            for lane in own
        ]:
            done.result()


class Connection:
    """One connection that stays, with a bearer token: a certificate would be verified each time."""

    def __init__(self, address: Address) -> None:
        port, token, authority = address
        trusted = ssl.create_default_context(cafile=authority)
        self._http = http.client.HTTPSConnection("127.0.0.1", port, context=trusted, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def send(self, method: str, path: str, body: Object) -> None:
        """One request that must succeed."""
        self._http.request(method, path, json.dumps(body), self._headers)
        response = self._http.getresponse()
        read = response.read()
        if response.status not in {200, 201}:
            raise RuntimeError(f"{method} {path}: {response.status} {read[:500]!r}")


def _nodes(connection: Connection, numbers: range, _: int) -> None:
    for number in numbers:
        connection.send("POST", "/api/v1/nodes", node(number))


def _pods(connection: Connection, numbers: range, nodes: int) -> None:
    for number in numbers:
        made = pod(number, nodes)
        path = f"/api/v1/namespaces/{made['metadata']['namespace']}/pods"
        connection.send("POST", path, made)
        connection.send("PUT", f"{path}/{made['metadata']['name']}/status", made)


# -- what there is --------------------------------------------------------------------------------


def namespace(number: int) -> str:
    """The name of a tenant's namespace."""
    return f"team-{number:02}"


def node_name(number: int) -> str:
    """The name of a node."""
    return f"node-{number:05}"


def node(number: int) -> Object:
    """Of the nodes with GPUs every tenth is tainted and every tenth cordoned."""
    amounts = {
        "cpu": "96", "memory": "512Gi", "pods": "110", "ephemeral-storage": "400Gi",
        "devices.kubevirt.io/kvm": "1k", "devices.kubevirt.io/tun": "1k",
        "devices.kubevirt.io/vhost-net": "1k",
    }  # fmt: skip
    rank = number // WITH_GPU if number % WITH_GPU == 0 else None
    if rank is not None:
        amounts[GPU] = "8"
    tainted = [{"key": "dedicated", "value": "ai", "effect": "NoSchedule"}]
    features = ("aes", "avx", "avx2", "bmi1", "bmi2", "erms", "fma", "pcid", "smep", "xsave")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node_name(number),
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": node_name(number),
                "kubevirt.io/schedulable": "true",
                "machine-type.node.kubevirt.io/q35": "true",
                "topology.kubernetes.io/zone": f"zone-{number % 3}",
                **{f"cpu-feature.node.kubevirt.io/{name}": "true" for name in features},
            },
            "annotations": {"kubevirt.io/heartbeat": "2026-06-12T09:30:00Z"},
        },
        "spec": {
            "taints": tainted if rank is not None and rank % 10 == 3 else [],
            "unschedulable": rank is not None and rank % 10 == 7,
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [
                {"type": kind, "status": "True" if kind == "Ready" else "False",
                 "lastHeartbeatTime": "2026-06-12T09:30:00Z",
                 "lastTransitionTime": "2026-06-01T08:00:00Z"}
                for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
            ],
        },
    }  # fmt: skip


def pod(number: int, nodes: int) -> Object:
    """A launcher, bound and running; with it everything a status has that a kubelet writes."""
    home, rank = number % nodes, number // nodes
    name = f"vm-{number:06}"
    amounts = {"cpu": "400m", "memory": "5000Mi", "devices.kubevirt.io/kvm": "1"}
    held = {GPU: "1"} if home % WITH_GPU == 0 and rank < 6 else {}
    uid = f"00000000-0000-4000-9000-{number:012}"
    volumes = ("private", "public", "sockets", "hooks", "libvirt")
    times = "2026-06-01T08:00:00Z"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"virt-launcher-{name}-7xk2p",
            "namespace": namespace(number % NAMESPACES),
            "labels": {
                "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": uid,
                "vm.kubevirt.io/name": name,
            },
            "annotations": {
                "kubevirt.io/domain": name,
                "kubevirt.io/migrationTransportUnix": "true",
                "kubectl.kubernetes.io/default-container": "compute",
                "pre.hook.backup.velero.io/container": "compute",
            },
            "ownerReferences": [
                {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
                 "name": name, "uid": uid, "controller": True, "blockOwnerDeletion": True}
            ],
        },
        "spec": {
            "nodeName": node_name(home),
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 210,
            "nodeSelector": {"kubevirt.io/schedulable": "true", "kubernetes.io/arch": "amd64"},
            "containers": [
                {
                    "name": "compute",
                    "image": "quay.io/kubevirt/virt-launcher:v1.9.0",
                    "command": ["/usr/bin/virt-launcher-monitor", "--name", name, "--uid", uid],
                    "env": [{"name": "KUBEVIRT_RESOURCE_NAME", "value": GPU},
                            {"name": "POD_NAME",
                             "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                    "resources": {"requests": {**amounts, **held},
                                  "limits": {"devices.kubevirt.io/kvm": "1", **held}},
                    "volumeMounts": [
                        {"name": volume, "mountPath": f"/var/run/{volume}"} for volume in volumes
                    ],
                }
            ],
            "volumes": [{"name": volume, "emptyDir": {}} for volume in volumes],
            "tolerations": [{"key": "dedicated", "operator": "Exists"}] if held else [],
        },
        "status": {
            "phase": "Running",
            "podIP": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}",
            "startTime": times,
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": times}
                for kind in ("Ready", "PodScheduled", "Initialized", "ContainersReady")
            ],
            "containerStatuses": [
                {"name": "compute", "image": "quay.io/kubevirt/virt-launcher:v1.9.0",
                 "imageID": "sha256:" + "0" * 64, "ready": True, "started": True,
                 "restartCount": 0, "state": {"running": {"startedAt": times}}}
            ],
        },
    }  # fmt: skip


def objects(nodes: int = NODES, pods: int = PODS) -> Iterator[Object]:
    """The same load as objects, for what is no API server."""
    yield from map(node, range(nodes))
    yield from (pod(number, nodes) for number in range(pods))
