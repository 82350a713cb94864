"""Splits of a data set that is read as images: the files of its folder, or what is well known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerokin.data.readers.split_files import (
    pure_folds,
    read_att_splits,
    standard_split,
    unseen_by_list,
)
from zerokin.data.splits import Split, split_by_class
from zerokin.errors import InvalidInput, MissingFile, listing


def image_splits(
    folder: Path,
    names: Sequence[str],
    labels: NDArray[np.int64],
    *,
    standard_unseen: Sequence[str] = (),
) -> dict[str, Split]:
    """Return the pure and the standard split, as far as the folder's files tell them.

    The pure split is that of ``att_splits.mat``, or else by class that of ``testclasses.txt``
    (in ``proposed_split/`` or the folder itself), every image of a seen class to train on.

    Parameters
    ----------
    folder
        Holds the files.
    names
        The C class names.
    labels
        (N,) positions among the names, the samples in xlsa17's order.
    standard_unseen
        The standard split's unseen classes where they are well known; a ``testclasses.txt`` of
        exactly these gives no pure split.
    """
    known = standard_unseen if standard_unseen and set(standard_unseen) <= set(names) else None
    splits = {
        "pure": _pure(folder, names, labels, standard_unseen),
        "standard": standard_split(folder, names, labels, known_unseen=known),
    }
    found = {name: split for name, split in splits.items() if split is not None}
    if not found:
        raise MissingFile(
            f"{folder} has no att_splits.mat, testclasses.txt or standard_split/testclasses.txt: "
            "nothing tells which classes are unseen"
        )
    return found


def _pure(
    folder: Path,
    names: Sequence[str],
    labels: NDArray[np.int64],
    standard_unseen: Sequence[str],
) -> Split | None:
    if (folder / "att_splits.mat").exists():
        return _proposed(folder, names, labels)
    for lists in (folder / "proposed_split", folder):
        unseen = unseen_by_list(lists, names)
        if unseen is None or set(compress(names, unseen)) == set(standard_unseen):
            continue
        folds = pure_folds(lists, names, unseen)
        return split_by_class(
            labels,
            unseen,
            version="testclasses.txt",
            folds=folds.masks,
            folds_version=folds.version,
        )
    return None


def _proposed(folder: Path, names: Sequence[str], labels: NDArray[np.int64]) -> Split:
    """Return the split of ``att_splits.mat``, which must be of the same classes and images."""
    path = folder / "att_splits.mat"
    att_splits = read_att_splits(path)
    here, there = set(names), set(att_splits.names)
    if here != there:
        only = [
            f"{where} has {listing(sorted(classes), most=3)}"
            for where, classes in (("only it", there - here), ("only the folder", here - there))
            if classes
        ]
        raise InvalidInput(f"{path} is of other classes: {', '.join(only)}")
    unseen = att_splits.unseen(labels)
    split = att_splits.split(unseen, pure_folds(folder, names, unseen))
    n_split = sum(len(indices) for indices in split.parts.values())
    if n_split != len(labels):
        raise InvalidInput(
            f"{path} splits {n_split:,} images, but {folder} has {len(labels):,}: its sample "
            "numbers hold for the whole set only"
        )
    return split
