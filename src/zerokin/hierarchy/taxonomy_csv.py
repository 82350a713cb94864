"""Taxonomies in tables: a row per class, a column per level or one column with the whole path."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence

from zerokin.class_names import name_problem
from zerokin.errors import InvalidInput, did_you_mean, listing, shown
from zerokin.files import existing
from zerokin.hierarchy.wordnet import parse_wordnet_path
from zerokin.parameters import PATH, Text, check_arguments

Steps = tuple[str | None, ...]


def read_taxonomy_csv(
    path: str | os.PathLike[str],
    *,
    key: str = "name",
    levels: Sequence[str] | None = ("order", "family", "genus"),
) -> dict[str, Steps]:
    r"""Read the superclasses of every class from a CSV file with a header.

    Parameters
    ----------
    path
        The file, UTF-8.
    key
        Column with the class's name.
    levels
        Columns from the most general to the most specific level; an empty cell is an unknown
        level. ``None`` reads one column instead: ``path`` (``"animal > bird > finch"``, root
        first) or, where there is none, ``wordnet_path`` (``"wnid:name > …"``, class first).

    Returns
    -------
    dict
        For each class, in the file's order, its path as `ClassHierarchy.from_taxonomy` takes it.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> table = Path(tempfile.mkdtemp()) / "classes.csv"
    >>> _ = table.write_text(
    ...     "name,order,family\nlynx,Carnivora,Felidae\nmole,,Talpidae\n", encoding="utf-8"
    ... )
    >>> read_taxonomy_csv(table, levels=("order", "family"))
    {'lynx': ('Carnivora', 'Felidae'), 'mole': (None, 'Talpidae')}
    """
    check_arguments({"path": PATH, "key": Text("name")}, path=path, key=key)
    if levels is not None and not isinstance(levels, str | Sequence):
        raise InvalidInput(f"levels must be a list of column names: got {shown(levels)}")
    path = existing(path, "taxonomy", "give a CSV file with a row per class")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except (UnicodeDecodeError, csv.Error, IsADirectoryError, PermissionError) as error:
        raise InvalidInput(f"{path} is not a CSV file in UTF-8: {error}") from None
    header = [column.strip() for column in rows[0]] if rows else []
    if not header:
        raise InvalidInput(f"{path} is empty: a header and a row per class are needed")
    parse: Callable[[list[str]], Steps] = _named_levels
    if levels is None and "path" not in header and "wordnet_path" in header:
        columns, parse = ["wordnet_path"], _wordnet_path
    elif levels is None:
        columns, parse = ["path"], _root_first_path
    elif isinstance(levels, str) or not levels:
        raise InvalidInput(f"levels is {levels!r}: a list of column names is needed")
    else:
        columns = list(levels)
    at = [_column(header, name, path) for name in (key, *columns)]
    found: dict[str, Steps] = {}
    line: dict[str, int] = {}
    for number, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise InvalidInput(
                f"{path}, row {number}: {len(row)} cells, but the header has {len(header)}"
            )
        name, *cells = (row[i].strip() for i in at)
        if not name:
            raise InvalidInput(f"{path}, row {number}: column {key!r} is empty")
        wrong = name_problem(name)
        if wrong is not None:
            raise InvalidInput(f"{path}, row {number}: {wrong}")
        if name in found:
            raise InvalidInput(f"{path}, row {number}: {name!r} is also in row {line[name]}")
        line[name] = number
        try:
            found[name] = parse(cells)
        except InvalidInput as error:
            raise InvalidInput(f"{path}, row {number}: {error}") from None
    if not found:
        raise InvalidInput(f"{path} has a header but no classes: add a row per class")
    return found


def _named_levels(cells: list[str]) -> Steps:
    return tuple(cell or None for cell in cells)


def _root_first_path(cells: list[str]) -> Steps:
    return _named_levels([step.strip() for step in cells[0].split(" > ")])


def _wordnet_path(cells: list[str]) -> Steps:
    return parse_wordnet_path(cells[0])


def _column(header: Sequence[str], name: str, path: os.PathLike[str]) -> int:
    if name not in header:
        raise InvalidInput(
            f"{path} has no column {name!r}{did_you_mean(name, header)} "
            f"(columns: {listing(header, most=12)})"
        )
    return list(header).index(name)
