"""Documents as responses, and what the OpenAPI document says of them.

A response is encoded by msgspec and sent as it is; pydantic never sees it. The schemas of all
documents come from their types, so that what is published and what is sent cannot differ.
"""

from typing import Any, Final, Literal

import msgspec
from starlette.responses import Response

from passway.api.problems import MEDIA_TYPE
from passway.service import documents as d

JSON: Final = "application/json"


class Stale(d.Document, frozen=True, kw_only=True):
    """A kind of which the API server has not said for a while that it is so."""

    kind: str
    age_seconds: int


class Health(d.Document, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the service runs, has read the cluster, and how old what it knows is."""

    status: Literal["ok", "ready"]
    stale: tuple[Stale, ...] = ()


DOCUMENTS: Final[tuple[type[d.Document], ...]] = (
    *d.PUBLISHED, d.DevicePreflight, d.MachineDocument, d.MyDevices, d.Problem,
    Health,
)  # fmt: skip

_TITLES: Final = {
    400: "Malformed; `issues` lists every fault.",
    401: "No token, or one that is not known.",
    403: "Known, but not allowed.",
    404: "It does not exist.",
    408: "The body did not arrive in time.",
    409: "The cluster differs from what the request assumes; `code` says how.",
    413: "The body is too large.",
    415: "The body is of a type that is not read here.",
    422: "DEVICE_PREFLIGHT_FAILED: the VM would not get running; `issues` has every reason.",
    429: "Too many requests at once, or from one asker.",
    500: "A bug; `detail` has the id of the request, which is in the log.",
    503: "The cluster has not been read yet or cannot be reached, or the answer took too long.",
}
_TEXT: Final = {"schema": {"type": "string"}}
_HEADERS: Final[dict[int, dict[str, Any]]] = {
    401: {"WWW-Authenticate": _TEXT},
    429: {"Retry-After": _TEXT},
    503: {"Retry-After": _TEXT},
}
READING: Final = (400, 401, 403, 429, 500, 503)
"""What every route behind a token may answer."""
WITH_BODY: Final = (408, 413, 415)


def answer(
    document: d.Document, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """The document as JSON."""
    return Response(
        msgspec.json.encode(document), status_code=status, media_type=JSON, headers=headers
    )


def schema_ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def answers(
    *found: type[d.Document], errors: tuple[int, ...] = READING, created: bool = False
) -> dict[int | str, dict[str, Any]]:
    """`responses` of a route that answers one of these documents, and these errors."""
    names = [schema_ref(document.__name__) for document in found]
    content = {JSON: {"schema": names[0] if len(names) == 1 else {"oneOf": names}}}
    good: dict[int | str, dict[str, Any]] = {200: {"description": "Done.", "content": content}}
    if created:
        good[201] = {
            "description": "Created.",
            "content": content,
            "headers": {"Location": _TEXT},
        }
    return good | {
        status: {
            "description": _TITLES[status],
            "content": {MEDIA_TYPE: {"schema": schema_ref("Problem")}},
            "headers": _HEADERS.get(status, {}),
        }
        for status in sorted(errors)
    }
