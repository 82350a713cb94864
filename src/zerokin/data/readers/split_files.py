"""The files in which zero-shot data sets publish their splits, classes and attributes.

``att_splits.mat`` is xlsa17's: class names, attributes and the indices of the proposed split.
``testclasses.txt``, ``valclasses1.txt``, … list classes. ``classes.csv`` has a row per class with
its role in either split, its validation folds and its taxonomy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.data.classes import TaxonomyPath
from zerokin.data.matlab import cell_strings, read_mat
from zerokin.data.readers.tables import read_lines, read_numbered, read_table
from zerokin.data.splits import DRAWN, ClassMask, Indices, Split, draw_folds, split_by_class
from zerokin.errors import InvalidInput, did_you_mean, listing

LOCATIONS = ("trainval_loc", "test_seen_loc", "test_unseen_loc")
PUBLISHED = (
    "att_splits.mat",
    "classes.csv",
    "allclasses.txt",
    "testclasses.txt",
    "trainvalclasses.txt",
    "valclasses[0-9].txt",
    "standard_split/testclasses.txt",
    "standard_split/trainvalclasses.txt",
    "attributes.txt",
    "predicates.txt",
    "attributes/attributes.txt",
)
PROPOSED = "xlsa17 proposed"
TAXONOMY_LEVELS = ("order", "family", "genus")


@dataclass(frozen=True, eq=False)
class AttSplits:
    """What ``att_splits.mat`` holds, with indices that start at 0."""

    path: Path
    names: tuple[str, ...]
    vectors: NDArray[np.float64]
    train: Indices
    test_seen: Indices
    test_unseen: Indices

    def unseen(self, labels: NDArray[np.int64]) -> ClassMask:
        """Return the mask of the unseen classes: those of the samples in ``test_unseen_loc``."""
        unseen = np.zeros(len(self.names), dtype=bool)
        unseen[labels[self.test_unseen[self.test_unseen < len(labels)]]] = True
        return unseen

    def split(self, unseen: ClassMask, folds: Folds) -> Split:
        """Return the proposed split."""
        return Split(
            version=PROPOSED,
            unseen=unseen,
            train=self.train,
            test_seen=self.test_seen,
            test_unseen=self.test_unseen,
            folds=folds.masks,
            folds_version=folds.version,
        )


@dataclass(frozen=True, eq=False)
class Folds:
    """Validation class folds and where they come from."""

    masks: tuple[ClassMask, ...]
    version: str


def read_att_splits(path: Path) -> AttSplits:
    """Read ``att_splits.mat``: attributes as they were collected where it has them."""
    content = read_mat(path, ["att", *LOCATIONS], optional=["original_att", "allclasses_names"])
    vectors = np.asarray(content.get("original_att", content["att"]))
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
        raise InvalidInput(f"{path}: att is {vectors.dtype} of shape {vectors.shape}, not a matrix")
    names = _class_names(path, content, n_classes=vectors.shape[1])
    return AttSplits(
        path=path,
        names=names,
        vectors=np.ascontiguousarray(vectors.T, dtype=np.float64),
        train=_locations(path, content, "trainval_loc"),
        test_seen=_locations(path, content, "test_seen_loc"),
        test_unseen=_locations(path, content, "test_unseen_loc"),
    )


def _class_names(path: Path, content: dict[str, Any], *, n_classes: int) -> tuple[str, ...]:
    if "allclasses_names" in content:
        names = tuple(cell_strings(content["allclasses_names"]))
        source = "allclasses_names has"
    elif (path.parent / "allclasses.txt").exists():
        names = tuple(read_lines(path.parent / "allclasses.txt"))
        source = "allclasses.txt beside it has"
    else:
        return tuple(f"class {number}" for number in range(1, n_classes + 1))
    if len(names) != n_classes:
        raise InvalidInput(
            f"{path}: the attributes have {n_classes} columns (one per class), "
            f"but {source} {len(names)} classes"
        )
    return names


def _locations(path: Path, content: dict[str, Any], variable: str) -> Indices:
    """Return 1-based sample numbers as indices."""
    values = np.asarray(content[variable]).ravel()
    if values.dtype.kind not in "iuf" or (values != np.floor(values)).any() or (values < 1).any():
        raise InvalidInput(f"{path}: {variable} must hold whole sample numbers from 1")
    return values.astype(np.int64) - 1


def class_mask(names: Sequence[str], chosen: Sequence[str], path: Path) -> ClassMask:
    """Return the mask of the classes that a file lists, refusing names that are not classes."""
    known = set(names)
    for name in chosen:
        if name not in known:
            raise InvalidInput(f"{path}: {name!r} is not a class{did_you_mean(name, names)}")
    wanted = set(chosen)
    return np.array([name in wanted for name in names])


def unseen_by_list(folder: Path, names: Sequence[str]) -> ClassMask | None:
    """Return the unseen classes by ``testclasses.txt``, checked against the lists of seen ones."""
    path = folder / "testclasses.txt"
    if not path.exists():
        return None
    unseen = class_mask(names, read_lines(path), path)
    for other in (folder / "trainvalclasses.txt", folder / "trainclasses.txt"):
        if not other.exists():
            continue
        overlap = unseen & class_mask(names, read_lines(other), other)
        if overlap.any():
            raise InvalidInput(
                f"seen and unseen classes overlap: {path.name} and {other.name} in {folder} "
                f"both list {listing(compress(names, overlap))}"
            )
    return unseen


class ClassSheet:
    """``classes.csv``: a row per class, with roles, validation folds and taxonomy."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.path = path
        self.names = names
        rows = {row["name"]: row for row in read_table(path, ["name"])}
        class_mask(names, list(rows), path)
        absent = [name for name in names if name not in rows]
        if absent:
            raise InvalidInput(f"{path} has no row for {listing(absent)}")
        self.rows = [rows[name] for name in names]

    def unseen(self, column: str) -> ClassMask | None:
        """Return the unseen classes by a column of ``seen`` and ``unseen``."""
        if column not in self.rows[0]:
            return None
        return np.array([parse_role(row[column], self.path, row["name"]) for row in self.rows])

    def folds(self) -> tuple[ClassMask, ...]:
        """Return the validation folds by a column of fold numbers such as ``1 3``."""
        if "validation_folds" not in self.rows[0]:
            return ()
        members = [set(row["validation_folds"].split()) for row in self.rows]
        numbers = sorted(set().union(*members))
        return tuple(np.array([number in folds for folds in members]) for number in numbers)

    def taxonomy(self) -> tuple[TaxonomyPath, ...] | None:
        """Return each class's order, family and genus, as far as the sheet has them."""
        levels = self.ranks()
        if levels is None:
            return None
        return tuple(tuple(row[level] for level in levels) for row in self.rows)

    def ranks(self) -> tuple[str, ...] | None:
        """Return which of order, family and genus the sheet has."""
        return tuple(level for level in TAXONOMY_LEVELS if level in self.rows[0]) or None


