"""What a `Status` of the API server means: one of our errors, with what to do.

Owns the map from code and reason. A refusal by RBAC names the missing right, one by quota or a
webhook keeps the server's words, since they are the only ones that know. Words from outside are
made printable and short. What no API server would say (a page of a proxy) is not believed to be
more than its number.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from passway.cluster.kinds import Kind
from passway.kube.frames import MAGIC, Malformed, status_of, unwrapped
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
from passway.service.ports import Cause, Expired, Trial

SHOWN: Final = 1000
# staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go
_RBAC: Final = re.compile(r'forbidden: User "(?:[^"\\]|\\.)*" cannot (\S+) ')
_TOO_LARGE_VERSION: Final = "ResourceVersionTooLarge"
_READING: Final = frozenset({"get", "list", "watch"})
RELIST: Final = "List the objects again and watch from there."
_AGAIN: Final = "Read the object again and decide anew."


class Status(msgspec.Struct):
    """A Status object, as far as it is read."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: dict[str, Any] | None = None


def printable(text: str) -> str:
    """Words from outside on one line, without what moves a cursor."""
    flat = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in flat)


def refusal(
    status: int, body: bytes, verb: str, kind: Kind, name: str | None, namespace: str | None
) -> PasswayError:
    """The error for an answer that is no success."""
    return _refusal(status, _status(body), verb, kind, name, namespace)


def refusal_of(told: dict[str, Any], verb: str, kind: Kind) -> PasswayError:
    """The error for a Status that came as plain values, within a watch."""
    status = msgspec.convert(told, Status)
    return _refusal(status.code, status, verb, kind, None, None)


def _refusal(
    status: int, told: Status, verb: str, kind: Kind, name: str | None, namespace: str | None
) -> PasswayError:
    words = printable(told.message[:SHOWN]) or f"the API server answered {status}"
    where = f' in namespace "{namespace}"' if namespace else ""
    target = f'{kind.resource} "{name}"{where}' if name else f"{kind.resource}{where}"
    if _ahead(told):
        return Expired(words, hint=RELIST)
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
            return Expired(words, hint=RELIST)
        case 413:
            return TooLarge(words)
        case 400 | 405 | 406 | 414 | 415 | 422:
            return InvalidInput(f"{target}: {words}")
        case _:
            return Unavailable(f"{verb} {target}: {words}", hint="try again in a few seconds")


def trial_of(
    status: int, body: bytes, warnings: tuple[str, ...], kind: Kind, namespace: str | None
) -> Trial:
    """What an answer to a dry run means; raises what has nothing to do with the object.

    An object of that name is looked for last, so one that exists already was accepted by all.
    """
    if status in {200, 201}:
        return Trial(accepted=True, warnings=warnings)
    told = _status(body)
    words = printable(told.message[:SHOWN]) or f"the API server answered {status}"
    if told.reason == "AlreadyExists":
        return Trial(accepted=True, reason=told.reason, message=words, warnings=warnings)
    error = refusal(status, body, "create", kind, None, namespace)
    own = isinstance(error, InvalidInput | NotFound) or error.code == "ADMISSION_DENIED"
    if not own and told.reason not in {"InternalError", "Conflict"}:
        raise error
    return Trial(
        accepted=False,
        reason=printable(told.reason),
        message=words,
        causes=tuple(_causes(told.details or {})),
        warnings=warnings,
    )


def _causes(details: dict[str, Any]) -> Iterator[Cause]:
    listed = details.get("causes")
    for cause in listed if isinstance(listed, list) else ():
        if isinstance(cause, dict):
            field, reason, message = (
                printable(str(cause.get(name) or "")[:SHOWN])
                for name in ("field", "reason", "message")
            )
            yield Cause(field, reason, message)


def _status(body: bytes) -> Status:
    if body.startswith(MAGIC):  # errors come as what was asked for
        return _from_protobuf(body)
    try:
        return msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, RecursionError):
        text = body[:SHOWN].decode(errors="replace").strip()
        return Status() if text[:1] in {"<", "{", "["} else Status(message=text)


def _from_protobuf(body: bytes) -> Status:
    """A Status in protobuf, in its envelope."""
    try:
        return msgspec.convert(status_of(unwrapped(body)[1]), Status)
    except (Malformed, msgspec.ValidationError):
        return Status()


def _ahead(told: Status) -> bool:
    """Has the server not come as far as the version that was asked for? So it was set back."""
    causes = (told.details or {}).get("causes")
    return isinstance(causes, list) and any(
        isinstance(cause, dict) and cause.get("reason") == _TOO_LARGE_VERSION for cause in causes
    )


def _forbidden(words: str, verb: str, kind: Kind, namespace: str | None) -> Forbidden:
    found = _RBAC.search(words)
    if found and found[1] == verb:
        where = f'in namespace "{namespace}"' if namespace else "at the cluster scope"
        return Forbidden(
            f"not allowed: {verb} {kind.resource} {where}",
            code="RBAC_DENIED",
            hint=f"Ask for the right to {verb} {kind.resource} {where}.",
        )
    if found or verb in _READING:  # another right (impersonation), or an authorizer's own words
        return Forbidden(
            f"not allowed: {words}", code="RBAC_DENIED", hint="Ask for the right that is named."
        )
    return Forbidden(words, code="ADMISSION_DENIED")  # a quota, a webhook or a policy


def _missing(told: Status, target: str, kind: Kind) -> PasswayError:
    details = told.details or {}
    if details.get("kind") == "namespaces" and kind.plural != "namespaces":
        return NotFound(f'namespace "{printable(str(details.get("name")))}" does not exist')
    if details.get("name"):
        return NotFound(f"{target} does not exist")
    if not kind.group:  # every API server has the core group
        return Unavailable(
            f"{kind.resource} cannot be found, as if this were no Kubernetes API",
            hint="look at the address of the server, and at what stands before it",
        )
    return NotFound(f"the API server does not serve {kind.resource}", code="KIND_NOT_SERVED")


def _conflict(told: Status, target: str, words: str) -> Conflict:
    if told.reason == "AlreadyExists":
        return Conflict(f"{target} exists already", code="ALREADY_EXISTS")
    return Conflict(
        f"{target} has changed since it was read ({words})", code="CONCURRENT_CHANGE", hint=_AGAIN
    )
