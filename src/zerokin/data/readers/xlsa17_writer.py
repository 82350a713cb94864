"""Writing a data set of features in the xlsa17 form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from zerokin.data.dataset import Dataset
from zerokin.data.matlab import string_cells, write_mat
from zerokin.data.splits import Indices
from zerokin.errors import InvalidInput
from zerokin.files import replacing
from zerokin.semantics.normalise import unit_rows


def write_xlsa17(dataset: Dataset, folder: str | Path, *, features: str = "features") -> None:
    """Write features, labels, attributes, the pure split and its folds in the xlsa17 form.

    Every file is written whole or not at all, ``att_splits.mat`` last: a folder without it is not
    taken for a data set.

    Parameters
    ----------
    dataset
        Features with a split named ``pure`` and optionally one named ``standard``.
    folder
        Where to write; made if it is not there.
    features
        Name of the feature file, without ``.mat``.
    """
    folder = Path(folder)
    classes, pure = dataset.classes, dataset.splits.get("pure")
    if pure is None or classes.vectors is None:
        raise InvalidInput(f"{dataset.name} lacks a pure split or semantic vectors to write")
    if features == "att_splits":
        raise InvalidInput("the feature file cannot be called att_splits: choose another name")
    names = getattr(dataset.inputs, "names", None) or [""] * len(dataset)
    labels = dataset.evaluation_labels(np.arange(len(dataset)))
    write_mat(
        folder / f"{features}.mat",
        {
            "features": dataset.features.T,
            "labels": (labels + 1)[:, None],
            "image_files": string_cells(names),
        },
    )

    def write_list(name: str, entries: Sequence[str]) -> None:
        with replacing(folder / name) as temporary:
            temporary.write_text("".join(f"{entry}\n" for entry in entries), encoding="utf-8")

    def chosen(mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[str]:
        return [name for name, wanted in zip(classes.names, mask, strict=True) if wanted]

    write_list("allclasses.txt", classes.names)
    write_list("testclasses.txt", chosen(pure.unseen))
    write_list("trainvalclasses.txt", chosen(~pure.unseen))
    for number, fold in enumerate(pure.folds, start=1):
        write_list(f"valclasses{number}.txt", chosen(fold))
        write_list(f"trainclasses{number}.txt", chosen(~fold & ~pure.unseen))
    if "standard" in dataset.splits:
        unseen = dataset.splits["standard"].unseen
        write_list("standard_split/testclasses.txt", chosen(unseen))
        write_list("standard_split/trainvalclasses.txt", chosen(~unseen))
    if classes.attribute_names is not None:
        numbered = [f"{i} {name}" for i, name in enumerate(classes.attribute_names, start=1)]
        write_list("attributes.txt", numbered)
    write_mat(
        folder / "att_splits.mat",
        {
            "allclasses_names": string_cells(classes.names),
            "original_att": classes.vectors.T,
            "att": unit_rows(classes.vectors, classes.names).T,
            "trainval_loc": _numbers(pure.train),
            "test_seen_loc": _numbers(pure.test_seen),
            "test_unseen_loc": _numbers(pure.test_unseen),
        },
    )


def _numbers(indices: Indices) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return indices as a column of numbers from 1."""
    return (indices + 1).reshape(-1, 1)
