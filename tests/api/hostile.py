"""Hostile requests as bytes for a socket: drawn from a seed, each wrong in its own way.

Bodies that are too much, too deep or in no encoding; heads that are abused; lengths that lie; what
is no HTTP at all. `answered` sends them and gives the status codes that came back, None where the
connection was closed without one.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

JSON_ROUTES: Final = ("/api/vms", "/api/v1/devices/preflight", "/api/v1/devices/permitted",
                      "/api/v1/render/xml", "/api/v1/what-if")  # fmt: skip
TEXT_ROUTES: Final = ("/api/v1/preflight", "/api/v1/vms", "/api/v1/fit", "/api/v1/render/pod")
TOKENS: Final = ("demo-admin", "demo-user", "demo-viewer", "unknown", "", "x" * 2000)
_HUGE: Final = b" " * (2 * 1024 * 1024 + 1)
PATIENCE_S: Final = 20.0


def request(
    drawn: Random, body: bytes = b"", path: str = "", *headers: bytes, method: str = "POST"
) -> bytes:
    """A request that is HTTP at least."""
    path = path or drawn.choice(JSON_ROUTES + TEXT_ROUTES)
    media_type = "application/json" if path in JSON_ROUTES else "application/yaml"
    lines = [
        f"{method} {path} HTTP/1.1".encode(), b"Host: passway", b"Connection: close",
        f"Authorization: Bearer {drawn.choice(TOKENS)}".encode(),
        f"Content-Type: {media_type}".encode(), b"Content-Length: %d" % len(body), *headers,
    ]  # fmt: skip
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def huge(drawn: Random) -> bytes:
    if drawn.random() < 0.5:
        return request(drawn, _HUGE)
    head = request(drawn, b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    return head + (b"10000\r\n" + b"a" * 0x10000 + b"\r\n") * 40


def deep(drawn: Random) -> bytes:
    depth = drawn.choice([50, 500, 20_000])
    body = drawn.choice([b"[", b'{"a":', b"- ", b"a:\n ", b"{a: ", b"&a [", b"!!x "]) * depth
    return request(drawn, body + drawn.choice([b"", b"1", b"]" * depth]))


def encoded(drawn: Random) -> bytes:
    body = drawn.choice([
        b"\xff\xfe\x00{", b'{"name": "\xed\xa0\x80"}', b"\x00" * 50, b"\xef\xbb\xbf{}",
        b'{"name": "\\ud800"}', b'{"a": NaN}', b'{"a": 1e999}', b"a: \x07", drawn.randbytes(200),
        b"9" * 5000, b'{"' + b"k" * 50_000 + b'": 1}', b"a: &x [*x, *x]\n" * 50,
    ])  # fmt: skip
    return request(drawn, body)


def headed(drawn: Random) -> bytes:
    name = drawn.choice([b"X-Request-ID", b"Cookie", b"Content-Encoding", b"Accept", b"Expect",
                         b"Transfer-Encoding", b"Content-Length", b"Authorization", b"Host",
                         b"Upgrade", b"Range", b"X" * 300])  # fmt: skip
    value = drawn.choice([b"", b"a" * 9000, b"\xff\xe4", b"gzip", b"-1", b"99999999999999999999",
                          b"chunked, chunked", b"websocket", b"100-continue", b"a\tb", b"Bearer",
                          b"%00%0d%0a", drawn.randbytes(8).hex().encode()])  # fmt: skip
    more = [name + b": " + value] * drawn.choice([1, 1, 2, 90])
    return request(drawn, b"{}", "", *more)


def pathed(drawn: Random) -> bytes:
    path = drawn.choice([
        "/api/v1/nodes/%00/drain-impact", "/api/v1/vms/%ff%fe/x", "/" + "a" * 8000, "//", "/%",
        "/api/v1/vms?namespace=" + "%F0" * 500, "/api/v1/nodes?" + "a=b&" * 1000, "/../../etc",
        f"/api/v1/vms/{drawn.randbytes(40).hex()}/y/explanation", "/api/v1/audit?limit=1e9",
        "/api/v1/my/vms?namespace=..%2f", "/readyz?x", "/api/v1/audit?limit=" + "9" * 4000,
    ])  # fmt: skip
    return request(
        drawn, b"", path, method=drawn.choice(["GET", "HEAD", "BREW", "TRACE", "DELETE"])
    )


def lying(drawn: Random) -> bytes:
    whole = request(drawn, b'{"name": "a"}')
    return drawn.choice([
        whole.replace(b"Content-Length: 13", b"Content-Length: 5"),
        whole.replace(b"HTTP/1.1", b"HTTP/9.9"),
        whole.replace(b"\r\n", b"\n"),
        whole.replace(b"Content-Length: 13", b"Transfer-Encoding: chunked\r\nContent-Length: 13"),
        whole.replace(b": ", b" : "),
        b"\r\n" * 200 + whole,
        b"\x16\x03\x01" + drawn.randbytes(300),
        drawn.randbytes(drawn.choice([1, 100, 20_000])) + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5000 + b"\r\n",
    ])  # fmt: skip


KINDS: Final[tuple[tuple[Callable[[Random], bytes], int], ...]] = (
    (huge, 1), (deep, 6), (encoded, 25), (headed, 30), (pathed, 25), (lying, 13),
)  # fmt: skip


def drawn_requests(seed: int, count: int) -> list[bytes]:
    drawn = Random(seed)
    kinds, weights = zip(*KINDS, strict=True)
    return [kind(drawn) for kind in drawn.choices(kinds, weights, k=count)]


async def answered(port: int, requests: list[bytes], at_once: int = 16) -> Counter[int | None]:
    """Each request on a connection of its own."""
    found: Counter[int | None] = Counter()
    waiting = iter(requests)

    async def worker() -> None:
        for data in waiting:
            found[await _one(port, data)] += 1

    await asyncio.gather(*(worker() for _ in range(at_once)))
    return found


async def _one(port: int, data: bytes) -> int | None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE_S):
            writer.write(data)
            writer.write_eof()
            line = await reader.readline()
            while line.startswith(b"HTTP/1.1 100 "):
                while (await reader.readline()).strip():
                    pass
                line = await reader.readline()
            while await reader.read(65536):
                pass
    except ConnectionError:
        return None
    finally:
        writer.transport.abort()
    return int(line.split()[1]) if line.startswith(b"HTTP/1.1 ") else None
