"""Small text files: comma-separated tables and lists with one entry a line."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from zerokin.errors import InvalidInput, did_you_mean, listing
from zerokin.files import existing

SEPARATORS = {",": "comma-separated", ";": "semicolon-separated", "\t": "tab-separated"}


def read_text(path: Path) -> str:
    """Read a UTF-8 text file, with or without a byte order mark."""
    existing(path, "file", "check the folder")
    try:
        # Decoded from bytes: reading as text would turn every carriage return into a line feed.
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text: save it as UTF-8") from error
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from error


def read_lines(path: Path) -> list[str]:
    """Read the lines of a text file that are not empty, without space around them."""
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


def read_numbered(path: Path) -> list[str]:
    """Read the entries of a file whose lines are ``number entry``, in file order."""
    return [line.split(maxsplit=1)[-1] for line in read_lines(path)]


class Row(dict[str, str]):
    """One row of a table: values by column, where it stands in the file, and what it holds there.

    A row of another length than the header has its first values, or empty ones for those missing.
    """

    def __init__(
        self, number: int, values: Mapping[str, str], cells: Sequence[str] | None = None
    ) -> None:
        super().__init__(values)
        self.number = number
        self.cells = tuple(values.values() if cells is None else cells)

    @property
    def fits(self) -> bool:
        """Whether the row has a value for every column and none besides."""
        return len(self.cells) == len(self)


@dataclass(frozen=True)
class OwnTable:
    """A table that somebody wrote: its rows, fitting or not, and what separates their values."""

    rows: list[Row]
    separator: str


def read_table(path: Path, columns: Sequence[str]) -> list[Row]:
    """Read a CSV file with a header that has at least these columns; empty rows are skipped.

    Raises
    ------
    InvalidInput
        If a column is missing, or a row has too few or too many values; the row is named.
    """
    rows = _rows(path, read_text(path), columns, ",")
    for row in rows:
        if not row.fits:
            raise InvalidInput(
                f"{path}, row {row.number}: {len(row.cells)} values, but the header has "
                f"{len(row)} columns"
            )
    return rows


def read_own_table(path: Path, columns: Sequence[str]) -> OwnTable:
    """Read a table as a spreadsheet saves it, separated by commas, semicolons or tabs.

    Rows of another length than the header are left to the caller, who can name them all at once.
    """
    text = read_text(path)
    separator = _separator(text, columns)
    return OwnTable(_rows(path, text, columns, separator), separator)


def _separator(text: str, columns: Sequence[str]) -> str:
    """Return what separates the header: the sign that yields the wanted columns, or the most."""

    def yielded(separator: str) -> tuple[int, int]:
        try:
            header = next((cells for cells in _cells(text, separator) if any(cells)), [])
        except csv.Error:
            return (0, 0)
        return sum(column in header for column in columns), len(header)

    return max(SEPARATORS, key=yielded)


def _cells(text: str, separator: str) -> Iterator[list[str]]:
    # Not splitlines: it splits at more signs than CSV does, and loses breaks inside quotes.
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    return ([value.strip() for value in line] for line in lines)


def _rows(path: Path, text: str, columns: Sequence[str], separator: str) -> list[Row]:
    try:
        numbered = enumerate(_cells(text, separator), start=1)
        filled = [(number, cells) for number, cells in numbered if any(cells)]
    except csv.Error as error:
        raise InvalidInput(f"{path} is not a {SEPARATORS[separator]} table: {error}") from error
    if not filled:
        raise InvalidInput(f"{path} is empty: it needs the columns {listing(columns)}")
    header = filled[0][1]
    for column in columns:
        if column not in header:
            raise InvalidInput(
                f"{path} has no column {column!r}{did_you_mean(column, header)} "
                f"(its columns are {listing(header)})"
            )
    twice = sorted(name for name, count in Counter(header).items() if count > 1)
    if twice:
        raise InvalidInput(f"{path} has the column {listing(twice)} more than once")
    return [
        Row(number, dict(zip_longest(header, cells[: len(header)], fillvalue="")), cells)
        for number, cells in filled[1:]
    ]