def parse_role(value: str, path: Path, name: str) -> bool:
    """Return whether a role is ``unseen``; anything but it and ``seen`` is refused."""
    if value.lower() not in ("seen", "unseen"):
        raise InvalidInput(f"{path}, class {name!r}: role {value!r} is neither seen nor unseen")
    return value.lower() == "unseen"


def class_sheet(folder: Path, names: Sequence[str]) -> ClassSheet | None:
    """Return the folder's ``classes.csv``, if it has one."""
    path = folder / "classes.csv"
    return ClassSheet(path, names) if path.exists() else None


def pure_folds(folder: Path, names: Sequence[str], unseen: ClassMask) -> Folds:
    """Return the public validation folds of a proposed split, or three drawn ones."""
    listed = sorted(folder.glob("valclasses[0-9].txt"))
    if listed:
        masks = tuple(class_mask(names, read_lines(path), path) for path in listed)
        return Folds(masks, "public")
    sheet = class_sheet(folder, names)
    if sheet is not None and sheet.folds():
        return Folds(sheet.folds(), "public")
    return drawn_folds(names, unseen)


def drawn_folds(names: Sequence[str], unseen: ClassMask, *, seed: int = 0) -> Folds:
    """Return three drawn validation folds."""
    masks = draw_folds(names, unseen, seed=seed)
    return Folds(masks, f"{len(masks)} {DRAWN} {seed}")


def standard_split(
    folder: Path,
    names: Sequence[str],
    labels: NDArray[np.int64],
    *,
    known_unseen: Sequence[str] | None = None,
) -> Split | None:
    """Return the standard split, in which every sample of a seen class trains.

    The unseen classes are those of ``classes.csv``, of ``standard_split/testclasses.txt``, or the
    ones that are known for the data set.
    """
    sheet = class_sheet(folder, names)
    unseen = sheet.unseen("standard") if sheet else None
    if unseen is None:
        unseen = unseen_by_list(folder / "standard_split", names)
    if unseen is None and known_unseen is not None:
        unseen = np.isin(np.array(names), np.array(known_unseen))
    if unseen is None:
        return None
    folds = drawn_folds(names, unseen)
    return split_by_class(
        labels, unseen, version="standard", folds=folds.masks, folds_version=folds.version
    )


def published_files(folder: Path) -> list[Path]:
    """Return which of these files the folder has, for its provenance."""
    return sorted(path for pattern in PUBLISHED for path in folder.glob(pattern))


def attribute_names(folder: Path) -> tuple[str, ...] | None:
    """Return the attribute names of the folder's list of them, if it has one."""
    for name in ("attributes.txt", "predicates.txt", "attributes/attributes.txt"):
        if (folder / name).exists():
            return tuple(read_numbered(folder / name))
    return None
