"""Limits: rates of askers, time of answers, heads that never end, connections without number."""

import asyncio
import logging
import socket
import time

import httpx
import pytest
from tests.api.conftest import LIMIT_S, quiet, running

from passway.api import connections
from passway.api.limits import Buckets, RateLimit, TimeLimit
from passway.api.middleware import Guard

ADMIN = {"Authorization": "Bearer demo-admin"}


# -- rates ------------------------------------------------------------------------------------


def test_a_bucket_gives_what_it_has_and_fills_with_time():
    buckets = Buckets(2.0)
    assert [buckets.take(b"a", 0.0) for _ in range(5)] == [0.0] * 4 + [0.5]
    assert buckets.take(b"b", 0.0) == 0.0
    assert buckets.take(b"a", 0.25) == pytest.approx(0.25)
    assert buckets.take(b"a", 0.75) == 0.0
    assert [buckets.take(b"a", 1000.0) for _ in range(5)][-1] > 0


def test_a_rate_below_one_still_lets_one_through():
    buckets = Buckets(0.1)
    assert (buckets.take(b"a", 0.0), buckets.take(b"a", 0.0)) == (0.0, 10.0)


def test_the_memory_of_askers_is_bounded():
    buckets = Buckets(1.0, most=100)
    for number in range(1000):
        buckets.take(b"%d" % number, 0.0)
    assert len(buckets) == 100


async def ask(app, *, token="", client=("10.0.0.1", 1), path="/api/v1/reasons", cookie=None):
    """(status, Retry-After) of one request from an address."""
    told = {}

    async def send(message):
        if message["type"] == "http.response.start":
            headers = {name.lower(): value for name, value in message["headers"]}
            told.update(status=message["status"], after=headers.get(b"retry-after"))

    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
        "query_string": b"", "scheme": "http", "server": ("t", 80), "http_version": "1.1",
        "headers": headers, "client": client,
    }  # fmt: skip

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    await app(scope, receive, send)
    return told["status"], told["after"]


@pytest.fixture
def limited():
    return quiet(rate_limit=0.5)


async def test_who_asks_too_often_is_told_when_to_come_back(limited):
    async with running(limited):
        assert [await ask(limited, token="demo-user")] == [(200, None)]
        # Now it is known whose token that is, and that one has a bucket of its own.
        assert (await ask(limited, token="demo-user"))[0] == 200
        assert await ask(limited, token="demo-user") == (429, b"2")
        assert (await ask(limited, path="/healthz"))[0] == 200


async def test_somebody_known_is_not_held_up_by_others_at_the_address(limited):
    async with running(limited):
        assert (await ask(limited, token="demo-admin"))[0] == 200
        found = [(await ask(limited, token=f"invented-{number}"))[0] for number in range(5)]
        assert found == [429] * 5  # the address has had its one
        assert (await ask(limited, token="demo-admin"))[0] == 200
        assert (await ask(limited, client=("10.0.0.2", 1)))[0] == 401


async def test_one_site_of_ipv6_is_one_asker(limited):
    async with running(limited):
        found = [(await ask(limited, client=(f"2001:db8::{n:x}", 1)))[0] for n in range(1, 4)]
        assert found == [401, 429, 429]
        assert (await ask(limited, client=("2001:db8:0:1::1", 1)))[0] == 401
        assert (await ask(limited, client=None))[0] == 401
        assert (await ask(limited, client=("not an address", 1)))[0] == 429


async def test_a_token_that_is_taken_away_counts_for_its_address_again():
    known = [True]

    async def app(scope, receive, send):
        scope["state"] = {"user": "ada"} if known[0] else {}
        await send({"type": "http.response.start", "status": 200, "headers": []})

    limit = RateLimit(app, per_s=0.5, now=lambda: 0.0)
    found = [(await ask(limit, token="t"))[0] for _ in range(3)]
    assert found == [200, 200, 429]  # the address's, and the user's
    limit = RateLimit(app, per_s=0.5, now=lambda: 0.0)
    assert (await ask(limit, token="t"))[0] == 200
    known[0] = False
    assert (await ask(limit, token="t"))[0] == 200  # still the user's
    assert (await ask(limit, token="t"))[0] == 429  # the address had its one


async def test_without_a_limit_nobody_is_counted(app):
    async with running(app):
        assert {(await ask(app, token="demo-user"))[0] for _ in range(50)} == {200}


# -- time -------------------------------------------------------------------------------------


async def test_an_answer_that_does_not_begin_in_time_is_503(monkeypatch):
    async def never(*_args):
        await asyncio.sleep(3600)

    monkeypatch.setattr("passway.service.cluster_backend.ClusterBackend.nodes", never)
    app = quiet(request_s=0.05)
    async with running(app) as client:
        answer = await client.get("/api/v1/nodes", headers=ADMIN)
        assert (answer.status_code, answer.json()["code"]) == (503, "TOO_LONG")
        assert int(answer.headers["Retry-After"]) > 0
        assert (await client.get("/api/v1/reasons", headers=ADMIN)).status_code == 200


