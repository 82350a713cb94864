"""Critters scenes with a frozen network: features of regions, and methods compared on them.

    python benchmarks/critters_scenes.py critters-scenes --folder FOLDER
    python benchmarks/critters_scenes.py critters-scenes --folder FOLDER --methods devise,ours
    zerokin fit critters-scenes --features FOLDER/regions.npy --out MODEL
    python benchmarks/critters_scenes.py critters-scenes --folder FOLDER --point MODEL

EfficientNet-Lite0 with ImageNet weights (extra `pretrained`) reads a grid of 7 × 7 regions off
images of 224 pixels. So that methods can be compared in minutes on a CPU, features are reduced to
256 dimensions by the principal components of the training images' regions; no label is looked at.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from zerokin import MultiLabelZeroShotClassifier, load_dataset
from zerokin.commands.measure import run_comparison
from zerokin.features.extraction import extract_features
from zerokin.features.extractor import Extractor, open_extractor
from zerokin.features.network_config import read_network
from zerokin.files import replacing

REGIONS, IMAGE_SIZE, DIMENSIONS = 7, 224, 256
BLOCK = 100


def parse(words: list[str]) -> argparse.Namespace:
    """Return what was typed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", choices=["critters-scenes"])
    parser.add_argument("--folder", type=Path, required=True, help="for features")
    parser.add_argument("--methods", help="to compare, joined by commas")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--out", type=Path, help="table of the comparison")
    parser.add_argument("--train", type=Path, metavar="CONFIG", help="read a network of this file")
    parser.add_argument("--point", type=Path, metavar="MODEL", help="look where animals are found")
    return parser.parse_args(words)


def main(given: argparse.Namespace) -> None:
    """Read features where there are none yet; then do what is asked."""
    features = given.folder / "regions.npy"
    if not features.exists():
        write_features(given.data, given.folder, given.train)
    if given.methods:
        run_comparison(
            given.data,
            given.methods.split(","),
            ["pure", "generalized"],
            given.seeds,
            [] if given.out is None else [given.out],
            {"features": str(features)},
        )
    if given.point:
        point(features, given.point)


def write_features(data: str, folder: Path, config: Path | None = None) -> None:
    """Write features of regions as `regions.npy`: of a frozen network, or of one that is trained.

    Training looks at training images and their labels alone; interrupted, it goes on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scenes = load_dataset(data)
    if config is None:
        extractor = open_extractor("lite0", image_size=IMAGE_SIZE, regions=REGIONS, tta_flip=False)
    else:
        learner = read_network(config).learner(None, None)
        learner.fit(scenes, folder=folder / "training", quiet=False)
        extractor = Extractor.from_network(learner, view=learner.view._replace(regions=REGIONS))
    rows = extract_features(extractor, scenes, folder / "whole.safetensors", dtype="float16")
    regions, train = rows.open(), scenes.split.train
    n, d_f = 0, regions.shape[2]
    total, products = np.zeros(d_f), np.zeros((d_f, d_f))
    for start in range(0, len(train), BLOCK):
        block = regions[train[start : start + BLOCK]].reshape(-1, d_f).astype(np.float64)
        n, total, products = n + len(block), total + block.sum(axis=0), products + block.T @ block
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


def point(features: Path, model: Path) -> None:
    """Print how often the best region of an animal that is there lies in its box."""
    scenes = load_dataset("critters-scenes", features=str(features))
    classifier = MultiLabelZeroShotClassifier.load(model)
    images = load_dataset("critters-scenes").images
    tests = np.concatenate([scenes.split.test_seen, scenes.split.test_unseen])
    where = classifier.locate(scenes.finite_features(tests))
    middles = (np.stack(np.divmod(where, REGIONS)[::-1], axis=-1) + 0.5) / REGIONS
    anywhere = (np.indices((REGIONS, REGIONS))[::-1].reshape(2, -1).T + 0.5) / REGIONS
    hits: dict[bool, list[tuple[bool, float]]] = {False: [], True: []}
    for row, index in enumerate(tests.tolist()):
        boxes = images.boxes(index)
        for animal, box in zip(images.animals[index].tolist(), boxes, strict=True):
            x, y = middles[row, animal]
            found = box[0] <= x <= box[2] and box[1] <= y <= box[3]
            inside = (anywhere >= box[:2]) & (anywhere <= box[2:])
            hits[bool(scenes.split.unseen[animal])].append((found, inside.all(axis=1).mean()))
    for unseen, pairs in hits.items():
        share, chance = 100 * np.mean(pairs, axis=0)
        kind = "unseen" if unseen else "seen"
        print(f"{kind}: {share:.1f} % of {len(pairs):,} in their box, by chance {chance:.1f} %")


if __name__ == "__main__":
    main(parse(sys.argv[1:]))
