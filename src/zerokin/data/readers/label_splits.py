"""Splits and validation folds of data with several labels a sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.data.readers.split_files import Folds
from zerokin.data.splits import DRAWN, ClassMask, Split, draw_folds

N_FOLDS, FOLD_SHARE = 3, 5
"""Folds that are drawn, each of a fifth of the seen classes."""


def multi_label_split(
    labels: Any,
    unseen: ClassMask,
    test: NDArray[np.bool_],
    *,
    version: str,
    folds: Folds,
) -> Split:
    """Return the split of samples by their sparse labels (N, C).

    Samples without labels are in no part. A sample with an unseen label tests, as do those marked
    in ``test`` (N,); the others train.
    """
    of_unseen = labels[:, unseen].sum(axis=1) > 0
    labeled = np.diff(labels.indptr) > 0
    return Split(
        version=version,
        unseen=unseen,
        train=np.flatnonzero(labeled & ~of_unseen & ~test),
        test_seen=np.flatnonzero(labeled & ~of_unseen & test),
        test_unseen=np.flatnonzero(of_unseen),
        folds=folds.masks,
        folds_version=folds.version,
    )


def drawn_label_folds(names: Sequence[str], unseen: ClassMask, *, seed: int = 0) -> Folds:
    """Return three folds, each of a fifth of the seen classes.

    A fold's training samples hold none of its classes: with larger folds few would be left.
    """
    masks = draw_folds(names, unseen, n_folds=FOLD_SHARE, seed=seed)[:N_FOLDS]
    return Folds(masks, f"{len(masks)} {DRAWN} {seed}") if masks else Folds((), "none")
