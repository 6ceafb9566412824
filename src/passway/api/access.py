"""Who may ask what: from the bearer token to a Backend for that user.

A route names the roles it is for by the type of its backend parameter. The order is fixed: known
(401), allowed (403), then the query's names (400), and only after that a body is read. Namespaces
are not looked at here: the Backend confines its user.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from fastapi.routing import APIRoute

from passway.api.identity import Identity, Role, Tokens
from passway.api.validation import refused
from passway.manifest.nodes import shorten
from passway.model.errors import Forbidden, Unauthenticated
from passway.model.verdict import Issue, Severity, Stage
from passway.service.audit import Actor, Audit
from passway.service.changes import Changes
from passway.service.cluster_backend import ClusterBackend
from passway.service.mirror import Mirror
from passway.service.ports import Cluster

EVERYBODY: Final = frozenset(Role)
TENANTS: Final = frozenset({Role.USER, Role.ADMIN})
ADMINS: Final = frozenset({Role.ADMIN})


@dataclass(frozen=True, slots=True)
class Service:
    """What the routes work on; kept in the application's state."""

    cluster: Cluster
    mirror: Mirror
    audit: Audit
    tokens: Tokens
    changes: Changes

    def backend(self, who: Identity, request: Request) -> ClusterBackend:
        source = request.client.host if request.client else ""
        actor = Actor(who.user, source, getattr(request.state, "request_id", ""))
        return ClusterBackend(self.cluster, self.mirror, self.changes, actor, who.may_see)


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


def _identify(request: Request) -> Identity:
    given = request.headers.getlist("authorization")
    scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if scheme.lower() != "bearer":
        raise Unauthenticated(
            "this route needs a bearer token", hint="send Authorization: Bearer TOKEN"
        )
    found = service_of(request).tokens.identify(token.strip().encode("latin-1"))
    if found is None:
        raise Unauthenticated("the token is not known", hint="ask whoever runs this service")
    return found


def _for(roles: frozenset[Role]) -> Callable[[Request], Coroutine[Any, Any, ClusterBackend]]:
    async def backend(request: Request) -> ClusterBackend:
        who = _identify(request)
        if who.role not in roles:
            raise Forbidden(
                f"the role {who.role.value} may not {request.method} {request.scope['route'].path}",
                hint=f"it takes {' or '.join(sorted(roles))}",
            )
        await check_query(request)
        return service_of(request).backend(who, request)

    return backend


Anybody = Annotated[ClusterBackend, Depends(_for(EVERYBODY))]
Tenant = Annotated[ClusterBackend, Depends(_for(TENANTS))]
Admin = Annotated[ClusterBackend, Depends(_for(ADMINS))]
KnownQuery = Depends(check_query)
