"""An HTTP server that answers as it is told, also badly; in the test's own event loop.

Each request takes the next of `answers`; an answer writes bytes and says by raising `Cut` that the
connection is over. What was asked is kept in `asked`.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from multidict import CIMultiDict

from passway.kube.client import KubeCluster
from passway.kube.config import ClientConfig, Trust
from passway.kube.config.credentials import Credentials, Fixed

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Cut(Exception):
    """The connection ends here."""


class Silence(Exception):
    """Nothing more is sent until the client ends the connection."""


@dataclass
class Asked:
    method: str
    target: str
    headers: CIMultiDict
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {name: value for name, [value] in parse_qs(urlsplit(self.target).query).items()}


@dataclass
class Server:
    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    connections: set[asyncio.Task] = field(default_factory=set)
    otherwise: Answer | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self.connections.add(task)
        try:
            while True:
                self.asked.append(await _request(reader))
                answer = self.answers.pop(0) if self.answers else self.otherwise
                try:
                    await (answer or plain(418, b"no answer is left"))(writer)
                except Silence:
                    await reader.read()
                    raise Cut from None
                await writer.drain()
        except (
            asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError, ssl.SSLError, Cut,
        ):  # fmt: skip
            pass
        finally:
            writer.transport.abort()
            self.connections.discard(task)

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.asked]


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = CIMultiDict(line.split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(headers.get("Content-Length", 0)))
    return Asked(method, target, headers, body)


@asynccontextmanager
async def serving(*answers: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server(answers=list(answers))
    listening = await asyncio.start_server(
        server.serve, "127.0.0.1", 0, ssl=tls, limit=2**20,
    )  # fmt: skip
    port = listening.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        listening.close()
        for task in list(server.connections):
            task.cancel()
        await asyncio.gather(*server.connections, return_exceptions=True)


# -- answers --------------------------------------------------------------------------------------


def plain(code: int, body: bytes = b"", *headers: tuple[str, str]) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        lines = [*headers, ("Content-Length", str(len(body)))]
        head = "".join(f"{name}: {value}\r\n" for name, value in lines)
        writer.write(f"HTTP/1.1 {code} X\r\n{head}\r\n".encode() + body)

    return answer


def said(obj: Any, code: int = 200, *headers: tuple[str, str]) -> Answer:
    return plain(code, json.dumps(obj).encode(), ("Content-Type", "application/json"), *headers)


def status(
    code: int, message: str = "", reason: str = "", details: Any = None, *headers: tuple[str, str]
) -> Answer:
    return said(status_of(code, message, reason, details), code, *headers)


def status_of(code: int, message: str = "", reason: str = "", details: Any = None) -> dict:
    return {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "message": message, "reason": reason, "details": details,
    }  # fmt: skip


def raw(*parts: bytes, hang: bool = False) -> Answer:
    """Bytes as they are; then the connection ends, or there is silence until the client ends it."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
        if hang:
            raise Silence
        writer.close()
        raise Cut

    return answer


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def stream(*chunks: bytes, cut: bool = False, hang: bool = False) -> Answer:
    """A stream that ends well, is cut, or stays silent."""
    parts = [b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks if chunk]
    end = [] if cut or hang else [b"0\r\n\r\n"]
    return raw(HEAD, *parts, *end, hang=hang)


def line(type_: str, obj: Any) -> bytes:
    return json.dumps({"type": type_, "object": obj}).encode() + b"\n"


# -- clients --------------------------------------------------------------------------------------


class Sleeps(list[float]):
    """A sleep that does not: it remembers."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)
        await asyncio.sleep(0)


def configured(
    server: Server, credentials: Credentials | None = None, trust: Trust | None = None, **more: Any
) -> ClientConfig:
    return ClientConfig(
        server.url, "default", credentials or Fixed(), trust or Trust(), context="lab", **more
    )


@asynccontextmanager
async def talking(
    *answers: Answer, timeout_s: float | None = 5.0, **more: Any
) -> AsyncIterator[tuple[Server, KubeCluster, Sleeps]]:
    """A server, a client of it, and how long that client would have slept."""
    sleeps = Sleeps()
    async with serving(*answers) as server:
        config = configured(server, **more)
        async with KubeCluster(config, timeout_s=timeout_s, sleep=sleeps) as cluster:
            yield server, cluster, sleeps


async def until(condition: Callable[[], bool], timeout_s: float = 10.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - nobody tells when
            await asyncio.sleep(0.001)
