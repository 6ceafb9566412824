"""Requests and their faults: retries, renewed credentials, limits, warnings, TLS."""

import asyncio
import gzip
import logging
import re
import ssl

import pytest
import trustme
from tests.faulty import (
    HEAD,
    Sleeps,
    configured,
    plain,
    raw,
    said,
    serving,
    status,
    stream,
    talking,
    until,
)
from tests.kubeconfigs import authority, ca_pem

from passway.cluster.kinds import Kind
from passway.kube import transport
from passway.kube.client import KubeCluster
from passway.kube.config import Trust
from passway.kube.config.address import named_proxy
from passway.kube.config.tls import ssl_context
from passway.kube.transport import Broken
from passway.model.errors import Forbidden, TooLarge, Unauthenticated, Unavailable
from passway.service.gate import Identity

CONFIG = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
OBJECT = said({"metadata": {"name": "c"}})


async def read(cluster):
    return await cluster.get(CONFIG, "c", "lab")


async def write(cluster):
    return await cluster.patch(CONFIG, "c", "lab", {"data": {}})


# -- trying again ---------------------------------------------------------------------------------


def busy(code, after=None):
    return status(code, "busy", "", None, *([("Retry-After", after)] if after else []))


@pytest.mark.parametrize("call", [read, write])
@pytest.mark.parametrize("code", [429, 503])
async def test_a_server_that_asks_for_patience_gets_it(call, code):
    async with talking(busy(code, "7"), OBJECT) as (server, cluster, sleeps):
        await call(cluster)
    assert len(server.asked) == 2
    [slept] = sleeps
    assert 7 <= slept <= 7 * 1.3


@pytest.mark.parametrize("code", [408, 500, 502, 503, 504])
async def test_reads_are_tried_again_with_longer_and_longer_pauses(code):
    async with talking(*[busy(code)] * 3, OBJECT) as (_, cluster, sleeps):
        await read(cluster)
    for slept, least in zip(sleeps, (0.4, 0.8, 1.6), strict=True):
        assert least <= slept <= least * 1.3


@pytest.mark.parametrize("code", [500, 502, 503, 504])
async def test_writes_are_not_tried_again_unasked(code):
    async with talking(busy(code)) as (server, cluster, sleeps):
        with pytest.raises(Unavailable, match="busy"):
            await write(cluster)
    assert (len(server.asked), sleeps) == (1, [])


async def test_after_some_tries_the_answer_stands():
    async with talking(*[busy(429, "1")] * 9) as (server, cluster, sleeps):
        with pytest.raises(Unavailable, match="busy"):
            await read(cluster)
    assert (len(server.asked), len(sleeps)) == (4, 3)


@pytest.mark.parametrize("after", ["3600", "9" * 400])
async def test_nobody_waits_for_an_hour(after):
    async with talking(busy(503, after)) as (_, cluster, sleeps):
        with pytest.raises(Unavailable, match="busy"):
            await read(cluster)
    assert sleeps == []


@pytest.mark.parametrize("after", ["Fri, 31 Dec 1999 23:59:59 GMT", "-1", "1e9", "٣"])
async def test_a_pause_that_is_no_number_is_ours_to_choose(after):
    encoded = after.encode().decode("latin-1")
    async with talking(busy(429, encoded), OBJECT) as (_, cluster, sleeps):
        await read(cluster)
    assert sleeps[0] < 0.6


# -- credentials ----------------------------------------------------------------------------------


class Renewing:
    """Shows one token after another."""

    def __init__(self, *tokens):
        self.tokens = list(tokens)
        self.refused = []

    async def headers(self):
        return {"Authorization": f"Bearer {self.tokens[0]}"}

    async def certificate(self):
        return None

    async def renew(self, refused):
        self.refused.append(refused["Authorization"])
        if len(self.tokens) > 1:
            self.tokens.pop(0)
            return True
        return False


def shown(server):
    return [one.headers.get("Authorization") for one in server.asked]


@pytest.mark.parametrize("call", [read, write])
async def test_refused_credentials_are_renewed_once(call):
    keys = Renewing("one", "two", "three")
    async with talking(status(401), OBJECT, credentials=keys) as (server, cluster, _):
        await call(cluster)
    assert shown(server) == ["Bearer one", "Bearer two"]
    assert keys.refused == ["Bearer one"]


async def test_and_only_once():
    keys = Renewing("one", "two", "three")
    async with talking(*[status(401)] * 3, credentials=keys) as (server, cluster, _):
        with pytest.raises(Unauthenticated):
            await read(cluster)
    assert shown(server) == ["Bearer one", "Bearer two"]


async def test_nothing_else_to_show():
    keys = Renewing("one")
    async with talking(*[status(401)] * 2, credentials=keys) as (server, cluster, _):
        with pytest.raises(Unauthenticated):
            await read(cluster)
    assert shown(server) == ["Bearer one"]


