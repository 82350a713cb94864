"""Names and texts of classes: which of them every file, terminal and page keeps as they are.

One check for the command line, Python, the web page and its HTTP interface, and for the tables of
classes that people write.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any, TypeVar

from zerokin.errors import InvalidInput, shown

LONGEST_NAME = 200
LONGEST_TEXT = 10_000
"""Characters; readers of CSV files, Python's among them, give up at 131,072."""
LINE_BREAK = re.compile(r"\r\n?")


def name_problem(name: str) -> str | None:
    r"""Return what is wrong with the name of a class, or None.

    Any text will do, of any script; only signs that no file and no terminal keeps are refused.

    Examples
    --------
    >>> name_problem("okapi"), name_problem("\u05d0\u05d5\u05e7\u05e4\u05d9")
    (None, None)
    >>> name_problem("oka\rpi")
    "the name 'oka\\rpi' holds a control character: leave it out"
    """
    if not name.strip():
        return f"a class needs a name: got {name!r}"
    if len(name) > LONGEST_NAME:
        return f"a name has at most {LONGEST_NAME} signs: {shown(name)} has {len(name):,}"
    if holds_control(name):
        return f"the name {name!r} holds a control character: leave it out"
    return None


def text_problem(text: str) -> str | None:
    r"""Return what is wrong with the description of a class, or None; it may have several lines.

    Examples
    --------
    >>> text_problem("a giraffe's kin,\nwith stripes")
    >>> text_problem("\x1b[31mred")
    "the text '\\x1b[31mred' holds a control character: leave it out"
    """
    if len(text) > LONGEST_TEXT:
        return f"a text has at most {LONGEST_TEXT:,} signs: {shown(text)} has {len(text):,}"
    if holds_control(text.replace("\n", "").replace("\t", "")):
        return f"the text {shown(text)} holds a control character: leave it out"
    return None


def checked_name(name: object) -> str:
    r"""Return the name of a new class, without blanks around it.

    Examples
    --------
    >>> checked_name(" okapi ")
    'okapi'
    >>> checked_name("oka\npi")
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: the name 'oka\npi' holds a control character: leave it out
    """
    if not isinstance(name, str):
        raise InvalidInput(f"a class needs a name: got {shown(name)}")
    # Blanks around it are a slip of the hand; a carriage return is a slip of some program.
    name = name.strip(" \t")
    problem = name_problem(name)
    if problem is not None:
        raise InvalidInput(problem)
    return name.strip()


Names = TypeVar("Names", bound=Iterable[Any])


def checked_names_of(names: Names) -> Names:
    """Return names of classes as they are, refusing bad ones; those that are numbers are good."""
    for name in names:
        problem = name_problem(name) if isinstance(name, str) else None
        if problem is not None:
            raise InvalidInput(problem)
    return names


def checked_text(text: object, *, of: str) -> str:
    r"""Return the description of a class with line feeds alone between its lines.

    Parameters
    ----------
    text
        The description.
    of
        The class, for messages.

    Examples
    --------
    >>> checked_text("striped legs,\r\na long neck", of="okapi")
    'striped legs,\na long neck'
    >>> checked_text("striped\0", of="okapi")
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: class 'okapi': the text 'striped\x00' holds a control ...
    """
    if not isinstance(text, str):
        raise InvalidInput(f"class {of!r}: its text must be words: got {shown(text)}")
    text = with_line_feeds(text)
    problem = text_problem(text)
    if problem is not None:
        raise InvalidInput(f"class {of!r}: {problem}")
    return text


def with_line_feeds(text: str) -> str:
    """Return a text whose lines end as they do on Linux, wherever it was written."""
    return LINE_BREAK.sub("\n", text)


def holds_control(text: str) -> bool:
    """Tell whether a text holds a sign that no file and no terminal keeps, such as NUL."""
    if text.isprintable():
        return False
    return any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text)
