"""Features and labels as a user gives them, checked by scikit-learn and refused in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.matrices import plain_array, refuse_too_large
from zerokin.projection.arrays import row_blocks
from zerokin.projection.rows import FeatureRows


def training_samples(
    estimator: Any, X: Any, y: Any, *, by_blocks: bool = False
) -> tuple[Any, NDArray[Any]]:
    """Return features (N, d_f) and labels (N,) to fit on; the estimator keeps their width.

    With ``by_blocks`` features stay where they are, and are read a block of rows at a time.
    """
    from sklearn.utils.multiclass import check_classification_targets

    if by_blocks:
        return _rows_of_samples(estimator, X), _labels_of(X, y)
    features, labels = _validated(estimator, X, y)
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise InvalidInput(f"y: {_one_line(error)}") from error
    features = refuse_too_large(refuse_not_finite(features, "X"), "X")
    if len(features) > 1 and (features[0] == features[1]).all() and (features == features[0]).all():
        # Centering would leave nothing but rounding, and unit length would make that large.
        raise InvalidInput(f"X: all {len(features):,} samples are equal: nothing tells them apart")
    return features, labels


def _rows_of_samples(estimator: Any, X: Any) -> FeatureRows:
    if isinstance(X, FeatureRows):
        rows = X
    else:
        rows = FeatureRows(X if hasattr(X, "shape") else plain_array(X, "X")).check("X")
    first = rows[:1]
    if len(rows) > 1 and all((rows[part] == first).all() for part in row_blocks(len(rows))):
        raise InvalidInput(f"X: all {len(rows):,} samples are equal: nothing tells them apart")
    estimator.n_features_in_ = rows.shape[1]
    return rows


def _labels_of(X: Any, y: Any) -> NDArray[Any]:
    from sklearn.utils.multiclass import check_classification_targets

    labels = plain_array(y, "y")
    if labels.shape != (len(X),):
        raise InvalidInput(f"y must hold a class for each of {len(X):,} samples: {labels.shape}")
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise InvalidInput(f"y: {_one_line(error)}") from error
    return labels


def new_samples(estimator: Any, X: Any) -> NDArray[Any]:
    """Return features (n, d_f) of the width that the estimator was fitted on.

    Examples
    --------
    >>> from zerokin.classifiers import ZeroShotClassifier
    >>> model = ZeroShotClassifier().fit(np.eye(4), [0, 0, 1, 1])
    >>> model.predict([[1.0, 2.0, 3.0]])
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: X has 3 features, but ZeroShotClassifier is expecting 4 features
    as input: give features that were read as those it was fitted on
    """
    return refuse_too_large(refuse_not_finite(_validated(estimator, X, reset=False), "X"), "X")


def refuse_not_finite(matrix: NDArray[Any], what: str) -> NDArray[Any]:
    """Return a matrix, refusing rows that hold NaN or infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(matrix.sum()):  # most often it is, and no mask as large is needed
            return matrix
    unfit = ~np.isfinite(matrix).all(axis=1)
    if unfit.any():
        raise InvalidInput(
            f"{what}: row {unfit.argmax()} holds NaN or infinity ({unfit.sum():,} such rows): "
            "drop or fill them first"
        )
    return matrix


def _validated(estimator: Any, *arrays: Any, reset: bool = True) -> Any:
    from sklearn.utils.validation import validate_data

    if getattr(getattr(arrays[0], "dtype", None), "kind", "") in ("M", "m"):
        raise InvalidInput("X must be numbers, not dates or times")
    kinds = [np.float64, np.float32]
    try:
        return validate_data(estimator, *arrays, dtype=kinds, reset=reset, ensure_all_finite=False)
    except ValueError as error:
        line = _one_line(error)
        if "is expecting" in line:
            line = f"{line}: give features that were read as those it was fitted on"
        raise InvalidInput(line) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
