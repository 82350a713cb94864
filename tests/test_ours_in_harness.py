"""The sweep and the estimator are one method: same hyper-parameters, same scores."""

from __future__ import annotations

import numpy as np
import pytest

from few_shot_data import clustered_dataset
from zerokin import ClassFoldSearch
from zerokin.classifiers import ZeroShotClassifier, stages
from zerokin.errors import InvalidInput
from zerokin.metrics.accuracy import per_class_top1
from zerokin.projection import FeatureSpectrum
from zerokin.selection.method import TrainingData, scores_among
from zerokin.selection.zero_shot_space import DEFAULTS, Ours

RNG = np.random.default_rng(0)
Z = RNG.uniform(size=(20, 9))
Z /= np.linalg.norm(Z, axis=1, keepdims=True)
LABELS = np.repeat(np.arange(15), 12)
WORLD = RNG.normal(size=(9, 30))
FEATURES = Z[LABELS] @ WORLD + 0.3 * RNG.normal(size=(180, 30))
NEW = Z[RNG.integers(15, 20, size=40)] @ WORLD + 0.3 * RNG.normal(size=(40, 30))

TRIALS = [
    DEFAULTS,
    DEFAULTS | {"inference": "flat"},
    DEFAULTS | {"feature_scaling": "center-unit", "hub_weight": 0.0},
    DEFAULTS | {"grouping": "kmeans", "branching": 3, "layer_decay": 1.0, "semantic_variance": 0.0},
    DEFAULTS | {"beta": 0.1, "epsilon": 0.03, "alpha": 0.5},
    DEFAULTS | {"branching": 6},
]


@pytest.mark.parametrize("number", range(len(TRIALS)))
def test_sweep_equals_estimator(number):
    data = TrainingData(FEATURES, LABELS, Z)
    scorer = list(Ours().fit_many(data, TRIALS))[number]
    model = ZeroShotClassifier(**TRIALS[number], seen_penalty=0.0).fit(
        FEATURES, LABELS, semantics=Z
    )
    np.testing.assert_allclose(scorer(NEW), model.decision_function(NEW), atol=1e-10)


def test_later_stages_make_nothing_again_and_score_the_same(monkeypatch):
    made = []

    class Noted(FeatureSpectrum):
        def __init__(self, F, **options):
            made.append(F)
            super().__init__(F, **options)

    monkeypatch.setattr(stages, "FeatureSpectrum", Noted)
    data = TrainingData(FEATURES, LABELS, Z)
    first = [DEFAULTS | {"feature_scaling": name} for name in ("center-unit", "unit", "power-unit")]
    then = [DEFAULTS | {"feature_scaling": "unit", "hub_weight": weight} for weight in (0.0, 0.3)]
    list(Ours().fit_many(data, first))
    assert len(made) == 3
    scorers = list(Ours().fit_many(data, then))
    assert len(made) == 3
    fresh = list(Ours().fit_many(TrainingData(FEATURES, LABELS, Z), then))
    assert len(made) == 4
    for again, expected in zip(scorers, fresh, strict=True):
        np.testing.assert_array_equal(again(NEW), expected(NEW))


def test_the_papers_inference_is_what_a_search_computes():
    """Pruned as the estimator prunes, for all classes and for the unseen ones alone."""
    params = DEFAULTS | {"inference": "paper", "top_k": 2, "branching": 3}
    (scorer,) = Ours().fit_many(TrainingData(FEATURES, LABELS, Z), [params])
    model = ZeroShotClassifier(**params, seen_penalty=0.0).fit(FEATURES, LABELS, semantics=Z)
    scores, unseen = scorer(NEW), np.arange(15, 20)
    np.testing.assert_allclose(scores, model.decision_function(NEW), atol=1e-10)
    among = scores_among(scorer, NEW, unseen, scores)
    np.testing.assert_array_equal(unseen[among.argmax(axis=1)], model.predict(NEW))
    (kin,) = Ours().fit_many(TrainingData(FEATURES, LABELS, Z), [DEFAULTS | {"branching": 3}])
    assert (scores.argmax(axis=1) != kin(NEW).argmax(axis=1)).any()
    # Who survives depends on who is a candidate: columns of all scores would not do.
    assert (among.argmax(axis=1) != scores[:, unseen].argmax(axis=1)).any()


def test_search_from_an_estimator_keeps_its_parameters():
    dataset = clustered_dataset()
    start = ZeroShotClassifier(feature_scaling="center-unit", gamma=0.7)
    search = ClassFoldSearch(start, [[{"hub_weight": w} for w in (0.0, 0.3)]], goal="pure")
    search.quiet = True
    search.fit(dataset)
    assert search.best_params_["gamma"] == 0.7
    assert [trial.params["hub_weight"] for trial in search.trials_] == [0.0, 0.3]
    fold = dataset.fold(1)
    expected = []
    for trial in search.trials_:
        model = ZeroShotClassifier(**trial.params, seen_penalty=0.0)
        X = fold.finite_features(fold.split.train)
        model.fit(X, fold.training_labels(), semantics=fold.semantics)
        named = model.predict(fold.finite_features(fold.split.test_unseen))
        truth = fold.evaluation_labels(fold.split.test_unseen)
        expected.append(per_class_top1(truth, named))
    assert [trial.score("pure") for trial in search.trials_] == expected
    assert search.best_score_ == max(expected)
    with pytest.raises(InvalidInput, match="goal must be one of pure"):
        ClassFoldSearch(goal="best").fit(dataset)
