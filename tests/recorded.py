"""An API server of recorded objects: lists and watches of any size, in JSON and in protobuf.

Owns a store with versions and a bounded history, and what a server does with them: pages, whole
lists, watches with bookmarks, 410 for what is too old. `faults` spoil the answers:
each takes what would be sent, and sends something else. It runs in the test's own event loop, or
with `python -m tests.recorded` as a process of its own, with nodes, pods and a rate of changes.
"""

import argparse
import asyncio
import itertools
import json
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from tests import protobufs

from passway.cluster import kinds
from passway.cluster.kinds import Kind
from passway.cluster.records import Meta
from passway.kube.formats import in_protobuf
from passway.kube.frames import PROTOBUF

Object = dict[str, Any]
Key = tuple[str, str]
Fault = Callable[["Sending", bytes], AsyncIterator[bytes]]
"""What is sent in place of a part of an answer; it may raise Cut."""
UNREAD = protobufs.field(950, b"x" * 3_500)
"""What a pod has beside what is read of it."""


class Cut(Exception):
    """The connection ends here."""


@dataclass
class Sending:
    """One answer: what it is to, and how many bytes of it were sent."""

    kind: Kind
    watch: bool
    stream: bool = False
    """A watch that begins with what there is."""
    sent: int = 0


@dataclass
class Server:
    """The store, and what the answers are spoiled by."""

    history: int = 100_000
    protobuf: bool = True
    streams: str = "yes"
    """Whether watches begin with what there is: `yes`, `refused`, or `unknown` (ignored)."""
    bookmark_s: float = 60.0
    version: int = 1
    objects: dict[Kind, dict[Key, Object]] = field(default_factory=dict)
    events: deque[tuple[int, str, Kind, Object]] = field(default_factory=deque)
    forgotten: int = 0
    """The version up to which the history is gone."""
    fault: Fault | None = None
    asked: list[str] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    encoded: dict[int, bytes] = field(default_factory=dict)

    # -- the store ----------------------------------------------------------------------------

    def put(self, *given: Object) -> None:
        """Objects are added, or changed."""
        for obj in given:
            kind = kinds.kind_of(obj["apiVersion"], obj["kind"])
            assert kind is not None
            held = self.objects.setdefault(kind, {})
            key = _key(obj)
            self._tell("MODIFIED" if key in held else "ADDED", kind, obj)

    def remove(self, kind: Kind, name: str, namespace: str = "") -> None:
        """An object is gone."""
        self._tell("DELETED", kind, self.objects[kind][namespace, name])

    def _tell(self, type_: str, kind: Kind, obj: Object) -> None:
        self.version += 1
        obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
        held = self.objects[kind]
        if type_ == "DELETED":
            del held[_key(obj)]
        else:
            held[_key(obj)] = obj
        self.events.append((self.version, type_, kind, obj))
        if len(self.events) > self.history:
            self.forget(1)
        self.changed.set()
        self.changed = asyncio.Event()

    def forget(self, count: int | None = None) -> None:
        """As compaction does: the oldest events are gone, or all."""
        for _ in range(len(self.events) if count is None else count):
            self.forgotten = self.events.popleft()[0]

    # -- answers ------------------------------------------------------------------------------

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        kind = _kind_at(request.path)
        if kind is None:
            return web.json_response(_status(404, "not found", "NotFound"), status=404)
        binary = (
            self.protobuf and in_protobuf(kind) and PROTOBUF in request.headers.get("Accept", "")
        )
        response = web.StreamResponse(
            headers={"Content-Type": PROTOBUF if binary else "application/json"}
        )
        response.enable_chunked_encoding()
        stream = "sendInitialEvents" in request.query
        sending = Sending(kind, "watch" in request.query, stream)
        if self.streams == "refused" and stream:
            body = _status(422, "sendInitialEvents is forbidden for watch", "Invalid")
            return web.json_response(body, status=422)
        parts = (
            self._watch(kind, request.query, binary)
            if sending.watch
            else self._list(kind, request.query, binary)
        )
        try:
            await response.prepare(request)
            async for part in parts:
                await self._send(response, sending, part)
        except (Cut, ConnectionError):
            if request.transport is not None:
                request.transport.abort()
            return response
        await response.write_eof()
        return response

    async def _send(self, response: web.StreamResponse, sending: Sending, part: bytes) -> None:
        if self.fault is None:
            await response.write(part)
            return
        async for spoiled in self.fault(sending, part):
            await response.write(spoiled)
            sending.sent += len(spoiled)

    async def _list(self, kind: Kind, query: Any, binary: bool) -> AsyncIterator[bytes]:
        version, held = str(self.version), self.objects.get(kind, {})
        items = [held[key] for key in sorted(held)]
        more = ""
        if query.get("limit"):
            begin, limit = int(query.get("continue") or 0), int(query["limit"])
            more = str(begin + limit) if begin + limit < len(items) else ""
            items = items[begin : begin + limit]
        bodies = [self._body(kind, item, binary) for item in items]
        if binary:
            whole = protobufs.listed(kind.kind, bodies, version, more)
            for start in range(0, len(whole), 65536):
                yield whole[start : start + 65536]
            return
        meta = {"resourceVersion": version, **({"continue": more} if more else {})}
        head = json.dumps({"kind": f"{kind.kind}List", "metadata": meta})[:-1]
        yield head.encode() + b', "items": ['
        for start in range(0, len(bodies), 100):
            yield (b"," if start else b"") + b",".join(bodies[start : start + 100])
        yield b"]}"

    async def _watch(self, kind: Kind, query: Any, binary: bool) -> AsyncIterator[bytes]:
        at = int(query.get("resourceVersion") or 0)
        if not at:
            held, at = self.objects.get(kind, {}), self.version
            for key in sorted(held):
                yield self._event("ADDED", kind, held[key], binary)
            if self.streams == "yes" and "sendInitialEvents" in query:
                yield self._bookmark(kind, at, binary, complete=True)
        end = time.monotonic() + float(query.get("timeoutSeconds", 300))
        spoken = time.monotonic()
        while time.monotonic() < end:
            waiting = self.changed
            if at < self.forgotten:
                yield self._error(410, "too old resource version", binary)
                return
            fresh = list(
                itertools.takewhile(lambda event, at=at: event[0] > at, reversed(self.events))
            )
            for version, type_, of, obj in reversed(fresh):
                if of == kind:
                    yield self._event(type_, kind, obj, binary)
                    spoken = time.monotonic()
                at = version
            try:
                async with asyncio.timeout(min(self.bookmark_s, 1.0)):
                    await waiting.wait()
            except TimeoutError:
                if time.monotonic() - spoken >= self.bookmark_s and at <= self.version:
                    yield self._bookmark(kind, max(at, 1), binary)
                    spoken = time.monotonic()

    # -- encoding -----------------------------------------------------------------------------

    def _body(self, kind: Kind, obj: Object, binary: bool) -> bytes:
        if not binary:
            return json.dumps(obj).encode()
        version = int(obj["metadata"]["resourceVersion"])
        known = self.encoded.get(version)
        if known is None:
            known = self.encoded[version] = protobufs.message(kind.record, obj)
        return known + UNREAD

    def _event(self, type_: str, kind: Kind, obj: Object, binary: bool) -> bytes:
        body = self._body(kind, obj, binary)
        if binary:
            return protobufs.frame(type_, kind.kind, body)
        return json.dumps({"type": type_, "object": obj}).encode() + b"\n"

    def _bookmark(self, kind: Kind, version: int, binary: bool, *, complete: bool = False) -> bytes:
        meta: Object = {"name": "", "resourceVersion": str(version)}
        if complete:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        if binary:
            body = protobufs.field(1, protobufs.message(Meta, meta))
            return protobufs.frame("BOOKMARK", kind.kind, body)
        obj = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
        return json.dumps({"type": "BOOKMARK", "object": obj}).encode() + b"\n"

    def _error(self, code: int, message: str, binary: bool) -> bytes:
        status = _status(code, message, "Expired")
        if binary:
            return protobufs.frame("ERROR", "Status", protobufs.status(status))
        return json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"


