"""SUN Attribute: images of 717 scenes, each with votes on 102 attributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerokin.data.classes import ClassTable
from zerokin.data.dataset import Dataset
from zerokin.data.images import FolderImages, list_folder
from zerokin.data.matlab import cell_strings, read_mat
from zerokin.data.provenance import Provenance, SourceFile
from zerokin.data.readers.image_splits import image_splits
from zerokin.data.readers.split_files import published_files, read_att_splits
from zerokin.errors import InvalidInput, MissingFile, listing
from zerokin.files import existing

IMAGES, ATTRIBUTES, VOTES = "images.mat", "attributes.mat", "attributeLabels_continuous.mat"
IMAGE_FOLDERS = ("images", "SUNAttributeDB_Images/images", "SUNAttributeDB_Images", ".")
LAYOUT = f"a SUN folder holds {IMAGES}, {ATTRIBUTES}, {VOTES} and images/"


def read_sun(source: str, folder: Path) -> Dataset:
    """Read the SUN Attribute database in its official layout.

    A class's vector is the mean of the votes on its images. Samples are grouped by class, in
    the order of the class table, and within a class in the order of ``images.mat``. The unseen
    samples of xlsa17's ``att_splits.mat`` lie where that order has their classes, and within a
    class it is taken for granted. Were the order of the classes another, seen and unseen classes
    would overlap, which is refused.
    """
    existing(folder, "SUN folder", LAYOUT)
    tables = folder / "SUNAttributeDB" if (folder / "SUNAttributeDB").is_dir() else folder
    listed, votes, attributes = _annotations(tables)
    named = [class_name(image, tables / IMAGES) for image in listed]
    names = _class_order(folder, named)
    position = {name: number for number, name in enumerate(names)}
    unordered = np.array([position[name] for name in named], dtype=np.int64)
    order = np.argsort(unordered, kind="stable")
    labels = unordered[order]
    images = _images(folder, [listed[index] for index in order])
    files = [tables / name for name in (IMAGES, ATTRIBUTES, VOTES)]
    return Dataset(
        name="SUN",
        classes=ClassTable(
            names=names,
            vectors=_class_means(votes, unordered, len(names)),
            semantics_source="attributes",
            attribute_names=attributes,
        ),
        inputs=images,
        labels=labels,
        splits=image_splits(folder, names, labels),
        provenance=Provenance(
            source,
            "SUN Attribute images",
            tuple(
                SourceFile.from_path(file) for file in sorted({*files, *published_files(folder)})
            ),
        ),
    )


def class_name(image: str, path: Path) -> str:
    """Return an image's class: its folders but for the leading letter, joined by ``_``.

    Examples
    --------
    >>> class_name("t/temple/south_asia/sun_x.jpg", Path("images.mat"))
    'temple_south_asia'
    """
    folders = image.split("/")[1:-1]
    if not all(folders) or not folders:
        raise InvalidInput(f"{path}: {image!r} is not in a class folder, as a/abbey/sun_x.jpg is")
    return "_".join(folders)


def _annotations(tables: Path) -> tuple[list[str], NDArray[np.float64], tuple[str, ...]]:
    """Return the N listed images, the (N, d_z) votes on them and the names of the attributes."""
    for name in (IMAGES, ATTRIBUTES, VOTES):
        existing(tables / name, "SUN table", LAYOUT)
    cells = cell_strings(read_mat(tables / IMAGES, ["images"])["images"])
    listed = [image.strip().lstrip("/") for image in cells]
    attributes = cell_strings(read_mat(tables / ATTRIBUTES, ["attributes"])["attributes"])
    votes = np.asarray(read_mat(tables / VOTES, ["labels_cv"])["labels_cv"])
    if votes.dtype.kind not in "fiu" or votes.shape != (len(listed), len(attributes)):
        raise InvalidInput(
            f"{tables / VOTES}: labels_cv is {votes.dtype} of shape {votes.shape}, but there are "
            f"{len(listed):,} images in {IMAGES} and {len(attributes)} attributes"
        )
    twice = sorted(image for image, count in Counter(listed).items() if count > 1)
    if twice:
        raise InvalidInput(f"{tables / IMAGES} lists an image more than once: {listing(twice)}")
    return listed, votes.astype(np.float64), tuple(name.strip() for name in attributes)


def _class_order(folder: Path, named: Sequence[str]) -> tuple[str, ...]:
    """Return the classes in the order of ``att_splits.mat`` if it has the same, or sorted."""
    names = tuple(sorted(set(named)))
    if (folder / "att_splits.mat").exists():
        proposed = read_att_splits(folder / "att_splits.mat").names
        if set(proposed) == set(names):
            return proposed
    return names


def _class_means(
    votes: NDArray[np.float64], labels: NDArray[np.int64], n_classes: int
) -> NDArray[np.float64]:
    sums = np.zeros((n_classes, votes.shape[1]))
    np.add.at(sums, labels, votes)
    return sums / np.bincount(labels, minlength=n_classes)[:, None]


def _images(folder: Path, names: Sequence[str]) -> FolderImages:
    root = next(folder / name for name in IMAGE_FOLDERS if (folder / name).is_dir())
    absent = sorted(set(names) - set(list_folder(root)))
    if len(absent) == len(names):
        raise MissingFile(
            f"no images in {root}: SUN is read from the images that {IMAGES} lists, below "
            "images/ (for features, open their xlsa17 folder with xlsa17=DIR)"
        )
    if absent:
        raise InvalidInput(
            f"{root} lacks {len(absent):,} of the {len(names):,} images that {IMAGES} lists: "
            f"{listing(absent, most=3)}"
        )
    return FolderImages(root, names)
