"""The outermost layer: an id for every request, its line in the access log, and its time.

Owns the id: one that comes with the request is kept if it is short and plain, else one is made. It
is answered in X-Request-ID, stands in every line that is logged meanwhile, and is in
`request.state.request_id`. What is told of a request is its method, the template of its route, the
status, the time, the user and the address: never its path, query, headers or body.
"""

import logging
import re
import time
from collections.abc import Mapping
from typing import Final
from uuid import uuid4

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from passway.api.logs import fields
from passway.api.metrics import Metrics

HEADER: Final = b"x-request-id"
NO_ROUTE: Final = "none"
_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_ABORTED: Final = 499
"""Told of a request whose client went away before an answer began."""
_log = logging.getLogger("passway.access")


class Traced:
    """`routes`: pattern of a path -> the template that stands for it."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        routes: Mapping[re.Pattern[str], str],
        metrics: Metrics,
        access_log: bool = False,
    ) -> None:
        self._app = app
        self._routes = routes
        self._metrics = metrics
        self._access_log = access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        identifier = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = identifier
        status = _ABORTED

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ()), (HEADER, identifier.encode())]
                message = {**message, "headers": headers}
            await send(message)

        begun = time.perf_counter()
        with (
            structlog.contextvars.bound_contextvars(request_id=identifier),
            self._metrics.in_flight.track_inprogress(),
        ):
            try:
                await self._app(scope, receive, send_with_id)
            finally:
                self._tell(scope, status, time.perf_counter() - begun)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = self._route(scope["path"])
        self._metrics.requests.labels(route, method, str(status)).observe(seconds)
        if not self._access_log:
            return
        client = scope.get("client")
        extra = fields(
            method=method,
            route=route,
            status=status,
            duration_ms=round(seconds * 1000, 1),
            user=scope["state"].get("user"),
            source=client[0] if client else None,
        )
        _log.info("request", extra=extra)

    def _route(self, path: str) -> str:
        for pattern, template in self._routes.items():
            if pattern.fullmatch(path):
                return template
        return NO_ROUTE


def _request_id(scope: Scope) -> str:
    given = [value for name, value in scope["headers"] if name == HEADER]
    if len(given) == 1 and _ID.fullmatch(given[0]):
        return bytes(given[0]).decode()
    return uuid4().hex
