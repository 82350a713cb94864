"""CUB-200-2011: images of 200 bird species, in the official layout or in tar files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zerokin.data.dataset import Dataset
from zerokin.data.provenance import Provenance, SourceFile
from zerokin.data.readers.labeled_images import find_images, labels_by_folder
from zerokin.data.readers.split_files import (
    published_files,
    pure_folds,
    read_att_splits,
    standard_split,
)
from zerokin.data.readers.tables import read_numbered
from zerokin.data.readers.xlsa17 import class_table
from zerokin.errors import InvalidInput, MissingFile, listing
from zerokin.files import existing

STANDARD_UNSEEN = 50


def read_cub(source: str, folder: Path) -> Dataset:
    """Read CUB images: ``images/CLASS/FILE`` or tar files of ``CLASS/FILE``, and the splits.

    Samples are in the order of their ``CLASS/FILE`` path, which is xlsa17's order, so its
    ``att_splits.mat`` beside the images gives classes, attributes and the proposed split. The
    standard split's unseen classes are the last 50 of its class list.
    """
    existing(folder, "CUB folder", "it should hold the images and att_splits.mat")
    if (folder / "CUB_200_2011").is_dir():
        folder = folder / "CUB_200_2011"
    att_splits_path = folder / "att_splits.mat"
    if not att_splits_path.exists():
        raise MissingFile(
            f"no att_splits.mat in {folder}: copy it there from the CUB folder of the xlsa17 "
            "archive, which has the class order and the proposed split"
        )
    att_splits = read_att_splits(att_splits_path)
    names = att_splits.names
    images, archives = find_images(folder, ["images"])
    if not archives and (folder / "images.txt").exists():
        _refuse_missing(folder, images.names)
    labels = labels_by_folder(images, names, folder)
    unseen = att_splits.unseen(labels)
    standard = standard_split(folder, names, labels, known_unseen=names[-STANDARD_UNSEEN:])
    assert standard is not None
    files = published_files(folder) + archives
    return Dataset(
        name="CUB",
        classes=class_table(att_splits, folder),
        inputs=images,
        labels=labels,
        splits={
            "pure": att_splits.split(unseen, pure_folds(folder, names, unseen)),
            "standard": standard,
        },
        provenance=Provenance(
            source, "CUB-200-2011 images", tuple(SourceFile.from_path(path) for path in files)
        ),
    )


def _refuse_missing(folder: Path, names: Sequence[str]) -> None:
    """Compare the images with the official list of them."""
    absent = sorted(set(read_numbered(folder / "images.txt")) - set(names))
    if absent:
        raise InvalidInput(
            f"{folder / 'images'} lacks {len(absent):,} images that images.txt lists: "
            f"{listing(absent, most=3)}"
        )
