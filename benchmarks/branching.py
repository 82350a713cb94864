"""The paper's figure of t: accuracy on validation classes over the hierarchy's branching.

    python benchmarks/branching.py xlsa17=DIR [--out branching.png] [--json rows.json]

For each t, by k-means and by Ward clustering: ours with superclass offsets alone (no offsets by
similar semantics, so that superclasses show), ours at its defaults, and the paper's top-3 pruning.
Mean over the validation folds; no test class is touched.
"""

from __future__ import annotations

import argparse

import numpy as np

import zerokin
from zerokin.benchmark.settings import features_name, features_sha256
from zerokin.files import replacing
from zerokin.metrics.accuracy import per_class_top1
from zerokin.report.comparison import as_json

BRANCHINGS = (2, 3, 4, 5, 6, 8, 10)
WAYS = {
    "superclass offsets": {"inference": "residual", "semantic_variance": 0.0},
    "ours": {"inference": "residual"},
    "top-3 pruning": {"inference": "paper"},
}


def accuracy(fold, **params) -> float:
    split = fold.split
    model = zerokin.ZeroShotClassifier(**params).fit(
        np.asarray(fold.features[split.train]), fold.training_labels(), semantics=fold.semantics
    )
    named = model.predict(np.asarray(fold.features[split.test_unseen]), candidates=fold.unseen)
    return per_class_top1(fold.evaluation_labels(split.test_unseen), named)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data")
    parser.add_argument("--out", help="also draw the figure")
    parser.add_argument("--json", help="also write the rows")
    return parser.parse_args(arguments)


def main() -> None:
    given = parse()
    dataset = zerokin.load_dataset(given.data)
    folds = [dataset.fold(number) for number in range(1, len(dataset.split.folds) + 1)]
    flat = np.mean([accuracy(fold, inference="flat") for fold in folds])
    print(f"without superclasses: {flat:.1f}")
    curves: dict[str, list[float]] = {}
    for grouping in ("kmeans", "agglomerative"):
        for name, params in WAYS.items():
            curve = curves[f"{name}, {grouping}"] = []
            for branching in BRANCHINGS:
                given_params = {"grouping": grouping, "branching": branching, **params}
                curve.append(float(np.mean([accuracy(fold, **given_params) for fold in folds])))
            figures = ", ".join(f"t={t} {v:.1f}" for t, v in zip(BRANCHINGS, curve, strict=True))
            print(f"{name}, {grouping}: {figures}", flush=True)
    if given.json:
        write_rows(
            dataset, {"without superclasses": [float(flat)] * len(BRANCHINGS), **curves}, given.json
        )
    if given.out:
        draw(curves, flat, given.out)


def write_rows(dataset, curves: dict[str, list[float]], path: str) -> None:
    about = {
        "dataset": dataset.name,
        "setting": "validation",
        "features": features_name(dataset),
        "features_sha256": features_sha256(dataset),
        "split": dataset.split.version,
        "seed": 0,
        "selection": {"on": "nothing: the defaults"},
    }
    rows = [
        {
            **about,
            "method": name,
            "metrics": {f"t{t}": value for t, value in zip(BRANCHINGS, curve, strict=True)},
        }
        for name, curve in curves.items()
    ]
    with replacing(path) as temporary:
        temporary.write_text(as_json(rows), encoding="utf-8")


def draw(curves: dict[str, list[float]], flat: float, path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.8))
    axes = figure.add_subplot()
    for name, curve in curves.items():
        style = "-" if name.endswith("kmeans") else "--"
        axes.plot(BRANCHINGS, curve, style, marker="o", markersize=3, label=name)
    axes.axhline(flat, color="grey", linestyle=":", label="without superclasses")
    axes.set_xlabel("t")
    axes.set_ylabel("per-class top-1 on validation classes, %")
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
