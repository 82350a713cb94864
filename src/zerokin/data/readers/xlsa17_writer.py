"""Writing a data set of features in the xlsa17 form."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import compress
from pathlib import Path

import numpy as np

from zerokin.data.classes import TaxonomyPath
from zerokin.data.dataset import Dataset
from zerokin.data.matlab import string_cells, write_mat
from zerokin.data.readers.split_files import TAXONOMY_LEVELS
from zerokin.data.splits import ClassMask, Indices, Split
from zerokin.errors import InvalidInput
from zerokin.files import replacing
from zerokin.semantics.normalize import unit_rows


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
    refuse_unwritable(dataset)
    classes, pure = dataset.classes, dataset.splits["pure"]
    assert classes.vectors is not None
    if features == "att_splits":
        raise InvalidInput("the feature file cannot be called att_splits: choose another name")
    names = getattr(dataset.inputs, "names", None) or [""] * len(dataset)
    labels = dataset.evaluation_labels(np.arange(len(dataset)))
    matrix = dataset.features
    if matrix.dtype == np.float16:  # which MATLAB files do not have
        matrix = matrix.astype(np.float32)
    write_mat(
        folder / f"{features}.mat",
        {
            "features": matrix.T,
            "labels": (labels + 1)[:, None],
            "image_files": string_cells(names),
        },
    )

    _write_lists(dataset, folder, pure)
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


def refuse_unwritable(dataset: Dataset) -> None:
    """Refuse a data set that has no place in this form."""
    if "pure" not in dataset.splits or dataset.classes.vectors is None:
        raise InvalidInput(f"{dataset.name} lacks a pure split or semantic vectors to write")


def _write_lists(dataset: Dataset, folder: Path, pure: Split) -> None:
    """Write the class lists of both splits and folds, the attribute names and the taxonomy."""
    classes = dataset.classes

    def chosen(mask: ClassMask) -> list[str]:
        return list(compress(classes.names, mask))

    lists: dict[str, Sequence[str]] = {
        "allclasses.txt": classes.names,
        "testclasses.txt": chosen(pure.unseen),
        "trainvalclasses.txt": chosen(~pure.unseen),
    }
    for number, fold in enumerate(pure.folds, start=1):
        lists[f"valclasses{number}.txt"] = chosen(fold)
        lists[f"trainclasses{number}.txt"] = chosen(~fold & ~pure.unseen)
    if "standard" in dataset.splits:
        unseen = dataset.splits["standard"].unseen
        lists["standard_split/testclasses.txt"] = chosen(unseen)
        lists["standard_split/trainvalclasses.txt"] = chosen(~unseen)
    if classes.attribute_names is not None:
        numbered = enumerate(classes.attribute_names, start=1)
        lists["attributes.txt"] = [f"{number} {name}" for number, name in numbered]
    for name, lines in lists.items():
        with replacing(folder / name) as temporary:
            temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if classes.taxonomy is not None:
        _write_taxonomy(folder / "classes.csv", classes.names, classes.taxonomy)


def _write_taxonomy(path: Path, names: Sequence[str], paths: Sequence[TaxonomyPath]) -> None:
    """Write order, family and genus; a deeper taxonomy has no place in this form."""
    depth = max(len(nodes) for nodes in paths)
    if depth > len(TAXONOMY_LEVELS):
        return
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["name", *TAXONOMY_LEVELS[:depth]])
        for name, nodes in zip(names, paths, strict=True):
            rows.writerow([name, *nodes, *[""] * (depth - len(nodes))])


def _numbers(indices: Indices) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return indices as a column of numbers from 1."""
    return (indices + 1).reshape(-1, 1)
