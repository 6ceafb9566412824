"""A Kubernetes API over HTTPS: `service.ports.Cluster` on aiohttp, bytes in and bytes out.

Owns the calls of the port and the paging of lists. How a request travels is `transport`'s, what a
body holds `wire`'s, how a watch goes on `watch`'s. Objects are decoded at once into what is
read of them, page by page; nothing here knows what they mean. Who asks and how it is trusted is
the configuration's to say.
"""

import asyncio
import copy
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Any, Final, TypeAlias

import msgspec

from passway.cluster.kinds import Kind
from passway.kube.config import ClientConfig
from passway.kube.config.impersonation import acting
from passway.kube.formats import REFUSED, OtherForm, accepts, in_protobuf
from passway.kube.lists import whole
from passway.kube.objects import key_of, path_of, selector_of, to_create
from passway.kube.patch import patched
from passway.kube.served import absence
from passway.kube.status import refusal, trial_of
from passway.kube.streams import Streams
from passway.kube.transport import JSON, REQUEST_S, Sleep, Transport
from passway.kube.watch import watched
from passway.kube.wire import Decoder, head_of, object_of, objects_of
from passway.model.errors import InvalidInput, NotFound, PasswayError, Unavailable
from passway.service.gate import Identity
from passway.service.ports import Expired, Object, Page, Patch, Trial, WatchEvent

PAGE: Final = 500
LISTS: Final = 3
MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
FIELD_MANAGER: Final = "passway"

Objects: TypeAlias = list[Object]
JsonPatch: TypeAlias = list[Any]


