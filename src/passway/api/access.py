"""Who may ask what: from the bearer token to a Backend for that user.

A route names the rights that it takes by the type of its backend parameter. The order is fixed:
known (401), allowed (403), then the names of the query (400), and only after that a body. A right
that counts in namespaces is asked for as soon as it is known which: by the path or the query here,
else by the use case, when it has read the manifest, through the same gate.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.routing import APIRoute

from passway.api import rights
from passway.api.counted import CountedBackend
from passway.api.metrics import Metrics
from passway.api.rights import INVENTORY, remedy
from passway.api.validation import refused
from passway.manifest.nodes import shorten
from passway.model.errors import Forbidden, Unauthenticated
from passway.model.names import InvalidName, dns_label
from passway.model.verdict import Issue, Severity, Stage
from passway.service.audit import Actor, Audit
from passway.service.authority import Authority
from passway.service.changes import Changes
from passway.service.cluster_backend import ClusterBackend
from passway.service.gate import CREATE_MACHINES, Identity, Right
from passway.service.mirror import Mirror
from passway.service.ports import Cluster


@dataclass(frozen=True, slots=True)
class Asker:
    """The gate of one asker at a route that takes these rights."""

    authority: Authority
    who: Identity
    rights: tuple[Right, ...]

    async def see(self, *namespaces: str) -> frozenset[str] | None:
        """Only what the question is about, unless the asker may see the inventory."""
        for namespace in namespaces or (None,):
            for right in self.rights:
                if namespace is not None or not right.namespaced:
                    await self.expect(right, namespace)
        if await self.authority.allows(self.who, INVENTORY):
            return None
        return frozenset(namespaces)

    async def own(self) -> frozenset[str] | None:
        """All, or those that the authority can list."""
        right = self.rights[0]
        if await self.authority.allows(self.who, right):
            return None
        found = self.authority.where(self.who, right)
        if not found:
            raise Forbidden(f"you may not {right} in all namespaces", hint="name one of yours")
        return found

    async def expect(self, right: Right, namespace: str | None = None) -> None:
        """Raises Forbidden unless the asker has the right."""
        if not await self.authority.allows(self.who, right, namespace):
            where = f' in namespace "{namespace}"' if namespace and right.namespaced else ""
            raise Forbidden(f"you may not {right}{where}", hint=remedy(right, namespace))


@dataclass(frozen=True, slots=True)
class Service:
    """What the routes work on; kept in the application's state.

    `acting` gives the cluster whose writes count as somebody's own, where that is wanted.
    """

    cluster: Cluster
    mirror: Mirror
    audit: Audit
    authority: Authority
    changes: Changes
    metrics: Metrics
    acting: Callable[[Identity], Cluster] | None = None

    def backend(self, gate: Asker, request: Request) -> ClusterBackend:
        who = gate.who
        cluster = self.acting(who) if self.acting else self.cluster
        source = request.client.host if request.client else ""
        actor = Actor(who.user, source, request.state.request_id)
        return CountedBackend(self.metrics, cluster, self.mirror, self.changes, actor, gate)


def service_of(request: Request) -> Service:
    found = request.app.state.service
    assert isinstance(found, Service)  # noqa: S101 - set by create_app
    return found


async def check_query(request: Request) -> None:
    """Refuses query parameters that the route does not have, or that stand twice."""
    route = request.scope["route"]
    assert isinstance(route, APIRoute)  # noqa: S101 - there are no others
    known = {field.alias for field in route.dependant.query_params}
    names = [name for name, _ in request.query_params.multi_items()]
    issues = [_fault("UnknownField", name) for name in sorted({*names} - known)]
    issues += [
        _fault("DuplicateName", name)
        for name in sorted({name for name in known if names.count(name) > 1})
    ]
    if issues:
        raise refused(tuple(issues))


def _fault(reason: str, name: str) -> Issue:
    path = shorten(name)
    params = {"field": path} if reason == "UnknownField" else {"name": path, "list": "the query"}
    return Issue(reason, Stage.MANIFEST, Severity.ERROR, path=path, params=params)


async def _identify(request: Request) -> Identity:
    given = request.headers.getlist("authorization")
    scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if scheme.lower() != "bearer":
        raise Unauthenticated(
            "this route needs a bearer token", hint="send Authorization: Bearer TOKEN"
        )
    found = await service_of(request).authority.identify(token.strip().encode("latin-1"))
    if found is None:
        raise Unauthenticated("the token is not known", hint="ask whoever runs this service")
    return found


@dataclass(frozen=True, slots=True)
class Needs:
    """The dependency of a route that takes these rights: a Backend for whoever has them."""

    rights: tuple[Right, ...]

    async def __call__(self, request: Request) -> ClusterBackend:
        service = service_of(request)
        who = await _identify(request)
        request.state.user = who.user
        gate = Asker(service.authority, who, self.rights)
        may_see = await self._admitted(gate, _namespace(request))
        await check_query(request)
        backend = service.backend(gate, request)
        backend.may_see = may_see
        return backend

    async def _admitted(self, gate: Asker, namespace: str | None) -> frozenset[str] | None:
        """What is known before a body is read."""
        if namespace is not None:
            return await gate.see(namespace)
        for right in self.rights:
            if right.namespaced and gate.authority.where(gate.who, right) == frozenset():
                raise Forbidden(f"you may not {right} anywhere", hint=remedy(right, None))
        return await gate.see()


def _namespace(request: Request) -> str | None:
    """The namespace of the path, or of a query without a body; None where none is told so far."""
    if request.method != "GET":
        return None
    given = [*request.path_params.items(), *request.query_params.multi_items()]
    found = [value for name, value in given if name == "namespace"]
    try:
        return dns_label(found[0]) if len(found) == 1 else None
    except InvalidName:
        return None  # for the route to refuse


Anybody = Annotated[ClusterBackend, Depends(Needs((rights.REASONS,)))]
Tenant = Annotated[ClusterBackend, Depends(Needs((rights.ASK,)))]
Onlooker = Annotated[ClusterBackend, Depends(Needs((rights.LOOK,)))]
Creator = Annotated[ClusterBackend, Depends(Needs((rights.ASK, CREATE_MACHINES)))]
Admin = Annotated[ClusterBackend, Depends(Needs((INVENTORY,)))]
PermitReader = Annotated[ClusterBackend, Depends(Needs((rights.PERMITS,)))]
Permitter = Annotated[ClusterBackend, Depends(Needs((rights.PERMIT,)))]
Unpermitter = Annotated[ClusterBackend, Depends(Needs((rights.UNPERMIT,)))]
Auditor = Annotated[ClusterBackend, Depends(Needs((rights.AUDIT,)))]
KnownQuery = Depends(check_query)


def rights_of(route: APIRoute) -> tuple[Right, ...]:
    """What a route takes; nothing for one that is open."""
    needs = (dependency.call for dependency in route.dependant.dependencies)
    return next((need.rights for need in needs if isinstance(need, Needs)), ())
