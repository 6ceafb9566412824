"""Failures that are not findings: each with its code, HTTP status and exit code, in one table.

A finding about a VM is an `Issue` and never an exception. What is raised here ends a request or a
command: the text says what happened and what to do next. Bugs are neither; entry points catch them
once.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from passway.model.verdict import Issue

EXIT_OK: Final = 0
EXIT_NO: Final = 1
EXIT_USAGE: Final = 2
EXIT_UNKNOWN: Final = 3
EXIT_FORBIDDEN: Final = 4
EXIT_CONFLICT: Final = 5
EXIT_NOT_FOUND: Final = 6
EXIT_UNREACHABLE: Final = 7
EXIT_BUG: Final = 70
EXIT_INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True)
class Kind:
    """How an error shows: machine-readable code, HTTP status, exit code, short title."""

    code: str
    status: int
    exit_code: int
    title: str


class PasswayError(Exception):
    """Base of all expected failures. `hint` says what to do next; `issues` may list the details."""

    kind: ClassVar[Kind] = Kind("ERROR", 500, EXIT_BUG, "Passway failed")

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        code: str | None = None,
        issues: tuple[Issue, ...] = (),
    ) -> None:
        super().__init__(message)
        self.hint = hint
        self.code = code or self.kind.code
        self.issues = issues


class InvalidInput(PasswayError):
    """The request or an option is malformed."""

    kind = Kind("INVALID_REQUEST", 400, EXIT_USAGE, "The request is not valid")


class InvalidManifest(InvalidInput):
    """The manifest cannot be read or has faults; `issues` lists them all."""

    kind = Kind("INVALID_MANIFEST", 400, EXIT_USAGE, "The manifest is not valid")


class Unauthenticated(PasswayError):
    """Nobody, or nobody known."""

    kind = Kind("UNAUTHENTICATED", 401, EXIT_FORBIDDEN, "Not logged in")


class Forbidden(PasswayError):
    """Known, but not allowed; the message names the missing right."""

    kind = Kind("FORBIDDEN", 403, EXIT_FORBIDDEN, "Not allowed")


class NotFound(PasswayError):
    """The named thing does not exist."""

    kind = Kind("NOT_FOUND", 404, EXIT_NOT_FOUND, "Not found")


class Conflict(PasswayError):
    """The world differs from what the request assumes; `code` says how (409)."""

    kind = Kind("CONFLICT", 409, EXIT_CONFLICT, "Conflict")


class TooLarge(PasswayError):
    """The input is over a limit that the message names."""

    kind = Kind("TOO_LARGE", 413, EXIT_USAGE, "The input is too large")


class PreflightFailed(PasswayError):
    """The preflight says no; `issues` has every reason."""

    kind = Kind("DEVICE_PREFLIGHT_FAILED", 422, EXIT_NO, "The VM would not get running")


class NotSynced(PasswayError):
    """The mirror of the cluster is not complete yet."""

    kind = Kind("NOT_SYNCED", 503, EXIT_UNREACHABLE, "The cluster has not been read yet")


class Unavailable(PasswayError):
    """The cluster or the service cannot be reached."""

    kind = Kind("UNAVAILABLE", 503, EXIT_UNREACHABLE, "Not reachable")


ERRORS: Final[tuple[type[PasswayError], ...]] = (
    InvalidInput, InvalidManifest, Unauthenticated, Forbidden, NotFound, Conflict, TooLarge,
    PreflightFailed, NotSynced, Unavailable,
)  # fmt: skip
