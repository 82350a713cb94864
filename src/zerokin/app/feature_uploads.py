"""Features that a visitor sent: the rows of a NumPy file, or one row as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.app.refusals import TooLarge
from zerokin.app.request_models import FeatureRow
from zerokin.data.array_features import ArrayFeatures
from zerokin.declared import parse_as
from zerokin.errors import InvalidInput, ZerokinError

NUMBER_BYTES = 40  # of JSON for each feature, and for what stands around them all
FIELD = "features"


def uploaded_features(path: Path) -> ArrayFeatures:
    """Open an uploaded NumPy file (n, d_f), mapped into memory: none of it is read or executed."""
    try:
        found = ArrayFeatures(path)
    except ZerokinError as error:
        # Where uploads lie is nobody's business.
        raise InvalidInput(str(error).replace(str(path), path.name)) from error
    if not len(found):
        raise InvalidInput(f"{path.name} holds no rows: save one for each sample")
    return found


def uploaded_row(path: Path, number: int) -> NDArray[Any]:
    """Return one row (d_f,) of an uploaded NumPy file, counted from 1."""
    rows = uploaded_features(path)
    if not 1 <= number <= len(rows):
        raise InvalidInput(f"{path.name} has rows 1 to {len(rows):,}: there is no {number}")
    return np.asarray(rows.open()[number - 1])


def sent_row(content: bytes, width: int) -> list[float]:
    """Return the numbers of a JSON object such as ``{"features": [0.1, 2]}``, as many as it holds.

    What is longer than ``width`` numbers need is refused before it is parsed.

    Examples
    --------
    >>> sent_row(b'{"features": [0.1, 2]}', 2)
    [0.1, 2]
    >>> sent_row(b"[0.1, 2]", 2)
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: this model takes features: send {"features": [...]} with 2 ...
    """
    if len(content) > NUMBER_BYTES * (width + 1):
        raise TooLarge(f"{len(content):,} bytes are too many for a row of {width:,} features")
    try:
        return parse_as(FeatureRow, json.loads(content)).features
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f'this model takes features: send {{"{FIELD}": [...]}} with {width:,} numbers ({error})'
        ) from error
