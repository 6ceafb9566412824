"""The application: routes, errors and middleware around one cluster.

Nothing here starts a server or reads a file; the mirror runs as long as the application does.
Interactive documentation pages are off, since they load scripts from elsewhere: the OpenAPI
document itself is at /openapi.json.
"""

import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from passway.api import problems
from passway.api.access import Service, rights_of
from passway.api.limits import REQUEST_S, RateLimit, TimeLimit
from passway.api.metrics import Metrics
from passway.api.middleware import MAX_IN_FLIGHT, Guard, InFlight, MethodTable
from passway.api.openapi import openapi_of
from passway.api.routes import cluster as cluster_routes
from passway.api.routes import devices, health, machines, render
from passway.api.tracing import Traced
from passway.model.errors import PasswayError
from passway.service.authority import Authority
from passway.service.changes import Recorded
from passway.service.dangling import Resolver
from passway.service.gate import Identity, Right
from passway.service.mirror import Mirror
from passway.service.ports import Cluster
from passway.store.audit import SqlAudit
from passway.store.database import memory

OPENAPI: Final = "/openapi.json"
_ROUTERS: Final = (
    health.router, machines.router, render.router, devices.router, cluster_routes.router,
)  # fmt: skip


def utc_now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _replica() -> str:
    """A name of this process that no other has, not even the next one of the same pod."""
    return f"{socket.gethostname()}-{secrets.token_hex(3)}"


def create_app(
    cluster: Cluster,
    authority: Authority,
    *,
    mirror: Mirror | None = None,
    audit: SqlAudit | None = None,
    now: Callable[[], str] = utc_now,
    max_in_flight: int = MAX_IN_FLIGHT,
    acting: Callable[[Identity], Cluster] | None = None,
    rate_limit: float = 0,
    request_s: float = REQUEST_S,
    access_log: bool = False,
) -> FastAPI:
    """The REST service on a cluster; its lifespan opens the cluster and runs the mirror.

    Without `audit` the rows go with the process.
    """
    mirror, audit = mirror or Mirror(cluster), audit or SqlAudit(memory())
    changes = Recorded(audit, now=now, replica=_replica())
    metrics = Metrics(mirror, audit)
    service = Service(cluster, mirror, audit, authority, changes, metrics, acting)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if isinstance(cluster, AbstractAsyncContextManager):
                await stack.enter_async_context(cluster)
            await stack.enter_async_context(service.mirror)
            await stack.enter_async_context(audit)
            await stack.enter_async_context(Resolver(cluster, audit, changes, now=now))
            await stack.enter_async_context(changes)  # left first: what runs comes to its end
            yield

    app = FastAPI(
        lifespan=lifespan,
        openapi_url=OPENAPI,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.state.draining = False
    app.openapi = partial(openapi_of, app, route_rights())  # type: ignore[method-assign] # FastAPI's documented way
    for router in _ROUTERS:
        app.include_router(router)
    app.add_exception_handler(PasswayError, problems.on_passway_error)
    app.add_exception_handler(RequestValidationError, problems.on_validation_error)
    app.add_exception_handler(HTTPException, problems.on_http_error)
    methods = _methods()
    patterns = {path: compile_path(path)[0] for path in methods}
    app.add_middleware(MethodTable, methods={patterns[path]: methods[path] for path in methods})
    app.add_middleware(InFlight, limit=max_in_flight)
    app.add_middleware(TimeLimit, seconds=request_s)
    app.add_middleware(RateLimit, per_s=rate_limit)
    app.add_middleware(Guard)
    app.add_middleware(
        Traced,
        routes={pattern: path for path, pattern in patterns.items()},
        metrics=service.metrics,
        access_log=access_log,
    )
    return app


def route_rights() -> dict[tuple[str, str], tuple[Right, ...]]:
    """Method and path of each route -> the rights that it takes."""
    return {
        (method, route.path): rights_of(route)
        for router in _ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }


def _methods() -> dict[str, tuple[str, ...]]:
    """The methods of each path."""
    found: dict[str, set[str]] = {OPENAPI: {"GET"}}
    for router in _ROUTERS:
        for route in router.routes:
            assert isinstance(route, APIRoute)  # noqa: S101 - there are no others
            found.setdefault(route.path, set()).update(route.methods or ())
    return {path: _all(methods) for path, methods in found.items()}


def _all(methods: set[str]) -> tuple[str, ...]:
    return tuple(sorted(methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())))
