"""The paper's figure of t: accuracy on validation classes over the hierarchy's branching.

    python benchmarks/branching.py xlsa17=DIR [--methods ours,paper] [--out FILE.png] [--json FILE]

*ours*, for each t, by k-means and by Ward clustering: with superclass offsets alone (no offsets by
similar semantics, so that superclasses show), at its defaults, and with the paper's top-3 pruning.
*paper*: the paper's own method, whose scaling, distance, α, β and ε are chosen on the folds for
every t anew; t is 2 to 8, as in the paper. Settings that are 3 points behind on a fold are not
tried on the others. About ten minutes of a core.
Mean over the validation folds; no test class is touched. What is chosen for a t is chosen on the
folds that it is then shown on, as cross-validation does: the curve compares values of t, and is no
test.
"""

from __future__ import annotations

import argparse

import numpy as np

import zerokin
from zerokin.benchmark.settings import features_name, features_sha256
from zerokin.errors import InvalidInput
from zerokin.files import replacing
from zerokin.metrics.accuracy import per_class_top1
from zerokin.report.branching_figure import branching_curves, draw_branching
from zerokin.report.comparison import as_json
from zerokin.selection.class_fold_search import ClassFoldSearch
from zerokin.selection.paper_space import STAGES, Paper

BRANCHINGS = (2, 3, 4, 5, 6, 8, 10)
PAPER_BRANCHINGS = (2, 3, 4, 5, 6, 7, 8)
WAYS = {
    "superclass offsets": {"inference": "residual", "semantic_variance": 0.0},
    "ours": {"inference": "residual"},
    "top-3 pruning": {"inference": "paper"},
}
METHODS = ("ours", "paper")


class PaperAt(Paper):
    """The paper's method with a given t; all else is chosen as usual, in races."""

    race_margin = 3.0

    def __init__(self, branching: int, stages=STAGES) -> None:
        super().__init__()
        self.defaults = {**self.defaults, "branching": branching}
        self.stages = tuple(
            stage for stage in stages if not any("branching" in change for change in stage)
        )


def accuracy(fold, **params) -> float:
    split = fold.split
    model = zerokin.ZeroShotClassifier(**params, seen_penalty=0.0).fit(
        np.asarray(fold.features[split.train]), fold.training_labels(), semantics=fold.semantics
    )
    named = model.predict(np.asarray(fold.features[split.test_unseen]), candidates=fold.unseen)
    return per_class_top1(fold.evaluation_labels(split.test_unseen), named)


def methods_of(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in METHODS:
            raise InvalidInput(f"unknown method {name!r}: --methods takes {' and '.join(METHODS)}")
    return names


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data")
    parser.add_argument("--methods", default="ours", help="ours, paper or both, joined by ,")
    parser.add_argument("--out", help="also draw the figure")
    parser.add_argument("--json", help="also write the rows")
    return parser.parse_args(arguments)


def main() -> None:
    given = parse()
    methods = methods_of(given.methods)
    dataset = zerokin.load_dataset(given.data)
    rows = []

    def add(name: str, curve: dict[int, float], on: str) -> None:
        rows.append(row_of(dataset, name, curve, on))
        print(f"{name}: {', '.join(f't={t} {v:.1f}' for t, v in curve.items())}", flush=True)
        if given.json:
            with replacing(given.json) as temporary:
                temporary.write_text(as_json(rows), encoding="utf-8")

    if "ours" in methods:
        for name, curve in our_curves(dataset):
            add(name, curve, "nothing: the defaults")
    if "paper" in methods:
        add("paper, kmeans", paper_curve(dataset), "the folds themselves, for every t")
    if given.out:
        curves, flat = branching_curves(rows)
        draw_branching(curves, given.out, flat=flat)


def our_curves(dataset):
    """Yield the name and the curve of every way that ours is measured in."""
    folds = [dataset.fold(number) for number in range(1, len(dataset.split.folds) + 1)]

    def mean(**params) -> float:
        return float(np.mean([accuracy(fold, **params) for fold in folds]))

    yield "without superclasses", dict.fromkeys(BRANCHINGS, mean(inference="flat"))
    for grouping in ("kmeans", "agglomerative"):
        for name, params in WAYS.items():
            yield (
                f"{name}, {grouping}",
                {t: mean(grouping=grouping, branching=t, **params) for t in BRANCHINGS},
            )


def paper_curve(dataset, stages=STAGES) -> dict[int, float]:
    """Return what the paper's method reaches on the folds for every t.

    One search serves all: graphs, factorizations and the projections of classes, which know nothing
    of t, are made once.
    """
    search = ClassFoldSearch(PaperAt(PAPER_BRANCHINGS[0], stages), goal="pure").prepare(dataset)
    curve = {}
    for branching in PAPER_BRANCHINGS:
        search.method = PaperAt(branching, stages)
        curve[branching] = float(search.choose("pure").best.score("pure"))
        print(f"paper, t={branching}: {curve[branching]:.1f}", flush=True)
    return curve


def row_of(dataset, name: str, curve: dict[int, float], on: str) -> dict[str, object]:
    return {
        "dataset": dataset.name,
        "setting": "validation",
        "features": features_name(dataset),
        "features_sha256": features_sha256(dataset),
        "split": dataset.split.version,
        "seed": 0,
        "selection": {"on": on},
        "method": name,
        "metrics": {f"t{t}": value for t, value in curve.items()},
    }


if __name__ == "__main__":
    main()
