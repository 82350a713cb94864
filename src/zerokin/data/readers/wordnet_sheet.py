"""Readable class names and WordNet paths from the rows of a table of ImageNet classes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from zerokin.data.classes import TaxonomyPath
from zerokin.data.readers.tables import Row
from zerokin.errors import InvalidInput
from zerokin.semantics.wordnet_nouns import WNID


def unique_names(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the classes' names, those that several classes share with their wnid.

    Examples
    --------
    >>> rows = [{"wnid": "n02012849", "name": "crane"}, {"wnid": "n03126707", "name": "crane"}]
    >>> unique_names([Row(number, row) for number, row in enumerate(rows)])
    ('crane (n02012849)', 'crane (n03126707)')
    """
    count = Counter(row["name"] for row in rows)
    return tuple(
        row["name"] if count[row["name"]] == 1 else f"{row['name']} ({row['wnid']})" for row in rows
    )


def taxonomy_of(rows: Sequence[Row], path: Path) -> tuple[TaxonomyPath, ...] | None:
    """Return each class's superclasses from the root down, if the rows have ``wordnet_path``.

    A path is written from the class up: ``wnid:name > wnid:name > …``. A superclass whose name
    another one bears too is ``name#wnid``.
    """
    if "wordnet_path" not in rows[0]:
        return None
    steps = [_superclasses(row, path) for row in rows]
    bearers = defaultdict(set)
    for wnid, name in {step for above in steps for step in above}:
        bearers[name].add(wnid)
    return tuple(
        tuple(name if len(bearers[name]) == 1 else f"{name}#{wnid}" for wnid, name in above)
        for above in steps
    )


def _superclasses(row: Row, path: Path) -> list[tuple[str, str]]:
    """Return (wnid, name) of every superclass of a row's class, the root first."""
    steps = []
    for step in row["wordnet_path"].split(" > "):
        wnid, _, name = step.partition(":")
        if not WNID.fullmatch(wnid) or not name:
            raise InvalidInput(f"{path}, row {row.number}: {step!r} is not 'wnid:name' in its path")
        steps.append((wnid, name))
    if steps[0][0] != row["wnid"]:
        raise InvalidInput(
            f"{path}, row {row.number}: the path of {row['wnid']} begins with {steps[0][0]}"
        )
    return steps[:0:-1]
