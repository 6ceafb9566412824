"""What a `Status` of the API server means: one of our errors, with what to do.

Owns the map from code and reason. A refusal by RBAC names the missing right, one by quota or a
webhook keeps the server's words, since they are the only ones that know.
"""

from typing import Any, Final

import msgspec

from passway.cluster.kinds import Kind
from passway.model.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    PasswayError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from passway.service.ports import Expired

SHOWN: Final = 1000
_RBAC: Final = "cannot "
_AGAIN: Final = "Read the object again and decide anew."


class Status(msgspec.Struct):
    """A Status object, as far as it is read."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: dict[str, Any] | None = None


def refusal(
    status: int, body: bytes, verb: str, kind: Kind, name: str | None, namespace: str | None
) -> PasswayError:
    """The error for an answer that is no success."""
    told = _status(body)
    words = told.message[:SHOWN] or f"the API server answered {status}"
    where = f' in namespace "{namespace}"' if namespace else ""
    target = f'{kind.resource} "{name}"{where}' if name else f"{kind.resource}{where}"
    match status:
        case 401:
            return Unauthenticated(
                f"the API server does not know who asks: {words}",
                hint="log in again, or look at the user of the kubeconfig's context",
            )
        case 403:
            return _forbidden(words, verb, kind, namespace)
        case 404:
            return _missing(told, target, kind)
        case 409:
            return _conflict(told, target, words)
        case 410:
            return Expired(words, hint="List the objects again and watch from there.")
        case 413:
            return TooLarge(words)
        case 400 | 405 | 406 | 415 | 422:
            return InvalidInput(f"{target}: {words}")
        case _:
            return Unavailable(f"{verb} {target}: {words}", hint="try again in a few seconds")


def _status(body: bytes) -> Status:
    try:
        return msgspec.json.decode(body, type=Status)
    except msgspec.DecodeError:
        return Status(message=body[:SHOWN].decode(errors="replace").strip())


def _forbidden(words: str, verb: str, kind: Kind, namespace: str | None) -> Forbidden:
    if _RBAC not in words:  # a quota, a webhook or a policy
        return Forbidden(words, code="ADMISSION_DENIED")
    where = f'in namespace "{namespace}"' if namespace else "at the cluster scope"
    return Forbidden(
        f"not allowed: {verb} {kind.resource} {where}",
        code="RBAC_DENIED",
        hint=f"Ask for the right to {verb} {kind.resource} {where}.",
    )


def _missing(told: Status, target: str, kind: Kind) -> NotFound:
    details = told.details or {}
    if details.get("kind") == "namespaces" and kind.plural != "namespaces":
        return NotFound(f'namespace "{details.get("name")}" does not exist')
    if not details.get("name"):
        return NotFound(f"the API server does not serve {kind.resource}", code="KIND_NOT_SERVED")
    return NotFound(f"{target} does not exist")


def _conflict(told: Status, target: str, words: str) -> Conflict:
    if told.reason == "AlreadyExists":
        return Conflict(f"{target} exists already", code="ALREADY_EXISTS")
    return Conflict(
        f"{target} has changed since it was read ({words})", code="CONCURRENT_CHANGE", hint=_AGAIN
    )