def _key(obj: Object) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _kind_at(path: str) -> Kind | None:
    parts = path.strip("/").split("/")
    plural = parts[-1]
    group = parts[1] if parts[0] == "apis" else ""
    found = kinds.BY_PLURAL.get(plural)
    return found if found and found.group == group else None


def _status(code: int, message: str, reason: str) -> Object:
    return {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    }  # fmt: skip


@asynccontextmanager
async def serving(server: Server, port: int = 0) -> AsyncIterator[str]:
    """The address of the server, as long as it is left open."""
    app = web.Application()
    app.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    assert site._server is not None
    bound = site._server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{bound}"
    finally:
        await runner.cleanup()


# -- a process of its own -------------------------------------------------------------------------


async def _changes(server: Server, pods: list[Object], rate: int, seconds: float) -> None:
    """Pods change their phase, there and back, at this rate; each change tells when it was made."""
    phases = itertools.cycle(("Pending", "Running"))
    start, made = time.monotonic(), 0
    turn = next(phases)
    while (gone := time.monotonic() - start) < seconds:
        while made < gone * rate:
            pod = pods[made % len(pods)]
            if made % len(pods) == 0:
                turn = next(phases)
            labels = {**pod["metadata"]["labels"], "sent": repr(time.time())}
            meta = {**pod["metadata"], "labels": labels}
            server.put({**pod, "metadata": meta, "status": {**pod["status"], "phase": turn}})
            made += 1
        await asyncio.sleep(0.005)
    print(json.dumps({"made": made, "seconds": time.monotonic() - start}), flush=True)


async def _main(options: argparse.Namespace) -> None:
    from tests.controlplane.load import node, pod

    server = Server(protobuf=not options.json)
    pods: list[Object] = [pod(number, options.nodes) for number in range(options.pods)]
    names: Iterable[str] = sorted({item["metadata"]["namespace"] for item in pods})
    server.put(*({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                 for name in names), *map(node, range(options.nodes)), *pods)  # fmt: skip
    server.forget()
    for pod_of_it in server.objects[kinds.PODS].values() if server.protobuf else ():
        server._body(kinds.PODS, pod_of_it, binary=True)
    async with serving(server) as address:
        print(address, flush=True)
        while words := (await asyncio.to_thread(sys.stdin.readline)).split():
            await _changes(server, pods, int(words[0]), float(words[1]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serves recorded objects until stdin ends.")
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=30_000)
    parser.add_argument("--json", action="store_true", help="knows no protobuf")
    asyncio.run(_main(parser.parse_args()))
