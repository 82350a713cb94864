"""What the server refuses, each with the HTTP status that says so."""

from __future__ import annotations

from typing import ClassVar
from unicodedata import category

from zerokin.errors import InvalidInput, ZerokinError

LONGEST_LINE = 400


class Refusal(InvalidInput):
    """A request that is understood but not granted."""

    status: ClassVar[int] = 400


class ReadOnly(Refusal):
    """A change, where the server may change nothing."""

    status = 403


class Forbidden(Refusal):
    """Something that nobody who visits may have."""

    status = 403


class TooSlow(Refusal):
    """A request that did not arrive in time."""

    status = 408


class Unknown(Refusal):
    """Something that is not there."""

    status = 404


class Conflict(Refusal):
    """A change that does not fit what is there."""

    status = 409


class TooLarge(Refusal):
    """More bytes or pixels than the server takes."""

    status = 413


class Busy(Refusal):
    """As many requests as the server takes are in hand already."""

    status = 503


def status_of(error: ZerokinError) -> int:
    """Return the HTTP status for an error.

    Examples
    --------
    >>> status_of(TooLarge("a whale")), status_of(InvalidInput("k must be a number"))
    (413, 400)
    """
    return error.status if isinstance(error, Refusal) else 400


def one_line(text: object) -> str:
    r"""Return a message as one line of bounded length that every encoding and terminal can carry.

    Examples
    --------
    >>> one_line("no such\n class: \ud800\x1b[2J")
    'no such class: ??[2J'
    """
    words = " ".join(str(text)[: 10 * LONGEST_LINE].split())
    line = "".join("?" if category(sign) in ("Cc", "Cs") else sign for sign in words)
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
