"""Audit: who changed what, before and after, with which result.

Owns the entry and the port. The adapter here keeps the newest entries in memory and writes each to
the log `passway.audit` as one line of JSON; a store that keeps them is another adapter.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

KEPT: Final = 1000
_log = logging.getLogger("passway.audit")


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to change something. `result` is `done` or the code of the error."""

    time: str
    user: str
    action: str
    target: str
    before: str | None
    after: str | None
    result: str


class Audit(Protocol):
    """Where entries go; recording never fails a request that has already written."""

    def record(self, entry: AuditEntry) -> None: ...

    def entries(self) -> tuple[AuditEntry, ...]: ...


class MemoryAudit:
    """The newest entries, oldest first."""

    def __init__(self, kept: int = KEPT, write: Callable[[str], None] = _log.info) -> None:
        self._entries: deque[AuditEntry] = deque(maxlen=kept)
        self._write = write

    def record(self, entry: AuditEntry) -> None:
        self._entries.append(entry)
        self._write(msgspec.json.encode(entry).decode())

    def entries(self) -> tuple[AuditEntry, ...]:
        return tuple(self._entries)
