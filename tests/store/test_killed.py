"""What was acknowledged is kept, whatever dies: the writer, or the database under it."""

import asyncio
import random
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from tests.api.conftest import running, sample

from passway.api import examples
from passway.api.app import create_app
from passway.api.identity import DEMO, Tokens
from passway.cluster import kinds
from passway.service.audit import Filter
from passway.store.audit import SqlAudit
from passway.store.database import database

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
WRITES = 1000
LIMIT_S = 30
PERMITTED = "/api/v1/devices/permitted"
CARD = {"kind": "pci", "resource_name": "vendor.com/card", "pci_vendor_selector": "10DE:1EB8"}


def writing(url: str, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.store.writer", url, name, str(count)],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip


async def kept(url: str) -> tuple[set[str], object]:
    """The hashes in the chain, and where it is broken."""
    async with SqlAudit(database(url), write=lambda _: None) as audit:
        found, before = set(), None
        while rows := await audit.page(Filter(), 1000, before):
            found |= {row.hash for row in rows}
            before = rows[-1].sequence
        return found, (await audit.verify())[1]


def test_a_writer_killed_at_random_moments_loses_nothing(url):
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    acknowledged, kills = [], 0
    while len(acknowledged) < WRITES:
        writer = writing(url, f"w{kills}", WRITES - len(acknowledged))
        for _ in range(chance.randrange(1, 250)):
            line = writer.stdout.readline()
            if not line:
                break
            acknowledged.append(line.strip())
        time.sleep(chance.random() * 0.01)
        kills += writer.poll() is None
        assert writer.poll() in {None, 0}, seed  # one that fails would be begun for ever
        writer.kill()
        acknowledged += [line.strip() for line in writer.communicate()[0].splitlines()]
        hashes, broken = asyncio.run(kept(url))
        assert broken is None, seed
        assert {*filter(lambda text: len(text) == 64, acknowledged)} <= hashes, seed
    assert kills >= 3, seed


@pytest.mark.postgres
def test_a_postgresql_that_is_stopped_and_started_loses_nothing(postgres):
    url = postgres.database()
    writer = writing(url, "w", WRITES)
    try:
        acknowledged = []
        for stop in (200, 450, 800):
            while len(acknowledged) < stop:
                acknowledged.append(writer.stdout.readline().strip())
            postgres.stop()
            time.sleep(0.3)
            postgres.start()
        acknowledged += writer.communicate(timeout=120)[0].split()
    finally:
        writer.kill()
        writer.wait()
    assert len(acknowledged) == WRITES
    hashes, broken = asyncio.run(kept(url))
    assert broken is None
    assert {*acknowledged} <= hashes


async def until(client: httpx.AsyncClient, status: int) -> httpx.Response:
    """Asks for the change until it is answered so."""
    end = time.monotonic() + LIMIT_S
    while True:
        answer = await client.post(PERMITTED, json=CARD)
        if answer.status_code == status:
            return answer
        assert time.monotonic() < end, answer.text
        await asyncio.sleep(0.1)


@pytest.mark.postgres
async def test_without_its_database_the_service_reads_on_and_changes_nothing(postgres):
    audit = SqlAudit(database(postgres.database()), write=lambda _: None)
    cluster = sample()
    app = create_app(cluster, Tokens(DEMO), audit=audit)
    async with running(app) as client:
        client.headers["Authorization"] = "Bearer demo-admin"
        before = (await cluster.list(kinds.KUBEVIRTS))[0]
        await asyncio.to_thread(postgres.stop)
        try:
            for path, body in ((PERMITTED, CARD), ("/api/vms", examples.MACHINE)):
                answer = await client.post(path, json=body)
                assert (answer.status_code, answer.json()["code"]) == (503, "AUDIT_UNAVAILABLE")
                assert answer.headers["Retry-After"]
            dry = await client.post(PERMITTED, json={**CARD, "dry_run": True})
            assert (dry.status_code, dry.json()["changed"]) == (200, True)
            dry = await client.post("/api/vms?dry_run=true", json=examples.MACHINE)
            assert dry.status_code == 200
            refused = await client.delete(f"{PERMITTED}?resource_name={examples.A10}")
            assert refused.status_code == 503  # what cannot be recorded is not even refused
            assert (await client.get("/api/v1/audit")).json()["code"] == "AUDIT_UNAVAILABLE"
            assert (await client.get("/api/v1/devices")).status_code == 200
            assert (await client.get("/readyz")).status_code == 200
            assert (await cluster.list(kinds.KUBEVIRTS))[0] == before
        finally:
            await asyncio.to_thread(postgres.start)
        await until(client, 200)
        assert (await audit.verify())[1] is None
        rows = await audit.page(Filter(), 10)
        assert [(row.action, row.result) for row in rows] == [("permit", "done"), ("permit", None)]


@pytest.mark.postgres
async def test_a_service_starts_without_its_database_and_finds_it_later(postgres):
    audit = SqlAudit(database(postgres.database()), write=lambda _: None)
    await asyncio.to_thread(postgres.stop)
    async with running(create_app(sample(), Tokens(DEMO), audit=audit)) as client:
        client.headers["Authorization"] = "Bearer demo-admin"
        try:
            await until(client, 503)
        finally:
            await asyncio.to_thread(postgres.start)
        await until(client, 200)
