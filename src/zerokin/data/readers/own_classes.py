"""``classes.csv`` of a user's own data: the classes, their roles and what is known of them."""

from __future__ import annotations

import re
from collections import Counter
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerokin.class_names import name_problem, text_problem, with_line_feeds
from zerokin.data.classes import ClassTable
from zerokin.data.readers.split_files import TAXONOMY_LEVELS
from zerokin.data.readers.tables import Row, read_own_table
from zerokin.errors import listing, shown

OWN_COLUMNS = ("name", "role", "description", *TAXONOMY_LEVELS)
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")


class OwnClasses:
    """The rows of ``classes.csv``; ``problems`` collects everything that is wrong with them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        table = read_own_table(path, ["name", "role"])
        self.rows, self.separator = table.rows, table.separator
        self.problems: list[str] = []
        self.names = tuple(row["name"] for row in self.rows)
        self.positions = {name: position for position, name in enumerate(self.names)}
        self.attributes = [column for column in self._columns() if column not in OWN_COLUMNS]
        self.roles = [row["role"].lower() for row in self.rows]
        self.unseen = np.array([role == "unseen" for role in self.roles], dtype=bool)
        self._check_names()
        self.vectors = self._numbers() if self.attributes else None
        self.descriptions = self._descriptions()

    def _columns(self) -> list[str]:
        return list(self.rows[0]) if self.rows else []

    def _check_names(self) -> None:
        if not self.rows:
            self.problems.append(f"{self.path} lists no class: add a row per class")
        elif not self.attributes and "description" not in self._columns():
            self.problems.append(
                f"{self.path} has neither attribute columns nor a description column: classes "
                "need one of them"
            )
        for row, role in zip(self.rows, self.roles, strict=True):
            wrong = name_problem(row["name"])
            if not row["name"]:
                self.problems.append(f"{self.path}, row {row.number}: the class has no name")
            elif wrong is not None:
                self.problems.append(f"{self.path}, row {row.number}: {wrong}")
            if not row.fits:
                self.problems.append(
                    f"{self._place(row)}: {len(row.cells)} values, but the header has {len(row)} "
                    f"columns{self._decimal_hint(row)}"
                )
            elif role not in ("seen", "unseen"):
                self.problems.append(
                    f"{self._place(row)}: role {row['role']!r} is neither seen nor unseen"
                )
        named = list(zip(self.names, self.roles, strict=True))
        unseen = {name for name, role in named if role == "unseen"}
        seen = {name for name, role in named if role == "seen"}
        for name, count in Counter(self.names).items():
            if name in seen & unseen:
                self.problems.append(f"{self.path}: {name!r} is both seen and unseen: keep one row")
            elif count > 1:
                self.problems.append(f"{self.path} lists {name!r} {count} times: keep one row")

    def _place(self, row: Row) -> str:
        return f"{self.path}, row {row.number} ({row['name']})"

    def _decimal_hint(self, row: Row) -> str:
        """Ask about decimal commas where there are more whole numbers than attributes."""
        beyond = len(row.cells) - len(row)
        whole = [cell for cell in row.cells if re.fullmatch(r"[+-]?\d+", cell)]
        if self.separator != "," or beyond < 1 or "" in row.cells or len(whole) < 2 * beyond:
            return ""
        return " (is 0,1 meant as one number? use a decimal point: 0.1)"

    def _numbers(self) -> NDArray[np.float64]:
        vectors = np.zeros((len(self.rows), len(self.attributes)))
        blank = []
        for position, row in enumerate(self.rows):
            if not row.fits:
                continue
            texts = [row[attribute] for attribute in self.attributes]
            vectors[position] = [self._number(text) for text in texts]
            wrong = list(compress(self.attributes, ~np.isfinite(vectors[position])))
            if not any(texts):
                blank.append(row["name"] or f"row {row.number}")
            elif wrong:
                self.problems.append(f"{self._place(row)}: {_no_numbers(wrong, row)}")
        if blank:
            count = len(self.attributes)
            self.problems.append(
                f"{self.path}: no values yet for {listing(blank)}: fill in {count} "
                f"attribute{'s' if count > 1 else ''}"
            )
        return vectors

    def _number(self, text: str) -> float:
        """Return a cell's number, NaN where it is none; only a comma table has no decimal comma."""
        if self.separator != "," and "." not in text:
            text = text.replace(",", ".")
        try:
            return float(text)
        except ValueError:
            return float("nan")

    def _descriptions(self) -> tuple[str, ...] | None:
        if "description" not in self._columns():
            return None
        texts = tuple(with_line_feeds(row["description"]) for row in self.rows)
        for row, text in zip(self.rows, texts, strict=True):
            wrong = text_problem(text)
            if wrong is not None:
                self.problems.append(f"{self._place(row)}: {wrong}")
        absent = [row["name"] for row in self.rows if row.fits and not row["description"]]
        if absent and not self.attributes:
            self.problems.append(f"{self.path} has no description for {listing(absent)}")
        return None if absent else texts

    def classes(self) -> ClassTable:
        """Return the class table."""
        levels = [level for level in TAXONOMY_LEVELS if level in self._columns()]
        return ClassTable(
            names=self.names,
            vectors=self.vectors,
            semantics_source="none" if self.vectors is None else "attributes",
            attribute_names=tuple(self.attributes) if self.attributes else None,
            descriptions=self.descriptions,
            taxonomy=tuple(tuple(row[level] for level in levels) for row in self.rows)
            if levels
            else None,
            taxonomy_ranks=tuple(levels) or None,
        )


def _no_numbers(attributes: list[str], row: Row) -> str:
    cells = {name: shown(row[name]) if row[name] else "empty" for name in attributes}
    comma = next((row[name] for name in attributes if DECIMAL_COMMA.fullmatch(row[name])), "")
    hint = f": use a decimal point: {comma.replace(',', '.')}" if comma else ""
    listed = listing(f"{name!r} is {cell}" for name, cell in cells.items())
    if len(cells) == 1:
        return f"attribute {listed}, not a number{hint}"
    return f"attributes that are no numbers: {listed}{hint}"
