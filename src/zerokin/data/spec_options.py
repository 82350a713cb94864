"""Whole-number options behind the folder of a data spec: ``imnet=DIR,train=200,test=50``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from zerokin.errors import InvalidInput, did_you_mean

OPTION = re.compile(r"(.*),([a-z_]+)=([^,=/\\]*)", re.DOTALL)


def split_options(text: str, known: Sequence[str], spec: str) -> tuple[str, dict[str, int]]:
    """Return a folder, and the options that stand behind it.

    Parameters
    ----------
    text
        What stands behind ``KIND=``.
    known
        Options of the kind. Without any, all of the text is the folder.
    spec
        The whole, for messages.

    Examples
    --------
    >>> split_options("data/imnet,train=200,seed=1", ["train", "test", "seed"], "imnet=…")
    ('data/imnet', {'train': 200, 'seed': 1})
    >>> split_options("data, mine", ["train"], "imnet=…")
    ('data, mine', {})
    """
    found: dict[str, int] = {}
    while known and (match := OPTION.fullmatch(text)):
        text, name, value = match.groups()
        if name not in known:
            hint = did_you_mean(name, known)
            raise InvalidInput(f"{spec}: unknown option {name!r}{hint} (known: {', '.join(known)})")
        if name in found:
            raise InvalidInput(f"{spec}: the option {name} is given twice: leave one out")
        if not re.fullmatch(r"[0-9]{1,9}", value) or (name != "seed" and int(value) == 0):
            least = "0" if name == "seed" else "1"
            raise InvalidInput(
                f"{spec}: {name} must be a whole number of at least {least}: got {value!r}"
            )
        found[name] = int(value)
    return text, dict(reversed(found.items()))
