"""Routes for whoever starts and watches the service; they are open and tell nothing else."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from passway.api.access import KnownQuery, service_of
from passway.api.answers import Health, answer, answers

router = APIRouter(tags=["health"], dependencies=[KnownQuery])


@router.get("/healthz", responses=answers(Health, errors=(400, 500)))
async def healthz() -> Response:
    """The service runs."""
    return answer(Health(status="ok"))


@router.get("/readyz", responses=answers(Health, errors=(400, 500, 503)))
async def readyz(request: Request) -> Response:
    """The cluster has been read; 503 until then."""
    service_of(request).mirror.snapshot()
    return answer(Health(status="ready"))
