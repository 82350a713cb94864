"""Word vectors of ImageNet classes, kept by WordNet identifier (wnid) in a file beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, listing
from zerokin.semantics.tables import vector_table

WNID = re.compile(r"n\d{8}")
VECTOR_FILES = ("word_vectors.csv", "word_vectors.txt")
MOST_NAMED = 20


def find_vectors(folder: Path) -> Path | None:
    """Return the folder's file of word vectors, if it has one."""
    return next((folder / name for name in VECTOR_FILES if (folder / name).exists()), None)


def vectors_by_wnid(path: Path, wnids: Sequence[str]) -> NDArray[np.float64]:
    """Return the (C, d_z) vectors of the classes, naming all that the file lacks at once."""
    keys, vectors = vector_table(path, key="wnid")
    rows = {key: row for row, key in enumerate(keys)}
    absent = [wnid for wnid in wnids if wnid not in rows]
    if absent:
        raise InvalidInput(
            f"{path} lacks the vectors of {len(absent):,} of {len(wnids):,} classes: "
            f"add {listing(absent, most=MOST_NAMED)}"
        )
    return vectors[[rows[wnid] for wnid in wnids]]
