"""Folders of a user's own images, made from Critters, and recognizers fitted to them."""

from __future__ import annotations

import csv
import warnings
from functools import cache
from pathlib import Path

import numpy as np

import zerokin
from zerokin.errors import ZerokinWarning
from zerokin.recognizer import Recognizer, fit_recognizer

SMALL = {
    "backbone": "conv4",
    "weights": None,
    "options": {"width": 8},
    "image_size": 32,
    "tta_flip": False,
    "device": "cpu",
}


@cache
def critters():
    return zerokin.load_dataset("critters")


def images_of(position, count, first=0):
    dataset = critters()
    rows = np.flatnonzero(dataset.evaluation_labels(np.arange(len(dataset))) == position)
    return [dataset.images.load(int(row)) for row in rows[first : first + count]]


def write_critter_folder(root: Path, *, n_seen=10, n_unseen=3, n_images=6, n_test=2):
    """Write ``CLASS/*.png``, ``test/CLASS/*.png`` and a filled ``classes.csv``."""
    dataset = critters()
    seen, unseen = dataset.seen[:n_seen], dataset.unseen[:n_unseen]
    names = dataset.classes.names
    for position in seen.tolist():
        write_images(root / names[position], images_of(position, n_images))
        write_images(root / "test" / names[position], images_of(position, n_test, n_images))
    for position in unseen.tolist():
        write_images(root / "test" / names[position], images_of(position, n_test))
    write_sheet(root / "classes.csv", seen.tolist(), unseen.tolist())
    return root


def write_images(folder: Path, images):
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images):
        image.save(folder / f"{number}.png")


def write_sheet(path: Path, seen, unseen):
    classes = critters().classes
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["name", "role", *classes.attribute_names])
        for role, positions in (("seen", seen), ("unseen", unseen)):
            for position in positions:
                table.writerow([classes.names[position], role, *classes.vectors[position]])


def fitted(root: Path, **options) -> Recognizer:
    dataset = zerokin.load_dataset(f"folder={root}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZerokinWarning)
        return fit_recognizer(dataset, **{"learner": SMALL, "tune": False, "quiet": True} | options)


def plain(answers):
    """Answers without what the images are called."""
    return [{**answer.to_dict(), "picture": "", "image": ""} for answer in answers]