@pytest.mark.parametrize("media_type", [b"application/json", b"text/event-stream; charset=utf-8"])
async def test_one_that_has_begun_ends_in_time_unless_it_is_a_stream_of_events(media_type):
    async def slow(_scope, _receive, send):
        headers = [(b"content-type", media_type)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await asyncio.sleep(0.2)
        await send({"type": "http.response.body", "body": b"end"})

    sent = []

    async def send(message):
        sent.append(message)

    limit = TimeLimit(slow, seconds=0.05)
    if b"stream" in media_type:
        await limit({"type": "http"}, None, send)
        assert sent[-1]["body"] == b"end"
    else:
        with pytest.raises(TimeoutError):
            await limit({"type": "http"}, None, send)
        assert len(sent) == 1


async def test_a_timeout_of_somebody_else_is_not_taken_for_ours():
    async def fails(*_args):
        raise TimeoutError("of a library")

    with pytest.raises(TimeoutError, match="of a library"):
        await TimeLimit(fails, seconds=5)({"type": "http"}, None, None)


async def test_what_is_no_request_goes_through():
    seen = []

    async def app(scope, _receive, _send):
        seen.append(scope["type"])

    await RateLimit(TimeLimit(app), per_s=1)({"type": "lifespan"}, None, None)
    assert seen == ["lifespan"]


async def test_a_bug_after_the_answer_has_begun_does_not_begin_another(caplog):
    async def breaks(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise KeyError

    sent = []

    async def send(message):
        sent.append(message["type"])

    scope = {"type": "http", "state": {"request_id": "here"}}
    with caplog.at_level(logging.ERROR):
        await Guard(breaks)(scope, None, send)
    assert sent == ["http.response.start"]
    assert "unexpected error here" in caplog.text


# -- connections ------------------------------------------------------------------------------


def closed_after(raw: socket.socket) -> float:
    """Seconds until the other side closes."""
    begun = time.monotonic()
    while raw.recv(4096):
        pass
    return time.monotonic() - begun


HEAD = b"GET /healthz HTTP/1.1\r\nHost: a\r\n"


@pytest.mark.parametrize("first", [b"", b"G", HEAD], ids=["nothing", "a byte", "half a head"])
def test_a_head_that_does_not_end_closes_the_connection(server, monkeypatch, first):
    monkeypatch.setattr(connections, "HEAD_S", 0.3)
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S) as raw:
        raw.sendall(first)
        assert closed_after(raw) < 5


def test_bytes_that_drip_do_not_buy_time(server, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_S", 0.5)
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S) as raw:
        raw.sendall(HEAD + b"\r\n")
        assert raw.recv(4096).startswith(b"HTTP/1.1 200")
        raw.sendall(HEAD)
        begun = time.monotonic()
        with pytest.raises(OSError):  # noqa: PT012 - which write meets the closed side is chance
            while time.monotonic() - begun < 5:
                raw.sendall(b"X-A: b\r\n")
                time.sleep(0.05)
        assert 0.3 < time.monotonic() - begun < 3


def test_a_body_may_take_longer_than_a_head(server, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_S", 0.2)
    head = (
        b"POST /api/v1/devices/preflight HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        b"Authorization: Bearer demo-user\r\nContent-Length: 2\r\n\r\n{"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S) as raw:
        raw.sendall(head)
        time.sleep(0.6)
        raw.sendall(b"}")
        assert raw.recv(4096).startswith(b"HTTP/1.1 200")


def test_requests_one_after_the_other_and_at_once_are_answered(server, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_S", 0.5)
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S) as raw:
        for _ in range(4):
            raw.sendall((HEAD + b"\r\n") * 2)
            got = b""
            while got.count(b'{"status":"ok"}') < 2:
                got += raw.recv(4096)
            time.sleep(0.2)


def was_closed(raw: socket.socket) -> bool:
    """With an end or a reset; a connection that is only silent runs into the time limit."""
    try:
        return raw.recv(1) == b""
    except ConnectionError:
        return True


def test_connections_beyond_the_limit_are_closed_and_those_before_stay(server, monkeypatch):
    monkeypatch.setattr(connections, "CONNECTIONS", 5)
    with httpx.Client(base_url=server.url, timeout=LIMIT_S) as client:
        assert client.get("/healthz").status_code == 200
        held = [socket.create_connection(("127.0.0.1", server.port), LIMIT_S) for _ in range(4)]
        try:
            with socket.create_connection(("127.0.0.1", server.port), LIMIT_S) as beyond:
                assert was_closed(beyond)
            assert client.get("/healthz").status_code == 200
        finally:
            for raw in held:
                raw.close()
