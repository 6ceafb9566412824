"""Routes for whoever starts and watches the service; they are open and tell nothing else.

Ready is who has read the cluster once and is not about to end. An API server that is away does not
take readiness: every replica would lose it at once, and what was known is still told, with its
age. Which kinds are old is said, so that somebody who asks sees it.
"""

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from passway.api.access import KnownQuery, service_of
from passway.api.answers import Health, Stale, answer, answers
from passway.api.problems import ShuttingDown
from passway.cluster import kinds
from passway.service import report

STALE_S: Final = 180
"""Watches are confirmed about once a minute, whatever happens."""
router = APIRouter(tags=["health"], dependencies=[KnownQuery])


@router.get("/healthz", responses=answers(Health, errors=(400, 500)))
async def healthz() -> Response:
    """The service runs."""
    return answer(Health(status="ok"))


@router.get("/readyz", responses=answers(Health, errors=(400, 500, 503)))
async def readyz(request: Request) -> Response:
    """The cluster has been read, and this process is not ending; 503 otherwise."""
    if request.app.state.draining:
        raise ShuttingDown("this process ends", hint="another replica answers")
    snapshot = service_of(request).mirror.snapshot()
    ages = {kind.plural: report.age_s(snapshot, kind) for kind in kinds.ALL}
    stale = tuple(
        Stale(kind=kind, age_seconds=age)
        for kind, age in sorted(ages.items())
        if age is not None and age > STALE_S
    )
    return answer(Health(status="ready", stale=stale))
