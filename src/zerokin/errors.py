"""What a user can get wrong, each said in one line together with what would mend it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from reprlib import Repr

LONGEST_MESSAGE = 2000
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80
_SHORT.maxlevel = 3


class ZerokinError(Exception):
    r"""Base of every error that a user can cause; its message is one line, whatever it quotes.

    Examples
    --------
    >>> print(InvalidInput("unknown class two\nlines"))
    unknown class two\nlines
    """

    def __str__(self) -> str:
        text = super().__str__()
        if len(text) > LONGEST_MESSAGE:
            text = f"{text[: LONGEST_MESSAGE - 300]} … {text[-300:]}"
        return "".join(sign if sign.isprintable() else _escaped(sign) for sign in text)


class InvalidInput(ZerokinError, ValueError):
    """A file, row or argument holds something that cannot be used."""


class MissingFile(ZerokinError, FileNotFoundError):
    """A file or folder that is needed is not there."""


class MissingExtra(ZerokinError, ImportError):
    """A part of zerokin needs an optional dependency that is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs an optional part: pip install 'zerokin[{extra}]'")


class UnseenLabels(InvalidInput):
    """Something that fits asked for labels of unseen classes."""


class ZerokinWarning(UserWarning):
    """Something that works but that the user should know."""


def did_you_mean(word: object, known: Iterable[str], *, nearness: float = 0.6) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known spelling, or nothing.

    ``nearness`` is how alike the two must be: 1 is the same word in capitals or small letters.

    Examples
    --------
    >>> did_you_mean("crittres", ["critters", "cub"])
    "; did you mean 'critters'?"
    >>> did_you_mean("zzz", ["critters", "cub"])
    ''
    """
    if not isinstance(word, str) or len(word) > 100:
        return ""
    lowered = {name.lower(): name for name in known}
    nearest = get_close_matches(word.lower(), lowered, n=1, cutoff=nearness)
    return f"; did you mean {lowered[nearest[0]]!r}?" if nearest else ""


def shown(value: object) -> str:
    r"""Return a value for a message, on one line that stays short whatever the value is.

    Examples
    --------
    >>> print(shown("two\nlines"), shown([1] * 1000))
    'two\nlines' [1, 1, 1, 1, 1, 1, ...]
    >>> len(shown("long " * 1000))
    80
    """
    try:
        text = _SHORT.repr(value)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 200 else f"{text[:200]}…"


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


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode()
