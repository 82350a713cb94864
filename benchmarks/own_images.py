"""What to expect of one's own images: small folders drawn from a large data set.

    python benchmarks/own_images.py cub=DIR --seen 30 --unseen 8 --images 15 --draws 3

Every draw takes other classes, writes a folder as a user would have it, fits a recognizer with the
packaged network as it is, and looks at images of seen and of unseen classes that were set aside.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np

import zerokin
from zerokin.data import Dataset
from zerokin.recognizer import ImageAnswer, fit_recognizer

MAX_RISK = 0.2
TESTED = {"seen": 5, "unseen": 10}


def write_folder(dataset: Dataset, root: Path, args: argparse.Namespace, draw: int) -> None:
    rng = np.random.default_rng(draw)
    seen = rng.choice(dataset.seen, args.seen, replace=False)
    unseen = rng.choice(dataset.unseen, args.unseen, replace=False)
    labels = dataset.evaluation_labels(np.arange(len(dataset)))
    names = dataset.classes.names

    def write(rows: np.ndarray, below: str, position: int) -> None:
        folder = root / below / names[position]
        folder.mkdir(parents=True)
        for row in rows:
            dataset.images.load(int(row)).save(folder / f"{row}.jpg", quality=90)

    for position in seen:
        rows = rng.permutation(np.flatnonzero(labels == position))
        write(rows[: args.images], ".", position)
        write(rows[args.images :][: TESTED["seen"]], "test", position)
    for position in unseen:
        rows = rng.permutation(np.flatnonzero(labels == position))
        write(rows[: TESTED["unseen"]], "test", position)
    with (root / "classes.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["name", "role", *(dataset.classes.attribute_names or ())])
        for role, positions in (("seen", seen), ("unseen", unseen)):
            for position in positions:
                table.writerow([names[position], role, *dataset.classes.vectors[position]])


def shares(answers: list[ImageAnswer], truth: list[str]) -> list[float]:
    """Top-1, mean probability; then, hedged: classes right and wrong, superclasses, none."""
    best = [answer.best for answer in answers]
    right = [one.name == name for one, name in zip(best, truth, strict=True)]
    kinds = {"right": 0, "wrong": 0, "superclass": 0, "none": 0}
    for answer, name in zip(answers, truth, strict=True):
        layer = answer.selective.layer
        if layer == 0:
            kinds["right" if answer.name == name else "wrong"] += 1
        else:
            kinds["none" if layer is None else "superclass"] += 1
    found = [np.mean(right), np.mean([one.probability for one in best])]
    return [100 * float(value) for value in found] + [
        100 * count / len(answers) for count in kinds.values()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data")
    parser.add_argument("--seen", type=int, default=30)
    parser.add_argument("--unseen", type=int, default=8)
    parser.add_argument("--images", type=int, default=15)
    parser.add_argument("--draws", type=int, default=3)
    args = parser.parse_args()
    dataset = zerokin.load_dataset(args.data)
    found: dict[str, list[list[float]]] = {"seen": [], "unseen": []}
    for draw in range(args.draws):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "own"
            write_folder(dataset, root, args, draw)
            own = zerokin.load_dataset(f"folder={root}")
            recognizer = fit_recognizer(own, learner={"backbone": "lite0"}, quiet=True)
            for kind, rows in (("seen", own.split.test_seen), ("unseen", own.split.test_unseen)):
                files = [root / own.images.names[row] for row in rows]
                answers = recognizer.recognize(files, max_risk=MAX_RISK)
                truth = [own.classes.names[label] for label in own.evaluation_labels(rows)]
                found[kind].append(shares(answers, truth))
    print("| images of | top-1 | probability | class, right | class, wrong | superclass | none |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for kind, draws in found.items():
        mean, spread = np.mean(draws, axis=0), np.std(draws, axis=0)
        cells = [f"{m:.0f} ± {s:.0f}" for m, s in zip(mean, spread, strict=True)]
        print(f"| {kind} classes | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
