"""A request's body, taken in whole before anything looks at it: counted, timed, and on the disk."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

from zerokin.app.limits import Limits
from zerokin.app.refusals import Busy, TooLarge, TooSlow

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

IN_MEMORY = 256_000  # bytes of a body that are kept in memory; more go to a file without a name
PIECE = 256_000
OVERHEAD = 100_000  # bytes that a form adds around a file


FORM = "multipart/form-data"


def is_form(content_type: str) -> bool:
    """Tell whether a body is a form with files, by its ``Content-Type``.

    Examples
    --------
    >>> is_form("Multipart/Form-Data; boundary=x"), is_form("application/json")
    (True, False)
    """
    return content_type.partition(";")[0].strip().lower() == FORM


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


class Body:
    """What a request sent, to be read as often as needed."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self.size = file, size

    def read(self) -> bytes:
        """Return all of it."""
        self._file.seek(0)
        return self._file.read()

    def replay(self) -> Receive:
        """Return an ASGI ``receive`` that gives the body again, in pieces."""
        self._file.seek(0)
        left = self.size

        async def receive() -> Message:
            nonlocal left
            piece = self._file.read(PIECE)
            left -= len(piece)
            return {"type": "http.request", "body": piece, "more_body": left > 0}

        return receive


class BodyReader:
    """Takes bodies in, so many at a time and so many bytes of all together.

    Parameters
    ----------
    limits
        What is refused: too many bodies at once, too many bytes, and bodies that take too long.
    folder
        Where large bodies lie while they are needed.
    """

    def __init__(self, limits: Limits, folder: Path) -> None:
        self.limits, self._folder = limits, folder
        self.receiving = 0
        self.held_bytes = 0

    @asynccontextmanager
    async def take_in(self, receive: Receive, most_bytes: int) -> AsyncIterator[Body]:
        """Give the body of a request; its file is gone with the block.

        Parameters
        ----------
        receive
            Of ASGI.
        most_bytes
            A longer body is refused, apart from what a form adds.
        """
        if self.receiving >= self.limits.receiving:
            raise Busy(f"{self.receiving} requests are arriving already: try again soon")
        held = 0
        with tempfile.SpooledTemporaryFile(IN_MEMORY, dir=str(self._folder)) as file:
            try:
                self.receiving += 1
                try:
                    async for piece in self._pieces(receive):
                        held += len(piece)
                        self.held_bytes += len(piece)
                        if held > most_bytes + OVERHEAD:
                            raise TooLarge(
                                f"more than the limit of {most_bytes:,} bytes: send less"
                            )
                        if self.held_bytes > self.limits.stored * self.limits.upload_bytes:
                            raise Busy("too many bytes are arriving already: try again soon")
                        file.write(piece)
                finally:
                    self.receiving -= 1
                yield Body(file, held)
            finally:
                self.held_bytes -= held

    async def _pieces(self, receive: Receive) -> AsyncIterator[bytes]:
        """Yield pieces; whoever sends less than ``body_rate`` runs out of time."""
        limits, clock = self.limits, asyncio.get_running_loop().time
        begin, taken, more = clock(), 0, True
        while more:
            deadline = begin + limits.body_seconds + taken / limits.body_rate
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise TooSlow("the request took too long to arrive: send it again") from None
            if message["type"] == "http.disconnect":
                raise ClientGone
            piece = message.get("body", b"")
            taken += len(piece)
            more = message.get("more_body", False)
            yield piece
