"""How the name of a class is shown on the page."""

from __future__ import annotations

from html import escape


def as_html(name: str) -> str:
    """Return a name as HTML that shows it as it is, whatever it holds and whichever way it runs.

    Examples
    --------
    >>> as_html("<b>okapi</b>")
    '<bdi>&lt;b&gt;okapi&lt;/b&gt;</bdi>'
    """
    return f"<bdi>{escape(name)}</bdi>"
