"""Audit: who changed what, before and after, with which result.

Owns the row, its hash, the chain that the hashes make, and the port of whoever keeps them. A row
is an intent, written before a change, or an outcome, written after one or for one that was
refused. Each hash covers its row and the hash before, so that no row can be changed, taken out or
moved without breaking the chain; that the end is still there, only a hash noted elsewhere can say.
When rows are written is `changes`' to know, where they are kept the store's.
"""

from hashlib import sha256
from typing import Final, Literal, Protocol

import msgspec

from passway.model.errors import EXIT_UNREACHABLE, Kind, Unavailable

GENESIS: Final = "0" * 64
"""What stands for the hash before the first row."""
DONE: Final = "done"
LONGEST: Final = 1024
"""Characters of a name or of a sentence that are kept."""


class AuditUnavailable(Unavailable):
    """The audit cannot be written or read, so nothing is changed."""

    kind = Kind("AUDIT_UNAVAILABLE", 503, EXIT_UNREACHABLE, "The audit is not available")


class Actor(msgspec.Struct, frozen=True):
    """Who asks, from where, in which request."""

    user: str
    source: str = ""
    request_id: str = ""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A row that has no place in the chain yet.

    `before` and `after` are JSON without secrets. `intent` is the sequence number of the intent
    that an outcome closes; an outcome without one is of a change that was refused before anything
    was tried. `result` of an outcome is `done`, the code of an error, or what was found out later:
    `applied`, `not_applied`, `unknown`.
    """

    time: str
    request_id: str
    replica: str
    user: str
    source: str
    action: str
    api_version: str
    kind: str
    namespace: str | None
    name: str
    before: str | None
    after: str | None
    phase: Literal["intent", "outcome"]
    intent: int | None
    result: str | None
    detail: str | None


class AuditEntry(Draft, frozen=True, kw_only=True):
    """A row of the chain. Sequence numbers begin at 1 and leave nothing out."""

    sequence: int
    previous: str
    hash: str


class Head(msgspec.Struct, frozen=True):
    """The end of the chain: what to note elsewhere."""

    sequence: int = 0
    hash: str = GENESIS


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows: those that have all of these values."""

    user: str | None = None
    action: str | None = None
    namespace: str | None = None
    name: str | None = None
    result: str | None = None


class Audit(Protocol):
    """Where rows are kept, in one chain for all replicas. Every call may raise AuditUnavailable."""

    @property
    def head(self) -> Head | None:
        """The newest row that this process has seen; None before the first look."""
        ...

    async def append(self, draft: Draft) -> AuditEntry | None:
        """Keeps the row for good; None if the intent that it closes is closed already."""
        ...

    async def page(
        self, wanted: Filter, limit: int, before: int | None = None
    ) -> tuple[AuditEntry, ...]:
        """The newest rows first, of those with a sequence number below `before`."""
        ...

    async def dangling(self, limit: int) -> tuple[AuditEntry, ...]:
        """The oldest intents without an outcome."""
        ...


def chained(draft: Draft, head: Head) -> AuditEntry:
    """The row that follows the head."""
    fields = {name: _clean(value) for name, value in msgspec.structs.asdict(draft).items()}
    fields |= {"sequence": head.sequence + 1, "previous": head.hash}
    entry: AuditEntry = msgspec.convert({**fields, "hash": ""}, AuditEntry)
    return msgspec.structs.replace(entry, hash=digest(entry))


def digest(entry: AuditEntry) -> str:
    """SHA-256 of the row as JSON in UTF-8, keys sorted, without blanks, without `hash` itself."""
    fields = msgspec.structs.asdict(entry)
    del fields["hash"]
    return sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()


def clean(text: str) -> str:
    """The text as every database keeps it: no NUL, no half of a surrogate pair."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def short(text: str) -> str:
    """No more than is kept of a name or a sentence."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _clean(value: object) -> object:
    return clean(value) if isinstance(value, str) else value


class Break(msgspec.Struct, frozen=True):
    """Where the chain is broken first."""

    sequence: int
    why: str


class Chain:
    """Follows the rows in order, remembering only the end; `add` says what is wrong with one."""

    def __init__(self) -> None:
        self.head = Head()

    def add(self, entry: AuditEntry) -> Break | None:
        """Takes the next row."""
        expected = self.head.sequence + 1
        if entry.sequence != expected:
            return Break(expected, f"row {expected} is missing; the next one is {entry.sequence}")
        if entry.previous != self.head.hash:
            return Break(expected, f"row {expected} does not follow the row before it")
        try:
            found = digest(entry)
        except ValueError:  # text that is no Unicode
            found = ""
        if entry.hash != found:
            return Break(expected, f"row {expected} is not what was written")
        self.head = Head(entry.sequence, entry.hash)
        return None


def closing(
    intent: AuditEntry, *, time: str, replica: str, result: str, detail: str | None = None,
    after: str | None = None,
) -> Draft:  # fmt: skip
    """The outcome of an intent: of the same person, request and object."""
    fields = msgspec.structs.asdict(intent)
    for name in ("sequence", "previous", "hash"):
        del fields[name]
    fields |= {
        "time": time, "replica": replica, "phase": "outcome", "intent": intent.sequence,
        "result": result, "detail": None if detail is None else short(detail),
        "before": None, "after": after,
    }  # fmt: skip
    return Draft(**fields)
