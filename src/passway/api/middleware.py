"""What holds for every request, as plain ASGI around the application.

From the outside in: headers that keep browsers from guessing, caching and framing; the one place
where bugs are caught; the bound on requests at once; HEAD, OPTIONS and methods that a route does
not have. What one asker may do is `limits`' to know. Nothing here knows a use case.
"""

import re
from collections.abc import Mapping
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from passway.api.limits import FREE_PATHS
from passway.api.problems import (
    MethodNotAllowed,
    TooManyRequests,
    bug_response,
    log_bug,
    problem_response,
)

Methods = Mapping[re.Pattern[str], tuple[str, ...]]
"""Path of a route -> its methods."""

MAX_IN_FLIGHT: Final = 64
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
)


class Guard:
    """The outermost layer: security headers, and the last word on whatever is raised inside."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            return  # nobody is there to be answered
        except Exception as error:  # noqa: BLE001 - the one place where bugs are caught
            identifier = scope["state"]["request_id"]
            log_bug(error, identifier)
            if not begun:  # else the connection ends here, and the client knows that by that
                await bug_response(identifier)(scope, receive, send_with_headers)


class InFlight:
    """Answers 429 while `limit` requests are being worked on."""

    def __init__(self, app: ASGIApp, limit: int = MAX_IN_FLIGHT) -> None:
        self._app = app
        self._limit = limit
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in FREE_PATHS:
            await self._app(scope, receive, send)
            return
        if self._running >= self._limit:
            busy = TooManyRequests(
                f"{self._limit} requests are being worked on", hint="try again in a few seconds"
            )
            await problem_response(busy)(scope, receive, send)
            return
        self._running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= 1


class MethodTable:
    """HEAD as GET without its body, OPTIONS as the list of methods, 405 for those not in it."""

    def __init__(self, app: ASGIApp, methods: Methods) -> None:
        self._app = app
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        known = self._known(scope["path"]) if scope["type"] == "http" else ()
        if not known:  # the application answers 404, or it is no request
            await self._app(scope, receive, send)
            return
        allow = {"Allow": ", ".join(known)}
        method = scope["method"]
        if method == "OPTIONS":
            await Response(status_code=204, headers=allow)(scope, receive, send)
        elif method not in known:
            refused = MethodNotAllowed(f"{method[:20]} is not a method of {scope['path'][:200]}")
            await problem_response(refused, allow)(scope, receive, send)
        elif method == "HEAD":
            await self._app({**scope, "method": "GET"}, receive, _without_body(send))
        else:
            await self._app(scope, receive, send)

    def _known(self, path: str) -> tuple[str, ...]:
        """The methods of the route; empty for a path that has none."""
        for pattern, methods in self._methods.items():
            if pattern.fullmatch(path):
                return methods
        return ()


def _without_body(send: Send) -> Send:
    async def send_head(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return send_head
