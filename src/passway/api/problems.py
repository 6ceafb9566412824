"""Errors as `application/problem+json` (RFC 9457), for every way a request can fail.

Owns the mapping from exceptions to the Problem document and the errors that only HTTP has. The
table of `model.errors` gives code and status; validation is 400, since 422 means that a preflight
says no. A bug tells the client nothing but the id under which it was logged.
"""

import logging
from typing import Final

import msgspec
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from passway.api.validation import invalid
from passway.model import errors
from passway.model.errors import Kind, PasswayError
from passway.service import report
from passway.service.documents import Problem

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 2
_log = logging.getLogger("passway.api")


class MethodNotAllowed(PasswayError):
    """The route exists, but not with this method."""

    kind = Kind("METHOD_NOT_ALLOWED", 405, errors.EXIT_USAGE, "Method not allowed")


class TooSlow(PasswayError):
    """The body did not arrive in time."""

    kind = Kind("REQUEST_TIMEOUT", 408, errors.EXIT_UNREACHABLE, "The request took too long")


class TooLong(PasswayError):
    """The answer did not begin in time."""

    kind = Kind("TOO_LONG", 503, errors.EXIT_UNREACHABLE, "The answer took too long")


class ShuttingDown(PasswayError):
    """The process ends and takes no new work."""

    kind = Kind("SHUTTING_DOWN", 503, errors.EXIT_UNREACHABLE, "This process ends")


class UnsupportedMediaType(PasswayError):
    """The body is of a type that the route does not take."""

    kind = Kind("UNSUPPORTED_MEDIA_TYPE", 415, errors.EXIT_USAGE, "Not a type that is read here")


class TooManyRequests(PasswayError):
    """More requests than the service, or the asker, is allowed."""

    kind = Kind("TOO_MANY_REQUESTS", 429, errors.EXIT_UNREACHABLE, "Too many requests")


class Broken(PasswayError):
    """A bug; the message holds the id in the log."""

    kind = Kind("INTERNAL_ERROR", 500, errors.EXIT_BUG, "Something broke in Passway")


def problem_response(error: PasswayError, headers: dict[str, str] | None = None) -> Response:
    """The answer for an expected failure."""
    kind = error.kind
    document = Problem(
        title=kind.title,
        status=kind.status,
        code=error.code,
        detail=str(error),
        hint=error.hint or None,
        issues=report.issues(error.issues),
    )
    return Response(
        msgspec.json.encode(document),
        status_code=kind.status,
        media_type=MEDIA_TYPE,
        headers={**_headers(kind.status), **(headers or {})},
    )


def log_bug(error: Exception, identifier: str) -> None:
    """A bug is logged under the id of its request, once."""
    _log.error("unexpected error %s", identifier, exc_info=error)


def bug_response(identifier: str) -> Response:
    """The answer for a bug that is logged under the id."""
    return problem_response(
        Broken(
            f"an unexpected error; the log has it under {identifier}",
            hint="report it with that id",
        )
    )


async def on_passway_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, PasswayError)  # noqa: S101 - registered for this class only
    request.app.state.service.metrics.problem(error.code)
    return problem_response(error)


async def on_validation_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
    return problem_response(invalid(error.errors()))


async def on_http_error(request: Request, error: Exception) -> Response:
    """What the framework itself refuses: routes that do not exist."""
    assert isinstance(error, HTTPException)  # noqa: S101 - as above
    if error.status_code == errors.NotFound.kind.status:
        path = request.url.path[:200]
        return problem_response(
            errors.NotFound(f"there is no route {path}", hint="/openapi.json lists the routes")
        )
    return problem_response(errors.InvalidInput("the request could not be read"))


def _headers(status: int) -> dict[str, str]:
    match status:
        case 401:
            return {"WWW-Authenticate": 'Bearer realm="passway"'}
        case 429 | 503:
            return {"Retry-After": str(RETRY_AFTER_S)}
        case _:
            return {}
