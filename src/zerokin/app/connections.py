"""Connections with bounds in time and number, below anything that speaks HTTP.

uvicorn waits for ever for the rest of a header, and for a client to take what it asked for. Here a
header has its time, a client that takes nothing has its time, and there are so many connections.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from zerokin.app.limits import Limits

TAKING_SECONDS = 60.0  # without taking anything of an answer
NOTE_EVERY = 60.0  # seconds between two lines about the same


class BoundedProtocol(H11Protocol):  # type: ignore[misc, unused-ignore]
    """HTTP/1.1 over one connection that may neither dawdle nor be one too many."""

    limits = Limits()
    _noted = float("-inf")

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._header: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None
        self._one_too_many = False

    def connection_made(self, transport: Any) -> None:
        if len(self.connections) >= self.limits.connections:
            self._note(f"{len(self.connections)} connections are open: further ones are closed")
            self._one_too_many = True
            transport.abort()
            return
        super().connection_made(transport)
        self._expect_header()

    def data_received(self, data: bytes) -> None:
        if self._one_too_many:
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._expect_header()
        else:
            self._stop_header()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_header()
        self._stop_taking()
        if not self._one_too_many:
            super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._taking = self.loop.call_later(TAKING_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_taking()
        super().resume_writing()

    def _expect_header(self) -> None:
        if self._header is None:
            self._header = self.loop.call_later(self.limits.header_seconds, self._too_slow)

    def _stop_header(self) -> None:
        if self._header is not None:
            self._header.cancel()
            self._header = None

    def _stop_taking(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _too_slow(self) -> None:
        self._header = None
        if self.conn.their_state is h11.IDLE:
            self.transport.abort()

    def _note(self, line: str) -> None:
        own, now = type(self), self.loop.time()
        if now - own._noted > NOTE_EVERY:
            own._noted = now
            logging.getLogger("zerokin").warning(line)


def bounded_protocol(limits: Limits) -> type[BoundedProtocol]:
    """Return the protocol for ``uvicorn.Config(http=…)`` that keeps to given limits."""
    return type("LimitedProtocol", (BoundedProtocol,), {"limits": limits})
