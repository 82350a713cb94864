"""Answers about images as lines of CSV: on the command line and from the web page alike."""

from __future__ import annotations

import csv
import io
from typing import Any

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def csv_heading(k: int) -> str:
    """Return the first line of the CSV form."""
    ranks = [f"{what}_{n + 1}" for n in range(k) for what in ("class", "probability", "score")]
    return csv_line(["image", "answer", "none_of_these", *ranks, "error"])


def csv_row(answer: Any, k: int) -> str:
    """Return an answer as a line of CSV."""
    if not hasattr(answer, "ranked"):
        return csv_line([answer.image, *[""] * (2 + 3 * k), answer.error])
    cells: list[object] = []
    for n in range(k):
        one = answer.ranked[n] if n < len(answer.ranked) else None
        if one is None:
            cells += ["", "", ""]
        else:
            cells += [one.name, "" if one.probability is None else one.probability, one.score]
    none_of_these = str(answer.out_of_distribution).lower()
    return csv_line([answer.image, answer.name, none_of_these, *cells, ""])


def tidy_heading() -> str:
    """Return the first line of the tidy form: a row for every node of every level of an answer."""
    told = ["level", "level_name", "rank", "name", "probability", "score", "is_answer"]
    return csv_line(["image", *told, "none_of_these", "error"])


def tidy_rows(answer: Any, k: int = 0) -> str:
    """Return an answer as lines of the tidy form, from the top level down, best nodes first."""
    del k  # an answer holds no more nodes of a level
    if not hasattr(answer, "levels"):
        return csv_line([answer.image, *[""] * 8, answer.error])
    none_of_these = str(answer.out_of_distribution).lower()
    selective = answer.selective
    asked = answer.level if selective is None else selective.layer
    lines, named = [], False
    for level in answer.levels:
        for rank, node in enumerate(level.ranked, start=1):
            is_answer = level.layer == asked and node.name == answer.name
            named |= is_answer
            told = [level.layer, level.rank or "", rank, node.name]
            numbers = ["" if node.probability is None else node.probability, node.score]
            flags = [str(is_answer).lower(), none_of_these]
            lines.append(csv_line([answer.image, *told, *numbers, *flags, ""]))
    if selective is not None and not named:
        # Anything, none of these, or a node beyond the k that are listed.
        sure = "" if selective.probability is None else selective.probability
        told = ["" if asked is None else asked, "", "", answer.name, sure, ""]
        lines.append(csv_line([answer.image, *told, "true", none_of_these, ""]))
    return "".join(lines)


def csv_line(cells: list[Any]) -> str:
    r"""Return cells as a line of CSV; no text in it is a formula to a spreadsheet.

    Whoever names a file or a class could otherwise have it compute or fetch something.

    Examples
    --------
    >>> csv_line(["=1+1.jpg", "okapi", -0.5])
    "'=1+1.jpg,okapi,-0.5\n"
    """
    plain = [
        f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_SIGNS) else cell
        for cell in cells
    ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(plain)
    return text.getvalue()
