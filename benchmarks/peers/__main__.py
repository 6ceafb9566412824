"""Passway beside other tools on the loaded plane: `python -m benchmarks.peers [--rounds N]`.

Each round measures every contestant once, so that all of them meet the same moments of the
machine. The bar is a raw read of the JSON pod list in the same round (aiohttp, body thrown away, a
User-Agent of its own). Times are of whole processes, start included, but for the raw reads. What a
peer says is compared with what is known of the load.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import aiohttp
from tests.builders import GPU
from tests.controlplane import load
from tests.controlplane.plane import Plane

from benchmarks.peers import allocations
from passway.kube.config import load_config

PASSWAY: Final = (sys.executable, "-m", "passway")
LIMIT_S: Final = 120
QUESTIONS: Final = 400
JSON: Final = {"Content-Type": "application/json"}
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
QUOTED: Final = "cluster-capacity: 5.4 times the raw read (quoted; it is not in this run)"


class Run(NamedTuple):
    """Of one process."""

    seconds: float
    peak_mb: float
    out: str


def process(command: Sequence[str], stdin: str = "") -> Run:
    """Runs it to its end; raises for a code that is none of an answer."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as given:
        given.write(stdin.encode())
        given.seek(0)
        start = time.perf_counter()
        running = subprocess.Popen(command, stdin=given, stdout=out)
        _, status, used = os.wait4(running.pid, 0)
        seconds = time.perf_counter() - start
        running.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode()
    if running.returncode not in {0, 1, 3}:
        raise RuntimeError(f"{' '.join(command)}: {running.returncode}\n{text}")
    return Run(seconds, used.ru_maxrss * 1024 / 1e6, text)


async def raw(kubeconfig: str, accept: str, coding: str) -> float:
    """Seconds of one GET of all pods; the body is thrown away."""
    config = load_config(kubeconfig)
    headers = {"User-Agent": "passway-benchmark", "Accept": accept, "Accept-Encoding": coding}
    headers.update(await config.headers())
    async with aiohttp.ClientSession(headers=headers, auto_decompress=False) as session:
        start = time.perf_counter()
        trusted = config.ssl_context(None)
        async with session.get(f"{config.server}/api/v1/pods", ssl=trusted or True) as response:
            response.raise_for_status()
            async for _ in response.content.iter_any():
                pass
        return time.perf_counter() - start


def machine() -> str:
    """A VM with one GPU that tolerates nothing."""
    spec = {"domain": {"cpu": {"cores": 2}, "memory": {"guest": "4Gi"},
                       "devices": {"gpus": [{"name": "g", "deviceName": GPU}]}}}  # fmt: skip
    return json.dumps({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": "new", "namespace": load.namespace(0)},
        "spec": {"runStrategy": "Always", "template": {"spec": spec}},
    })  # fmt: skip


class Truth(NamedTuple):
    """What is known of the load, which made it."""

    advertised: int
    used: int
    usable: int
    """Units that are free where a VM without tolerations may go."""


def truth(nodes: int, pods: int) -> Truth:
    """Counted from the objects of the load themselves."""
    made = [load.node(number) for number in range(nodes)]
    offered = {n["metadata"]["name"]: int(n["status"]["allocatable"].get(GPU, 0)) for n in made}
    closed = {
        n["metadata"]["name"] for n in made if n["spec"]["taints"] or n["spec"]["unschedulable"]
    }
    used = dict.fromkeys(offered, 0)
    for number in range(pods):
        spec = load.pod(number, nodes)["spec"]
        requests = spec["containers"][0]["resources"]["requests"]
        used[spec["nodeName"]] += int(requests.get(GPU, 0))
    usable = sum(offered[name] - used[name] for name in offered if name not in closed)
    return Truth(sum(offered.values()), sum(used.values()), usable)


# -- the service ----------------------------------------------------------------------------------


