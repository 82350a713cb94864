"""``unseen.txt``: which classes of a data set without a split of its own are unseen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from zerokin.data.readers.tables import read_lines
from zerokin.data.splits import ClassMask
from zerokin.errors import InvalidInput, MissingFile, did_you_mean

UNSEEN = "unseen.txt"


def unseen_by_file(folder: Path, names: Sequence[str]) -> ClassMask:
    """Return the mask of the classes that ``unseen.txt`` lists, one in a line."""
    path = folder / UNSEEN
    if not path.exists():
        raise MissingFile(
            f"no {UNSEEN} in {folder}: list the unseen classes there, one in a line "
            f"(classes: {', '.join(names[:5])}, …)"
        )
    listed = read_lines(path)
    for name in listed:
        if name not in names:
            raise InvalidInput(f"{path}: {name!r} is no class{did_you_mean(name, names)}")
    if not listed:
        raise InvalidInput(f"{path} is empty: list the unseen classes, one in a line")
    return np.isin(names, listed)
