"""A Kubernetes API over HTTPS: `service.ports.Cluster` on aiohttp, bytes in and bytes out.

Owns requests, paging, what a `Status` means, retries of what a server asks to be tried again, and
time limits. Objects are decoded at once into what is read of them, page by page; nothing here
knows what they mean. Who asks and how it is trusted is the configuration's to say.
"""

import asyncio
import logging
import random
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final
from urllib.parse import quote, urlencode

import aiohttp
import msgspec
from yarl import URL

from passway.cluster.kinds import Kind
from passway.kube.config import ClientConfig, KeyPair
from passway.kube.objects import expect_scope, expect_version, to_create
from passway.kube.patch import patched
from passway.kube.status import Status, refusal
from passway.model.errors import InvalidInput, TooLarge, Unavailable
from passway.service.ports import Object, Page, Patch, WatchEvent

PAGE: Final = 500
CONNECT_S: Final = 10.0
REQUEST_S: Final = 60.0
TRIES: Final = 4
LONGEST_WAIT_S: Final = 30.0
BODY_BYTES: Final = 256 * 2**20
LINE_BYTES: Final = 8 * 2**20
WATCH_S: Final = 300
IDLE_S: Final = WATCH_S + 30.0
JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
FIELD_MANAGER: Final = "passway"
_log = logging.getLogger("passway.kube")


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Head(msgspec.Struct):
    metadata: _Meta


_HEAD: Final = msgspec.json.Decoder(_Head)


class _Line(msgspec.Struct):
    """A line of a watch; the object is decoded only when its type is known."""

    type: str
    object: msgspec.Raw


