"""mini-ImageNet: 100 ImageNet classes of 600 images, in the split of Ravi and Larochelle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zerokin.data.classes import ClassTable
from zerokin.data.dataset import Dataset
from zerokin.data.images import FolderImages, Images, list_folder, open_tars
from zerokin.data.provenance import Provenance, SourceFile
from zerokin.data.readers.tables import Row, read_table
from zerokin.data.readers.wnid_vectors import find_vectors
from zerokin.data.readers.wordnet_sheet import taxonomy_of, unique_names
from zerokin.data.splits import split_by_class
from zerokin.errors import InvalidInput, MissingFile, listing
from zerokin.files import existing
from zerokin.semantics.tables import vectors_of_classes

PARTS = ("train", "val", "test")
LAYOUT = "it should hold train.csv, val.csv, test.csv and images/, or tar files of SPLIT/WNID/FILE"


@dataclass(frozen=True)
class LabeledImages:
    """N images with the part (train, val or test) and wnid of each, and the files that told."""

    images: Images
    parts: Sequence[str]
    wnids: Sequence[str]
    files: tuple[Path, ...]


def read_mini_imagenet(source: str, folder: Path) -> Dataset:
    """Read mini-ImageNet: tar files or folders of ``SPLIT/WNID/FILE``, or lists and ``images/``.

    The training and validation classes are seen, the test classes unseen, and the validation
    classes are the one validation fold. Classes are in that order, sorted by wnid within it.
    Their names and WordNet paths come from ``classes.csv``, their vectors from
    ``word_vectors.csv``; without these files a class is named by its wnid and has no semantics.
    """
    existing(folder, "mini-ImageNet folder", LAYOUT)
    by_list = any((folder / f"{part}.csv").exists() for part in PARTS)
    labeled = _from_lists(folder) if by_list else _from_folders(folder)
    part_of = _part_of_class(folder, labeled)
    wnids = sorted(part_of, key=lambda wnid: (PARTS.index(part_of[wnid]), wnid))
    position = {wnid: number for number, wnid in enumerate(wnids)}
    labels = np.array([position[wnid] for wnid in labeled.wnids], dtype=np.int64)
    validation, unseen = (
        np.array([part_of[wnid] == part for wnid in wnids]) for part in ("val", "test")
    )
    sheet, table = folder / "classes.csv", find_vectors(folder)
    rows = _class_rows(sheet, part_of, wnids) if sheet.exists() else None
    files = [*labeled.files, *(path for path in (sheet, table) if path and path.exists())]
    return Dataset(
        name="mini-ImageNet",
        classes=ClassTable(
            names=unique_names(rows) if rows else tuple(wnids),
            vectors=None if table is None else vectors_of_classes(table, wnids, key="wnid"),
            semantics_source="none" if table is None else f"word vectors ({table.name})",
            taxonomy=taxonomy_of(rows, sheet) if rows else None,
            wnids=tuple(wnids),
        ),
        inputs=labeled.images,
        labels=labels,
        splits={
            "few-shot": split_by_class(
                labels,
                unseen,
                version="Ravi and Larochelle",
                folds=(validation,) if validation.any() else (),
                folds_version="public" if validation.any() else "none",
            )
        },
        provenance=Provenance(
            source, "mini-ImageNet images", tuple(SourceFile.from_path(file) for file in files)
        ),
    )


def _from_folders(folder: Path) -> LabeledImages:
    """Label images by their path ``SPLIT/WNID/FILE``, in tar files or below the folder."""
    archives = sorted(folder.glob("*.tar"))
    images: Images
    if archives:
        images = open_tars(archives)
    else:
        roots = [part for part in PARTS if (folder / part).is_dir()]
        names = [f"{part}/{name}" for part in roots for name in list_folder(folder / part)]
        images = FolderImages(folder, names)
    if not len(images):
        raise MissingFile(f"no images in {folder}: {LAYOUT}")
    paths = [name.split("/") for name in images.names]
    for name, path in zip(images.names, paths, strict=True):
        if len(path) != 3 or path[0] not in PARTS:
            raise InvalidInput(
                f"{folder}: image {name!r} should be train/WNID/FILE, val/… or test/…"
            )
    return LabeledImages(
        images, [path[0] for path in paths], [path[1] for path in paths], tuple(archives)
    )


def _from_lists(folder: Path) -> LabeledImages:
    """Label images by Ravi and Larochelle's lists, whose columns are ``filename,label``."""
    files = tuple(folder / f"{part}.csv" for part in PARTS)
    for file in files:
        existing(file, "list of images", LAYOUT)
    root = existing(folder / "images", "images", LAYOUT)
    lists = [read_table(file, ["filename", "label"]) for file in files]
    rows = [row for listed in lists for row in listed]
    names = [row["filename"] for row in rows]
    absent = sorted(set(names) - set(list_folder(root)))
    if absent:
        raise InvalidInput(
            f"{root} lacks {len(absent):,} images that the lists name: {listing(absent, most=3)}"
        )
    _refuse_repeated(names, f"the lists in {folder} name more than once:")
    parts = [part for part, listed in zip(PARTS, lists, strict=True) for _ in listed]
    return LabeledImages(FolderImages(root, names), parts, [row["label"] for row in rows], files)


def _part_of_class(folder: Path, labeled: LabeledImages) -> dict[str, str]:
    """Return each class's part, refusing a class that is in several."""
    pairs = sorted(set(zip(labeled.wnids, labeled.parts, strict=True)))
    _refuse_repeated(
        [wnid for wnid, _ in pairs],
        f"seen and unseen classes overlap: in {folder} several of train, val and test hold",
    )
    return dict(pairs)


def _class_rows(sheet: Path, part_of: dict[str, str], wnids: Sequence[str]) -> list[Row]:
    """Return the rows of ``classes.csv`` in the order of the classes, which must be the same."""
    table = read_table(sheet, ["wnid", "split", "name"])
    _refuse_repeated([row["wnid"] for row in table], f"{sheet} has several rows for")
    rows = {row["wnid"]: row for row in table}
    for missing, what in (
        (sorted(set(wnids) - set(rows)), "has no row for"),
        (sorted(set(rows) - set(wnids)), "has rows of classes without images:"),
    ):
        if missing:
            raise InvalidInput(f"{sheet} {what} {listing(missing)}")
    for wnid in wnids:
        if rows[wnid]["split"] != part_of[wnid]:
            raise InvalidInput(
                f"{sheet}, row {rows[wnid].number}: {wnid} is in {rows[wnid]['split']!r}, but its "
                f"images are in {part_of[wnid]!r}"
            )
    return [rows[wnid] for wnid in wnids]


def _refuse_repeated(values: Iterable[str], what: str) -> None:
    repeated = sorted(value for value, count in Counter(values).items() if count > 1)
    if repeated:
        raise InvalidInput(f"{what} {listing(repeated, most=3)}")
