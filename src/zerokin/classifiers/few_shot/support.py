"""The support set: shots of novel classes, checked and matched with the classes that are known."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.class_names import checked_names_of
from zerokin.classifiers.class_labels import KnownClasses, Positions, class_names
from zerokin.classifiers.samples import refuse_not_finite
from zerokin.data.classes import ClassTable
from zerokin.errors import InvalidInput, ZerokinWarning, did_you_mean, listing, shown
from zerokin.matrices import real_array, refuse_too_large


@dataclass(frozen=True, eq=False)
class ClassesWithSemantics:
    """Names (C,) and vectors (C, d_z) of classes, and which have semantics that can be used (C,).

    Without any semantics, d_z is 0.
    """

    classes: KnownClasses
    usable: NDArray[np.bool_]

    @classmethod
    def from_labels(cls, semantics: Any, y: NDArray[Any]) -> ClassesWithSemantics:
        """Read semantics as `KnownClasses.from_labels` does; vectors may be zero or not finite."""
        if semantics is None:
            names = checked_names_of(np.unique(y))
            known = KnownClasses(names, np.zeros((len(names), 0)))
        elif isinstance(semantics, ClassTable) and semantics.vectors is not None:
            vectors = np.array(semantics.vectors, dtype=np.float64)
            known = KnownClasses(class_names(semantics.names), vectors)
        elif isinstance(semantics, Mapping) and not semantics:
            raise InvalidInput("semantics is empty: give a vector for every base class, or None")
        else:
            known = KnownClasses.from_labels(semantics, y)
        vectors = known.vectors
        return cls(known, np.isfinite(vectors).all(axis=1) & (vectors != 0).any(axis=1))

    def with_support(self, shot_labels: Any) -> tuple[ClassesWithSemantics, Positions]:
        """Return the classes, support classes without semantics added, and the shots' positions.

        A support class without semantics (no vector, or one that is all zero or not finite) is
        known by its shots alone, and a `ZerokinWarning` says so.
        """
        known, given = self.classes, np.asarray(shot_labels)
        if given.dtype.kind not in "Uiuf" or (given.dtype.kind == "f" and np.isnan(given).any()):
            raise InvalidInput(
                f"shot_labels must be names or whole numbers: got {shown(shot_labels)}"
            )
        by_position = given.dtype.kind in "iu" and known.names.dtype.kind not in "iu"
        new = given[:0] if by_position else np.setdiff1d(given, known.names)
        if len(new) and (given.dtype.kind in "iu") != (known.names.dtype.kind in "iu"):
            raise InvalidInput(
                f"shot_labels: unknown class {str(new[0])!r}: classes are called by number here"
            )
        classes = KnownClasses(
            np.concatenate([known.names, checked_names_of(new)]) if len(new) else known.names,
            np.concatenate([known.vectors, np.zeros((len(new), known.vectors.shape[1]))]),
        )
        usable = np.concatenate([self.usable, np.zeros(len(new), dtype=bool)])
        labels = classes.positions(given, "shot_labels")
        if known.vectors.shape[1]:
            self._warn(classes.names, np.intersect1d(np.flatnonzero(~usable), labels))
        return ClassesWithSemantics(classes, usable), labels

    def _warn(self, names: NDArray[Any], without: Positions) -> None:
        spellings = [str(name) for name in self.classes.names]
        called = []
        for at in without:
            hint = did_you_mean(str(names[at]), spellings) if at >= len(spellings) else ""
            called.append(f"{str(names[at])!r}{hint}")
        if called:
            warnings.warn(
                f"support classes without semantics, known by their shots alone: {listing(called)}",
                ZerokinWarning,
                stacklevel=4,
            )


def checked_shots(shots: Any, shot_labels: Any, n_features: int) -> NDArray[Any]:
    """Return the shots (n, d_f), refusing what cannot be used."""
    matrix = real_array(shots, "shots", "a matrix of numbers (n, d_f)")
    matrix = matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float64)
    if matrix.ndim != 2:
        raise InvalidInput(f"shots must be a matrix (n, d_f): got shape {matrix.shape}")
    if not len(matrix):
        raise InvalidInput(
            "shots is empty: give at least one shot, or use ZeroShotClassifier for classes without"
        )
    if matrix.shape[1] != n_features:
        raise InvalidInput(f"shots have {matrix.shape[1]} features, but X has {n_features}")
    try:
        shape = np.shape(shot_labels)
    except ValueError as error:
        raise InvalidInput(
            f"shot_labels must be a list of classes: got {shown(shot_labels)}"
        ) from error
    if shot_labels is None or shape != (len(matrix),):
        got = "none" if shot_labels is None else f"shape {shape}"
        raise InvalidInput(f"{len(matrix)} shots need as many shot_labels: got {got}")
    return refuse_too_large(refuse_not_finite(matrix, "shots"), "shots")
