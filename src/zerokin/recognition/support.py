"""The support set: shots of novel classes, checked and matched with the classes that are known."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.data.classes import ClassTable
from zerokin.errors import InvalidInput, ZerokinWarning, did_you_mean, listing
from zerokin.recognition.class_labels import KnownClasses, Positions


@dataclass(frozen=True, eq=False)
class Support:
    """All classes and the shots of some.

    Parameters
    ----------
    classes
        Names (C,) and vectors of all classes: those with semantics first, then support classes
        without any, whose vectors are not used.
    with_semantics
        (C,) which classes have semantics.
    labels
        (n,) positions of the shots' classes.
    """

    classes: KnownClasses
    with_semantics: NDArray[np.bool_]
    labels: Positions


def match_support(semantics: Any, y: NDArray[Any], shot_labels: NDArray[Any]) -> Support:
    """Match labels of base samples and of shots with the classes that have semantics.

    A support class without semantics (no vector, or one that is all zero or not finite) is known
    by its shots alone, and a `ZerokinWarning` says so; a base class without is an error.
    """
    if semantics is None:
        names = np.unique(np.concatenate([y, shot_labels]) if len(shot_labels) else y)
        classes = KnownClasses(names, np.zeros((len(names), 0)))
        return Support(
            classes, np.zeros(len(names), dtype=bool), classes.positions(shot_labels, "shot_labels")
        )
    known = _known(semantics, y)
    given = np.asarray(shot_labels)
    by_position = given.dtype.kind in "iu" and known.names.dtype.kind not in "iu"
    new = given[:0] if by_position else np.setdiff1d(given, known.names)
    if len(new) and given.dtype.kind != known.names.dtype.kind:
        raise InvalidInput(
            f"shot_labels: unknown class {str(new[0])!r}: classes are called by number here"
        )
    classes = KnownClasses(
        np.concatenate([known.names, new]) if len(new) else known.names,
        np.concatenate([known.vectors, np.zeros((len(new), known.vectors.shape[1]))]),
    )
    labels = classes.positions(given, "shot_labels")
    vectors = classes.vectors
    usable = np.isfinite(vectors).all(axis=1) & (vectors != 0).any(axis=1)
    without = np.intersect1d(np.flatnonzero(~usable), labels)
    if len(without):
        spellings = [str(name) for name in known.names]
        called = [
            f"{str(classes.names[at])!r}{did_you_mean(str(classes.names[at]), spellings)}"
            if at >= len(known)
            else repr(str(classes.names[at]))
            for at in without
        ]
        warnings.warn(
            f"support classes without semantics, known by their shots alone: {listing(called)}",
            ZerokinWarning,
            stacklevel=4,
        )
    return Support(classes, usable, labels)


def checked_shots(shots: Any, shot_labels: Any, n_features: int) -> NDArray[Any]:
    """Return the shots (n, d_f), refusing what cannot be used."""
    try:
        matrix: NDArray[Any] = np.asarray(shots)
        matrix = matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput("shots must be a matrix of numbers (n, d_f)") from error
    if matrix.ndim != 2:
        raise InvalidInput(f"shots must be a matrix (n, d_f): got shape {matrix.shape}")
    if not len(matrix):
        raise InvalidInput(
            "shots is empty: give at least one shot, or use ZeroShotClassifier for classes without"
        )
    if matrix.shape[1] != n_features:
        raise InvalidInput(f"shots have {matrix.shape[1]} features, but X has {n_features}")
    if shot_labels is None or np.shape(shot_labels) != (len(matrix),):
        got = "none" if shot_labels is None else f"shape {np.shape(shot_labels)}"
        raise InvalidInput(f"{len(matrix)} shots need as many shot_labels: got {got}")
    return refuse_not_finite(matrix, "shots")


def refuse_not_finite(matrix: NDArray[Any], what: str) -> NDArray[Any]:
    """Return a matrix, refusing rows that hold NaN or infinity."""
    unfit = ~np.isfinite(matrix).all(axis=1)
    if unfit.any():
        raise InvalidInput(
            f"{what}: row {unfit.argmax()} holds NaN or infinity ({unfit.sum():,} such rows): "
            "drop or fill them first"
        )
    return matrix


def _known(semantics: Any, y: NDArray[Any]) -> KnownClasses:
    """Read semantics without scaling them: rows without a direction are sorted out later."""
    if isinstance(semantics, ClassTable) and semantics.vectors is not None:
        return KnownClasses(np.array(semantics.names), np.array(semantics.vectors, dtype=float))
    if isinstance(semantics, Mapping) and not semantics:
        raise InvalidInput("semantics is empty: give a vector for every base class, or None")
    return KnownClasses.of(semantics, y)
