"""xlsa17: a pair of MATLAB files, features with labels and ``att_splits.mat``.

Its layout and the proposed splits are those of Xian et al., "Zero-shot learning: a comprehensive
evaluation of the good, the bad and the ugly".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerokin.data.attached_features import FILES
from zerokin.data.classes import ClassTable
from zerokin.data.dataset import Dataset
from zerokin.data.feature_files import MatFeatures
from zerokin.data.matlab import read_mat, variable_shapes
from zerokin.data.provenance import Provenance, SourceFile
from zerokin.data.readers.split_files import (
    PROPOSED,
    AttSplits,
    attribute_names,
    class_sheet,
    published_files,
    pure_folds,
    read_att_splits,
    standard_split,
    unseen_by_list,
)
from zerokin.data.splits import NO_SAMPLES, Split, split_by_class
from zerokin.errors import InvalidInput, MissingFile, did_you_mean, listing
from zerokin.files import existing
from zerokin.locales import as_text


def read_xlsa17(source: str, folder: Path, *, features: str | None = None) -> Dataset:
    """Read a folder that holds ``att_splits.mat`` and a feature file of any name.

    Parameters
    ----------
    source
        The data spec, for messages and provenance.
    folder
        The folder.
    features
        The feature file's name, with or without ``.mat``; needed where the folder has several.
        A folder without any is opened for its classes alone. For a feature file of zerokin's own
        form, elsewhere, the first of the folder gives labels and names of the samples.
    """
    existing(folder, "xlsa17 folder", "it should hold att_splits.mat and a feature file")
    path = folder / "att_splits.mat"
    if not path.exists():
        raise MissingFile(f"no att_splits.mat in {folder}: copy it there from the xlsa17 archive")
    att_splits = read_att_splits(path)
    chosen = _feature_file(folder, features)
    labels = None if chosen is None else _labels(chosen, len(att_splits.names))
    files = published_files(folder) + ([] if chosen is None else [chosen])
    return Dataset(
        name=as_text(folder.resolve().name),
        classes=class_table(att_splits, folder),
        inputs=None if chosen is None else _features(chosen),
        labels=labels,
        splits=_splits(att_splits, folder, labels),
        provenance=Provenance(
            source, "xlsa17", tuple(SourceFile.from_path(file) for file in files)
        ),
    )


def class_table(att_splits: AttSplits, folder: Path) -> ClassTable:
    """Return the class table of ``att_splits.mat`` with what else the folder knows."""
    sheet = class_sheet(folder, att_splits.names)
    return ClassTable(
        names=att_splits.names,
        vectors=att_splits.vectors,
        semantics_source="attributes",
        attribute_names=attribute_names(folder),
        taxonomy=sheet.taxonomy() if sheet else None,
        taxonomy_ranks=sheet.ranks() if sheet else None,
    )


def _feature_file(folder: Path, features: str | None) -> Path | None:
    candidates = {
        path.stem: path for path in sorted(folder.glob("*.mat")) if path.name != "att_splits.mat"
    }
    if features is not None and not features.endswith(FILES):
        stem = features.removesuffix(".mat")
        if stem not in candidates:
            raise MissingFile(
                f"no feature file {stem}.mat in {folder}{did_you_mean(stem, candidates)}"
            )
        return candidates[stem]
    if features is None and len(candidates) > 1:
        raise InvalidInput(
            f"{folder} has several feature files ({listing(candidates)}): choose one with features="
        )
    return next(iter(candidates.values()), None)


def _features(path: Path) -> MatFeatures:
    shapes = variable_shapes(path)
    if len(shapes.get("features", ())) != 2:
        raise InvalidInput(f"{path} lacks the matrix 'features' (d_f × N)")
    d_f, n_samples = shapes["features"]
    return MatFeatures(path, (n_samples, d_f))


def _labels(path: Path, n_classes: int) -> NDArray[np.int64]:
    labels = np.asarray(read_mat(path, ["labels"])["labels"]).ravel()
    if labels.dtype.kind not in "iuf" or (labels != np.floor(labels)).any():
        raise InvalidInput(f"{path}: labels must be whole class numbers from 1")
    outside = np.flatnonzero((labels < 1) | (labels > n_classes))
    if len(outside):
        raise InvalidInput(
            f"{path}: sample {outside[0] + 1:,} has label {labels[outside[0]]:g}, outside the "
            f"class table of {n_classes} classes ({len(outside):,} such samples)"
        )
    return labels.astype(np.int64) - 1


def _splits(
    att_splits: AttSplits, folder: Path, labels: NDArray[np.int64] | None
) -> dict[str, Split]:
    names = att_splits.names
    if labels is None:
        splits = _splits_without_samples(folder, names)
    else:
        unseen = att_splits.unseen(labels)
        splits = {"pure": att_splits.split(unseen, pure_folds(folder, names, unseen))}
    standard = standard_split(folder, names, NO_SAMPLES if labels is None else labels)
    return splits if standard is None else splits | {"standard": standard}


def _splits_without_samples(folder: Path, names: Sequence[str]) -> dict[str, Split]:
    unseen = unseen_by_list(folder, names)
    if unseen is None:
        raise MissingFile(
            f"{folder} has neither a feature file nor testclasses.txt: nothing tells which "
            "classes are unseen"
        )
    folds = pure_folds(folder, names, unseen)
    pure = split_by_class(
        NO_SAMPLES, unseen, version=PROPOSED, folds=folds.masks, folds_version=folds.version
    )
    return {"pure": pure}