class KubeCluster:
    """`async with KubeCluster(config) as cluster:`; one session, used by one event loop.

    `timeout_s` is for one attempt of a request; watches have limits of their own.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        timeout_s: float | None = REQUEST_S,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._transport = Transport(config, timeout_s=timeout_s, sleep=sleep)
        self._writer = self._transport
        self._sleep = sleep
        self._decoders: dict[Kind, Decoder] = {}
        self._streams = Streams(self._transport, sleep)

    async def __aenter__(self) -> "KubeCluster":
        await self._transport.open()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._transport.close()

    def acting(self, who: Identity) -> "KubeCluster":
        """The same cluster, whose writes count as somebody's own; raises Forbidden."""
        other = copy.copy(self)
        other._writer = self._transport.acting(acting(who))  # noqa: SLF001 - one of us
        return other

    # -- the port -------------------------------------------------------------------------------

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """One object."""
        return await self._asked("GET", kind, name, namespace)

    async def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> tuple[Objects, str]:
        """The objects, by namespace and name, and the resourceVersion to watch from.

        A list that expires between two pages is read again from its beginning, a few times.
        """
        chosen = {"labelSelector": selector_of(labels), "fieldSelector": selector_of(fields)}
        query = {name: text for name, text in chosen.items() if text}
        for _ in range(LISTS - 1):
            with suppress(Expired):
                return await self._list(kind, namespace, query)
        return await self._list(kind, namespace, query)

    async def pages(self, kind: Kind, namespace: str | None = None) -> AsyncGenerator[Page, None]:
        """The objects as records, page by page; `Expired` where the rest is not to be had."""
        accept = accepts(kind, listed=True)
        if in_protobuf(kind):
            try:
                async with aclosing(whole(self._transport, kind, namespace)) as parts:
                    async for part in parts:
                        yield part
                    return
            except OtherForm:
                accept = JSON
        decoder = self._decoders.get(kind)
        if decoder is None:
            decoder = self._decoders[kind] = Decoder(kind)
        async with aclosing(self._pages(kind, namespace, accept=accept)) as pages:
            async for body, version in pages:
                yield Page(decoder.records(body), version)

    async def create(self, kind: Kind, obj: Object, *, dry_run: bool = False) -> Object:
        """Creates the object; unknown fields are refused."""
        new = to_create(kind, obj)
        namespace = new["metadata"].get("namespace")
        return await self._asked(
            "POST", kind, None, namespace, new, JSON, _writing(dry_run), verb="create"
        )

    async def trial(self, kind: Kind, obj: Object) -> Trial:
        """Creates nothing, and says what everybody on the way said."""
        new = to_create(kind, obj)
        namespace = new["metadata"].get("namespace")
        status, body, warnings = await self._writer.heard(
            "POST", path_of(kind, namespace), _writing(dry_run=True), _encoded(kind, new), JSON
        )
        return trial_of(status, body, warnings, kind, namespace)

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
        try:
            return await self._asked(
                "PATCH", kind, name, namespace, patch, content, _writing(dry_run)
            )
        except InvalidInput:
            if isinstance(patch, list):
                await self._judge(kind, name, namespace, patch)
            raise

    async def delete(self, kind: Kind, name: str, namespace: str | None = None) -> None:
        """Removes the object, or marks it while finalizers hold it."""
        await self._asked("DELETE", kind, name, namespace)

    def watch(
        self, kind: Kind, resource_version: str | None = None
    ) -> AsyncGenerator[WatchEvent, None]:
        """The changes after `resource_version`; goes on where a connection ended or failed.

        Without one, what there is comes first; `Expired` where a list is the better way to it.

        What the server refuses or says in the stream is raised. Close it (`aclosing`) when done.
        """
        if resource_version is None:
            return self._streams.of(kind)
        return watched(self._transport, kind, resource_version, self._sleep)

    # -- reading --------------------------------------------------------------------------------

    async def _list(
        self, kind: Kind, namespace: str | None, query: Mapping[str, str]
    ) -> tuple[Objects, str]:
        found: Objects = []
        first = ""
        async with aclosing(self._pages(kind, namespace, query)) as pages:
            async for body, version in pages:
                found += objects_of(body, kind)
                first = version
        # The server's order is that of its keys, where "a-b/x" goes before "a/x".
        return sorted(found, key=key_of), first

    async def _pages(
        self,
        kind: Kind,
        namespace: str | None,
        chosen: Mapping[str, str] | None = None,
        accept: str = JSON,
    ) -> AsyncGenerator[tuple[bytes, str], None]:
        """The bodies of a list, page by page, and the version to watch from.

        It is that of the first page: should a server give later pages of a later moment, a watch
        from there tells what the earlier ones lack.
        """
        chosen = chosen or {}
        path, query, first = path_of(kind, namespace), {"limit": str(PAGE), **chosen}, ""
        while True:
            status, body = await self._transport.answer("GET", path, query, accept=accept)
            if status in REFUSED and accept != JSON:
                accept = JSON
                continue
            if status == 404:
                raise await absence(self._transport.answer, kind)
            if status != 200:
                raise refusal(status, body, "list", kind, None, namespace)
            meta = head_of(body, kind)
            first = first or meta.resource_version
            yield body, first
            if not meta.continue_:
                return
            if meta.continue_ == query.get("continue"):
                raise Unavailable(f"the list of {kind.resource} has the same page twice")
            query = {"limit": str(PAGE), **chosen, "continue": meta.continue_}

    async def _asked(
        self,
        method: str,
        kind: Kind,
        name: str | None,
        namespace: str | None,
        body: Any = None,
        content: str = "",
        query: Mapping[str, str] | None = None,
        *,
        verb: str = "",
    ) -> Object:
        """The object that a request answers with."""
        verb = verb or method.lower()
        path = path_of(kind, namespace, name)
        sent = None if body is None else _encoded(kind, body)
        transport = self._transport if method == "GET" else self._writer
        status, answer = await transport.answer(method, path, query, sent, content)
        if status not in {200, 201, 202}:
            raise refusal(status, answer, verb, kind, name, namespace)
        return object_of(answer, f"the answer to {verb} {kind.resource}")

    async def _judge(
        self, kind: Kind, name: str, namespace: str | None, patch: JsonPatch
    ) -> None:  # fmt: skip
        """Raises what is wrong with a JSON patch that the server refused, if that shows.

        The server does not say which operation failed: a test, or one that is wrong.
        """
        try:
            current = await self.get(kind, name, namespace)
        except NotFound:
            raise
        except PasswayError:
            return
        patched(current, patch)


def _writing(dry_run: bool) -> dict[str, str]:
    always = {"fieldValidation": "Strict", "fieldManager": FIELD_MANAGER}
    return always | {"dryRun": "All"} if dry_run else always


def _encoded(kind: Kind, body: Any) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (UnicodeEncodeError, TypeError, RecursionError) as error:
        raise InvalidInput(f"{kind.resource}: this is not JSON: {error}") from None
