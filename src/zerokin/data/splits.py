"""Splits: which classes are unseen, which samples fit and test, which class folds validate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import listing, shown

Indices = NDArray[np.int64]
ClassMask = NDArray[np.bool_]

DRAWN = "drawn with seed"
"""In the version of folds that were drawn."""
NO_SAMPLES: Indices = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Split:
    """One way of dividing classes and samples.

    Parameters
    ----------
    version
        Where it comes from, such as ``"xlsa17 proposed"``; it is printed with every result.
    unseen
        (C,) mask of the unseen classes.
    train, test_seen, test_unseen
        Sample indices: to fit on, and to test on.
    folds
        (C,) masks of validation classes, each held out of the seen classes.
    folds_version
        ``"public"``, or how they were drawn.
    """

    version: str
    unseen: ClassMask
    train: Indices
    test_seen: Indices
    test_unseen: Indices
    folds: tuple[ClassMask, ...] = ()
    folds_version: str = "none"

    @property
    def folds_drawn(self) -> bool:
        """Whether folds were drawn at random, and not given with the data."""
        return DRAWN in self.folds_version

    @property
    def parts(self) -> dict[str, Indices]:
        """The sample indices by the name of their part."""
        return {
            "train": self.train,
            "test_seen": self.test_seen,
            "test_unseen": self.test_unseen,
        }

    def problems(self, labels: NDArray[np.int64], names: Sequence[str]) -> list[str]:
        """Return everything that is wrong with the split for these labels, one line each."""
        found = self.misfits(len(labels), len(names))
        if found:
            return found
        for part, indices in self.parts.items():
            if (labels[indices] < 0).any():
                found.append(f"{part} holds samples whose class is not in the class table")
        if found:
            return found
        for part, indices in self.parts.items():
            wrong = self.unseen[labels[indices]] != (part == "test_unseen")
            if wrong.any():
                classes = sorted({names[label] for label in labels[indices[wrong]].tolist()})
                kind = "seen" if part == "test_unseen" else "unseen"
                found.append(
                    f"seen and unseen classes overlap: {part} holds samples of {kind} "
                    f"classes ({listing(classes)}); are labels and split of the same version?"
                )
        return found + self.overlaps(names)

    def misfits(self, n_samples: int, n_classes: int) -> list[str]:
        """Return what in the split is no mask of these classes and no position of these samples."""
        masks = {"unseen": self.unseen, **{f"fold {i + 1}": f for i, f in enumerate(self.folds)}}
        for kinds, arrays in (("b", masks), ("iu", self.parts)):
            for what, values in arrays.items():
                if (
                    not isinstance(values, np.ndarray)
                    or values.ndim != 1
                    or (values.dtype.kind not in kinds and len(values))
                ):
                    needed = "a mask of classes" if kinds == "b" else "positions of samples"
                    return [f"{what} must be {needed}, an array: got {shown(values)}"]
        short = [what for what, mask in masks.items() if len(mask) != len(self.unseen)]
        if short:
            return [f"{short[0]} is a mask of other classes than unseen: give one entry per class"]
        if len(self.unseen) != n_classes:
            return [f"the split names {len(self.unseen)} classes, but there are {n_classes}"]
        found = []
        for part, indices in self.parts.items():
            outside = indices[(indices < 0) | (indices >= n_samples)]
            if len(outside):
                found.append(
                    f"split index {outside[0]:,} of {part} is out of range: there are "
                    f"{n_samples:,} samples (is a file missing, or the split of another version?)"
                )
        return found

    def overlaps(self, names: Sequence[str]) -> list[str]:
        """Return which samples are in several parts, and which folds hold unseen classes."""
        found = []
        uses = np.bincount(np.concatenate(list(self.parts.values())), minlength=1)
        if uses.max() > 1:
            repeated = np.count_nonzero(uses > 1)
            found.append(f"{repeated:,} samples are in more than one part of the split, or twice")
        for number, fold in enumerate(self.folds, start=1):
            if (fold & self.unseen).any():
                both = listing(compress(names, fold & self.unseen))
                found.append(f"validation fold {number} holds unseen classes ({both})")
        return found


def split_by_class(
    labels: NDArray[np.int64],
    unseen: ClassMask,
    *,
    version: str,
    folds: tuple[ClassMask, ...] = (),
    folds_version: str = "none",
) -> Split:
    """Return the split that trains on every seen sample and tests on every unseen one.

    Examples
    --------
    >>> split = split_by_class(np.array([0, 1, 0]), np.array([False, True]), version="mine")
    >>> split.train, split.test_unseen
    (array([0, 2]), array([1]))
    """
    is_unseen = unseen[labels] if len(labels) else np.zeros(0, dtype=bool)
    return Split(
        version=version,
        unseen=unseen,
        train=np.flatnonzero(~is_unseen),
        test_seen=NO_SAMPLES,
        test_unseen=np.flatnonzero(is_unseen),
        folds=folds,
        folds_version=folds_version,
    )


def draw_folds(
    names: Sequence[str], unseen: ClassMask, *, n_folds: int = 3, seed: int = 0
) -> tuple[ClassMask, ...]:
    """Draw disjoint validation folds of the seen classes, the same for any order of the classes.

    As many folds as asked for, each with at most a third of the seen classes; none if there are
    fewer than four seen classes.
    """
    seen = sorted(np.flatnonzero(~unseen).tolist(), key=names.__getitem__)
    if len(seen) < 4:
        return ()
    shuffled = np.random.default_rng(seed).permutation(np.array(seen, dtype=np.int64))
    size = max(1, len(seen) // max(n_folds, 3))
    folds = []
    for number in range(n_folds):
        fold = np.zeros(len(names), dtype=bool)
        fold[shuffled[number * size : (number + 1) * size]] = True
        folds.append(fold)
    return tuple(folds)


def repeat_folds(
    names: Sequence[str],
    unseen: ClassMask,
    *,
    held_out: int,
    size: int | None = None,
    seed: int = 0,
) -> tuple[ClassMask, ...]:
    """Draw partitions of the seen classes into validation folds (repeated cross-validation).

    Partition follows partition until ``held_out`` classes have been held out in all, each as often
    as any other up to the last partition's rest. The same for any order of the classes; none if
    there are fewer than four seen classes.

    Parameters
    ----------
    names
        Of all classes.
    unseen
        (C,) mask of the unseen ones.
    held_out
        Classes to hold out in all, counted each time.
    size
        Of a fold, at most a third of the seen classes, which is the default.
    seed
        Draws the partitions.

    Examples
    --------
    >>> folds = repeat_folds(list("abcdefgh"), np.arange(8) > 5, held_out=7)
    >>> len(folds), np.sum(folds, axis=0)
    (6, array([2, 2, 2, 2, 2, 2, 0, 0]))
    """
    seen = sorted(np.flatnonzero(~unseen).tolist(), key=names.__getitem__)
    if len(seen) < 4:
        return ()
    third = max(1, len(seen) // 3)
    size = third if size is None else min(size, third)
    number = len(seen) // size
    folds: list[ClassMask] = []
    for repeat in range(-(-held_out // (number * size))):
        shuffled = np.random.default_rng([seed, repeat]).permutation(np.array(seen))
        for start in range(0, number * size, size):
            fold = np.zeros(len(names), dtype=bool)
            fold[shuffled[start : start + size]] = True
            folds.append(fold)
    return tuple(folds)


def hold_out(
    indices: Indices, labels: NDArray[np.int64], *, fraction: float, seed: int
) -> tuple[Indices, Indices]:
    """Split samples into (kept, held out): the same fraction of every class, rounded down.

    At least one sample of a class is kept, and at least one held out where it has two.
    """
    shuffled = np.random.default_rng(seed).permutation(indices)
    order = np.argsort(labels[shuffled], kind="stable")
    grouped = shuffled[order]
    _, starts, counts = np.unique(labels[grouped], return_index=True, return_counts=True)
    rank = np.arange(len(grouped)) - np.repeat(starts, counts)
    wanted = np.maximum((fraction * counts).astype(int), 1 if fraction > 0 else 0)
    held = rank < np.repeat(np.minimum(wanted, counts - 1), counts)
    return np.sort(grouped[~held]), np.sort(grouped[held])
