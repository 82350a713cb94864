"""COCO 2017 object annotations as labels: a class is a label of every image that it is boxed in.

Without ``unseen.txt`` the split is that of Bansal et al. (Zero-Shot Object Detection, ECCV 2018):
48 seen and 17 unseen classes; the other 15 are left out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from zerokin.data.classes import ClassTable
from zerokin.data.images import FolderImages
from zerokin.data.label_rows import sparse_labels
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.data.provenance import Provenance, SourceFile
from zerokin.data.readers.label_splits import drawn_label_folds, multi_label_split
from zerokin.data.readers.unseen_list import UNSEEN, unseen_by_file
from zerokin.errors import InvalidInput, MissingFile
from zerokin.files import existing

PARTS = ("train2017", "val2017")

BANSAL_UNSEEN = """
airplane, bus, cake, cat, couch, cow, cup, dog, elephant, keyboard, knife, scissors, sink,
skateboard, snowboard, tie, umbrella
"""
BANSAL_SEEN = """
apple, backpack, banana, bear, bed, bench, bicycle, bird, boat, book, bottle, bowl, broccoli, car,
carrot, chair, clock, donut, fork, frisbee, giraffe, handbag, horse, kite, laptop, microwave,
motorcycle, mouse, orange, oven, person, pizza, refrigerator, remote, sandwich, sheep, skis, spoon,
suitcase, surfboard, toaster, toilet, toothbrush, train, truck, tv, vase, zebra
"""


class Instances(NamedTuple):
    """One file of annotations: images, categories, and which category is where (M, 2)."""

    files: list[str]
    names: list[str]
    supers: list[str]
    pairs: Any


def read_coco(source: str, folder: Path) -> MultiLabelDataset:
    """Read ``DIR/annotations/instances_{train,val}2017.json`` and images ``DIR/{train,val}2017/``.

    Classes are unseen that ``DIR/unseen.txt`` lists, one in a line; or, without, those of Bansal et
    al. Training images with an unseen class test instead. Images without labels are in no part.
    """
    existing(folder, "folder", "it should hold annotations/, train2017/ and val2017/")
    paths = [folder / "annotations" / f"instances_{part}.json" for part in PARTS]
    parts = [read_instances(path) for path in paths]
    if (parts[0].names, parts[0].supers) != (parts[1].names, parts[1].supers):
        raise InvalidInput(f"{paths[1]} is of other categories than {paths[0].name}")
    names, supers = parts[0].names, parts[0].supers
    if (folder / UNSEEN).exists():
        unseen, version = unseen_by_file(folder, names), f"classes in {UNSEEN}"
        columns = np.arange(len(names))
    else:
        columns, unseen, version = _bansal(folder, names)
    offset = len(parts[0].files)
    pairs = np.concatenate([parts[0].pairs, parts[1].pairs + np.array([offset, 0])])
    n = offset + len(parts[1].files)
    labels = _labels(pairs, n, len(names))[:, columns]
    kept = [names[at] for at in columns.tolist()]
    files = [f"{part}/{name}" for part, one in zip(PARTS, parts, strict=True) for name in one.files]
    split = multi_label_split(
        labels,
        unseen,
        np.arange(n) >= offset,
        version=version,
        folds=drawn_label_folds(kept, unseen),
    )
    return MultiLabelDataset(
        name="COCO",
        classes=ClassTable(
            names=tuple(kept),
            taxonomy=tuple((supers[at],) for at in columns.tolist()),
            taxonomy_ranks=("supercategory",),
        ),
        inputs=FolderImages(folder, files),
        labels=labels,
        splits={"pure": split},
        provenance=Provenance(
            source, "COCO instances", tuple(SourceFile.from_path(path) for path in paths)
        ),
    )


def read_instances(path: Path) -> Instances:
    """Read a file of annotations, refusing what does not fit together."""
    existing(path, "file", "COCO 2017 brings it in annotations_trainval2017.zip")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        images = {image["id"]: str(image["file_name"]) for image in found["images"]}
        categories = {one["id"]: one for one in found["categories"]}
        marked = [(one["image_id"], one["category_id"]) for one in found["annotations"]]
        names = [str(one["name"]) for one in categories.values()]
        supers = [str(one.get("supercategory", "thing")) for one in categories.values()]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(
            f"{path} is no file of COCO instances ({type(error).__name__}: {error}): get it again"
        ) from error
    image_at = {key: at for at, key in enumerate(images)}
    category_at = {key: at for at, key in enumerate(categories)}
    for image, category in marked:
        if image not in image_at:
            raise InvalidInput(f"{path}: an annotation is of image {image!r}, which is not listed")
        if category not in category_at:
            raise InvalidInput(f"{path}: an annotation is of category {category!r}, not listed")
    pairs = np.array([(image_at[i], category_at[c]) for i, c in marked], dtype=np.int64)
    files = list(images.values())
    for name in files:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise InvalidInput(f"{path}: image {name!r} lies outside the folder")
    return Instances(files, names, supers, pairs.reshape(-1, 2))


def _labels(pairs: Any, n: int, n_classes: int) -> Any:
    """Return sparse labels (n, C) of pairs (M, 2), each counted once."""
    once = np.unique(pairs, axis=0)
    ends = np.searchsorted(once[:, 0], np.arange(n + 1))
    return sparse_labels(once[:, 1], ends, n_classes)


def _bansal(folder: Path, names: list[str]) -> tuple[Any, Any, str]:
    """Return the columns of the 65 classes, the mask of the unseen ones, and the split's name."""
    place = {name: at for at, name in enumerate(names)}
    seen, hidden = (
        [one.strip() for one in text.split(",")] for text in (BANSAL_SEEN, BANSAL_UNSEEN)
    )
    wanted = [*seen, *hidden]
    lacking = [name for name in wanted if name not in place]
    if lacking:
        raise MissingFile(
            f"{folder} has other classes than COCO (no {lacking[0]!r}): list the unseen ones in "
            f"{folder / UNSEEN}, one in a line"
        )
    columns = np.sort([place[name] for name in wanted])
    unseen = np.isin([names[at] for at in columns.tolist()], hidden)
    return columns, unseen, "48/17 of Bansal et al."
