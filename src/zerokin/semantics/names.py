"""Class names as the data sets spell them, read as words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from zerokin.errors import InvalidInput, shown


def plain_name(name: str) -> str:
    """Drop a leading class number and read ``+``, ``_`` and runs of spaces as one space.

    Examples
    --------
    >>> plain_name("001.Black_footed_Albatross")
    'Black footed Albatross'
    >>> plain_name("black+bear")
    'black bear'
    """
    # File systems that decompose accents would otherwise never match a vocabulary.
    composed = unicodedata.normalize("NFC", name)
    unnumbered = re.sub(r"^\s*\d+\.(?=\D)", "", composed)
    return " ".join(re.split(r"[\s+_]+", unnumbered)).strip()


def name_words(name: str) -> list[str]:
    """Split a class name into words; hyphens separate too.

    Examples
    --------
    >>> name_words("temple_south_asia"), name_words("Red-winged_Blackbird")
    (['temple', 'south', 'asia'], ['Red', 'winged', 'Blackbird'])
    """
    return plain_name(name).replace("-", " ").split()


def phrase_forms(name: str) -> list[str]:
    """Give the spellings under which a vocabulary may hold the whole name, the likeliest first.

    Examples
    --------
    >>> phrase_forms("Red-winged_Blackbird")
    ['Red-winged_Blackbird', 'Red_winged_Blackbird', 'Red winged Blackbird', 'Red-winged-Blackbird']
    >>> phrase_forms("zebra")
    ['zebra']
    """
    words = name_words(name)
    forms = [plain_name(name).replace(" ", "_"), *(joint.join(words) for joint in "_ -")]
    return list(dict.fromkeys(forms))


def checked_names(names: Iterable[str]) -> list[str]:
    """Return class names as a list, or say which of them is not a name."""
    if isinstance(names, str):
        raise InvalidInput(f"names must be a list of class names, not the one text {names!r}")
    if not isinstance(names, Iterable):
        raise InvalidInput(f"names must be a list of class names: got {shown(names)}")
    listed = list(names)
    for index, name in enumerate(listed):
        if not isinstance(name, str) or not name_words(name):
            raise InvalidInput(f"class {index} has no word in its name: {name!r}")
    return listed