async def test_impersonation_goes_with_every_request():
    groups = (("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    async with talking(OBJECT, impersonation=groups) as (server, cluster, _):
        await read(cluster)
    assert server.asked[0].headers.getall("Impersonate-Group") == ["a", "b"]


async def test_only_writes_count_as_somebody_elses():
    who = Identity("ann\u00e9", "7", ("a", "b"), (("example.com/k%", ("1", "2")),))
    async with talking(*[OBJECT] * 4) as (server, cluster, _):
        acting = cluster.acting(who)
        await write(acting)
        await read(acting)
        await write(cluster)
    sent = [
        [(name, value) for name, value in one.headers.items() if name.startswith("Impersonate")]
        for one in server.asked
    ]
    assert sent == [
        [
            ("Impersonate-User", "ann\u00e9"), ("Impersonate-Uid", "7"),
            ("Impersonate-Group", "a"), ("Impersonate-Group", "b"),
            ("Impersonate-Extra-example.com%2Fk%25", "1"),
            ("Impersonate-Extra-example.com%2Fk%25", "2"),
        ], [], [],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "bad", ["a\r\nImpersonate-Group: system:masters", "a\0", " a", "a\n", "\ud800"]
)
@pytest.mark.parametrize("place", ["user", "uid", "groups", "extra"])
async def test_names_from_outside_break_no_header(bad, place):
    found = {"user": "ann", place: {"groups": (bad,), "extra": (("k", (bad,)),)}.get(place, bad)}
    async with talking() as (server, cluster, _):
        with pytest.raises(Forbidden, match="Impersonate-"):
            cluster.acting(Identity(**found))
    assert server.asked == []


async def test_a_key_from_outside_is_escaped():
    who = Identity("ann", extra=(("k\r\nImpersonate-User: root", ("v",)),))
    async with talking(OBJECT) as (server, cluster, _):
        await write(cluster.acting(who))
    names = [name for name in server.asked[0].headers if name.startswith("Impersonate")]
    assert names == ["Impersonate-User", "Impersonate-Extra-k%0D%0AImpersonate-User%3A%20root"]


async def test_no_cookie_is_kept():
    cookie = said({}, 200, ("Set-Cookie", "session=1; Path=/"))
    async with talking(cookie, OBJECT) as (server, cluster, _):
        await read(cluster)
        await read(cluster)
    assert "Cookie" not in server.asked[1].headers


# -- faults ---------------------------------------------------------------------------------------

FAULTS = {
    "nothing": raw(),
    "half a head": raw(b"HTTP/1.1 200 OK\r\nContent-"),
    "garbage": raw(b"\x16\x03\x01 SSH-2.0 hello\r\n\r\n"),
    "a head without end": raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 9999 + b"\r\n"),
    "a long header": raw(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 99999 + b"\r\n\r\n"),
    "half a body": raw(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"a":'),
    "half a stream": stream(b'{"a":', cut=True),
    "a chunk that is none": raw(HEAD, b"zz\r\n{}\r\n"),
    "no gzip": plain(200, b"no", ("Content-Encoding", "gzip")),
    "half a gzip": raw(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 10\r\n\r\n",
                       gzip.compress(b"{}")[:10]),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_connection_that_fails_is_said_in_one_sentence(fault):
    async with talking(FAULTS[fault], FAULTS[fault], timeout_s=2) as (server, cluster, sleeps):
        with pytest.raises(Unavailable, match=r"cannot be re") as broken:
            await write(cluster)
    assert len(server.asked) == 1  # whether a write was done is not known
    assert sleeps == []
    assert str(broken.value).isprintable()
    assert len(str(broken.value)) < 500


async def test_a_compressed_answer_is_read():
    body = gzip.compress(b'{"a": 1}')
    async with talking(plain(200, body, ("Content-Encoding", "gzip"))) as (server, cluster, _):
        assert await read(cluster) == {"a": 1}
    assert "gzip" in server.asked[0].headers["Accept-Encoding"]


async def test_compression_can_be_left_out():
    async with talking(OBJECT, compression=False) as (server, cluster, _):
        await read(cluster)
    assert server.asked[0].headers["Accept-Encoding"] == "identity"


async def test_nobody_is_there():
    async with serving() as server:
        pass
    async with KubeCluster(configured(server)) as cluster:
        with pytest.raises(Broken, match=r"http://127.0.0.1:\d+ cannot be reached: .*onnect") as no:
            await read(cluster)
    assert no.value.hint == "look at the cluster of the context 'lab'"


async def test_what_was_never_opened_can_be_closed():
    async with talking() as (_, cluster, _):
        await cluster.__aexit__(None, None, None)  # and once more at the end of the block


async def test_without_a_context_there_is_no_hint():
    async with talking(raw(), raw()) as (server, _, _):
        nameless = configured(server).__class__(server.url, "default", Renewing("t"))
        async with KubeCluster(nameless) as cluster:
            with pytest.raises(Broken) as no:
                await write(cluster)
    assert no.value.hint == ""


@pytest.mark.parametrize(
    "answer",
    [raw(hang=True), raw(b"HTTP/1.1 200 OK\r\n", hang=True), stream(b'{"a":', hang=True)],
)
async def test_an_answer_that_never_ends_ends_at_the_time_limit(answer):
    async with talking(answer, timeout_s=0.05) as (_, cluster, _):
        with pytest.raises(Broken, match=r"no answer within 0\.05 s"):
            await read(cluster)


@pytest.mark.parametrize("answer", [
    plain(200, b'"' + b"x" * 2000 + b'"'),
    stream(b'"', b"x" * 900, b"y" * 900, hang=True),
    plain(500, b"x" * 2000),
    plain(200, gzip.compress(b"x" * 10**6), ("Content-Encoding", "gzip")),
])  # fmt: skip
async def test_an_answer_that_is_too_large_is_not_read_to_its_end(answer, monkeypatch):
    monkeypatch.setattr(transport, "BODY_BYTES", 1000)
    async with talking(answer) as (_, cluster, _):
        with pytest.raises(TooLarge, match="more than 1000 bytes"):
            await write(cluster)


@pytest.mark.parametrize("code", [301, 302, 307, 308])
async def test_redirects_are_not_followed(code):
    async with serving(OBJECT) as other:
        async with talking(
            plain(code, b"", ("Location", f"{other.url}/api")), credentials=Renewing("secret")
        ) as (_, cluster, _):
            with pytest.raises(Unavailable, match=f"answered {code}"):
                await read(cluster)
        assert other.asked == []


async def test_many_requests_wait_for_their_turn(monkeypatch):
    monkeypatch.setattr(transport, "AT_ONCE", 3)
    running = most = 0

    async def slow(writer):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.002)
        running -= 1
        await OBJECT(writer)

    async with talking() as (server, cluster, _):
        server.otherwise = slow
        await asyncio.gather(*(read(cluster) for _ in range(12)))
    assert most == 3


# -- warnings -------------------------------------------------------------------------------------


def warning(*texts):
    return said({}, 200, *(("Warning", text) for text in texts))


async def test_warnings_are_told_once(caplog):
    told = warning('299 - "old API \\"v1\\"", 299 - "two"', "garbage", '199 - "no"')
    async with talking(told, told) as (_, cluster, _):
        await read(cluster)
        await read(cluster)
    assert caplog.messages == ['the API server says: old API "v1"', "the API server says: two"]


async def test_warnings_are_bounded(caplog, monkeypatch):
    monkeypatch.setattr(transport, "WARNINGS", 5)
    texts = [f'299 - "{number} {"x" * 5000}"' for number in range(9)]
    answers = [warning(text) for text in texts]
    caplog.set_level(logging.WARNING)
    async with talking(*answers) as (_, cluster, _):
        for _ in texts:
            await read(cluster)
    assert len(caplog.messages) == 5
    assert all(len(message) < 600 for message in caplog.messages)


# -- TLS and proxies ------------------------------------------------------------------------------


def tls():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("127.0.0.1", key_type=trustme.KeyType.ECDSA).configure_cert(context)
    return context


async def test_over_tls_everything_is_closed_at_the_end():
    answers = (OBJECT, stream(b"x" * 100, hang=True), OBJECT)
    async with serving(*answers, tls=tls()) as server:
        config = configured(server, trust=Trust(ca_pem()))
        async with KubeCluster(config, timeout_s=5, sleep=Sleeps()) as cluster:
            await read(cluster)
            events = cluster.watch(CONFIG, "1")
            reading = asyncio.create_task(anext(events))
            await until(lambda: len(server.asked) == 2)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await read(cluster)
        await until(lambda: not server.connections)


async def test_a_server_that_is_not_trusted_is_not_asked():
    async with serving(OBJECT, tls=tls()) as server:
        config = configured(server, trust=Trust(trustme.CA().cert_pem.bytes()))
        async with KubeCluster(config) as cluster:
            with pytest.raises(Broken, match="certificate"):
                await read(cluster)
    assert server.asked == []


async def test_another_certificate_makes_another_context(monkeypatch):
    made, pairs = [], ["first", "first", "second"]

    class Rotating(Renewing):
        async def certificate(self):
            return pairs[0]

    trusted = ssl_context(Trust(ca_pem()), None)
    monkeypatch.setattr(
        "passway.kube.config.client.ssl_context", lambda trust, pair: made.append(pair) or trusted
    )
    async with serving(*[OBJECT] * 3, tls=tls()) as server:
        config = configured(server, credentials=Rotating("t"))
        async with KubeCluster(config) as cluster:
            for _ in range(3):
                await read(cluster)
                pairs.pop(0)
    assert made == ["first", "second"]


@pytest.mark.parametrize("code", [403, 407, 502])
async def test_the_password_of_a_proxy_is_in_no_error(code):
    async with serving(plain(code, b"", ("Proxy-Authenticate", "Basic"))) as proxy:
        named = named_proxy(proxy.url.replace("://", "://me:pa%40ss@"), "proxy-url")
        config = configured(proxy, proxy=named).__class__(
            "https://api.example.dev", "default", Renewing("t"), proxy=named
        )
        async with KubeCluster(config) as cluster:
            with pytest.raises(Broken, match=str(code)) as refused:
                await read(cluster)
    assert proxy.asked[0].method == "CONNECT"
    assert proxy.asked[0].headers["Proxy-Authorization"].startswith("Basic ")
    assert not re.search("pa(%40|@)ss", f"{refused.value} {refused.value.hint}")
