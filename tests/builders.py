"""Small data sets in the official layouts, written without zerokin's own writers."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.io import savemat


def cells(strings):
    column = np.empty((len(strings), 1), dtype=object)
    column[:, 0] = strings
    return column


def image_bytes(color=(200, 30, 30), size=(40, 30), kind="PNG"):
    buffer = io.BytesIO()
    Image.new("RGB", size, color).save(buffer, kind)
    return buffer.getvalue()


def xlsa17_variables(n_classes=6, per_class=5, n_unseen=2, d_z=4, d_f=7, seed=0):
    """Variables of the two files: classes in order, the last ``n_unseen`` of them unseen."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(1, n_classes + 1), per_class)
    numbers = np.arange(1, len(labels) + 1)
    unseen = labels > n_classes - n_unseen
    last = numbers % per_class == 0
    raw = rng.uniform(1, 100, size=(d_z, n_classes))
    features = {
        "features": rng.normal(size=(d_f, len(labels))).astype(np.float32),
        "labels": labels[:, None],
        "image_files": cells([f"c{k}/{n}.jpg" for k, n in zip(labels, numbers, strict=True)]),
    }
    att_splits = {
        "allclasses_names": cells([f"class{k}" for k in range(1, n_classes + 1)]),
        "att": raw / np.linalg.norm(raw, axis=0),
        "original_att": raw,
        "trainval_loc": numbers[~unseen & ~last][:, None],
        "test_seen_loc": numbers[~unseen & last][:, None],
        "test_unseen_loc": numbers[unseen][:, None],
    }
    return features, att_splits


def write_xlsa17_folder(folder: Path, features=None, att_splits=None, *, compress=False, **sizes):
    """Write an xlsa17 folder; given variables replace the made-up ones."""
    made_features, made_splits = xlsa17_variables(**sizes)
    folder.mkdir(parents=True, exist_ok=True)
    savemat(folder / "res7.mat", made_features | (features or {}), do_compression=compress)
    savemat(folder / "att_splits.mat", made_splits | (att_splits or {}), do_compression=compress)
    return folder


def write_tar(path: Path, entries: dict[str, bytes]):
    with tarfile.open(path, "w") as tar:
        for name, content in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def cub_entries(n_classes=6, per_class=5):
    return {
        f"class{k}/{k}_{n:04d}.png": image_bytes(color=(10 * k, 5 * n, 0))
        for k in range(1, n_classes + 1)
        for n in range(per_class)
    }


def write_own_folder(folder: Path, table: str, images: dict[str, int]):
    """Write a user's folder: ``classes.csv`` and so many images in every sub-folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "classes.csv").write_text(table, encoding="utf-8")
    for name, count in images.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            (folder / name / f"{number}.png").write_bytes(image_bytes())
    return folder


OWN_TABLE = """name,role,stripes,wings
zebra,seen,1,0
horse,seen,0,0.1
robin,seen,0.1,1
eagle,seen,0,0.9
bee,unseen,1,1
"""
OWN_IMAGES = {"zebra": 3, "horse": 3, "robin": 3, "eagle": 3, "bee": 2}
