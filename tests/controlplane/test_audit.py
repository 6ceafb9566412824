"""The audit of a service that is killed in the middle of changes, on a real API server."""

import asyncio
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.plane import Plane

from passway.api.app import utc_now
from passway.kube.client import KubeCluster
from passway.kube.config import load_config
from passway.service.audit import AuditEntry, Filter
from passway.service.changes import Recorded
from passway.service.dangling import Resolver
from passway.store.audit import SqlAudit
from passway.store.database import database

pytestmark = [pytest.mark.plane, pytest.mark.slow]
LIMIT_S = 60
KILLS = 4
TOKEN = "0123456789abcdef"
PERMITTED = "/api/v1/devices/permitted"


@pytest.fixture
def options(plane: Plane, kubevirt: KubeVirt, tmp_path: Path) -> list[str]:
    kubevirt.configure({"permittedHostDevices": {}})
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text(f"[{{token: {TOKEN}, user: root, role: cluster.admin}}]")
    return ["--tokens", str(tokens), "--kubeconfig", plane.admin(),
            "--audit", str(tmp_path / "audit.db")]  # fmt: skip


@contextmanager
def service(options: list[str]) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    command = [sys.executable, "-m", "passway", "serve", "--port", "0", *options]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        match = re.fullmatch(r"serving on (\S+)\n", running.stdout.readline())
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with httpx.Client(base_url=match[1], headers=headers, timeout=LIMIT_S) as client:
            yield running, client
    finally:
        running.kill()
        running.communicate()


def permits(client: httpx.Client, start: int) -> Iterator[tuple[str, bool]]:
    """One after another until the service is gone: the name, and whether it was acknowledged."""
    for number in range(start, start + 1000):
        name = f"vendor.com/r{number}"
        body = {"kind": "pci", "resource_name": name, "pci_vendor_selector": f"10DE:{number:04X}"}
        try:
            answer = client.post(PERMITTED, json={**body, "confirm": True})
        except httpx.TransportError:
            yield name, False
            return
        assert answer.status_code in {200, 409}, answer.text  # the mirror may be behind
        yield name, answer.status_code == 200


async def rows_after_a_restart(plane: Plane, where: str) -> tuple[AuditEntry, ...]:
    """Oldest first, with every intent closed."""
    async with (
        KubeCluster(load_config(plane.admin())) as cluster,
        SqlAudit(database(where), write=lambda _: None) as audit,
    ):
        changes = Recorded(audit, now=utc_now, replica="after")
        await Resolver(cluster, audit, changes, now=utc_now, stale_s=-60).resolve()
        assert await audit.dangling(10) == ()
        assert (await audit.verify())[1] is None
        return (await audit.page(Filter(), 100_000))[::-1]


def test_killed_in_the_middle_of_changes_the_audit_says_what_the_cluster_has(
    plane, options, capsys
):
    chance = random.Random(6)
    asked: dict[str, bool] = {}
    for _ in range(KILLS):
        with service(options) as (running, client):
            killer = threading.Timer(0.2 + chance.random(), running.kill)
            killer.start()
            asked |= dict(permits(client, len(asked) + 1))
            killer.join()
    rows = asyncio.run(rows_after_a_restart(plane, options[-1]))
    (owner,) = plane.request("GET", "/apis/kubevirt.io/v1/kubevirts")["items"]
    listing = owner["spec"]["configuration"]["permittedHostDevices"]
    made = {entry["resourceName"] for entry in listing.get("pciHostDevices", ())}
    intents = {row.sequence: row for row in rows if row.phase == "intent"}
    results = {row.intent: row.result for row in rows if row.intent}
    assert results.keys() == intents.keys()
    said = {
        name
        for number, row in intents.items()
        if results[number] in {"done", "applied"}
        for name in re.findall(r"vendor\.com/r\d+", row.after)
    }
    assert said == made
    assert {name for name, acknowledged in asked.items() if acknowledged} <= made
    # Of one that was not made, and after which others were, the list cannot say so any more.
    assert set(results.values()) <= {
        "done", "applied", "not_applied", "unknown", "CONCURRENT_CHANGE",
    }  # fmt: skip
    with capsys.disabled():
        counts = {result: list(results.values()).count(result) for result in set(results.values())}
        print(f"\n{KILLS} kills, {len(asked)} changes asked: {counts}")


def test_a_signal_lets_running_changes_come_to_their_end(plane, options):
    answers: list[int] = []

    def change(client: httpx.Client, number: int) -> None:
        name = f"vendor.com/r{number}"
        body = {"kind": "pci", "resource_name": name, "pci_vendor_selector": f"10DE:{number:04X}"}
        try:
            answers.append(client.post(PERMITTED, json={**body, "confirm": True}).status_code)
        except httpx.TransportError:
            answers.append(0)

    with service(options) as (running, client):
        threads = [threading.Thread(target=change, args=(client, n)) for n in range(1, 9)]
        for thread in threads:
            thread.start()
        time.sleep(0.05)
        running.terminate()
        for thread in threads:
            thread.join(LIMIT_S)
        assert running.wait(LIMIT_S) == 0
    rows = asyncio.run(rows_after_a_restart(plane, options[-1]))
    assert [row.replica for row in rows if row.replica == "after"] == []  # nothing was left open
    done = sum(row.result == "done" for row in rows)
    assert done >= answers.count(200)
