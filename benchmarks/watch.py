"""How far the mirror is behind: `python -m benchmarks.watch [--rate 500] [--json] [...]`.

A server of recorded objects, a process of its own on another core, changes pods at a rate; this
process follows on one core and answers 20 verdicts a second meanwhile. Each change says when it was
made, so what is measured is the time from the change to the mirror that knows it.
"""

import argparse
import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from statistics import median
from typing import Any

from benchmarks import synthetic
from passway.cluster.kinds import NODES, PODS, Kind
from passway.kube.client import KubeCluster
from passway.kube.config import ClientConfig, Trust
from passway.kube.config.credentials import Fixed
from passway.manifest.vm import parse_manifest
from passway.preflight.walk import check
from passway.service.mirror import Mirror
from passway.service.ports import WatchEvent

VERDICTS = 20
SETTLE_S = 5.0


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


async def follow(url: str, server: Any, rate: int, seconds: float) -> dict[str, Any]:
    """The lags, in seconds, and what this process needed."""
    config = ClientConfig(url, "default", Fixed(), Trust())
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


def measured(
    rate: int, seconds: float, nodes: int, pods: int, *, as_json: bool
) -> dict[str, Any]:  # fmt: skip
    """One run; the two processes have a core each, where there are two."""
    cores = sorted(os.sched_getaffinity(0))
    own, others = {cores[-1]}, set(cores[:-1]) or {cores[-1]}
    command = [sys.executable, "-m", "tests.recorded", "--nodes", str(nodes), "--pods", str(pods)]
    server = subprocess.Popen(
        [*command, *(["--json"] if as_json else [])],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        os.sched_setaffinity(server.pid, others)
        os.sched_setaffinity(0, own)
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        return asyncio.run(follow(url, server, rate, seconds))
    finally:
        os.sched_setaffinity(0, cores)
        server.kill()
        server.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.watch")
    parser.add_argument("--rate", type=int, default=500, help="changes a second")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=30_000)
    parser.add_argument("--json", action="store_true", help="from a server without protobuf")
    given = parser.parse_args()
    found = measured(given.rate, given.seconds, given.nodes, given.pods, as_json=given.json)
    print(
        f"{found['rate']:.0f} changes a second, {'JSON' if given.json else 'protobuf'}: behind by "
        f"{found['median_s'] * 1e3:.0f} ms (median), {found['p99_s'] * 1e3:.0f} ms (p99), "
        f"{found['most_s'] * 1e3:.0f} ms (most); {found['cpu_share']:.0%} of a core with "
        f"{found['verdicts']} verdicts; {found['seen']} of {found['made']} changes seen"
    )


if __name__ == "__main__":
    main()
