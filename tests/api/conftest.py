"""The service on the sample cluster: in this process for most tests, as a real server for some."""

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from passway.api.app import create_app
from passway.api.identity import DEMO, Tokens
from passway.api.server import Server, address, listen
from passway.api.tls import Certificate
from passway.cluster import kinds
from passway.kube.memory import MemoryCluster
from passway.sample.cluster import sample_objects
from passway.store.audit import SqlAudit
from passway.store.database import memory

LIMIT_S = 20


def sample() -> MemoryCluster:
    return MemoryCluster(sample_objects(), kinds=kinds.ALL)


def quiet(cluster: MemoryCluster | None = None, **more: Any) -> FastAPI:
    """The service with the demo's tokens, whose audit is not in the log."""
    audit = SqlAudit(memory(), write=lambda _: None)
    return create_app(cluster or sample(), Tokens(DEMO), audit=audit, **more)


@asynccontextmanager
async def running(app: FastAPI, *, synced: bool = True) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application, whose mirror runs meanwhile."""
    transport = httpx.ASGITransport(app=app)
    async with app.router.lifespan_context(app):
        if synced:
            await app.state.service.mirror.ready(LIMIT_S)
        async with httpx.AsyncClient(transport=transport, base_url="http://passway") as client:
            yield client


@pytest.fixture
def cluster() -> MemoryCluster:
    return sample()


@pytest.fixture
def app(cluster) -> FastAPI:
    return quiet(cluster, now=lambda: "2026-06-12T09:30:00Z")


@pytest.fixture
async def api(app) -> AsyncIterator[httpx.AsyncClient]:
    async with running(app) as client:
        yield client


@pytest.fixture
def admin(api) -> httpx.AsyncClient:
    api.headers["Authorization"] = "Bearer demo-admin"
    return api


@pytest.fixture
def user(api) -> httpx.AsyncClient:
    api.headers["Authorization"] = "Bearer demo-user"
    return api


class LiveServer:
    """A real server in a thread of this process."""

    def __init__(self, app: FastAPI, certificate: Certificate | None = None) -> None:
        self._listener = listen("127.0.0.1", 0)
        self.url = address(self._listener, "https" if certificate else "http")
        self.port = self._listener.getsockname()[1]
        self._server = Server(app, certificate=certificate)
        self._mirror = app.state.service.mirror
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._listener]))

    def start(self, verify: ssl.SSLContext | bool = True) -> None:
        self._thread.start()
        with httpx.Client(base_url=self.url, verify=verify) as client:
            for _ in range(LIMIT_S * 20):
                try:
                    if client.get("/readyz").status_code == 200:
                        return
                except httpx.ConnectError:
                    pass
                threading.Event().wait(0.05)
        raise TimeoutError(self.url)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive()
        with closing(self._listener):
            pass


@pytest.fixture
def server(app) -> Iterator[LiveServer]:
    live = LiveServer(app)
    live.start()
    try:
        yield live
    finally:
        live.stop()
