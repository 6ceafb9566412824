"""Watches that begin with what there is: what is asked for, and when a list is the better way."""

import asyncio
from contextlib import aclosing

import pytest
from tests.faulty import line, plain, status, stream, talking, until

from passway.cluster import kinds
from passway.kube import streams
from passway.model.errors import Forbidden, NotFound, Unauthenticated, Unavailable
from passway.service.ports import Expired


def machine(version, name="v"):
    meta = {"name": name, "namespace": "default", "resourceVersion": str(version)}
    return {"kind": "VirtualMachine", "metadata": meta}


def added(version):
    return line("ADDED", machine(version, f"v{version}"))


def bookmark(version, value=None):
    meta = {"resourceVersion": str(version)}
    if value:
        meta["annotations"] = {"k8s.io/initial-events-end": value}
    return line("BOOKMARK", {"metadata": meta})


END = bookmark(9, "true")


async def take(cluster, count, kind=kinds.MACHINES):
    """Type, version and completeness of the next events."""
    found = []
    async with asyncio.timeout(10), aclosing(cluster.watch(kind)) as events:
        while len(found) < count:
            event = await anext(events)
            found.append((event.type, int(event.version), event.complete))
    return found


async def test_what_is_asked_for_and_how_it_goes_on():
    """Versions of what there is are in no order: it goes on from that of the bookmark."""
    async with talking(
        stream(added(7), added(3), END, cut=True), stream(added(10), bookmark(11)),
        stream(added(12)),
    ) as (server, cluster, sleeps):  # fmt: skip
        assert await take(cluster, 6) == [
            ("ADDED", 7, False), ("ADDED", 3, False), ("BOOKMARK", 9, True),
            ("ADDED", 10, False), ("BOOKMARK", 11, False), ("ADDED", 12, False),
        ]  # fmt: skip
    first, *rest = server.asked
    assert {name: value for name, value in first.query.items() if name != "timeoutSeconds"} == {
        "watch": "1", "allowWatchBookmarks": "true", "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }  # fmt: skip
    assert [one.query["resourceVersion"] for one in rest] == ["9", "11"]
    assert all("sendInitialEvents" not in one.query for one in rest)
    assert len(sleeps) == 2


@pytest.mark.parametrize("kind", [kinds.NODES, kinds.PODS], ids=lambda kind: kind.plural)
async def test_what_is_read_in_protobuf_is_not_streamed(kind):
    async with talking() as (server, cluster, _):
        with pytest.raises(Expired, match="a list is the better way"):
            await take(cluster, 1, kind)
    assert server.asked == []


AGAIN = {
    "no right": (status(403, 'User "b" cannot watch'), Forbidden),
    "nobody": (status(401), Unauthenticated),
    "no kind": (plain(404, b"404 page not found"), NotFound),
    "a fault": (status(500), Unavailable),
    "expired": (status(410, "too old"), Expired),
    "an end": (stream(added(2)), Expired),
    "a cut": (stream(added(2), cut=True), Unavailable),
    "garbage": (stream(added(2), b"<html>\n"), Unavailable),
}  # fmt: skip
NEVER = {
    "not valid": status(422, "sendInitialEvents is forbidden for watch", "Invalid"),
    "a bad request": status(400, "unable to parse"),
    "another bookmark": stream(added(2), bookmark(3), hang=True),
    "a bookmark that says no": stream(added(2), bookmark(3, "false"), hang=True),
    "silence": stream(added(2), hang=True),
    "silence from the start": stream(hang=True),
}


@pytest.mark.parametrize("case", AGAIN)
async def test_what_may_be_tried_again(case):
    answer, error = AGAIN[case]
    async with talking(answer, stream(END)) as (server, cluster, _):
        with pytest.raises(error):
            await take(cluster, 2)
        assert await take(cluster, 1) == [("BOOKMARK", 9, True)]
    assert len(server.asked) == 2


@pytest.mark.parametrize("case", NEVER)
async def test_what_is_not_tried_again(case, monkeypatch):
    monkeypatch.setattr(streams, "SILENT_S", 0.1)
    async with talking(NEVER[case], stream(END)) as (server, cluster, _):
        for _ in range(2):
            with pytest.raises(Expired, match="are not streamed"):
                await take(cluster, 2)
        assert len(server.asked) == 1
        assert await take(cluster, 1, kinds.QUOTAS) == [("BOOKMARK", 9, True)]


async def test_a_busy_server_gets_the_time_that_it_asks_for():
    busy = status(429, "busy", "", None, ("Retry-After", "17"))
    async with talking(busy) as (_, cluster, sleeps):
        with pytest.raises(Unavailable):
            await take(cluster, 1)
    assert sleeps == [17]


async def test_a_form_that_is_refused_is_left():
    async with talking(status(406), stream(END)) as (server, cluster, _):
        assert await take(cluster, 1, kinds.CRDS) == [("BOOKMARK", 9, True)]
    assert "PartialObjectMetadata" in server.asked[0].headers["Accept"]
    assert server.asked[1].headers["Accept"] == "application/json"


async def test_silence_after_the_end_is_none_of_its_limits(monkeypatch):
    monkeypatch.setattr(streams, "SILENT_S", 0.05)
    monkeypatch.setattr(streams, "INITIAL_S", 0.05)
    async with talking(stream(END, hang=True)) as (server, cluster, _):
        taking = asyncio.create_task(take(cluster, 2))
        await asyncio.sleep(0.2)
        assert not taking.done()
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)
        await until(lambda: not server.connections)
    assert len(server.asked) == 1


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_closed_early_it_leaves_no_connection(count):
    async with talking(stream(added(2), END, added(10), hang=True)) as (server, cluster, _):
        await take(cluster, count)
        await until(lambda: not server.connections)


class LoggingIn:
    """Somebody has to log in, once."""

    known = False

    async def headers(self):
        if not self.known:
            await asyncio.sleep(0.3)
            self.known = True
        return {}

    async def certificate(self):
        return None

    async def renew(self, refused):
        return False


async def test_a_login_is_in_none_of_its_limits(monkeypatch):
    monkeypatch.setattr(streams, "SILENT_S", 0.1)
    async with talking(stream(END), credentials=LoggingIn()) as (_, cluster, _):
        assert await take(cluster, 1) == [("BOOKMARK", 9, True)]
