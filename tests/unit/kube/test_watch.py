"""Watches go on, over ends, cuts, silence and busy servers, and end where going on is wrong."""

import asyncio
import gc
from contextlib import aclosing

import pytest
from tests.faulty import line, plain, raw, status, status_of, stream, talking, until

from passway.cluster import kinds
from passway.kube import transport, watch, wire
from passway.model.errors import (
    Forbidden,
    InvalidInput,
    NotFound,
    PasswayError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from passway.service.backoff import FIRST_S, HEALTHY_S, LONGEST_S, Backoff
from passway.service.ports import Expired

SILENT = stream(hang=True)


def node(version, name="n"):
    return {"kind": "Node", "metadata": {"name": name, "resourceVersion": str(version)}}


def added(version):
    return line("ADDED", node(version, f"n{version}"))


async def take(cluster, count, version="1"):
    """The versions of the next events."""
    found = []
    async with asyncio.timeout(10), aclosing(cluster.watch(kinds.NODES, version)) as events:
        while len(found) < count:
            found.append(int((await anext(events)).version))
    return found


def began(server):
    """The versions that the connections began from."""
    return [one.query["resourceVersion"] for one in server.asked]


async def test_what_is_asked_for():
    async with talking(stream(added(2))) as (server, cluster, _):
        assert await take(cluster, 1) == [2]
    [one] = server.asked
    query = one.query
    assert one.path == "/api/v1/nodes"
    assert 0.8 * watch.WATCH_S <= int(query.pop("timeoutSeconds")) <= watch.WATCH_S < watch.IDLE_S
    assert query == {"watch": "1", "resourceVersion": "1", "allowWatchBookmarks": "true"}


async def test_after_an_end_it_goes_on_from_the_last_event_or_bookmark():
    bookmark = line("BOOKMARK", {"metadata": {"resourceVersion": "8"}})
    async with talking(
        stream(added(2), added(3)), stream(), stream(added(4), bookmark), stream(added(9)), SILENT
    ) as (server, cluster, sleeps):
        assert await take(cluster, 5) == [2, 3, 4, 8, 9]
    assert began(server) == ["1", "3", "3", "8"]
    assert len(sleeps) == 3


CUTS = {
    "between two": stream(added(2), cut=True),
    "in a line": stream(added(2), added(3)[:20], cut=True),
    "before the line's end": stream(added(2), added(3)[:-1], cut=True),
    "well, but in a line": stream(added(2), added(3)[:-1]),
    "in a chunk": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n99\r\n{"
                      % (len(added(2)), added(2))),
    "with garbage": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\nzz\r\n"
                        % (len(added(2)), added(2))),
}  # fmt: skip


@pytest.mark.parametrize("place", CUTS)
async def test_a_cut_loses_nothing_and_doubles_nothing(place):
    async with talking(CUTS[place]) as (server, cluster, sleeps):

        async def rest(writer):
            seen = int(server.asked[-1].query["resourceVersion"])
            await stream(*[added(n) for n in range(seen + 1, 5)], hang=True)(writer)

        server.otherwise = rest
        assert await take(cluster, 3) == [2, 3, 4]
    assert len(server.asked) == 2
    assert len(sleeps) == 1


async def test_an_event_in_small_pieces():
    text = added(2) + added(3)
    pieces = [text[start : start + 7] for start in range(0, len(text), 7)]
    async with talking(stream(*pieces)) as (_, cluster, _):
        assert await take(cluster, 2) == [2, 3]


async def test_a_server_that_cannot_be_reached_is_tried_for_ever():
    async with talking(*[raw()] * 5, stream(added(2)), timeout_s=1) as (server, cluster, sleeps):
        assert await take(cluster, 1) == [2]
    assert set(began(server)) == {"1"}
    assert len(sleeps) >= 2  # the library may have tried again by itself


async def test_silence_ends_a_connection_and_not_the_watch(monkeypatch):
    monkeypatch.setattr(watch, "IDLE_S", 0.02)
    monkeypatch.setattr(watch, "_log", log := Log())
    async with talking(SILENT, raw(hang=True), stream(added(2))) as (server, cluster, _):
        assert await take(cluster, 1) == [2]
    assert len(server.asked) == 3
    assert "no answer within 0.02 s" in log.told[0]


class Log:
    def __init__(self):
        self.told = []

    def warning(self, words, *args):
        self.told.append(words % args)


# -- pauses ---------------------------------------------------------------------------------------


class Clock:
    time = 0.0

    def __call__(self):
        return self.time


def test_pauses_grow_and_begin_anew_after_a_healthy_time():
    clock = Clock()
    pauses = Backoff(clock=clock, chance=lambda: 1.0)
    steps = []
    for _ in range(9):
        steps.append(pauses.next_s())
        clock.time += steps[-1] + HEALTHY_S - 0.1  # a short life after each
    assert steps == [0.5, 1, 2, *[LONGEST_S] * 6]
    clock.time += 0.2
    assert pauses.next_s() == FIRST_S
    assert pauses.next_s() == 2 * FIRST_S


def test_pauses_are_never_the_same_for_all():
    least, most = Backoff(chance=lambda: 0.0), Backoff(chance=lambda: 1.0)
    assert [2 * least.next_s() for _ in range(9)] == [most.next_s() for _ in range(9)]
    pauses = [Backoff().next_s() for _ in range(20)]
    assert len(set(pauses)) > 1
    assert all(FIRST_S / 2 <= pause <= FIRST_S for pause in pauses)


async def test_a_server_that_ends_every_watch_at_once_is_not_hammered():
    async with talking(*[stream()] * 10, stream(added(2))) as (_, cluster, sleeps):
        assert await take(cluster, 1) == [2]
    steps = [min(FIRST_S * 2**number, LONGEST_S) for number in range(10)]
    assert all(step / 2 <= slept <= step for slept, step in zip(sleeps, steps, strict=True))


