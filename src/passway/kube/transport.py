"""Requests to one API server: bytes out, bytes in, with limits on time and size.

Owns the HTTP session, TLS, credentials and their renewal, retries of what a server asks to be
tried again, and the server's warnings. It does not know what a body means. Whoever asks gets an
answer or a `Broken`, which says that the connection failed and nothing about the request.
"""

import asyncio
import contextlib
import copy
import logging
import random
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from passway.kube.config import ClientConfig, KeyPair
from passway.kube.config.impersonation import Headers
from passway.kube.status import printable
from passway.model.errors import TooLarge, Unavailable

CONNECT_S: Final = 10.0
REQUEST_S: Final = 60.0
TRIES: Final = 4
LONGEST_WAIT_S: Final = 30.0
AT_ONCE: Final = 32
BODY_BYTES: Final = 256 * 2**20
WARNINGS: Final = 100
"""Warnings that are told; those that come after them are not."""
JSON: Final = "application/json"
TRANSIENT: Final = frozenset({408, 429, 500, 502, 503, 504})
# RFC 9111 (obsolete there, alive in Kubernetes): code, agent, quoted text.
_WARNING: Final = re.compile(r'299 \S+ "((?:[^"\\]|\\.){1,500})')
_log = logging.getLogger("passway.kube")

Sleep = Callable[[float], Awaitable[None]]


class Broken(Unavailable):
    """The connection failed; whether the request was carried out is not known."""


class Transport:
    """One session, used by one event loop between `open` and `close`."""

    def __init__(
        self, config: ClientConfig, *, timeout_s: float | None, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._config = config
        self._sleep = sleep
        self._timeout = aiohttp.ClientTimeout(
            total=timeout_s, sock_connect=CONNECT_S, sock_read=timeout_s
        )
        self._session: aiohttp.ClientSession | None = None
        # Watches hold their connections, so the limit is on requests, not on connections.
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._pair: KeyPair | None = None
        self._trusted: ssl.SSLContext | None = None
        self._warned: set[str] = set()

    async def open(self) -> None:
        """Prepares the session; nothing is sent."""
        headers = {"User-Agent": "passway"}
        if not self._config.compression:
            headers["Accept-Encoding"] = "identity"
        self._session = aiohttp.ClientSession(
            headers=headers, timeout=self._timeout, read_bufsize=2**18,
            connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar(),
        )  # fmt: skip

    async def close(self) -> None:
        """Closes all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def acting(self, headers: Headers) -> "Transport":
        """The same session for requests that count as somebody else's."""
        other = copy.copy(self)
        other._config = replace(self._config, impersonation=headers)  # noqa: SLF001 - one of us
        return other

    async def log_in(self) -> None:
        """Has credentials ready: somebody may have to log in, which takes what it takes."""
        await self._config.headers()

    async def answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content: str = "",
        accept: str = JSON,
    ) -> tuple[int, bytes]:
        """Status and body. What the server asks to try again is tried again, a few times."""
        status, read, warnings = await self.heard(method, path, query, body, content, accept)
        self._warn(warnings)
        return status, read

    async def heard(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content: str = "",
        accept: str = JSON,
    ) -> tuple[int, bytes, tuple[str, ...]]:
        """The same with the server's warnings, which are then not told elsewhere."""
        async with self._answered(
            method, path, query or {}, self._timeout, body, content, accept
        ) as response:
            return response.status, await bounded(response), warnings_of(response)

    @asynccontextmanager
    async def chunks(
        self, path: str, query: Mapping[str, str], accept: str
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response that is read as it comes, however long it is; else as `answer`."""
        limits = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_S, sock_read=self._timeout.total
        )
        async with self._answered("GET", path, query, limits, None, "", accept) as response:
            self._warn(warnings_of(response))
            yield response

    @asynccontextmanager
    async def _answered(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        limits: aiohttp.ClientTimeout,
        body: bytes | None,
        content: str,
        accept: str,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The last response; what those before it warned of is told."""
        attempt = 0
        while True:
            attempt += 1
            async with (
                self._slots,
                self._sent(method, path, query, limits, body, content, accept) as response,
            ):
                wait_s = _wait_s(response, attempt)
                if attempt == TRIES or wait_s is None or not _again(method, response):
                    yield response
                    return
                self._warn(warnings_of(response))
            await self._sleep(wait_s)

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str], idle_s: float, accept: str = JSON
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response without end; `idle_s` is the longest silence. Left early, it is cut."""
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=idle_s)
        async with self._sent("GET", path, query, limits, accept=accept) as response:
            self._warn(warnings_of(response))
            try:
                yield response
            finally:
                _abort(response)

    @asynccontextmanager
    async def _sent(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        limits: aiohttp.ClientTimeout,
        body: bytes | None = None,
        content: str = "",
        accept: str = JSON,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response; after a 401 once more with renewed credentials. Raises Broken."""
        assert self._session is not None, "use `async with`"  # noqa: S101 - a bug, not input
        url = f"{self._config.server}{path}"
        url = f"{url}?{urlencode(query)}" if query else url
        renewed = False
        while True:
            headers = await self._config.headers()
            sent = [*headers, ("Accept", accept), *([("Content-Type", content)] if content else [])]
            try:
                async with self._session.request(
                    method, URL(url, encoded=True), data=body, headers=sent,
                    ssl=await self._context(), allow_redirects=False, timeout=limits,
                    proxy=self._config.proxy.url if self._config.proxy else None,
                    server_hostname=self._config.trust.server_name or None,
                ) as response:  # fmt: skip
                    if response.status == 401 and not renewed:
                        renewed = True
                        if await self._config.credentials.renew(dict(headers)):
                            continue
                    yield response
                    return
            except (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError) as error:
                raise self._broken(error, limits) from None

    def _broken(self, error: Exception, limits: aiohttp.ClientTimeout) -> Broken:
        context = self._config.context
        return Broken(
            f"{self._config.server} cannot be reached: {_words(error, limits)}",
            hint=f"look at the cluster of the context {context!r}" if context else "",
        )

    async def _context(self) -> ssl.SSLContext | bool:
        """The TLS context; made again when the client certificate is another one."""
        pair = await self._config.credentials.certificate()
        if self._trusted is None or pair is not self._pair:
            self._trusted, self._pair = self._config.ssl_context(pair), pair
        return self._trusted if self._trusted is not None else True

    def _warn(self, warnings: tuple[str, ...]) -> None:
        """Tells what the server warns of, each text once."""
        for text in warnings:
            if text not in self._warned and len(self._warned) < WARNINGS:
                self._warned.add(text)
                _log.warning("the API server says: %s", text)


