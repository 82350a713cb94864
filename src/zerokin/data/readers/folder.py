"""A user's own images: a sub-folder per class, and ``classes.csv`` that says what they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerokin.data.dataset import Dataset, InvalidDataset
from zerokin.data.images import FolderImages, list_folder
from zerokin.data.provenance import Provenance, SourceFile
from zerokin.data.readers.labels_csv import LABELS, read_labels_csv
from zerokin.data.readers.own_classes import OwnClasses
from zerokin.data.readers.split_files import drawn_folds
from zerokin.data.splits import Split
from zerokin.errors import MissingFile, did_you_mean
from zerokin.files import existing
from zerokin.locales import as_text, as_typed, on_disk

TEST_FOLDER = "test"
NEAR = 0.8
"""How alike two names must be for one to be taken for a misspelling of the other."""


def read_folder(source: str, folder: Path) -> Dataset:
    """Read ``DIR/CLASS/*`` and ``DIR/classes.csv``.

    ``classes.csv`` has a row per class: ``name``, ``role`` (``seen`` or ``unseen``), then attribute
    columns with numbers, or a ``description`` column, or both; columns ``order``, ``family`` and
    ``genus`` are a taxonomy. Commas separate its values, or semicolons or tabs. Images of seen
    classes train. Images of unseen classes, and all in ``DIR/test/CLASS/``, are for testing
    alone. With ``DIR/labels.csv`` images have several labels: see
    `zerokin.data.readers.labels_csv`.
    """
    existing(folder, "folder", "it should hold a sub-folder of images per class and classes.csv")
    sheet = folder / "classes.csv"
    if not sheet.exists():
        raise MissingFile(
            f"no classes.csv in {folder}: write one with the columns name, role (seen or unseen), "
            f"and attribute columns or a description (`zerokin init folder={folder}` starts it)"
        )
    if (folder / LABELS).exists():
        return read_labels_csv(source, folder)
    table = OwnClasses(sheet)
    samples = _find_samples(folder, table)
    if table.problems:
        raise InvalidDataset(source, table.problems)
    labels = np.array([table.positions[sample.class_name] for sample in samples], dtype=np.int64)
    return Dataset(
        name=as_text(folder.resolve().name),
        classes=table.classes(),
        inputs=FolderImages(folder, [sample.name for sample in samples]),
        labels=labels,
        splits={"pure": _split(table, labels, np.array([s.in_test for s in samples], dtype=bool))},
        provenance=Provenance(source, "folder of images", (SourceFile.from_path(sheet),)),
    )


@dataclass(frozen=True)
class _Sample:
    name: str
    class_name: str
    in_test: bool


def _find_samples(folder: Path, table: OwnClasses) -> list[_Sample]:
    """List the images of every class; note folders that are no class and classes without one."""
    samples = []
    inside = [path for path in folder.iterdir() if path.is_dir() and path.name[0] != "."]
    folders = {as_typed(path.name) for path in inside}
    # A class with a folder of its own is not what another folder is a misspelling of.
    without = [name for name in table.names if name not in folders]
    if TEST_FOLDER not in table.positions and TEST_FOLDER in folders:
        folders.remove(TEST_FOLDER)
        test = folder / TEST_FOLDER
        for class_name in sorted(as_typed(path.name) for path in test.iterdir() if path.is_dir()):
            below = f"{TEST_FOLDER}/{class_name}"
            samples += _class_samples(folder, below, class_name, table, without)
    for class_name in sorted(folders):
        samples += _class_samples(folder, class_name, class_name, table, without)
    trained = {sample.class_name for sample in samples if not sample.in_test}
    for name, role in zip(table.names, table.roles, strict=True):
        if name and role == "seen" and name not in trained:
            hint = did_you_mean(name, folders - set(table.names), nearness=NEAR)
            table.problems.append(
                f"seen class {name!r} has no images: put some into {folder / name}{hint}"
            )
    return samples


def _class_samples(
    folder: Path, below: str, class_name: str, table: OwnClasses, without: list[str]
) -> list[_Sample]:
    images = list_folder(on_disk(folder / below))
    if class_name not in table.positions:
        if images:
            hint = did_you_mean(class_name, without, nearness=NEAR)
            table.problems.append(
                f"folder {folder / below} holds {len(images):,} images, but {table.path.name} "
                f"has no class {class_name!r}: add a row for it to {table.path.name}, or remove "
                f"the folder{hint}"
            )
        return []
    in_test = below != class_name
    return [_Sample(f"{below}/{image}", class_name, in_test) for image in images]


def _split(table: OwnClasses, labels: NDArray[np.int64], in_test: NDArray[np.bool_]) -> Split:
    is_unseen = table.unseen[labels]
    folds = drawn_folds(table.names, table.unseen)
    return Split(
        version=f"roles in {table.path.name}",
        unseen=table.unseen,
        train=np.flatnonzero(~is_unseen & ~in_test),
        test_seen=np.flatnonzero(~is_unseen & in_test),
        test_unseen=np.flatnonzero(is_unseen),
        folds=folds.masks,
        folds_version=folds.version,
    )
