"""Limits on requests: how many one asker may send in a time, and how long an answer may take.

Owns the token buckets and who is one asker: somebody known by name, everybody else by address. A
token that was never accepted counts for its address, so that inventing tokens buys nothing. Health
is never refused. Reading bodies has limits of its own (`bodies`), connections too.
"""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from ipaddress import IPv6Address, ip_address
from typing import Final, Generic, TypeVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from passway.api.problems import TooLong, TooManyRequests, problem_response

FREE_PATHS: Final = frozenset({"/healthz", "/readyz"})
"""Answered however busy the service is."""
REQUEST_S: Final = 60.0
ASKERS: Final = 10_000
"""Of so many it is known when they asked; the one that is silent for longest is forgotten."""
_SECONDS: Final = 2.0
"""So much of the rate may be used at once."""
V = TypeVar("V")


class _Newest(Generic[V]):
    """A mapping that keeps the entries that were used last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: OrderedDict[bytes, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: bytes) -> V | None:
        return self._items.get(key)

    def put(self, key: bytes, value: V) -> None:
        self._items[key] = value
        self._items.move_to_end(key)
        if len(self._items) > self._most:
            self._items.popitem(last=False)

    def drop(self, key: bytes) -> None:
        self._items.pop(key, None)


class Buckets:
    """One bucket of tokens for each asker, which fills with `per_s` tokens a second."""

    def __init__(self, per_s: float, *, most: int = ASKERS) -> None:
        self._per_s = per_s
        self._burst = max(per_s * _SECONDS, 1.0)
        self._levels: _Newest[tuple[float, float]] = _Newest(most)

    def __len__(self) -> int:
        return len(self._levels)

    def take(self, asker: bytes, now: float) -> float:
        """Takes a token; says for how many seconds there is none, 0 if there was one."""
        level, before = self._levels.get(asker) or (self._burst, now)
        level = min(level + (now - before) * self._per_s, self._burst)
        taken = level >= 1.0
        self._levels.put(asker, (level - taken, now))
        return 0.0 if taken else (1.0 - level) / self._per_s


class RateLimit:
    """Answers 429 to who asks more often than `per_s`; 0 is no limit."""

    def __init__(
        self, app: ASGIApp, *, per_s: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._now = now
        self._buckets = Buckets(per_s) if per_s else None
        self._users: _Newest[str] = _Newest(ASKERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._buckets is None or scope["type"] != "http" or scope["path"] in FREE_PATHS:
            await self._app(scope, receive, send)
            return
        shown = _credentials(scope)
        user = self._users.get(shown)
        asker = b"address " + _source(scope) if user is None else b"user " + user.encode()
        wait_s = self._buckets.take(asker, self._now())
        if wait_s:
            refused = TooManyRequests(
                "you have sent too many requests", hint="send them at a slower pace"
            )
            headers = {"Retry-After": str(math.ceil(wait_s))}
            await problem_response(refused, headers)(scope, receive, send)
            return
        await self._app(scope, receive, send)
        known = scope.get("state", {}).get("user")
        if isinstance(known, str):
            self._users.put(shown, known)
        else:
            self._users.drop(shown)


class TimeLimit:
    """Answers 503 when no answer began in time, and ends one that does not come to its end.

    A stream of events may go on for as long as somebody listens.
    """

    def __init__(self, app: ASGIApp, *, seconds: float = REQUEST_S) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False
        limit = asyncio.timeout(self._seconds)

        async def send_in_time(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                if _is_stream(message):
                    limit.reschedule(None)
            await send(message)

        try:
            async with limit:
                await self._app(scope, receive, send_in_time)
        except TimeoutError:
            if begun or not limit.expired():
                raise
            late = TooLong(
                f"there was no answer within {self._seconds:g} seconds",
                hint="look whether it was done all the same before you repeat it",
            )
            await problem_response(late)(scope, receive, send)


def _is_stream(message: Message) -> bool:
    return any(
        name == b"content-type" and value.startswith(b"text/event-stream")
        for name, value in message.get("headers", ())
    )


def _credentials(scope: Scope) -> bytes:
    """What shows who asks, as a digest; no token is kept."""
    shown = [value for name, value in scope["headers"] if name in {b"authorization", b"cookie"}]
    return sha256(b"\0".join(shown)).digest()


def _source(scope: Scope) -> bytes:
    """The address; of IPv6 the part that one site has."""
    client = scope.get("client")
    try:
        found = ip_address(client[0]) if client else None
    except ValueError:
        found = None
    if isinstance(found, IPv6Address):
        return found.packed[:8]
    return found.packed if found else b""
