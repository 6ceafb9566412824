"""The service as a process that listens: uvicorn, bounded, and its way up and down.

The address is printed when the cluster has been read. SIGTERM or SIGINT turns readiness off first,
then ends the running requests within a limit, and the process with code 0; a second signal does not
wait. Metrics and health are also told on a plain listener of their own, which is no way to the API.
"""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import ssl
import threading
import time
from collections.abc import Coroutine, Iterator
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from passway.api.connections import Connection
from passway.api.limits import FREE_PATHS
from passway.api.metrics import CONTENT_TYPE, Metrics
from passway.api.tls import Certificate
from passway.model.errors import InvalidInput, NotSynced
from passway.model.override import override

HEADER_BYTES: Final = 16 * 1024
KEEP_ALIVE_S: Final = 10
SHUTDOWN_S: Final = 10
READY_S: Final = 300.0
METRICS_PATH: Final = "/metrics"
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def listen(host: str, port: int, flag: str = "--port") -> socket.socket:
    """A bound socket; raises InvalidInput when the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends at once only where the protocol is named; else each answer waits for 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise InvalidInput(
            f"cannot listen on {host}:{port}: {error.strerror}", hint=f"choose another {flag}"
        ) from None
    return listener


def address(listener: socket.socket, scheme: str = "http") -> str:
    """The URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _config(app: ASGIApp, context: ssl.SSLContext | None = None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="auto" if isinstance(app, FastAPI) else "off",
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,  # ours tells less: no path, no query
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_S,
        ssl_context_factory=None if context is None else lambda *_: context,
    )


class Server(uvicorn.Server):
    """The application on its listeners; `failure` says why the cluster could not be read.

    `drain_s`: for how long it goes on serving after the signal, while it says that it is not ready.
    """

    def __init__(
        self,
        app: FastAPI,
        *,
        certificate: Certificate | None = None,
        metrics: socket.socket | None = None,
        drain_s: float = 0.0,
    ) -> None:
        super().__init__(_config(app, certificate.context if certificate else None))
        self._app = app
        self._service = app.state.service
        self._certificate = certificate
        self._metrics_socket = metrics
        self._side: uvicorn.Server | None = None
        self._drain_s = drain_s
        self._ends_at = 0.0
        self._running: list[asyncio.Task[None]] = []
        self.failure: NotSynced | None = None
        if certificate is not None:
            self._service.metrics.certificate(lambda: certificate.expires)

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._metrics_socket is not None:
            self._side = await _beside(self._app, self._service.metrics, self._metrics_socket)
        if self._certificate is not None:
            self._run(self._certificate.follow())
        self._run(self._announce(sockets or []))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self._running.append(asyncio.create_task(work))

    async def _announce(self, listeners: list[socket.socket]) -> None:
        try:
            await self._service.mirror.ready(READY_S)
        except NotSynced as error:
            self.failure = error
            self.should_exit = True
            return
        gc.collect()
        gc.freeze()  # what was listed stays: no collection need look at it again
        for listener in listeners:
            scheme = "https" if self._certificate else "http"
            print(f"serving on {address(listener, scheme)}", flush=True)
        await self._service.metrics.follow_drift()

    @override
    def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002 - of a handler
        if self.should_exit:  # the second one: nobody wants to wait any more
            self._drain_s = 0.0
            self.force_exit = True
        self._app.state.draining = True
        self._ends_at = self._ends_at or time.monotonic() + self._drain_s
        self.should_exit = True

    @override
    async def on_tick(self, counter: int) -> bool:
        ends = await super().on_tick(counter)
        return ends and (self.force_exit or time.monotonic() >= self._ends_at)

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await super().shutdown(sockets)
        if self._side is not None and self._metrics_socket is not None:
            await self._side.shutdown([self._metrics_socket])

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Both signals end the service in order; uvicorn would raise them once more."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


async def _beside(app: FastAPI, metrics: Metrics, listener: socket.socket) -> uvicorn.Server:
    """A second listener in the same loop; it ends with the first."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in FREE_PATHS:
            await app(scope, receive, send)
        elif scope["path"] == METRICS_PATH and scope["method"] == "GET":
            told = Response(metrics.exposition(), media_type=CONTENT_TYPE)
            await told(scope, receive, send)
        else:
            await Response(status_code=404)(scope, receive, send)

    config = _config(answer)
    config.load()
    side = uvicorn.Server(config)
    side.lifespan = config.lifespan_class(config)
    await side.startup([listener])
    return side
