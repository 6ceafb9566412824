"""The mirror on a bad line: after any fault it is what a fresh list is, in JSON and in protobuf."""

import asyncio
import itertools
from contextlib import asynccontextmanager
from random import Random

import pytest
from tests.builders import GPU, node, pod, vm
from tests.faulty import Sleeps, until
from tests.recorded import Cut, Server, serving

from passway.cluster import kinds
from passway.kube import streams, watch
from passway.kube.client import KubeCluster
from passway.kube.config import ClientConfig, Trust
from passway.kube.config.credentials import Fixed
from passway.model.errors import PasswayError
from passway.service.mirror import Mirror

READ = (kinds.NODES, kinds.PODS, kinds.MACHINES)
FORMS = pytest.mark.parametrize("protobuf", [True, False], ids=["protobuf", "json"])


def filled(**options):
    server = Server(**options)
    server.put(*(node(f"n{number}", {GPU: 4}) for number in range(4)))
    server.put(*(pod(f"p{number}", f"n{number % 4}", {GPU: "1"}) for number in range(40)))
    server.put(*(vm(f"v{number}") for number in range(40)))
    return server


@asynccontextmanager
async def mirrored(server, **options):
    """A mirror of the server, and what a fresh list of it is."""
    async with serving(server) as url:
        config = ClientConfig(url, "default", Fixed(), Trust(), context="lab")
        async with (
            KubeCluster(config, timeout_s=2.0, sleep=Sleeps()) as cluster,
            Mirror(cluster, read=READ, sleep=Sleeps(), **options) as mirror,
        ):
            yield mirror, lambda: _fresh(cluster)


async def _fresh(cluster):
    mirror = Mirror(cluster, read=READ)
    await mirror.read()
    return mirror.snapshot()


def same(found, wanted):
    return all(
        getattr(found, part) == getattr(wanted, part)
        for part in ("nodes", "usage", "pending", "guarded", "advertisers", "objects")
    )


async def converges(server, mirror, fresh):
    server.fault = None
    await mirror.ready(10)
    wanted = await fresh()
    await until(lambda: same(mirror.snapshot(), wanted))


def spoiling(random, share, spoil):
    """A fault that befalls a share of the parts that are sent."""

    async def fault(sending, part):
        if random.random() >= share:
            yield part
            return
        async for spoiled in spoil(random, part):
            yield spoiled

    return fault


async def cut(random, part):
    yield part[: random.randrange(len(part) + 1)]
    raise Cut


async def garbage(random, part):
    yield random.choice([b"\xff" * 40, b"<html>log in</html>\n", b"\0" * 9, part[1:]])
    raise Cut


async def stall(random, part):
    yield part[: random.randrange(len(part))]
    await asyncio.sleep(0.2)
    raise Cut


@FORMS
@pytest.mark.parametrize("spoil", [cut, garbage, stall])
@pytest.mark.parametrize("seed", range(3))
async def test_after_faults_it_is_what_a_fresh_list_is(protobuf, spoil, seed, monkeypatch):
    monkeypatch.setattr(watch, "IDLE_S", 0.1)
    random, server = Random(seed), filled(protobuf=protobuf, history=30)
    server.fault = spoiling(random, 0.3, spoil)
    async with mirrored(server) as (mirror, fresh):
        for _ in range(60):
            name = f"p{random.randrange(60)}"
            if ("default", name) in server.objects[kinds.PODS] and random.random() < 0.4:
                server.remove(kinds.PODS, name, "default")
            else:
                held = str(random.randrange(3))
                server.put(pod(name, f"n{random.randrange(5)}", {GPU: held}))
            name = f"v{random.randrange(60)}"
            if ("default", name) in server.objects[kinds.MACHINES] and random.random() < 0.4:
                server.remove(kinds.MACHINES, name, "default")
            else:
                server.put(vm(name, cpu={"cores": random.randrange(1, 5)}))
            await asyncio.sleep(0.002)
        await converges(server, mirror, fresh)


