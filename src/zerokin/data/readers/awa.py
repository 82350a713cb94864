"""Animals with Attributes, the first and the second: images of 50 animals with 85 attributes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerokin.data.classes import ClassTable
from zerokin.data.dataset import Dataset
from zerokin.data.images import Images
from zerokin.data.provenance import Provenance, SourceFile
from zerokin.data.readers.image_splits import image_splits
from zerokin.data.readers.labeled_images import find_images, labels_by_folder
from zerokin.data.readers.split_files import attribute_names, published_files
from zerokin.data.readers.tables import read_lines, read_numbered
from zerokin.errors import InvalidInput, MissingFile, listing
from zerokin.files import existing

STANDARD_UNSEEN = (
    "chimpanzee",
    "giant+panda",
    "hippopotamus",
    "humpback+whale",
    "leopard",
    "persian+cat",
    "pig",
    "raccoon",
    "rat",
    "seal",
)
MATRICES = ("predicate-matrix-continuous.txt", "predicate-matrix-binary.txt")
LAYOUT = f"an AwA folder holds classes.txt, {MATRICES[0]} and JPEGImages/"


def read_awa1(source: str, folder: Path) -> Dataset:
    """Read Animals with Attributes in its official layout; see `read_awa2`."""
    return _read(source, folder, name="AwA1", unpacked="Animals_with_Attributes")


def read_awa2(source: str, folder: Path) -> Dataset:
    """Read Animals with Attributes 2 in its official layout.

    Classes are in the order of ``classes.txt``; attributes are the matrix as it was collected,
    where -1 marks what nobody answered. Samples are in the order of their ``CLASS/FILE`` path.
    The unseen samples of xlsa17's ``att_splits.mat`` lie where that order has their classes, and
    within a class it is taken for granted. Were the order of the classes another, seen and unseen
    classes would overlap, which is refused.
    """
    return _read(source, folder, name="AwA2", unpacked="Animals_with_Attributes2")


def _read(source: str, folder: Path, *, name: str, unpacked: str) -> Dataset:
    existing(folder, f"{name} folder", LAYOUT)
    if (folder / unpacked).is_dir():
        folder = folder / unpacked
    class_list = existing(folder / "classes.txt", "class list", LAYOUT)
    names = tuple(read_numbered(class_list))
    matrix_file, vectors = _attributes(folder, len(names))
    images, archives = _images(folder, name)
    labels = labels_by_folder(images, names, folder)
    _refuse_empty(folder, names, labels)
    files = {class_list, matrix_file, *published_files(folder), *archives}
    return Dataset(
        name=name,
        classes=ClassTable(
            names=names,
            vectors=vectors,
            semantics_source="attributes",
            attribute_names=attribute_names(folder),
        ),
        inputs=images,
        labels=labels,
        splits=image_splits(folder, names, labels, standard_unseen=STANDARD_UNSEEN),
        provenance=Provenance(
            source, f"{name} images", tuple(SourceFile.from_path(file) for file in sorted(files))
        ),
    )


def _attributes(folder: Path, n_classes: int) -> tuple[Path, NDArray[np.float64]]:
    """Return the attribute file and its (C, d_z) matrix, continuous if there is one."""
    path = next((folder / name for name in MATRICES if (folder / name).exists()), None)
    if path is None:
        raise MissingFile(f"no {' or '.join(MATRICES)} in {folder}: {LAYOUT}")
    rows = [line.split() for line in read_lines(path)]
    if len(rows) != n_classes:
        raise InvalidInput(f"{path} has {len(rows)} rows, but classes.txt has {n_classes} classes")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise InvalidInput(
                f"{path}, row {number}: {len(row)} attributes, but row 1 has {len(rows[0])}"
            )
    try:
        return path, np.array(rows, dtype=np.float64)
    except ValueError as error:
        raise InvalidInput(f"{path} must hold numbers only: {error}") from error


def _images(folder: Path, name: str) -> tuple[Images, list[Path]]:
    try:
        return find_images(folder, ["JPEGImages"])
    except MissingFile as error:
        raise MissingFile(
            f"no JPEGImages in {folder}: {name} is read from its images "
            "(for features, open their xlsa17 folder with xlsa17=DIR)"
        ) from error


def _refuse_empty(folder: Path, names: Sequence[str], labels: NDArray[np.int64]) -> None:
    counts = np.bincount(labels, minlength=len(names))
    empty = list(compress(names, counts == 0))
    if empty:
        raise InvalidInput(f"{folder} has no images of {listing(empty)}, which classes.txt lists")
