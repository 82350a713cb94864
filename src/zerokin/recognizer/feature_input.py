"""Rows of features as a user gives them, a batch at a time, for a recognizer without a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.data.feature_files import FeatureFile
from zerokin.errors import InvalidInput
from zerokin.matrices import real_array
from zerokin.recognizer.image_answer import UnreadableImage

FeatureInput = ArrayLike | FeatureFile


def feature_batches(
    given: FeatureInput, width: int, *, batch_size: int
) -> Iterator[list[tuple[str, NDArray[Any] | UnreadableImage]]]:
    """Yield batches of named rows (d_f,), each as floats or as why it cannot be used.

    A `FeatureFile` may name its rows; those of an array (n, d_f) are called by their number.

    Examples
    --------
    >>> for name, row in next(feature_batches([[1, 2], [3, float("inf")]], 2, batch_size=8)):
    ...     print(name, row)
    1 [1. 2.]
    2 UnreadableImage(image='2', error='sample 2 holds NaN or infinity: drop or fill it')
    """
    wanted = f"features (n, {width}), since this recognizer has no network to read images with"
    names: Sequence[str] | None = None
    if isinstance(given, FeatureFile):
        rows: Any = given.open()
        names = given.names
    else:
        rows = real_array(given, "samples", wanted)
        rows = rows[None] if rows.ndim == 1 else rows
    if rows.ndim != 2:
        raise InvalidInput(f"samples must be {wanted}: got shape {rows.shape}")
    if rows.shape[1] != width:
        raise InvalidInput(
            f"samples have {rows.shape[1]:,} features, but this recognizer takes {width:,}: give "
            "features that were read as those it was fitted on"
        )
    for start in range(0, len(rows), batch_size):
        block = real_array(rows[start : start + batch_size], "samples")
        block = block if block.dtype.kind == "f" else block.astype(np.float64)
        finite = np.isfinite(block).all(axis=1)
        batch: list[tuple[str, NDArray[Any] | UnreadableImage]] = []
        for row, number in enumerate(range(start, start + len(block))):
            name = names[number] if names else str(number + 1)
            line = f"sample {name} holds NaN or infinity: drop or fill it"
            batch.append((name, block[row] if finite[row] else UnreadableImage(name, line)))
        yield batch
