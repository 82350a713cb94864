"""HTTP Basic authentication (RFC 7617) in which guessing takes long."""

from __future__ import annotations

import hmac
import logging
from base64 import b64decode
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

FIRST_DELAY = 0.5  # seconds after the first wrong password; each further one doubles it
LONGEST_DELAY = 60.0
FORGOTTEN_AFTER = 600.0  # seconds without a wrong password
MOST_ADDRESSES = 10_000

Verdict = Literal["admitted", "missing", "wrong", "too soon"]


@dataclass
class Guesses:
    """Wrong passwords of one address."""

    count: int = 0
    last: float = float("-inf")
    not_before: float = float("-inf")


class PasswordGate:
    """Tells who may pass, and makes an address that was wrong wait before it may try again.

    Until the wait is over nothing that the address sends is looked at, a right password included:
    whoever guesses learns nothing by sending many at once.

    Parameters
    ----------
    user, password
        What has to be given.

    Examples
    --------
    >>> gate = PasswordGate("ada", "lovelace")
    >>> gate.check("Basic YWRhOmxvdmVsYWNl", "127.0.0.1", now=0.0)
    'admitted'
    >>> gate.check("", "127.0.0.1", now=0.0)
    'missing'
    >>> gate.check("Basic YWRhOmJ5cm9u", "127.0.0.1", now=0.0)
    'wrong'
    >>> gate.check("Basic YWRhOmxvdmVsYWNl", "127.0.0.1", now=0.1)
    'too soon'
    """

    def __init__(self, user: str, password: str) -> None:
        self._expected = f"{user}:{password}".encode()
        self._guesses: OrderedDict[str, Guesses] = OrderedDict()

    def check(self, authorization: str, address: str, now: float) -> Verdict:
        """Return what is to be done with a request.

        Parameters
        ----------
        authorization
            The header of that name.
        address
            Who sent it.
        now
            Seconds on any clock that only goes forward.
        """
        given = _credentials(authorization)
        if given is None:
            return "missing"
        known = self._guesses.get(address)
        if known is not None and now - known.last > FORGOTTEN_AFTER:
            del self._guesses[address]
            known = None
        if known is not None and now < known.not_before:
            return "too soon"
        if hmac.compare_digest(given, self._expected):
            self._guesses.pop(address, None)
            return "admitted"
        self._remember(address, now)
        return "wrong"

    def seconds_left(self, address: str, now: float) -> float:
        """Return how long an address has to wait."""
        known = self._guesses.get(address)
        return 0.0 if known is None else max(0.0, known.not_before - now)

    def _remember(self, address: str, now: float) -> None:
        known = self._guesses.setdefault(address, Guesses())
        self._guesses.move_to_end(address)
        known.count += 1
        known.last = now
        # Doubled no oftener than it takes to reach the longest: 2.0 ** count would overflow.
        delay = min(FIRST_DELAY * 2.0 ** min(known.count - 1, 30), LONGEST_DELAY)
        known.not_before = now + delay
        logging.getLogger("zerokin").warning(
            "wrong password from %s, number %d: it may try again in %g s",
            address,
            known.count,
            delay,
        )
        while len(self._guesses) > MOST_ADDRESSES:
            self._guesses.popitem(last=False)


def _credentials(authorization: str) -> bytes | None:
    kind, _, encoded = authorization.partition(" ")
    if kind.lower() != "basic":
        return None
    with suppress(ValueError):
        return b64decode(encoded.strip(), validate=True)
    return b""
