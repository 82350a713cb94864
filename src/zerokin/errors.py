"""What a user can get wrong, each said in one line together with what would mend it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class ZerokinError(Exception):
    """Base of every error that a user can cause."""


class InvalidInput(ZerokinError, ValueError):
    """A file, row or argument holds something that cannot be used."""


class MissingFile(ZerokinError, FileNotFoundError):
    """A file or folder that is needed is not there."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class MissingExtra(ZerokinError, ImportError):
    """A part of zerokin needs an optional dependency that is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs an optional part: pip install 'zerokin[{extra}]'")


class UnseenLabels(InvalidInput):
    """Something that fits asked for labels of unseen classes."""


class ZerokinWarning(UserWarning):
    """Something that works but that the user should know."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known spelling, or nothing.

    Examples
    --------
    >>> did_you_mean("crittres", ["critters", "cub"])
    "; did you mean 'critters'?"
    >>> did_you_mean("zzz", ["critters", "cub"])
    ''
    """
    lowered = {name.lower(): name for name in known}
    nearest = get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return f"; did you mean {lowered[nearest[0]]!r}?" if nearest else ""


def listing(items: Iterable[object], *, most: int = 5) -> str:
    """Join items for a message, the first few named and the rest counted.

    Examples
    --------
    >>> listing(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    words = [str(item) for item in items]
    if len(words) <= most:
        return ", ".join(words)
    return f"{', '.join(words[:most])} and {len(words) - most:,} more"
