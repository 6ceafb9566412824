"""Connections: how many there are, and how long one may take to say what it wants.

uvicorn closes a connection that is silent after an answer, but waits for ever for the first request
and for the rest of one that comes byte by byte. Here the head of a request has to be whole within
`HEAD_S` of the connection or of its first byte. A connection beyond the limit is closed at once.
"""

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from passway.model.override import override

CONNECTIONS: Final = 512
HEAD_S: Final = 10.0


class Connection(H11Protocol):
    """One connection of a client."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self._limit: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.abort()
        else:
            self._watch()

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """The clock runs exactly while the head of a request is expected."""
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._unwatch()
        elif self._limit is None:
            self._limit = self.loop.call_later(HEAD_S, self.timeout_keep_alive_handler)

    def _unwatch(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
