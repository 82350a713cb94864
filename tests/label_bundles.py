"""A small bundle that gives several labels an image, made once for all tests of it."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from zerokin import load_dataset
from zerokin.recognizer.label_recognizer import fit_label_recognizer

TRAIN, TEST = 60, 4
EVIL = '<img src=x onerror=alert(1)>, "שלום"'


@cache
def scene_folder() -> Path:
    """Folder of scenes with `labels.csv`; a class bears a name that would harm a careless page."""
    folder = Path(tempfile.mkdtemp(prefix="zerokin-test-")) / "scenes"
    atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    data = load_dataset("critters-scenes")
    images, split = data.images, data.split
    names = [EVIL, *data.classes.names[1:]]
    rows = ["file,label,label"]
    for part, chosen in (
        ("train", split.train[:TRAIN]),
        ("test", np.concatenate([split.test_seen[:1], split.test_unseen[: TEST - 1]])),
    ):
        (folder / part).mkdir(parents=True)
        for index in chosen.tolist():
            images.load(index).save(folder / part / f"{index:04d}.png")
            quoted = ['"' + names[at].replace('"', '""') + '"' for at in images.animals[index]]
            rows.append(",".join([f"{part}/{index:04d}.png", *quoted]))
    (folder / "labels.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    table = [",".join(["name", "role", *data.classes.attribute_names])]
    for name, unseen, vector in zip(names, split.unseen, data.classes.vectors, strict=True):
        quoted = '"' + name.replace('"', '""') + '"'
        table.append(",".join([quoted, "unseen" if unseen else "seen", *map(str, vector)]))
    (folder / "classes.csv").write_text("\n".join(table) + "\n", encoding="utf-8")
    return folder


def scene_files() -> list[Path]:
    """Images that were not trained on."""
    return sorted((scene_folder() / "test").glob("*.png"))


@cache
def _bundle() -> Path:
    data = load_dataset(f"folder={scene_folder()}")
    network = {"backbone": "conv4", "weights": None, "image_size": 64}
    recognizer, _ = fit_label_recognizer(
        data, network, regions=4, components=16, tune=False, quiet=True
    )
    recognizer.save(scene_folder().parent / "bundle")
    return scene_folder().parent / "bundle"


def label_bundle(place: Path) -> Path:
    """Copy of a bundle that a test may change."""
    return Path(shutil.copytree(_bundle(), place / "bundle"))
