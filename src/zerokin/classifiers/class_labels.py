"""Class names and positions: what a user may give for labels, semantics and candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.class_names import checked_names_of
from zerokin.data.classes import ClassTable
from zerokin.errors import InvalidInput, did_you_mean, listing, shown
from zerokin.matrices import plain_array, real_array
from zerokin.parameters import is_real, is_whole

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KnownClasses:
    """All classes, seen and unseen: what they are called and their semantic vectors."""

    names: NDArray[Any]
    vectors: NDArray[np.float64]

    @classmethod
    def from_labels(cls, semantics: Any, y: NDArray[Any]) -> KnownClasses:
        """Read semantics: a `ClassTable`, mapping, data frame, matrix (C, d_z), or None.

        A data frame (of pandas, say) has a row for each class, named by its index. With a matrix,
        classes are called by their row. Without semantics every label in ``y`` is a class of its
        own, and none is unseen.
        """
        if semantics is None:
            names = checked_names_of(np.unique(y))
            return cls(names, np.eye(len(names)))
        if isinstance(semantics, ClassTable):
            return cls(class_names(semantics.names), np.array(semantics.semantics))
        if isinstance(semantics, Mapping):
            vectors = _matrix(list(semantics.values()))
            return cls(class_names(list(semantics)), vectors)
        if hasattr(semantics, "index") and hasattr(semantics, "to_numpy"):
            return cls(class_names(list(semantics.index)), _matrix(semantics.to_numpy()))
        vectors = _matrix(semantics)
        return cls(np.arange(len(vectors)), vectors)

    def __len__(self) -> int:
        return len(self.names)

    def positions(self, labels: Any, what: str) -> Positions:
        """Return the positions of classes given by name, or by position where names are words."""
        given = plain_array(labels, what)
        if given.ndim != 1:
            raise InvalidInput(f"{what} must be a list of classes: got shape {given.shape}")
        if given.dtype.kind in "iu" and self.names.dtype.kind not in "iu":
            outside = given[(given < 0) | (given >= len(self))]
            if len(outside):
                raise InvalidInput(
                    f"{what}: there is no class {outside[0]} among {len(self)} (counted from 0)"
                )
            return given.astype(np.int64)
        if not len(given):
            return np.empty(0, dtype=np.int64)
        order = np.argsort(self.names, kind="stable")
        try:
            place = np.searchsorted(self.names, given, sorter=order)
            found = order[np.minimum(place, len(self) - 1)]
            wrong = given[self.names[found] != given]
        except TypeError:
            wrong = given
        if len(wrong):
            unknown = str(wrong[0])
            hint = did_you_mean(unknown, [str(name) for name in self.names])
            raise InvalidInput(f"{what}: unknown class {unknown!r}{hint}")
        return found.astype(np.int64)


def candidate_positions(
    candidates: str | Sequence[Any] | NDArray[Any] | None, classes: KnownClasses, seen: Positions
) -> Positions:
    """Return the positions of candidates: ``"unseen"``, ``"seen"``, ``"all"`` or a list of classes.

    None means the unseen classes if there are any, and all otherwise.
    """
    is_seen = np.zeros(len(classes), dtype=bool)
    is_seen[seen] = True
    if candidates is None:
        candidates = "all" if is_seen.all() else "unseen"
    if isinstance(candidates, str):
        kinds = {"all": np.ones_like(is_seen), "seen": is_seen, "unseen": ~is_seen}
        if candidates not in kinds:
            raise InvalidInput(
                f"candidates={candidates!r} is none of {listing(kinds)}"
                f"{did_you_mean(candidates, kinds)}; give one class as a list"
            )
        chosen = np.flatnonzero(kinds[candidates])
    else:
        # Ordered by position: the answer must not depend on the order of the list.
        chosen = np.unique(classes.positions(candidates, "candidates"))
    if not len(chosen):
        raise InvalidInput(f"candidates={candidates!r} leaves no class to choose from")
    return chosen


def class_names(names: Sequence[Any]) -> NDArray[Any]:
    """Return the names of classes, all different, and all of them texts or all of them numbers.

    Examples
    --------
    >>> class_names(["lynx", 3])
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: names of classes must all be texts, or all whole numbers: got 3
    """
    numbers = [is_whole(name) for name in names]
    strange = next(
        (
            name
            for name, number in zip(names, numbers, strict=True)
            if not (isinstance(name, str) or is_real(name)) or number != numbers[0]
        ),
        None,
    )
    if strange is not None or any(isinstance(name, str) for name in names) != all(
        isinstance(name, str) for name in names
    ):
        raise InvalidInput(
            "names of classes must all be texts, or all whole numbers: got "
            f"{shown(names[0] if strange is None else strange)}"
        )
    checked_names_of(names)
    found = np.array(names)
    if found.dtype.kind not in "Uif" or found.tolist() != list(names):
        raise InvalidInput("a name of a class cannot be kept, such as one that ends in NUL")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InvalidInput(f"names of classes must differ: {shown(twice)} stands there twice")
    return found


def _matrix(vectors: Any) -> NDArray[np.float64]:
    try:
        matrix = real_array(vectors, "semantics").astype(np.float64)
    except InvalidInput as error:
        raise InvalidInput("semantics must be vectors of numbers, all of one length") from error
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidInput(f"semantics must be a matrix (C, d_z): got shape {matrix.shape}")
    return matrix