async def test_events_alone_are_no_good_health():
    async with talking(*[stream(added(n)) for n in range(2, 9)]) as (_, cluster, sleeps):
        assert await take(cluster, 7) == [2, 3, 4, 5, 6, 7, 8]
    assert sleeps[-1] >= LONGEST_S / 2


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
async def test_a_busy_server_is_tried_again_when_it_says(code):
    busy = status(code, "busy", "", None, ("Retry-After", "17"))
    far = status(code, "busy", "", None, ("Retry-After", "99999"))
    async with talking(busy, far, status(code), stream(added(2))) as (_, cluster, sleeps):
        assert await take(cluster, 1) == [2]
    assert sleeps[:2] == [17, transport.LONGEST_WAIT_S]
    assert sleeps[2] < 2.1


# -- what ends a watch ----------------------------------------------------------------------------

AHEAD = {"causes": [{"reason": "ResourceVersionTooLarge"}]}
ENDS = {
    "expired at once": (status(410, "too old"), Expired),
    "expired later": (stream(line("ERROR", status_of(410, "too old"))), Expired),
    "the server was set back": (status(504, "Timeout", "Timeout", AHEAD), Expired),
    "an error in the stream": (stream(line("ERROR", status_of(500, "etcd"))), Unavailable),
    "no right": (status(403, 'User "b" cannot watch'), Forbidden),
    "nobody": (status(401), Unauthenticated),
    "no kind": (plain(404, b"404 page not found"), Unavailable),
    "a bad request": (status(400, "unable to parse"), InvalidInput),
    "a redirect": (plain(302, b"", ("Location", "/x")), Unavailable),
    "garbage": (stream(b"<html>log in</html>\n"), Unavailable),
    "an unknown type": (stream(line("SURPRISE", node(3))), Unavailable),
    "no version": (stream(line("ADDED", {"metadata": {"name": "n"}})), Unavailable),
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
async def test_what_the_one_who_watches_must_know(end):
    answer, error = ENDS[end]
    async with talking(stream(added(2)), answer, SILENT) as (server, cluster, _):
        events = cluster.watch(kinds.NODES, "1")
        await anext(events)
        with pytest.raises(PasswayError) as told:
            await anext(events)
        assert type(told.value) is error
        with pytest.raises(StopAsyncIteration):
            await anext(events)
    assert len(server.asked) == 2


async def test_a_kind_that_is_gone():
    async with talking(plain(404, b"404 page not found")) as (_, cluster, _):
        with pytest.raises(NotFound):
            await anext(cluster.watch(kinds.MACHINES, "1"))


@pytest.mark.parametrize("version", ["", "x", "-1", "1 ", "\u0661"])
async def test_a_version_that_is_none_is_not_asked_for(version):
    async with talking() as (server, cluster, _):
        with pytest.raises(InvalidInput):
            await anext(cluster.watch(kinds.NODES, version))
    assert server.asked == []


async def test_a_line_over_the_limit(monkeypatch):
    monkeypatch.setattr(wire, "LINE_BYTES", 200)
    long = line("ADDED", node(3) | {"data": "x" * 200})
    for answer in (stream(added(2), long), stream(added(2) + long[:250], hang=True)):
        async with talking(answer) as (_, cluster, _):
            events = cluster.watch(kinds.NODES, "1")
            assert (await anext(events)).version == "2"
            with pytest.raises(TooLarge, match="more than 200 bytes"):
                await anext(events)


async def test_a_line_of_two_megabytes():
    big = node(2) | {"data": "x" * 2 * 2**20}
    async with talking(stream(line("ADDED", big), added(3))) as (_, cluster, _):
        assert await take(cluster, 2) == [2, 3]


async def test_who_hears_nothing_for_long_lists_again(monkeypatch):
    """As after a restore of etcd: a real server is silent to those who are ahead of it."""
    monkeypatch.setattr(watch, "QUIET_S", 0.05)
    async with talking() as (server, cluster, _):
        server.otherwise = stream()
        server.answers.append(stream(added(2)))
        events = cluster.watch(kinds.NODES, "1")
        await anext(events)
        with pytest.raises(Expired, match="nothing was heard of nodes since 2"):
            await anext(events)


# -- closing --------------------------------------------------------------------------------------


async def test_closed_early_it_leaves_no_connection():
    """Nothing is left to the collector, and the connection ends at once, not with the session."""
    async with talking(stream(added(2), added(3), hang=True)) as (server, cluster, _):
        async with aclosing(cluster.watch(kinds.NODES, "1")) as events:
            async for _ in events:
                break
        await until(lambda: not server.connections)
    gc.collect()


async def test_cancelled_it_leaves_no_connection():
    async with talking(stream(added(2), hang=True)) as (server, cluster, _):
        reading = asyncio.create_task(take(cluster, 2))
        await until(lambda: len(server.asked) == 1)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await until(lambda: not server.connections)


async def test_watches_do_not_use_up_what_requests_need(monkeypatch):
    """There are about as many kinds to watch as a client may have requests at once."""
    monkeypatch.setattr(transport, "AT_ONCE", 2)
    async with talking() as (server, cluster, _):
        server.otherwise = SILENT
        watches = [cluster.watch(kinds.NODES, "1") for _ in range(40)]
        reading = [asyncio.create_task(anext(one)) for one in watches]
        await until(lambda: len(server.asked) == 40)
        server.answers.append(plain(200, b'{"metadata": {"resourceVersion": "5"}}'))
        assert await cluster.list(kinds.NODES) == ([], "5")
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