class KubeCluster:
    """`async with KubeCluster(config) as cluster:`; one session, used by one event loop."""

    def __init__(self, config: ClientConfig, *, timeout_s: float | None = REQUEST_S) -> None:
        self._config = config
        self._timeout = aiohttp.ClientTimeout(
            total=timeout_s, sock_connect=CONNECT_S, sock_read=timeout_s
        )
        self._session: aiohttp.ClientSession | None = None
        self._pair: KeyPair | None = None
        self._trusted: ssl.SSLContext | None = None
        self._decoders: dict[Kind, msgspec.json.Decoder[Any]] = {}

    async def __aenter__(self) -> "KubeCluster":
        headers = {"User-Agent": "passway", "Accept": JSON}
        if not self._config.compression:
            headers["Accept-Encoding"] = "identity"
        self._session = aiohttp.ClientSession(
            headers=headers, timeout=self._timeout, read_bufsize=2**18,
            connector=aiohttp.TCPConnector(limit=32),
        )  # fmt: skip
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    # -- the port -------------------------------------------------------------------------------

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """One object."""
        return await self._object("GET", kind, name, namespace)

    async def list(self, kind: Kind, namespace: str | None = None) -> tuple[list[Object], str]:
        """The objects, by namespace and name, and the resourceVersion to watch from."""
        found: list[Object] = []
        version = ""
        async for body in self._pages(kind, namespace):
            listed = msgspec.json.decode(body)
            for item in listed.get("items") or ():
                item.setdefault("apiVersion", kind.api_version)
                item.setdefault("kind", kind.kind)
                found.append(item)
            version = listed["metadata"]["resourceVersion"]
        return found, version

    async def pages(self, kind: Kind) -> AsyncIterator[Page]:
        """The objects as records, page by page."""
        decoder = self._decoder(kind)
        async for body in self._pages(kind, None):
            try:
                listed = decoder.decode(body)
            except msgspec.DecodeError as error:
                raise Unavailable(f"the list of {kind.resource} cannot be read: {error}") from None
            yield Page(listed.items or (), listed.metadata.resource_version)

    async def create(self, kind: Kind, obj: Object, *, dry_run: bool = False) -> Object:
        """Creates the object; unknown fields are refused."""
        new = to_create(kind, obj)
        namespace = new["metadata"].get("namespace")
        query = {"fieldValidation": "Strict", **_writing(dry_run)}
        path = _path(kind, namespace)
        return await self._write("POST", kind, path, new, JSON, query, "create", namespace)

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str | None,
        patch: Patch,
        *,
        dry_run: bool = False,
    ) -> Object:
        """A merge patch (a dict) or a JSON patch (a list)."""
        content = MERGE_PATCH if isinstance(patch, dict) else JSON_PATCH
        query = {"fieldValidation": "Strict", **_writing(dry_run)}
        path = _path(kind, namespace, name)
        try:
            return await self._write("PATCH", kind, path, patch, content, query, "patch", namespace)
        except InvalidInput:
            if isinstance(patch, list):
                # The server does not say which operation failed: a test, or one that is wrong.
                patched(await self.get(kind, name, namespace), patch)
            raise

    async def delete(self, kind: Kind, name: str, namespace: str | None = None) -> None:
        """Removes the object, or marks it while finalizers hold it."""
        await self._object("DELETE", kind, name, namespace)

    async def watch(self, kind: Kind, resource_version: str) -> AsyncIterator[WatchEvent]:
        """The changes after `resource_version`; goes on where a connection ended."""
        version = expect_version(resource_version)
        while True:
            async for event in self._watch_once(kind, version):
                version = event.object["metadata"]["resourceVersion"]
                yield event

    # -- requests -------------------------------------------------------------------------------

    async def _pages(self, kind: Kind, namespace: str | None) -> AsyncIterator[bytes]:
        """The bodies of a list, page by page, all of one moment."""
        query = {"limit": str(PAGE)}
        path = _path(kind, namespace)
        while True:
            status, body = await self._request("GET", path, query)
            if status != 200:
                raise refusal(status, body, "list", kind, None, namespace)
            yield body
            more = _continued(body)
            if not more:
                return
            query = {"limit": str(PAGE), "continue": more}

    def _decoder(self, kind: Kind) -> msgspec.json.Decoder[Any]:
        """Of a list of the kind's records."""
        found = self._decoders.get(kind)
        if found is None:
            items: Any = list[kind.record]  # type: ignore[name-defined] # a type made at run time
            listing = msgspec.defstruct(
                f"{kind.kind}List", [("metadata", _Meta), ("items", items | None, None)]
            )
            found = self._decoders[kind] = msgspec.json.Decoder(listing)
        return found

    async def _object(self, method: str, kind: Kind, name: str, namespace: str | None) -> Object:
        verb = method.lower()
        status, body = await self._request(method, _path(kind, namespace, name), {})
        if status not in {200, 202}:
            raise refusal(status, body, verb, kind, name, namespace)
        found: Object = msgspec.json.decode(body)
        return found

    async def _write(
        self, method: str, kind: Kind, path: str, body: Any, content: str,
        query: Mapping[str, str], verb: str, namespace: str | None,
    ) -> Object:  # fmt: skip
        sent = msgspec.json.encode(body)
        status, answer = await self._request(method, path, query, sent, content)
        if status not in {200, 201, 202}:
            name = path.rpartition("/")[2] if method == "PATCH" else None
            raise refusal(status, answer, verb, kind, name, namespace)
        found: Object = msgspec.json.decode(answer)
        return found

    async def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes | None = None,
        content: str | None = None,
    ) -> tuple[int, bytes]:
        """Status and body. What the server asks to try again is tried again, a few times."""
        for attempt in range(1, TRIES + 1):
            async with self._sent(method, path, query, body, content) as response:
                if attempt < TRIES and _again(method, response):
                    wait_s = _retry_after(response, attempt)
                else:
                    return response.status, await _bounded(response)
            await asyncio.sleep(wait_s)
        raise AssertionError  # pragma: no cover - the last attempt returns

    @asynccontextmanager
    async def _sent(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes | None = None,
        content: str | None = None,
        limits: aiohttp.ClientTimeout | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response; after a 401 once more with renewed credentials. Raises Unavailable."""
        assert self._session is not None, "use `async with`"  # noqa: S101 - a bug, not input
        url = f"{self._config.server}{path}"
        url = f"{url}?{urlencode(query)}" if query else url
        credentials, renewed = self._config.credentials, False
        while True:
            headers = await self._config.headers()
            sent = [*headers, *([("Content-Type", content)] if content else [])]
            try:
                async with self._session.request(
                    method, URL(url, encoded=True), data=body, headers=sent,
                    ssl=await self._context(), allow_redirects=False,
                    timeout=limits or self._timeout,
                    proxy=self._config.proxy.url if self._config.proxy else None,
                    server_hostname=self._config.trust.server_name or None,
                ) as response:  # fmt: skip
                    if response.status == 401 and not renewed:
                        renewed = True
                        if await credentials.renew(dict(headers)):
                            continue
                    for warning in response.headers.getall("Warning", ()):
                        _log.warning("%s", warning[:500])
                    yield response
                    return
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise Unavailable(
                    f"{self._config.server} cannot be reached: {_words(error)}",
                    hint=f"look at the cluster of the context {self._config.context!r}"
                    if self._config.context
                    else "",
                ) from None

    async def _context(self) -> ssl.SSLContext | bool:
        """The TLS context; made again when the client certificate is another one."""
        pair = await self._config.credentials.certificate()
        if self._trusted is None or pair is not self._pair:
            self._trusted, self._pair = self._config.ssl_context(pair), pair
        return self._trusted if self._trusted is not None else True

    # -- watching -------------------------------------------------------------------------------

    async def _watch_once(self, kind: Kind, version: str) -> AsyncIterator[WatchEvent]:
        """One connection of a watch: until the server ends it."""
        query = {
            "watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_S),
        }  # fmt: skip
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=IDLE_S)
        async with self._sent("GET", _path(kind, None), query, limits=limits) as response:
            if response.status != 200:
                raise refusal(response.status, await _bounded(response), "watch", kind, None, None)
            try:
                async for line in _lines(response):
                    yield _event(kind, line)
            finally:
                _abort(response)


def _path(kind: Kind, namespace: str | None, name: str | None = None) -> str:
    """The path of a collection or an object; every part is escaped."""
    if name is not None or namespace is not None:
        expect_scope(kind, namespace)
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    space = f"/namespaces/{quote(namespace, safe='')}" if namespace is not None else ""
    tail = f"/{quote(name, safe='')}" if name is not None else ""
    return f"{root}{space}/{kind.plural}{tail}"


def _writing(dry_run: bool) -> dict[str, str]:
    return {"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})}


def _continued(body: bytes) -> str:
    try:
        return _HEAD.decode(body).metadata.continue_
    except msgspec.DecodeError as error:
        raise Unavailable(f"a list cannot be read: {error}") from None


def _event(kind: Kind, line: bytes) -> WatchEvent:
    try:
        read = msgspec.json.decode(line, type=_Line)
        if read.type == "ERROR":
            status = msgspec.json.decode(read.object, type=Status)
            raise refusal(status.code, bytes(read.object), "watch", kind, None, None)
        found = msgspec.json.decode(read.object)
    except msgspec.DecodeError as error:
        raise Unavailable(
            f"the watch of {kind.resource} sent what cannot be read: {error}"
        ) from None
    return WatchEvent(read.type, found)  # type: ignore[arg-type] # the server's word


def _abort(response: aiohttp.ClientResponse) -> None:
    """Ends a stream that nobody reads any more, without a farewell that would be waited for."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The lines of a stream, each at most LINE_BYTES long; a cut one is left out."""
    rest = bytearray()
    async for chunk in response.content.iter_any():
        rest += chunk
        if b"\n" in chunk:
            *whole, last = bytes(rest).split(b"\n")
            rest = bytearray(last)
            for line in whole:
                if line:
                    yield line
        if len(rest) > LINE_BYTES:
            raise TooLarge(f"a line of the watch has more than {LINE_BYTES} bytes")


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > BODY_BYTES:
            raise TooLarge(f"an answer has more than {BODY_BYTES} bytes")
        parts.append(chunk)
    return b"".join(parts)


def _again(method: str, response: aiohttp.ClientResponse) -> bool:
    """Whether the server wants it tried again; a write only where it says so itself."""
    if response.status == 429 or (response.status == 503 and "Retry-After" in response.headers):
        return True
    return response.status in {500, 502, 503, 504} and method == "GET"


def _retry_after(response: aiohttp.ClientResponse, attempt: int) -> float:
    """Seconds to wait: what the server says, else longer each time; never the same for all."""
    told = response.headers.get("Retry-After", "")
    wait_s = float(told) if told.isascii() and told.isdigit() else 0.2 * 2**attempt
    return min(wait_s, LONGEST_WAIT_S) * (0.8 + 0.4 * random.random())  # noqa: S311 - no secret


def _words(error: BaseException) -> str:
    return str(error)[:300] or type(error).__name__
