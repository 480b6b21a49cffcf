"""Connections that keep others waiting are closed: half-sent requests, and the oldest where there are too many."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

MOST = 200  # connections at a time
HEAD_SECONDS = 5.0  # for the head of a request
MOST_HEAD = 1 << 16  # bytes of it

Protocol: Any = AutoHTTPProtocol  # by httptools where that is installed, else by h11


class Connection(Protocol):
    """A connection whose requests must begin in time; one that waits for its client makes room for others."""

    began = 0.0  # when the client was last waited for
    head = 0  # bytes of a head that is not complete
    deadline: asyncio.TimerHandle | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the client has yet to send a request, or the rest of one."""
        return self.is_idle or bool(self.cycle.more_body)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request; the connection that has waited longest goes where there are too many."""
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > MOST:
            others = (c for c in self.connections if isinstance(c, Connection) and c is not self and c.is_waiting)
            oldest = min(others, key=lambda connection: connection.began, default=self)
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Pass on what comes; the head of a request has to be short and in time."""
        begins = self.is_idle
        super().data_received(data)
        if not self.is_idle:
            self._stop()
            self.head, self.began = 0, time.monotonic()
        elif begins:
            self.head += len(data)
            if self.deadline is None:
                self._expect_head()
            if self.head > MOST_HEAD:
                self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._stop()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._stop()
        self.began = time.monotonic()
        self.deadline = self.loop.call_later(HEAD_SECONDS, self._too_late)

    def _too_late(self) -> None:
        self.deadline = None
        if self.is_idle:
            self.transport.abort()

    def _stop(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