def warnings_of(response: aiohttp.ClientResponse) -> tuple[str, ...]:
    """The warnings of a response, made printable."""
    return tuple(
        printable(text.replace("\\", ""))
        for header in response.headers.getall("Warning", ())
        for text in _WARNING.findall(header)
    )


async def bounded(response: aiohttp.ClientResponse) -> bytes:
    """The body; raises TooLarge."""
    parts, size = [], 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > BODY_BYTES:
            raise TooLarge(f"an answer has more than {BODY_BYTES} bytes")
        parts.append(chunk)
    return b"".join(parts)


def retry_after(response: aiohttp.ClientResponse) -> float | None:
    """Seconds that the server asks to wait."""
    told = response.headers.get("Retry-After", "")
    return float(told) if told.isascii() and told.isdigit() else None


def _again(method: str, response: aiohttp.ClientResponse) -> bool:
    """Whether it may be tried again; a write only where the server says so itself."""
    if response.status == 429 or (response.status == 503 and "Retry-After" in response.headers):
        return True
    return response.status in TRANSIENT and method == "GET"


def _wait_s(response: aiohttp.ClientResponse, attempt: int) -> float | None:
    """Seconds to wait, never the same for all; None where the server wants too long a time."""
    told = retry_after(response)
    wait_s = 0.2 * 2**attempt if told is None else told
    return None if wait_s > LONGEST_WAIT_S else wait_s * (1 + 0.3 * random.random())  # noqa: S311 - no secret


def _abort(response: aiohttp.ClientResponse) -> None:
    """Ends a stream that nobody reads any more, without a farewell that would be waited for."""
    with contextlib.suppress(AttributeError):  # the connection, or its transport, is gone already
        response.connection.transport.abort()  # type: ignore[union-attr] # as the line above says


def _words(error: Exception, limits: aiohttp.ClientTimeout) -> str:
    if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ConnectionTimeoutError):
        return f"no answer within {limits.total or limits.sock_read:g} s"
    # A response error of aiohttp shows the URL, and that of a proxy has a password.
    if isinstance(error, aiohttp.ClientResponseError):
        said = f"{error.status} {error.message}"
    else:
        said = str(error)
    return printable(said)[:300] or type(error).__name__
