"""Scores that are not finite, and samples or classes without a direction, name no class."""

from __future__ import annotations

import numpy as np
import pytest

from api_problem import NEW, SEEN, SHOTS, C, X, Y, Z
from zerokin.benchmark.few_shot.batches import episode_accuracies
from zerokin.benchmark.few_shot.episodes import draw_episodes
from zerokin.benchmark.peers import PEERS
from zerokin.classifiers import FewShotClassifier, ZeroShotClassifier
from zerokin.classifiers.finite_scores import finite_scores
from zerokin.errors import InvalidInput
from zerokin.features.scaler import unit_length, whitening
from zerokin.recognizer.answering import Answerer, Question


def test_scores_are_refused_by_sample():
    scores = np.random.default_rng(3).normal(size=(17, 5))
    assert finite_scores(scores) is scores
    assert finite_scores(np.full((3, 2), 1e308)) is not None  # whose sum is infinite
    scores[11, 2], scores[13, 0] = np.nan, np.inf
    with pytest.raises(
        InvalidInput, match=r"the scores of sample 11 are not finite \(2 such samples"
    ):
        finite_scores(scores)


@pytest.mark.parametrize("kind", [ZeroShotClassifier, FewShotClassifier])
@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_a_classifier_whose_numbers_were_spoiled_says_so(kind, method):
    model = kind().fit(X, Y, semantics=Z)
    model.prototypes_ = np.where(np.arange(C)[:, None] == 7, np.nan, model.prototypes_)
    with pytest.raises(InvalidInput, match="the scores of sample 0 are not finite"):
        getattr(model, method)(NEW)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e20, "0.1", None])
def test_a_seen_penalty_set_after_fitting_is_checked(value):
    model = ZeroShotClassifier().fit(X, Y, semantics=Z)
    model.seen_penalty = value
    with pytest.raises(InvalidInput, match=r"seen_penalty must be a number from -1e\+06 to 1e\+06"):
        model.predict(NEW, "all")


def test_a_peer_that_diverges_says_so():
    peer = PEERS["sje"](learning_rate=1e6, decay=1e6, n_epochs=9)
    with pytest.raises(InvalidInput, match=r"not finite.*hyper-parameters of sje"):
        peer.fit(X, Y, Z).scores(NEW)


def test_an_episode_scored_with_nan_is_no_wrong_answer():
    episodes = draw_episodes(Y, way=3, shots=1, queries=2, episodes=4)
    with pytest.raises(InvalidInput, match="not finite"):
        episode_accuracies(lambda part: np.full((len(part), 6, 3), np.nan), episodes, d_f=7)


@pytest.mark.parametrize("keep", [1, 2])
def test_pruning_leaves_every_sample_a_candidate(keep):
    model = ZeroShotClassifier(inference="paper", top_k=keep).fit(X, Y, semantics=Z)
    for chosen in (np.arange(C), np.arange(SEEN, C), [2], [0, 8]):
        _, scores = model.predict_top_k(np.concatenate([X, NEW]), C, chosen)
        assert np.isfinite(scores[:, 0]).all()
        answerer = Answerer(model, {}, Question(list(chosen), k=C), {})
        for answer in answerer.answer_each(NEW, ["image"] * len(NEW)):
            assert all(np.isfinite(one.score) for one in answer.ranked)
            assert answer.ranked


def test_features_that_are_all_zero_teach_nothing():
    with pytest.raises(InvalidInput, match="X: all 24 samples are equal"):
        ZeroShotClassifier(feature_scaling="unit").fit(0 * X, Y, semantics=Z)
    with pytest.raises(InvalidInput, match="X is all zero once it is normalized by 'unit'"):
        ZeroShotClassifier(feature_scaling="unit").fit(0 * X[:1], Y[:1], semantics=Z)
    same = np.tile(X[:1], (len(X), 1))  # which centering makes zero
    for model in (FewShotClassifier(), ZeroShotClassifier(feature_scaling="center-unit")):
        with pytest.raises(InvalidInput, match="X: all 24 samples are equal"):
            model.fit(same, Y, semantics=Z)
    with pytest.raises(InvalidInput, match="all zero once it is normalized by 'center-unit'"):
        FewShotClassifier().fit(X[:1], Y[:1])


def test_a_shot_without_a_direction_is_refused_by_its_number():
    shots = SHOTS.copy()
    model = FewShotClassifier(ZeroShotClassifier(feature_scaling="unit"))
    shots[1] = 0
    with pytest.raises(InvalidInput, match="shots: sample 1 is all zero"):
        model.fit(X, Y, semantics=Z, shots=shots, shot_labels=[6, 7, 8])


def test_a_sample_of_zeros_scores_alike_with_all_classes_but_for_hubness():
    model = ZeroShotClassifier(feature_scaling="unit", hub_weight=0.0, seen_penalty=0.0).fit(
        X, Y, semantics=Z
    )
    assert np.array_equal(model.decision_function(0 * NEW), np.zeros((len(NEW), C)))


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-30, 1.0, 1e30, 1e200])
def test_unit_length_holds_at_any_scale(size):
    rows = np.array([[3.0, 4.0], [0.0, -2.0], [0.0, 0.0]])
    expected = [[0.6, 0.8], [0, -1], [0, 0]]
    np.testing.assert_allclose(
        unit_length(rows * size), expected, rtol=1e-3 if size < 1e-300 else 1e-15
    )


@pytest.mark.parametrize("exponent", [-900, -300, 0, 300])
def test_whitening_does_not_depend_on_scale(exponent):
    expected = whitening(X, Y, shrinkage=3.0)
    np.testing.assert_allclose(
        whitening(np.ldexp(X, exponent), Y, shrinkage=3.0), expected, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(("value", "kind"), [(1e300, np.float64), (1e30, np.float32)])
def test_numbers_too_large_to_square_are_refused_by_row(value, kind):
    features = X.astype(kind)
    features[5, 2] = value
    with pytest.raises(InvalidInput, match=r"X: row 5 holds 1e\+30.*scale X down"):
        ZeroShotClassifier().fit(features, Y, semantics=Z)
