"""``classes.csv`` of a user's own data: the classes, their roles and what is known of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerokin.data.classes import ClassTable
from zerokin.data.readers.split_files import TAXONOMY_LEVELS
from zerokin.data.readers.tables import read_table
from zerokin.errors import listing

OWN_COLUMNS = ("name", "role", "description", *TAXONOMY_LEVELS)


class OwnClasses:
    """The rows of ``classes.csv``; ``problems`` collects everything that is wrong with them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = read_table(path, ["name", "role"])
        self.problems: list[str] = []
        self.names = tuple(row["name"] for row in self.rows)
        self.positions = {name: position for position, name in enumerate(self.names)}
        self.attributes = [column for column in self._columns() if column not in OWN_COLUMNS]
        self.unseen = np.array([row["role"].lower() == "unseen" for row in self.rows], dtype=bool)
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
        for row in self.rows:
            if not row["name"]:
                self.problems.append(f"{self.path}, row {row.number}: the class has no name")
            if row["role"].lower() not in ("seen", "unseen"):
                self.problems.append(
                    f"{self.path}, row {row.number} ({row['name']}): role {row['role']!r} is "
                    "neither seen nor unseen"
                )
        unseen = {row["name"] for row in self.rows if row["role"].lower() == "unseen"}
        seen = {row["name"] for row in self.rows if row["role"].lower() == "seen"}
        for name, count in Counter(self.names).items():
            if name in seen & unseen:
                self.problems.append(f"{self.path}: {name!r} is both seen and unseen: keep one row")
            elif count > 1:
                self.problems.append(f"{self.path} lists {name!r} {count} times: keep one row")

    def _numbers(self) -> NDArray[np.float64]:
        vectors = np.zeros((len(self.rows), len(self.attributes)))
        for position, row in enumerate(self.rows):
            for column, attribute in enumerate(self.attributes):
                try:
                    vectors[position, column] = float(row[attribute])
                except ValueError:
                    vectors[position, column] = np.nan
                if not np.isfinite(vectors[position, column]):
                    value = repr(row[attribute]) if row[attribute] else "empty"
                    self.problems.append(
                        f"{self.path}, row {row.number} ({row['name']}): attribute "
                        f"{attribute!r} is {value}, not a number"
                    )
        return vectors

    def _descriptions(self) -> tuple[str, ...] | None:
        if "description" not in self._columns():
            return None
        texts = tuple(row["description"] for row in self.rows)
        absent = [name for name, text in zip(self.names, texts, strict=True) if not text]
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
        )