@FORMS
async def test_a_cut_at_any_byte_of_a_list(protobuf):
    server = filled(protobuf=protobuf)
    async with serving(server) as url:
        config = ClientConfig(url, "default", Fixed(), Trust(), context="lab")
        async with KubeCluster(config, timeout_s=2.0, sleep=Sleeps()) as cluster:
            total = 0

            async def count(sending, part):
                nonlocal total
                if sending.kind == kinds.PODS:
                    total = max(total, sending.sent + len(part))
                yield part

            server.fault = count
            wanted = await _fresh(cluster)
            for place in range(0, total, max(total // 60, 1)):
                server.fault = cut_at(place)
                with pytest.raises(PasswayError):
                    await _fresh(cluster)
            server.fault = None
            assert same(await _fresh(cluster), wanted)


def cut_at(place):
    async def fault(sending, part):
        if sending.kind != kinds.PODS or sending.sent + len(part) <= place:
            yield part
            return
        yield part[: place - sending.sent]
        raise Cut

    return fault


@FORMS
async def test_nobody_sees_half_of_a_list(protobuf):
    server, seen = filled(protobuf=protobuf), set()
    async with mirrored(server) as (mirror, _):
        await mirror.ready(10)
        before = sum(len(usage.pods) for usage in mirror.snapshot().usage.values())
        server.forget()

        async def slow(sending, part):
            for start in range(0, len(part), 2000):
                if mirror._ready.is_set():
                    usages = mirror.snapshot().usage.values()
                    seen.add(sum(len(usage.pods) for usage in usages))
                await asyncio.sleep(0)
                yield part[start : start + 2000]
            if sending.watch:
                raise Cut

        server.fault = slow
        for number in range(40, 60):
            server.put(pod(f"p{number}", "n0", {GPU: "1"}))
        server.forget()
        await until(
            lambda: sum(len(u.pods) for u in mirror.snapshot().usage.values()) == before + 20
        )
    assert seen <= {before, before + 20}


@FORMS
async def test_a_history_that_is_compacted_is_listed_again(protobuf):
    server = filled(protobuf=protobuf)
    async with mirrored(server) as (mirror, fresh):
        await mirror.ready(10)
        await until(lambda: sum("watch=" in one for one in server.asked) >= len(READ))

        async def away(sending, part):
            raise Cut
            yield part

        server.fault = away
        server.put(pod("new", "n1", {GPU: "1"}))
        server.remove(kinds.PODS, "p0", "default")
        server.forget()
        await asyncio.sleep(0.02)
        await converges(server, mirror, fresh)


@FORMS
async def test_a_server_that_was_set_back_is_listed_again(protobuf, monkeypatch):
    """As after a restore of etcd: it is silent to those who are ahead of it."""
    monkeypatch.setattr(watch, "QUIET_S", 0.2)
    monkeypatch.setattr(watch, "IDLE_S", 0.1)
    server = filled(protobuf=protobuf)
    async with mirrored(server) as (mirror, fresh):
        await mirror.ready(10)
        old = filled(protobuf=protobuf)
        server.put(pod("lost", "n1", {GPU: "1"}))
        await until(lambda: any(p.name == "lost" for p in mirror.snapshot().usage["n1"].pods))
        server.objects, server.version = old.objects, old.version
        server.events, server.encoded = old.events, {}
        await converges(server, mirror, fresh)
        assert not any(one.name == "lost" for one in mirror.snapshot().usage["n1"].pods)


@FORMS
async def test_bookmarks_that_never_come_and_those_that_do(protobuf, monkeypatch):
    monkeypatch.setattr(watch, "QUIET_S", 0.5)
    monkeypatch.setattr(watch, "IDLE_S", 0.2)
    for bookmark_s, again in ((0.05, False), (60.0, True)):
        server = filled(protobuf=protobuf, bookmark_s=bookmark_s)
        async with mirrored(server) as (mirror, fresh):
            await mirror.ready(10)
            lists = sum("watch=" not in one for one in server.asked)
            await asyncio.sleep(1.2)
            assert (sum("watch=" not in one for one in server.asked) > lists) is again
            await converges(server, mirror, fresh)


@FORMS
async def test_an_object_of_two_megabytes(protobuf):
    server = filled(protobuf=protobuf)
    async with mirrored(server) as (mirror, fresh):
        await mirror.ready(10)
        labels = {f"l{number}": "x" * 60_000 for number in range(40)}
        server.put(pod("big", "n1", {GPU: "1"}, meta={"labels": labels}))
        server.put(pod("after", "n1", {GPU: "1"}))
        await until(lambda: any(one.name == "after" for one in mirror.snapshot().usage["n1"].pods))
        await converges(server, mirror, fresh)


# -- streams --------------------------------------------------------------------------------------


async def cut_off(server):
    raise Cut
    yield b""


async def no_events(server):
    yield b"<html>log in</html>\n"


async def expired(server):
    yield server._error(410, "too old resource version", binary=False)


async def silent(server):
    await asyncio.sleep(0.2)
    raise Cut
    yield b""


def streamed(server):
    """How often VMs were asked for with their watch."""
    return sum("virtualmachines?" in one and "sendInitial" in one for one in server.asked)


def machines(mirror):
    return len(mirror.snapshot().objects[kinds.MACHINES.plural])


async def away(sending, part):
    raise Cut
    yield part


async def relisted(server, mirror, fresh, spoil=None):
    """20 VMs come that the history does not tell of; streams of VMs are spoiled half-way.

    The numbers of VMs that were seen meanwhile.
    """
    seen, parts = set(), itertools.count()

    async def fault(sending, part):
        seen.add(machines(mirror))
        await asyncio.sleep(0)
        if not spoil or not sending.stream or sending.kind != kinds.MACHINES or next(parts) < 30:
            yield part
            return
        async for spoiled in spoil(server):
            yield spoiled

    server.fault = away
    server.put(*(vm(f"v{number}") for number in range(40, 60)))
    server.forget()
    await asyncio.sleep(0.02)
    server.fault = fault
    await until(lambda: machines(mirror) == 60)
    await converges(server, mirror, fresh)
    return seen


async def test_nobody_sees_half_of_a_stream():
    server = filled()
    async with mirrored(server) as (mirror, fresh):
        await mirror.ready(10)
        assert not any("virtualmachines?limit" in one for one in server.asked)
        assert machines(mirror) == 40
        assert await relisted(server, mirror, fresh) <= {40, 60}


@pytest.mark.parametrize("spoil", [cut_off, no_events, expired])
async def test_a_stream_that_fails_half_way_is_listed_and_tried_again(spoil):
    server = filled()
    async with mirrored(server) as (mirror, fresh):
        await mirror.ready(10)
        assert await relisted(server, mirror, fresh, spoil) <= {40, 60}
        assert any("virtualmachines?limit" in one for one in server.asked)
        before = streamed(server)
        server.fault = away
        server.put(vm("last"))
        server.forget()
        await asyncio.sleep(0.02)
        await converges(server, mirror, fresh)
        assert machines(mirror) == 61
        assert streamed(server) == before + 1


@pytest.mark.parametrize("way", ["refused", "unknown", "other bookmarks", "without end"])
async def test_what_a_server_does_not_stream_is_listed_for_good(way, monkeypatch):
    monkeypatch.setattr(streams, "SILENT_S", 0.1 if way == "unknown" else 10.0)
    monkeypatch.setattr(streams, "INITIAL_S", 0.2 if way == "without end" else 10.0)
    server = filled(streams="refused" if way == "refused" else "unknown")
    server.bookmark_s = 0.05 if way == "other bookmarks" else 60.0

    async def changing():
        while way == "without end":
            server.put(vm("v0"))
            await asyncio.sleep(0.01)

    task = asyncio.create_task(changing())
    async with mirrored(server) as (mirror, fresh):
        await mirror.ready(10)
        task.cancel()
        assert machines(mirror) == 40
        assert await relisted(server, mirror, fresh) <= {40, 60}
        assert streamed(server) == 1


async def test_a_stream_that_goes_silent_half_way_is_listed(monkeypatch):
    monkeypatch.setattr(streams, "SILENT_S", 0.1)
    server = filled()
    async with mirrored(server) as (mirror, fresh):
        await mirror.ready(10)
        assert await relisted(server, mirror, fresh, silent) <= {40, 60}


async def test_what_goes_while_a_stream_begins_is_gone():
    server = filled()

    async def going(sending, part):
        if sending.stream and sending.kind == kinds.MACHINES and b"initial-events-end" in part:
            server.fault = None
            held = server.objects[kinds.MACHINES]["default", "v3"]
            yield server._event("DELETED", kinds.MACHINES, held, binary=False)
            server.remove(kinds.MACHINES, "v3", "default")
        yield part

    server.fault = going
    async with mirrored(server) as (mirror, fresh):
        await mirror.ready(10)
        assert machines(mirror) == 39
        await converges(server, mirror, fresh)
