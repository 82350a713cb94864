"""Generalized few-shot recognition: novel classes with a few shots among all base classes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.few_shot.episodes import draw_episodes, mean_with_ci95
from zerokin.benchmark.few_shot.evaluation import FewShotEvaluation
from zerokin.benchmark.few_shot.method import FewShotMethod
from zerokin.benchmark.few_shot.ours import OF_SHOTS, SHOTS_ALONE, OursFewShot
from zerokin.benchmark.few_shot.selection import choose_on_episodes
from zerokin.benchmark.settings import Row
from zerokin.classifiers.few_shot.few_shot_classifier import FewShotClassifier
from zerokin.classifiers.stages import scale_samples
from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.data.dataset import Dataset
from zerokin.data.splits import hold_out
from zerokin.errors import InvalidInput
from zerokin.metrics.seen_unseen_curve import SeenUnseenCurve
from zerokin.progress import track
from zerokin.selection.class_fold_search import SEEN_PENALTIES
from zerokin.selection.method import FEATURE_NORMALIZATIONS, Params, TrainingData, product_of
from zerokin.selection.staged_search import Selection

HELD_OUT = 0.2
"""Share of every base class that is tested on, where the data has no test samples of them."""


class OursGeneralized(OursFewShot):
    """Ours, but base classes lend nothing: what moves towards them would be taken for them."""

    stages = OursFewShot.stages[:-1]


class NearestMean(OursFewShot):
    """Ours without semantics: what the projected semantics add is the difference to it."""

    name = "nearest-mean"
    defaults: Params = SHOTS_ALONE
    stages = (product_of(feature_scaling=FEATURE_NORMALIZATIONS),)


GENERALIZED: dict[str, type[OursFewShot]] = {"nearest-mean": NearestMean, "ours": OursGeneralized}


@dataclass(frozen=True, eq=False)
class Samples:
    """Base samples to learn from and to test on, and samples of novel classes."""

    data: TrainingData
    base_features: NDArray[Any]
    base_labels: NDArray[np.int64]
    novel_features: NDArray[Any]
    novel_labels: NDArray[np.int64]


class GeneralizedFewShotEvaluation:
    """Shots of all novel classes are drawn many times; their other samples and base ones are named.

    Hyper-parameters are chosen as in the few-shot setting. The seen penalty is the one at which the
    harmonic mean is best with validation classes as novel ones.

    Parameters
    ----------
    evaluation
        The few-shot setting on the same data.
    """

    def __init__(self, evaluation: FewShotEvaluation) -> None:
        if evaluation.shot_features is not None:
            raise InvalidInput("shot_features are for setting few-shot: leave them out")
        self.evaluation = evaluation
        dataset, split = evaluation.dataset, evaluation.dataset.split
        seed = evaluation.random_state
        folds = (
            dataset.fold(number + 1, test_seen=HELD_OUT, seed=seed)
            for number in range(len(split.folds))
        )
        self.validation = [
            _samples(fold, fold.split.train, fold.split.test_seen, seed) for fold in folds
        ]
        train, held = split.train, split.test_seen
        if evaluation.base == "training":
            train = train[~split.folds[0][dataset.training_labels()]]
            held = held[~split.folds[0][dataset.evaluation_labels(held)]]
        if not len(held):
            labels = dataset.evaluation_labels(np.arange(len(dataset)))
            train, held = hold_out(train, labels, fraction=HELD_OUT, seed=seed)
        self.test = _samples(dataset, train, held, seed)

    def run(self, method: FewShotMethod) -> tuple[Row, Selection]:
        """Choose hyper-parameters and seen penalty on validation classes, and measure once."""
        evaluation, plan = self.evaluation, self.evaluation.plan
        chosen = choose_on_episodes(method, evaluation.choices, quiet=evaluation.quiet)
        started = time.perf_counter()
        params = chosen.best.params
        draws = min(plan.validation_episodes, 30)
        seen_penalty = self._seen_penalty(params, draws)
        calibrated = time.perf_counter()
        curves = list(
            track(
                self._curves(self.test, params, plan.episodes),
                f"{method.name}: draws of shots",
                total=plan.episodes,
                quiet=evaluation.quiet,
            )
        )
        figures = np.array([curve.at(seen_penalty) for curve in curves])
        row = evaluation.row(method, chosen, "generalized-few-shot")
        row.selection["seen_penalty"] = seen_penalty
        row.metrics = {
            "seen": float(figures[:, 0].mean()),
            "unseen": float(figures[:, 1].mean()),
            "harmonic_mean": float(figures[:, 2].mean()),
            "ci95": mean_with_ci95(figures[:, 2])[1],
            "ausuc": float(np.mean([curve.area() for curve in curves])),
            "shots": plan.shots,
            "way": len(np.unique(self.test.novel_labels)),
        }
        row.seconds = {
            "selection": round(chosen.seconds + calibrated - started, 2),
            "test": round(time.perf_counter() - calibrated, 3),
        }
        return row, chosen

    def _seen_penalty(self, params: Params, draws: int) -> float:
        curves = [
            curve for samples in self.validation for curve in self._curves(samples, params, draws)
        ]
        # The first curve sets the grid; the others are read at the same seen penalties.
        grid = curves[0].quantiles(SEEN_PENALTIES)
        means = np.mean([curve.harmonic_means(grid) for curve in curves], axis=0)
        return float(grid[means.argmax()])

    def _curves(self, samples: Samples, params: Params, draws: int) -> Iterator[SeenUnseenCurve]:
        """Yield the curve of every draw of shots."""
        classes = np.unique(samples.novel_labels)
        shots = self.evaluation.plan.shots
        drawn = draw_episodes(
            samples.novel_labels,
            way=len(classes),
            shots=shots,
            queries=1,
            episodes=draws,
            random_state=self.evaluation.random_state,
        )
        model = _fitted(samples.data, params)
        base, novel = (
            scale_samples(model._normalizer, F)
            for F in (samples.base_features, samples.novel_features)
        )
        both = np.union1d(model.base_, classes)
        is_novel = np.isin(both, classes)
        for of, shown in zip(drawn.classes, drawn.shots, strict=True):
            model.set_shots(samples.novel_features[shown.ravel()], np.repeat(of, shots))
            asked = np.ones(len(novel), dtype=bool)
            asked[shown] = False
            yield SeenUnseenCurve.from_scores(
                model._scores(base)[:, both],
                np.searchsorted(both, samples.base_labels),
                model._scores(novel[asked])[:, both],
                np.searchsorted(both, samples.novel_labels[asked]),
                is_novel,
            )


def _fitted(data: TrainingData, params: Params) -> FewShotClassifier:
    """Return the classifier with what base classes teach, still without novel classes."""
    own = {name: params[name] for name in OF_SHOTS}
    zero_shot = {name: value for name, value in params.items() if name not in own}
    model = FewShotClassifier(
        ZeroShotClassifier(**zero_shot, random_state=data.random_state), **own
    )
    return model.fit(
        data.features,
        data.labels,
        semantics=data.semantics if data.semantics.shape[1] else None,
    )


def _samples(
    dataset: Dataset, train: NDArray[np.int64], held: NDArray[np.int64], seed: int
) -> Samples:
    F, novel = dataset.finite_features, dataset.split.test_unseen
    return Samples(
        TrainingData.from_dataset(dataset, train, seed, needs_semantics=False),
        F(held),
        dataset.evaluation_labels(held),
        F(novel),
        dataset.evaluation_labels(novel),
    )
