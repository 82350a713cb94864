"""Small text files: comma-separated tables and lists with one entry a line."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from zerokin.errors import InvalidInput, did_you_mean, listing
from zerokin.files import existing


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
    """One row of a table: values by column, and where it stands in the file."""

    def __init__(self, number: int, values: dict[str, str]) -> None:
        super().__init__(values)
        self.number = number


def read_table(path: Path, columns: Sequence[str]) -> list[Row]:
    """Read a CSV file with a header that has at least these columns; empty rows are skipped.

    Raises
    ------
    InvalidInput
        If a column is missing, or a row has too few or too many values; the row is named.
    """
    try:
        # Not splitlines: it splits at more signs than CSV does, and loses breaks inside quotes.
        lines = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
        rows = [[value.strip() for value in line] for line in lines]
    except csv.Error as error:
        raise InvalidInput(f"{path} is not a comma-separated table: {error}") from error
    filled = [(number, row) for number, row in enumerate(rows, start=1) if any(row)]
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
    for number, row in filled[1:]:
        if len(row) != len(header):
            raise InvalidInput(
                f"{path}, row {number}: {len(row)} values, but the header has {len(header)} columns"
            )
    return [Row(number, dict(zip(header, row, strict=True))) for number, row in filled[1:]]
