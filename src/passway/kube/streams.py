"""A watch that begins with what there is: the streaming list of an API server (`WatchList`).

Owns for which kinds that is asked for, and for how long its end is waited for. It saves a request
for each kind and the gap between list and watch, and costs the server more than a list: so not for
nodes and pods, of which there are many. A server that refuses, or does not come to the end as one
that knows the question would, is not asked again for that kind; what fails otherwise may be tried
again. After the end the connection goes on as any watch does.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from passway.cluster.kinds import Kind
from passway.kube.formats import OtherForm, accepts, in_protobuf
from passway.kube.transport import JSON, Sleep, Transport
from passway.kube.watch import Later, connection, watched
from passway.model.errors import InvalidInput
from passway.service.ports import Expired, WatchEvent

SILENT_S: Final = 15.0
"""Before the end, without an event; an API server sends what it has, and the end after it."""
INITIAL_S: Final = 120.0
"""From the question to the end."""


class Streams:
    """Of one client, which learns what its server does not stream."""

    def __init__(self, transport: Transport, sleep: Sleep) -> None:
        self._transport = transport
        self._sleep = sleep
        self._refused: set[Kind] = set()

    async def of(self, kind: Kind) -> AsyncGenerator[WatchEvent, None]:
        """What there is, the bookmark that ends it, and the changes after it."""
        if in_protobuf(kind) or kind in self._refused:
            raise _listed(kind, "a list is the better way")
        await self._transport.log_in()
        async with aclosing(self._begun(kind)) as found:
            version = ""
            async with aclosing(self._initial(kind, found)) as events:
                async for event in events:
                    yield event
                    version = event.version
            rest = watched(self._transport, kind, version, self._sleep, found)
            async with aclosing(rest) as events:
                async for event in events:
                    yield event

    async def _begun(self, kind: Kind) -> AsyncGenerator[WatchEvent, None]:
        """One connection, in the form that the server has."""
        accept = accepts(kind, listed=False)
        while True:
            try:
                async with aclosing(connection(self._transport, kind, None, accept)) as found:
                    async for event in found:
                        yield event
            except OtherForm:  # never of JSON
                accept = JSON
            else:
                return

    async def _initial(
        self, kind: Kind, found: AsyncGenerator[WatchEvent, None]
    ) -> AsyncGenerator[WatchEvent, None]:
        """The events up to the end, and that; an error where it does not come."""
        latest = time.monotonic() + INITIAL_S
        try:
            while True:
                async with asyncio.timeout(min(SILENT_S, latest - time.monotonic())):
                    event = await anext(found, None)
                if event is None:
                    raise Expired(f"the stream of {kind.resource} ended before it was complete")
                if event.type == "BOOKMARK" and not event.complete:
                    raise self._unknown(kind, "it sends other bookmarks first")
                yield event
                if event.complete:
                    return
        except InvalidInput as error:
            raise self._unknown(kind, str(error)) from None
        except TimeoutError:
            raise self._unknown(kind, "its end does not come") from None
        except Later as error:
            await self._sleep(error.after_s)
            raise

    def _unknown(self, kind: Kind, why: str) -> Expired:
        self._refused.add(kind)
        return _listed(kind, why)


def _listed(kind: Kind, why: str) -> Expired:
    return Expired(f"{kind.resource} are not streamed: {why}")
