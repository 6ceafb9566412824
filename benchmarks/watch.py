"""How far the mirror is behind: `python -m benchmarks.watch [--rate 500] [--json|--plane] [...]`.

A server of recorded objects, a process of its own on another core, changes pods at a rate; with
`--plane` a process does that to a real API server. This process follows on one core and answers 20
verdicts a second meanwhile. Each change says when it was made, so what is measured is the time from
the change to the mirror that knows it.
"""

import argparse
import asyncio
import gc
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from tests.controlplane import load

from benchmarks import synthetic
from passway.cluster.kinds import NODES, PODS, Kind
from passway.kube.client import KubeCluster
from passway.kube.config import ClientConfig, Trust, load_config
from passway.kube.config.credentials import Fixed
from passway.manifest.vm import parse_manifest
from passway.preflight.walk import check
from passway.service.mirror import Mirror
from passway.service.ports import WatchEvent

VERDICTS = 20
SETTLE_S = 5.0
PRIME = 7_919
"""One pod after another would be one namespace after another."""


class Timed(Mirror):
    """Notes the age of each change of a pod once it is known."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.lags: list[float] = []

    def _take(self, kind: Kind, event: WatchEvent) -> None:
        super()._take(kind, event)
        if kind is PODS and event.record is not None:
            sent = (event.record.metadata.labels or {}).get("sent")  # type: ignore[attr-defined]
            if sent:
                self.lags.append(time.time() - float(sent))


async def follow(
    config: ClientConfig, server: Any, rate: float, seconds: float
) -> dict[str, Any]:  # fmt: skip
    """The lags, in seconds, and what this process needed."""
    spec = parse_manifest(synthetic.machine(1)).require()[0]
    async with KubeCluster(config) as cluster, Timed(cluster) as mirror:
        await mirror.ready(300)
        gc.freeze()
        server.stdin.write(f"{rate} {seconds}\n")
        server.stdin.flush()
        begun, verdicts = time.monotonic(), 0
        cpu = time.process_time()
        while time.monotonic() - begun < seconds:
            check(spec, mirror.snapshot())
            verdicts += 1
            await asyncio.sleep(max(0.0, begun + verdicts / VERDICTS - time.monotonic()))
        cpu = time.process_time() - cpu
        told = json.loads(await asyncio.to_thread(server.stdout.readline))
        end = time.monotonic() + SETTLE_S
        while len(mirror.lags) < told["made"] and time.monotonic() < end:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)
        lags = sorted(mirror.lags)
        assert mirror.snapshot().read(NODES).known
    return {
        "made": told["made"], "rate": told["made"] / told["seconds"], "seen": len(lags),
        "median_s": median(lags), "p99_s": lags[int(len(lags) * 0.99)], "most_s": lags[-1],
        "cpu_share": cpu / seconds, "verdicts": verdicts,
    }  # fmt: skip


def recorded(
    rate: float, seconds: float, nodes: int, pods: int, *, as_json: bool = False
) -> dict[str, Any]:  # fmt: skip
    """One run on recorded objects; the two processes have a core each, where there are two."""
    cores = sorted(os.sched_getaffinity(0))
    own, others = {cores[-1]}, set(cores[:-1]) or {cores[-1]}
    command = ["tests.recorded", "--nodes", str(nodes), "--pods", str(pods)]
    with changer(*command, *(["--json"] if as_json else [])) as server:
        try:
            os.sched_setaffinity(server.pid, others)
            os.sched_setaffinity(0, own)
            config = ClientConfig(server.stdout.readline().strip(), "default", Fixed(), Trust())
            return asyncio.run(follow(config, server, rate, seconds))
        finally:
            os.sched_setaffinity(0, cores)


def real(rate: float, seconds: float, nodes: int, pods: int) -> dict[str, Any]:
    """One run on a real API server, which shares the cores with both processes."""
    with (
        tempfile.TemporaryDirectory(prefix="passway-watch-") as folder,
        load.loaded(Path(folder), nodes, pods) as plane,
        changer("benchmarks.watch", "--change") as server,
    ):
        address = (plane.port, plane.token(), str(plane.keys.authority))
        server.stdin.write(json.dumps([address, nodes, pods]) + "\n")
        config = load_config(plane.admin())
        return asyncio.run(follow(config, server, rate, seconds))


@contextmanager
def changer(*command: str) -> Iterator[Any]:
    """A process that changes pods: it reads a rate and seconds, and tells what it did."""
    running = subprocess.Popen(
        [sys.executable, "-m", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


class Patching(load.Connection):
    """Whose bodies are merge patches."""

    def __init__(self, address: load.Address) -> None:
        super().__init__(address)
        self._headers["Content-Type"] = "application/merge-patch+json"


def change() -> None:
    """Labels pods of a real API server, whose address is read, at the rate that is read."""
    (port, token, authority), nodes, pods = json.loads(sys.stdin.readline())
    words = sys.stdin.readline().split()
    rate, seconds = float(words[0]), float(words[1])
    start, numbers, lock = time.monotonic(), itertools.count(), threading.Lock()

    def work(_: int) -> int:
        connection, made = Patching((port, token, authority)), 0
        while True:
            with lock:
                number = next(numbers)
            wait_s = start + number / rate - time.monotonic()
            if start + seconds < time.monotonic() + wait_s:
                return made
            time.sleep(max(0.0, wait_s))
            meta = load.pod(number * PRIME % pods, nodes)["metadata"]
            path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
            body = {"metadata": {"labels": {"sent": f"{time.time():.6f}"}}}
            connection.send("PATCH", path, body)
            made += 1

    with ThreadPoolExecutor(load.CONNECTIONS) as threads:
        made = sum(threads.map(work, range(load.CONNECTIONS)))
    print(json.dumps({"made": made, "seconds": time.monotonic() - start}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.watch")
    parser.add_argument("--rate", type=float, default=500, help="changes a second")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=30_000)
    parser.add_argument("--json", action="store_true", help="from a server without protobuf")
    parser.add_argument("--plane", action="store_true", help="from a real API server")
    parser.add_argument("--change", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.change:
        change()
        return
    asked = (given.rate, given.seconds, given.nodes, given.pods)
    found = real(*asked) if given.plane else recorded(*asked, as_json=given.json)
    form = "real API server" if given.plane else "JSON" if given.json else "protobuf"
    print(
        f"{found['rate']:.0f} changes a second, {form}: behind by "
        f"{found['median_s'] * 1e3:.0f} ms (median), {found['p99_s'] * 1e3:.0f} ms (p99), "
        f"{found['most_s'] * 1e3:.0f} ms (most); {found['cpu_share']:.0%} of a core with "
        f"{found['verdicts']} verdicts; {found['seen']} of {found['made']} changes seen"
    )


if __name__ == "__main__":
    main()