def through_the_service(kubeconfig: str) -> tuple[float, list[float], float]:
    """Seconds until the service is ready, milliseconds of each `fit`, and its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        tokens = Path(folder, "tokens.yaml")
        tokens.write_text("[{token: benchmark-token-0, user: b, role: cluster.admin}]")
        tokens.chmod(0o600)
        start = time.perf_counter()
        running = subprocess.Popen(
            [*PASSWAY, "serve", "--port", "0", "--kubeconfig", kubeconfig,
             "--tokens", str(tokens), "--rate-limit", "0",
             "--audit", str(Path(folder, "audit.db"))],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert running.stdout is not None
            found = re.search(r"http://\S+", running.stdout.readline())
            assert found is not None
            ready, samples = asyncio.run(_asked(found[0], start))
        finally:
            running.terminate()
            _, _, used = os.wait4(running.pid, 0)
            running.returncode = 0
    return ready, samples, used.ru_maxrss * 1024 / 1e6


async def _asked(url: str, start: float) -> tuple[float, list[float]]:
    headers = {"Authorization": "Bearer benchmark-token-0"}
    async with aiohttp.ClientSession(headers=headers) as session:
        while True:
            async with session.get(f"{url}/readyz") as response:
                if response.status == 200:
                    break
            await asyncio.sleep(0.02)
        ready = time.perf_counter() - start
        samples = []
        for _ in range(QUESTIONS):
            begun = time.perf_counter()
            async with session.post(f"{url}/api/v1/fit", data=machine(), headers=JSON) as response:
                answer = await response.json()
                assert response.status == 200, answer
            samples.append((time.perf_counter() - begun) * 1e3)
        return ready, samples


# -- the run --------------------------------------------------------------------------------------


def measured(plane: Plane, rounds: int, peer: Path | None) -> dict[str, list[Run]]:
    """Every contestant once a round; the first round warms up and does not count."""
    kubeconfig = plane.admin()
    found: dict[str, list[Run]] = {}
    commands: dict[str, tuple[list[str], str]] = {
        "passway get devices": ([*PASSWAY, "get", "devices", "-o", "json",
                                 "--kubeconfig", kubeconfig], ""),
        "passway fit": ([*PASSWAY, "fit", "-f", "-", "-o", "json",
                         "--kubeconfig", kubeconfig], machine()),
    }  # fmt: skip
    if peer is not None:
        commands["kubectl-view-allocations"] = (allocations.command(peer), "")
        os.environ["KUBECONFIG"] = kubeconfig
    for number in range(rounds + 1):
        one = {
            "raw JSON": Run(asyncio.run(raw(kubeconfig, "application/json", "identity")), 0, ""),
            "raw protobuf, gzip": Run(asyncio.run(raw(kubeconfig, PROTOBUF, "gzip")), 0, ""),
            **{name: process(command, stdin) for name, (command, stdin) in commands.items()},
        }
        for name, run in one.items() if number else ():
            found.setdefault(name, []).append(run)
    return found


def report(found: dict[str, list[Run]]) -> list[str]:
    """One line a contestant."""
    bar = median(run.seconds for run in found["raw JSON"])
    lines = [
        "| What | best | median | of the raw JSON read | peak memory |",
        "|---|---|---|---|---|",
    ]
    for name, runs in found.items():
        seconds = sorted(run.seconds for run in runs)
        peak = max(run.peak_mb for run in runs)
        lines.append(
            f"| {name} | {seconds[0]:.2f} s | {median(seconds):.2f} s | "
            f"{median(seconds) / bar:.2f} | {f'{peak:.0f} MB' if peak else ''} |"
        )
    return lines


def correctness(known: Truth, found: dict[str, list[Run]], peer: Path | None) -> None:
    """What the tools say beside what is so."""
    inventory: Any = json.loads(found["passway get devices"][-1].out)
    (ours,) = [item for item in inventory["resources"] if item["resource_name"] == GPU]
    fit: Any = json.loads(found["passway fit"][-1].out)
    print(f"known: {known.advertised} advertised, {known.used} used; a VM without tolerations "
          f"finds {known.usable} free")  # fmt: skip
    print(f"passway: {ours['advertised']} advertised, {ours['used']} used, {ours['free']} free; "
          f"{fit['by_nodes']} more fit (KubeVirt's quota apart)")  # fmt: skip
    assert (ours["advertised"], ours["used"]) == (known.advertised, known.used)
    assert fit["by_nodes"] == known.usable
    if peer is None:
        return
    for options, wanted in (
        ((), known.usable),
        (("-n", load.namespace(0)), known.advertised - known.used),
    ):
        said = allocations.free(process(allocations.command(peer, *options)).out, GPU)
        verdict = "right" if said == wanted else "wrong"
        print(f"kubectl-view-allocations {' '.join(options)}: {said} free; {wanted} are: {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.peers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=load.NODES)
    parser.add_argument("--pods", type=int, default=load.PODS)
    parser.add_argument("--no-peers", action="store_true", help="Passway and raw reads only")
    options = parser.parse_args()
    peer = None if options.no_peers else allocations.found()
    with tempfile.TemporaryDirectory(prefix="passway-peers-") as folder:
        start = time.perf_counter()
        with load.loaded(Path(folder), options.nodes, options.pods) as plane:
            print(f"{options.nodes} nodes, {options.pods} pods; "
                  f"the plane is ready after {time.perf_counter() - start:.0f} s")  # fmt: skip
            runs = measured(plane, options.rounds, peer)
            print("\n".join(report(runs)))
            print(QUOTED)
            ready, samples, peak = through_the_service(plane.admin())
            ordered = sorted(samples)
            print(f"passway serve: ready after {ready:.1f} s, peak {peak:.0f} MB; fit through it: "
                  f"median {median(ordered):.1f} ms, p99 {ordered[int(len(ordered) * 0.99)]:.1f} ms"
                  )  # fmt: skip
            correctness(truth(options.nodes, options.pods), runs, peer)


if __name__ == "__main__":
    main()
