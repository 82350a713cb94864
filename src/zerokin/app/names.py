"""Names of classes that a visitor may give, and how any name is shown."""

from __future__ import annotations

import unicodedata
from html import escape

from zerokin.errors import InvalidInput

LONGEST_NAME = 200


def checked_name(name: object) -> str:
    r"""Return the name of a new class, without blanks around it.

    Any text will do, of any script; only signs that no file and no terminal keeps are refused.

    Examples
    --------
    >>> checked_name(" okapi ")
    'okapi'
    >>> checked_name("oka\npi")
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: the name 'oka\npi' holds a control character: leave it out
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"a class needs a name: got {name!r}")
    name = name.strip()
    if len(name) > LONGEST_NAME:
        raise InvalidInput(f"a name has at most {LONGEST_NAME} signs: got {len(name)}")
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in name):
        raise InvalidInput(f"the name {name!r} holds a control character: leave it out")
    return name


def as_html(name: str) -> str:
    """Return a name as HTML that shows it as it is, whatever it holds and whichever way it runs.

    Examples
    --------
    >>> as_html("<b>okapi</b>")
    '<bdi>&lt;b&gt;okapi&lt;/b&gt;</bdi>'
    """
    return f"<bdi>{escape(name)}</bdi>"
