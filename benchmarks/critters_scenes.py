"""Critters scenes with a frozen network: features of regions for `zerokin compare critters-scenes`.

    python benchmarks/critters_scenes.py FOLDER
    zerokin compare critters-scenes --features FOLDER/regions.npy

EfficientNet-Lite0 with ImageNet weights (extra `pretrained`) reads a grid of 5 × 5 regions off
images of 160 pixels. So that methods can be compared in minutes on a CPU, features are reduced to
256 dimensions by the principal components of the training images' regions; no label is looked at.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from zerokin import load_dataset
from zerokin.features.extraction import extract_features
from zerokin.features.extractor import open_extractor
from zerokin.files import replacing

REGIONS, IMAGE_SIZE, DIMENSIONS = 5, 160, 256
BLOCK = 100


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    scenes = load_dataset("critters-scenes")
    extractor = open_extractor("lite0", image_size=IMAGE_SIZE, regions=REGIONS, tta_flip=False)
    file = extract_features(extractor, scenes, folder / "whole.safetensors", dtype="float16")
    regions, train = file.open(), scenes.split.train
    n, d_f = 0, regions.shape[2]
    total, products = np.zeros(d_f), np.zeros((d_f, d_f))
    for start in range(0, len(train), BLOCK):
        rows = regions[train[start : start + BLOCK]].reshape(-1, d_f).astype(np.float64)
        n, total, products = n + len(rows), total + rows.sum(axis=0), products + rows.T @ rows
    mean = total / n
    variances, directions = np.linalg.eigh(products / n - np.outer(mean, mean))
    kept = directions[:, -DIMENSIONS:]
    share = variances[-DIMENSIONS:].sum() / variances.sum()
    reduced = np.concatenate(
        [
            ((regions[start : start + BLOCK] - mean) @ kept).astype(np.float32)
            for start in range(0, len(scenes), BLOCK)
        ]
    )
    with replacing(folder / "regions.npy") as temporary, temporary.open("wb") as out:
        np.save(out, reduced)
    print(f"wrote {folder / 'regions.npy'}: {reduced.shape}, {100 * share:.1f} % of the variance")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
