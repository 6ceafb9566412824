"""A watch that goes on: connection after connection, from the version of the last event.

Owns when a connection is made again (it ended, failed, or the server asks for patience) and when
not (the server refuses, says in the stream that something is wrong, or sends what cannot be read:
the one who watches should list again). Between two connections there is always a pause, which
grows while they do not last. A server whose data was set back to an older version says nothing to
those who are ahead of it, not even in a bookmark; so whoever hears nothing for long lists again.
"""

import logging
import random
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from passway.cluster.kinds import Kind
from passway.kube.formats import REFUSED, OtherForm, accepts, events
from passway.kube.objects import expect_version, path_of
from passway.kube.status import RELIST, refusal
from passway.kube.transport import (
    JSON,
    LONGEST_WAIT_S,
    TRANSIENT,
    Broken,
    Sleep,
    Transport,
    bounded,
    retry_after,
)
from passway.model.errors import Unavailable
from passway.service.backoff import Backoff
from passway.service.ports import Expired, WatchEvent

WATCH_S: Final = 300
IDLE_S: Final = WATCH_S + 30.0
QUIET_S: Final = 2.0 * WATCH_S
"""Without any event or bookmark, of which an API server sends one a minute."""
INITIAL: Final = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
"""No version with it: as new as a list would be."""
_log = logging.getLogger("passway.kube")


class Later(Unavailable):
    """The server refuses a watch for now."""

    def __init__(self, message: str, after_s: float | None) -> None:
        super().__init__(message)
        self.after_s = min(after_s or 0.0, LONGEST_WAIT_S)


async def watched(
    transport: Transport,
    kind: Kind,
    resource_version: str,
    sleep: Sleep,
    begun: AsyncGenerator[WatchEvent, None] | None = None,
) -> AsyncGenerator[WatchEvent, None]:
    """The changes after the version, without end; first those of a connection that has begun."""
    version, accept = expect_version(resource_version), accepts(kind, listed=False)
    backoff, heard_at = Backoff(), time.monotonic()
    while True:
        least_s = 0.0
        try:
            using, begun = begun or connection(transport, kind, version, accept), None
            async with aclosing(using) as found:
                async for event in found:
                    version, heard_at = event.version, time.monotonic()
                    yield event
        except OtherForm:
            accept = JSON
        except Later as error:
            _log.warning("the watch of %s will be tried again: %s", kind.resource, error)
            least_s = error.after_s
        except Broken as error:
            _log.warning("the watch of %s goes on after a break: %s", kind.resource, error)
        if time.monotonic() - heard_at > QUIET_S:
            raise Expired(f"nothing was heard of {kind.resource} since {version}", hint=RELIST)
        await sleep(max(least_s, backoff.next_s()))


async def connection(
    transport: Transport, kind: Kind, version: str | None, accept: str
) -> AsyncGenerator[WatchEvent, None]:
    """One connection: until the server ends it. Without a version it begins with what there is."""
    # Watches that begin together do not end together.
    lifetime_s = round(WATCH_S * (0.8 + 0.2 * random.random()))  # noqa: S311 - no secret
    query = {
        "watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": str(lifetime_s),
        **(INITIAL if version is None else {"resourceVersion": version}),
    }  # fmt: skip
    async with transport.stream(path_of(kind, None), query, IDLE_S, accept) as response:
        if response.status in REFUSED and accept != JSON:
            raise OtherForm
        if response.status != 200:
            error = refusal(response.status, await bounded(response), "watch", kind, None, None)
            if response.status in TRANSIENT and isinstance(error, Unavailable):
                raise Later(str(error), retry_after(response))
            raise error
        reading = events(kind, response.content_type)
        async for chunk in response.content.iter_any():
            for event in reading.feed(chunk):
                yield event
