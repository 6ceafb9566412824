"""Verdicts while the cluster is ill-treated: none is wrong, and all come back soon.

`PASSWAY_CHAOS_MINUTES` says for how long (`make soak`: 10). A verdict in fifty is made again from
lists of exactly the versions that it was made of.
"""

import asyncio
import json
import os
import signal
import sys
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import msgspec
import pytest
from tests.builders import GPU, node, pci, vm
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.plane import Answer, Plane, free_port

from passway.api.app import utc_now
from passway.api.bodies import FILE
from passway.cluster import kinds
from passway.cluster.dump import decode_object
from passway.cluster.snapshot import Read, Snapshot
from passway.cluster.state import ClusterState
from passway.kube.objects import path_of
from passway.manifest.vm import parse_manifest
from passway.preflight.walk import check
from passway.service import report
from passway.service.documents import Document

MINUTES = float(os.environ.get("PASSWAY_CHAOS_MINUTES", "0"))
pytestmark = [
    pytest.mark.plane, pytest.mark.soak,
    pytest.mark.skipif(not MINUTES, reason="only in `make soak`"),
]  # fmt: skip
VERDICTS = 20
CHECKED = 50
BACK_S = 5.0
LOST_S = 60.0
GROWTH = 1.1
AWAY = (Answer, OSError, HTTPException)
"""What a request ends with while the server is killed."""
MANIFEST = vm(gpus=[GPU])
(SPEC,) = parse_manifest(json.dumps(MANIFEST), FILE, "default").require()


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
        self.kept: list[dict[str, Any]] = []
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

    async def ill_treat(self, service: "Service", until: float) -> None:
        """Fault after fault; each time what was changed after it must be seen soon."""
        while time.monotonic() < until:
            await asyncio.sleep(2 + 4 * self.random.random())
            fault = self.random.choice((self.kill, self.pause, self.sever, self.rotated))
            self.faulty = True
            await fault()
            name = f"mark-{len(self.faults)}"
            await asyncio.to_thread(self._create, name)
            over = time.monotonic()
            while not await service.knows(name):
                assert time.monotonic() < over + LOST_S
                await asyncio.sleep(0.05)
            self.faults.append((fault.__name__, time.monotonic() - over))
            self.faulty = False

    def _create(self, name: str) -> None:
        end = time.monotonic() + 30
        while True:
            try:
                self.plane.request("POST", "/api/v1/nodes", node(name), expected=(201, 409))
            except AWAY:
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
            with suppress(*AWAY):
                await asyncio.to_thread(
                    self.plane.request, "PATCH", f"/api/v1/nodes/{name}/status",
                    {"status": status}, content="application/merge-patch+json",
                )  # fmt: skip

    # -- verdicts -------------------------------------------------------------------------------

    async def judge(self, service: "Service", until: float) -> None:
        number, begun = 0, time.monotonic()
        while time.monotonic() < until:
            number += 1
            verdict = await service.ask("POST", "/api/v1/preflight", MANIFEST)
            self.judged.append((self.faulty, verdict is not None))
            if verdict is not None and number % CHECKED == 0:
                self.kept.append(verdict)
            await asyncio.sleep(max(0.0, begun + number / VERDICTS - time.monotonic()))

    async def recompute(self, until: float) -> None:
        while time.monotonic() < until or self.kept:
            if not self.kept or self.faulty:
                await asyncio.sleep(0.05)
                continue
            verdict = self.kept.pop(0)
            with suppress(*AWAY):  # it will not be known
                snapshot = await asyncio.to_thread(self._exactly, verdict["read"])
                again = _answer(report.verdict(check(SPEC, snapshot), snapshot))
                self.compared += 1
                if _told(again) != _told(verdict):
                    self.wrong.append(f"{verdict} != {again}")

    def _exactly(self, read: list[dict[str, Any]]) -> Snapshot:
        """The cluster at the versions that a verdict was made of."""
        state = ClusterState()
        for item in read:
            kind = kinds.BY_PLURAL[item["kind"]]
            if version := item["resource_version"]:
                assert item["age_seconds"] is not None
                query = f"?resourceVersion={version}&resourceVersionMatch=Exact"
                listed = self.plane.request("GET", path_of(kind, None) + query)
                for found in listed["items"]:
                    made = decode_object(
                        {"apiVersion": kind.api_version, "kind": kind.kind, **found}
                    )
                    assert made is not None
                    state.apply(*made)
            state.mark(kind, Read(item["read"]))
        return state.snapshot(utc_now())


def _answer(document: Document) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(msgspec.json.encode(document))
    return made


def _told(verdict: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in verdict.items() if name != "read"}


class Service:
    """`passway serve` in a process of its own: what it answers, and what it needs."""

    def __init__(self, session: aiohttp.ClientSession, running: Process, url: str) -> None:
        self._session = session
        self._running = running
        self._url = url

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer; None where there is none."""
        with suppress(aiohttp.ClientError, TimeoutError):
            async with self._session.request(method, self._url + path, json=body) as response:
                return await response.json() if response.status == 200 else None

    async def knows(self, node_name: str) -> bool:
        found = await self.ask("GET", "/api/v1/nodes")
        return found is not None and node_name in {item["name"] for item in found["items"]}

    def resident_mb(self) -> float:
        own = self._running.pid
        (pid,) = Path(f"/proc/{own}/task/{own}/children").read_text().split()
        status = Path(f"/proc/{pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) / 1024


@asynccontextmanager
async def serving(kubeconfig: str, folder: Path, limit_s: float) -> AsyncIterator[Service]:
    """Ends it in the end, which it must do in order: with code 0 and no task left over."""
    tokens = folder / "tokens.yaml"
    tokens.write_text("[{token: chaos-chaos-chaos, user: chaos, role: cluster.admin}]")
    tokens.chmod(0o600)
    with (folder / "serve.log").open("w+") as log:
        running = await asyncio.create_subprocess_exec(
            "timeout", "--foreground", "--signal=KILL", str(limit_s),
            sys.executable, "-m", "passway", "serve", "--port", "0",
            "--kubeconfig", kubeconfig, "--tokens", str(tokens),
            stdout=asyncio.subprocess.PIPE, stderr=log,
        )  # fmt: skip
        try:
            assert running.stdout is not None
            url = (await running.stdout.readline()).decode().split()[-1]
            headers = {"Authorization": "Bearer chaos-chaos-chaos"}
            timeout = aiohttp.ClientTimeout(total=5)
            async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
                yield Service(session, running, url)
        finally:
            running.terminate()
            code = await running.wait()
        log.seek(0)
        said = log.read()
    assert code == 0, said[-3000:]
    assert "Task was destroyed" not in said
    assert "never retrieved" not in said


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
    limit_s = MINUTES * 60 + 180
    async with chaos.proxy(), serving(chaos.config(), own.folder, limit_s) as service:
        until = time.monotonic() + MINUTES * 60
        work = asyncio.gather(
            chaos.ill_treat(service, until), chaos.change(until), chaos.judge(service, until),
            chaos.recompute(until),
        )  # fmt: skip
        await asyncio.sleep(min(60.0, MINUTES * 30))
        early = service.resident_mb()
        await work
        late = service.resident_mb()
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
