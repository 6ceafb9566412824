"""Verdicts while the cluster is ill-treated: none is wrong, and all come back soon.

`PASSWAY_CHAOS_MINUTES` says for how long (`make soak`: 10). A verdict in fifty is made again from
lists of exactly the versions that it was made of.
"""

import asyncio
import gc
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.builders import GPU, node, pci, vm
from tests.builders import machine as machine_of
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.plane import Answer, Plane, free_port
from tests.faulty import until as until_true

from passway.cluster import kinds
from passway.cluster.dump import decode_object
from passway.cluster.snapshot import Read, Snapshot
from passway.cluster.state import ClusterState
from passway.kube.client import KubeCluster
from passway.kube.config import load_config
from passway.kube.objects import path_of
from passway.model.errors import PasswayError
from passway.preflight.walk import check
from passway.service.mirror import Mirror

MINUTES = float(os.environ.get("PASSWAY_CHAOS_MINUTES", "0"))
pytestmark = [
    pytest.mark.plane, pytest.mark.soak,
    pytest.mark.skipif(not MINUTES, reason="only in `make soak`"),
]  # fmt: skip
VERDICTS = 20
CHECKED = 50
BACK_S = 5.0
GROWTH = 1.1
READ = (
    kinds.NODES, kinds.PODS, kinds.NAMESPACES, kinds.QUOTAS, kinds.LIMIT_RANGES, kinds.KUBEVIRTS,
    kinds.HYPERCONVERGEDS, kinds.CRDS, kinds.RUNTIME_CLASSES, kinds.VOLUME_CLAIMS, kinds.VOLUMES,
)  # fmt: skip


class Chaos:
    """What is done to the plane, and what came of it."""

    def __init__(self, plane: Plane, seed: int) -> None:
        self.plane = plane
        self.random = Random(seed)
        self.port = free_port()
        self.links: set[asyncio.StreamWriter] = set()
        self.token_file = plane.folder / "rotated.token"
        self.number = 0
        self.faulty = False
        self.faults: list[tuple[str, float]] = []
        self.judged: list[tuple[bool, bool]] = []
        """(in a fault, answered)"""
        self.kept: list[tuple[Any, Snapshot]] = []
        self.wrong: list[str] = []
        self.compared = 0

    # -- the way to the server ------------------------------------------------------------------

    @asynccontextmanager
    async def proxy(self) -> AsyncIterator[None]:
        """A TCP proxy, whose connections can be cut."""

        async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError, OSError):
                while data := await reader.read(65536):
                    writer.write(data)
                    await writer.drain()
            writer.transport.abort()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                back, forth = await asyncio.open_connection("127.0.0.1", self.plane.port)
            except OSError:
                writer.transport.abort()
                return
            self.links |= {writer, forth}
            try:
                await asyncio.gather(pump(reader, forth), pump(back, writer))
            finally:
                self.links -= {writer, forth}

        server = await asyncio.start_server(serve, "127.0.0.1", self.port)
        try:
            yield
        finally:
            server.close()
            self.cut()
            await asyncio.sleep(0.1)

    def cut(self) -> None:
        for link in list(self.links):
            link.transport.abort()

    def config(self) -> str:
        """A kubeconfig through the proxy, with a token that is rotated."""
        path = self.plane.kubeconfig("chaos", {"tokenFile": str(self.token_file)})
        text = Path(path).read_text()
        Path(path).write_text(text.replace(self.plane.server, f"https://127.0.0.1:{self.port}"))
        return path

    def rotate(self) -> None:
        """A new token; the old one is no good any more."""
        own = "/api/v1/namespaces/default"
        self.number += 1
        name = f"bound-{self.number}"
        made = self.plane.request("POST", f"{own}/secrets", {"metadata": {"name": name}})
        token = self.plane.request(
            "POST", f"{own}/serviceaccounts/default/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": name,
                                         "uid": made["metadata"]["uid"]}}},
        )["status"]["token"]  # fmt: skip
        part = self.token_file.with_suffix(".part")
        part.write_text(token)
        part.replace(self.token_file)
        if self.number > 1:
            self.plane.request("DELETE", f"{own}/secrets/bound-{self.number - 1}")

    # -- faults ---------------------------------------------------------------------------------

    async def kill(self) -> None:
        self.plane.component("kube-apiserver").stop()
        await asyncio.sleep(self.random.random())
        await asyncio.to_thread(self.plane.start_apiserver)

    async def pause(self) -> None:
        etcd = self.plane.component("etcd")
        etcd.signal(signal.SIGSTOP)
        await asyncio.sleep(1 + 4 * self.random.random())
        etcd.signal(signal.SIGCONT)
        server = self.plane.component("kube-apiserver")
        await asyncio.to_thread(server.wait_until, self.plane.is_ready)

    async def sever(self) -> None:
        for _ in range(self.random.randrange(1, 5)):
            self.cut()
            await asyncio.sleep(0.3 * self.random.random())

    async def rotated(self) -> None:
        await asyncio.to_thread(self.rotate)

    async def ill_treat(self, mirror: Mirror, until: float) -> None:
        """Fault after fault; each time what was changed after it must be seen soon."""
        while time.monotonic() < until:
            await asyncio.sleep(2 + 4 * self.random.random())
            fault = self.random.choice((self.kill, self.pause, self.sever, self.rotated))
            self.faulty = True
            await fault()
            name = f"mark-{len(self.faults)}"
            await asyncio.to_thread(self._create, name)
            over = time.monotonic()
            await until_true(lambda name=name: name in mirror.snapshot().nodes, 60.0)
            self.faults.append((fault.__name__, time.monotonic() - over))
            self.faulty = False

    def _create(self, name: str) -> None:
        end = time.monotonic() + 30
        while True:
            try:
                self.plane.request("POST", "/api/v1/nodes", node(name), expected=(201, 409))
            except (Answer, OSError):
                assert time.monotonic() < end
                time.sleep(0.05)
            else:
                return

    async def change(self, until: float) -> None:
        """GPUs come and go on the nodes."""
        while time.monotonic() < until:
            await asyncio.sleep(0.1)
            if self.faulty:
                continue
            name = f"gpu-{self.random.randrange(8)}"
            amount = {GPU: str(self.random.randrange(4))}
            status = {"allocatable": amount, "capacity": {GPU: "4"}}
            with suppress(Answer, OSError, Exception):
                await asyncio.to_thread(
                    self.plane.request, "PATCH", f"/api/v1/nodes/{name}/status",
                    {"status": status}, content="application/merge-patch+json",
                )  # fmt: skip

    # -- verdicts -------------------------------------------------------------------------------

    async def judge(self, mirror: Mirror, until: float) -> None:
        spec, number = machine_of(vm(gpus=[GPU])), 0
        begun = time.monotonic()
        while time.monotonic() < until:
            number += 1
            try:
                snapshot = mirror.snapshot()
                verdict = check(spec, snapshot)
                answered = snapshot.read(kinds.NODES).known
            except PasswayError:
                answered = False
            else:
                if number % CHECKED == 0:
                    self.kept.append((verdict, snapshot))
            self.judged.append((self.faulty, answered))
            await asyncio.sleep(max(0.0, begun + number / VERDICTS - time.monotonic()))

    async def recompute(self, until: float) -> None:
        while time.monotonic() < until or self.kept:
            if not self.kept or self.faulty:
                await asyncio.sleep(0.05)
                continue
            verdict, snapshot = self.kept.pop(0)
            with suppress(Answer, OSError):  # it will not be known
                fresh = await asyncio.to_thread(self._exactly, snapshot)
                again = check(machine_of(vm(gpus=[GPU])), fresh)
                self.compared += 1
                if again != verdict:
                    self.wrong.append(f"{snapshot.versions}: {verdict} != {again}")

    def _exactly(self, snapshot: Snapshot) -> Snapshot:
        """The cluster at the versions of a snapshot."""
        state = ClusterState()
        for kind in READ:
            version = snapshot.versions.get(kind.plural)
            if version:
                query = f"?resourceVersion={version}&resourceVersionMatch=Exact"
                listed = self.plane.request("GET", path_of(kind, None) + query)
                for item in listed["items"]:
                    made = decode_object(
                        {"apiVersion": kind.api_version, "kind": kind.kind, **item}
                    )
                    assert made is not None
                    state.apply(*made)
            if snapshot.reads.get(kind.plural):
                state.mark(kind, Read(snapshot.reads[kind.plural]))
        return state.snapshot(snapshot.at)


