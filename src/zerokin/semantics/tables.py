"""Small tables of class vectors: CSV or text in columns, one class a line."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, did_you_mean, listing, shown
from zerokin.files import existing, replacing
from zerokin.matrices import finite_matrix
from zerokin.parameters import PATH, Text, check_arguments

MOST_NAMED = 20
KEY = Text("name")


def vector_table(
    path: str | os.PathLike[str], *, key: str = "wnid"
) -> tuple[list[str], NDArray[np.float64]]:
    r"""Read a table with a class key and its numbers on every line.

    A table whose first line has a comma is CSV, with a header that names the key's column. Any
    other is text in columns between blanks or tabs, with such a header or with none (then the key
    comes first). All columns but the key's are the vector.

    Parameters
    ----------
    path
        The table.
    key
        Name of the column that holds the class keys.

    Returns
    -------
    keys : C keys
        In the order of the lines.
    vectors : (C, d_z) float64
        Their vectors, raw as read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "vectors.csv"
    >>> _ = path.write_text(
    ...     "wnid,d0,d1\nn01532829,0.5,2\nn01558993,1,-3\n", encoding="utf-8"
    ... )
    >>> keys, vectors = vector_table(path)
    >>> keys, vectors.tolist()
    (['n01532829', 'n01558993'], [[0.5, 2.0], [1.0, -3.0]])
    """
    check_arguments({"path": PATH, "key": KEY}, path=path, key=key)
    path = existing(path, "table of class vectors", "give a CSV or text table, one class a line")
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder: give the table of class vectors inside")
    is_csv, rows = _read(path)
    if not rows:
        raise InvalidInput(f"{path} is empty: no class vectors in it")
    top, headings = rows[0]
    width = len(headings)
    if width < 2:
        raise InvalidInput(f"{path}, line {top}: a key and at least one number are needed")
    column, has_header = _key_column(path, headings, key=key, is_csv=is_csv)

    keys: dict[str, int] = {}
    vectors: list[list[float]] = []
    for line, fields in rows[1:] if has_header else rows:
        if len(fields) != width:
            raise InvalidInput(
                f"{path}, line {line}: {len(fields)} columns where line {top} has {width}"
            )
        name = fields.pop(column).strip()
        if not name:
            raise InvalidInput(f"{path}, line {line}: no {key}")
        if name in keys:
            raise InvalidInput(f"{path}, line {line}: {name!r} is already on line {keys[name]}")
        keys[name] = line
        vectors.append([_number(field, path, line, name) for field in fields])
    if not keys:
        raise InvalidInput(f"{path} has a header and no class vectors")
    return list(keys), np.array(vectors)


def vectors_of_classes(
    path: str | os.PathLike[str], classes: Sequence[str], *, key: str
) -> NDArray[np.float64]:
    """Return the (C, d_z) vectors of some classes, naming all that the table lacks at once."""
    keys, vectors = vector_table(path, key=key)
    rows = {name: row for row, name in enumerate(keys)}
    absent = [name for name in classes if name not in rows]
    if absent:
        raise InvalidInput(
            f"{path} lacks the vectors of {len(absent):,} of {len(classes):,} classes: "
            f"add {listing(absent, most=MOST_NAMED)}"
        )
    return vectors[[rows[name] for name in classes]]


def write_vector_table(
    path: str | os.PathLike[str],
    keys: Sequence[str],
    vectors: NDArray[np.float64],
    *,
    key: str = "name",
) -> None:
    """Write a CSV table that `vector_table` reads, every number exactly.

    Parameters
    ----------
    path
        The table.
    keys : C keys
        Of the classes.
    vectors : (C, d_z)
        Their vectors.
    key
        Heading of the keys; columns of the vector are numbered.
    """
    check_arguments({"path": PATH, "key": KEY}, path=path, key=key)
    listed, matrix = class_keys(keys), finite_matrix(vectors, "vectors")
    if len(listed) != len(matrix):
        raise InvalidInput(f"{len(matrix):,} vectors for {len(listed):,} keys")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([key, *range(1, matrix.shape[1] + 1)])
    for name, vector in zip(listed, matrix.tolist(), strict=True):
        writer.writerow([name, *vector])
    with replacing(Path(path)) as temporary:
        temporary.write_text(text.getvalue(), encoding="utf-8")


def class_keys(keys: Sequence[str]) -> list[str]:
    """Return the keys of classes, refusing what a table could not tell apart."""
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        raise InvalidInput(f"keys must be a list of texts: got {shown(keys)}")
    listed = list(keys)
    strange = [key for key in listed if not isinstance(key, str) or not key.strip()]
    if strange:
        raise InvalidInput(f"every key must be a text: got {shown(strange[0])}")
    if len(set(listed)) < len(listed):
        raise InvalidInput("keys must differ: one stands there twice")
    return listed


def _read(path: Path) -> tuple[bool, list[tuple[int, list[str]]]]:
    """Return whether a table is CSV, and the number and fields of every filled line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        if "," in text.lstrip().partition("\n")[0]:
            reader = csv.reader(io.StringIO(text), strict=True)
            return True, [(reader.line_num, row) for row in reader if "".join(row).strip()]
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text: give a CSV or text table") from error
    except csv.Error as error:
        raise InvalidInput(f"{path}, line {reader.line_num}: not CSV: {error}") from error
    numbered = enumerate(text.split("\n"), start=1)
    return False, [(line, row.split()) for line, row in numbered if row.strip()]


def _key_column(path: Path, first: list[str], *, key: str, is_csv: bool) -> tuple[int, bool]:
    """Find the key's column, and whether the first line is a header."""
    headings = [heading.strip() for heading in first]
    if key in headings:
        return headings.index(key), True
    if is_csv or not all(map(_is_number, headings[1:])):
        raise InvalidInput(
            f"{path}, line 1: no column {key!r}{did_you_mean(key, headings[:1])}; "
            f"name the key's column with key= (the first is {headings[0]!r})"
        )
    return 0, False


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field


def _number(field: str, path: Path, line: int, name: str) -> float:
    if not _is_number(field) or not math.isfinite(float(field)):
        raise InvalidInput(
            f"{path}, line {line} ({name}): {field.strip()!r} is not a finite number"
        )
    return float(field)