def resident_mb() -> float:
    status = Path("/proc/self/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


@pytest.fixture
def own(tmp_path: Path) -> Any:
    with Plane(tmp_path, only_api=True) as plane:
        kubevirt = KubeVirt(plane)
        kubevirt.define()
        kubevirt.configure({"permittedHostDevices": {"pciHostDevices": [pci("10DE:2236", GPU)]}})
        meta = {"metadata": {"name": "default"}}
        plane.request("POST", "/api/v1/namespaces/default/serviceaccounts", meta)
        plane.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "metadata": {"name": "chaos"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                        "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}],
        })  # fmt: skip
        for number in range(8):
            plane.request("POST", "/api/v1/nodes", node(f"gpu-{number}", {GPU: 2}))
        yield plane


async def test_verdicts_survive(own: Plane) -> None:
    chaos = Chaos(own, seed=int(time.time()))
    await asyncio.to_thread(chaos.rotate)
    before = asyncio.all_tasks()
    early = 0.0
    until = time.monotonic() + MINUTES * 60
    async with (
        chaos.proxy(),
        KubeCluster(load_config(chaos.config())) as cluster,
        Mirror(cluster, read=READ, relist_s=1.0) as mirror,
    ):
        await mirror.ready(60)
        work = asyncio.gather(
            chaos.ill_treat(mirror, until), chaos.change(until), chaos.judge(mirror, until),
            chaos.recompute(until),
        )  # fmt: skip
        await asyncio.sleep(min(60.0, MINUTES * 30))
        gc.collect()
        early = resident_mb()
        await work
        gc.collect()
        late = resident_mb()
    calm = [answered for faulty, answered in chaos.judged if not faulty]
    slow = [(name, round(took, 1)) for name, took in chaos.faults if took > BACK_S]
    print(
        f"{len(chaos.judged)} verdicts, {chaos.compared} compared, {len(chaos.faults)} faults; "
        f"answered {sum(calm)} of {len(calm)} outside of faults; back after at most "
        f"{max(took for _, took in chaos.faults):.1f} s; {early:.0f} -> {late:.0f} MiB"
    )
    assert chaos.wrong == []
    assert chaos.compared
    assert sum(calm) >= 0.99 * len(calm)
    assert slow == []
    assert late <= GROWTH * early
    await asyncio.sleep(0.2)
    assert asyncio.all_tasks() - before == set()
