"""Refining a projection by ranking, and pooling of regions: against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from label_sets import label_arrays
from zerokin import MultiLabelZeroShotClassifier, ZeroShotClassifier
from zerokin.classifiers.multi_label import refinement
from zerokin.classifiers.multi_label.refinement import pairwise_loss, pooled, refined_step
from zerokin.classifiers.multi_label.regions import Pooling, image_scores
from zerokin.errors import InvalidInput
from zerokin.metrics import mean_average_precision


def loss_by_loops(scores, labels):
    parts = []
    for s, y in zip(scores, labels, strict=True):
        if y.all():
            continue
        for c in np.flatnonzero(y):
            wrong = [np.exp((s[w] - s[c]) / refinement.TEMPERATURE) for w in np.flatnonzero(~y)]
            parts.append(np.log(1 + sum(wrong)))
    return np.mean(parts) if parts else 0.0


@pytest.mark.parametrize(("n", "p"), [(1, 3), (7, 11), (4, 2)])
def test_the_loss_is_that_of_its_pairs(n, p):
    rng = np.random.default_rng(n)
    scores, labels = 0.3 * rng.normal(size=(n, p)), rng.random((n, p)) < 0.4
    labels[0] = True  # every class: there is nothing to rank
    given = torch.tensor(scores, requires_grad=True)
    found = pairwise_loss(given, torch.tensor(labels))
    assert found.item() == pytest.approx(loss_by_loops(scores, labels))
    found.backward()
    assert torch.isfinite(given.grad).all()
    assert not given.grad[0].any()


def test_regions_are_pooled_softly():
    scores = torch.randn(3, 5, 7, dtype=torch.float64)
    expected = refinement.POOLING * np.log(np.exp(scores.numpy() / refinement.POOLING).mean(axis=1))
    np.testing.assert_allclose(pooled(scores), expected, rtol=1e-10)
    torch.testing.assert_close(pooled(scores[:, :1]), scores[:, 0])


def test_the_step_lowers_the_loss_and_depends_on_the_seed_alone():
    rng = np.random.default_rng(2)
    X, labels, Z = label_arrays(2)
    seen = np.flatnonzero(labels[:90].any(axis=0))
    F = X[:90] / np.linalg.norm(X[:90], axis=2, keepdims=True)
    P = rng.normal(size=(len(seen), X.shape[2]))
    P /= np.linalg.norm(P, axis=1, keepdims=True)

    def loss(step):
        V = P + Z[seen] @ step.T
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        scores = pooled(torch.tensor(F @ V.T)).numpy()
        return loss_by_loops(scores, labels[:90, seen])

    found = [
        refined_step(F, labels[:90, seen], Z[seen], P, n_epochs=25, random_state=seed)
        for seed in (0, 0, 1)
    ]
    assert loss(found[0]) < 0.7 * loss(np.zeros_like(found[0]))
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


@pytest.mark.parametrize("pooling", [
    Pooling(), Pooling(0.3), Pooling(0.0, 0.07), Pooling(0.0, 0.0, 0.05), Pooling(0.2, 0.03, 0.11),
])  # fmt: skip
def test_scores_of_images_are_those_of_loops(pooling):
    rng = np.random.default_rng(4)
    regions, W = rng.normal(size=(6, 5, 4)), rng.normal(size=(4, 7))
    found = image_scores(regions, lambda F: F @ W, pooling)
    T, t, share = pooling.competition, pooling.temperature, pooling.global_weight
    for row, image in enumerate(regions):
        of_regions = np.array([region @ W for region in image])
        if T:
            odds = np.exp(of_regions / T)
            of_regions = T * np.log(odds / odds.mean(axis=1, keepdims=True))
        best = t * np.log(np.exp(of_regions / t).mean(axis=0)) if t else of_regions.max(axis=0)
        expected = (1 - share) * best + share * (image.mean(axis=0) @ W)
        np.testing.assert_allclose(found[row], expected, rtol=1e-9)


def test_a_single_region_neither_competes_nor_pools():
    rng = np.random.default_rng(5)
    regions, W = rng.normal(size=(6, 1, 4)), rng.normal(size=(4, 7))
    found = image_scores(regions, lambda F: F @ W, Pooling(0.3, 0.1, 0.1))
    np.testing.assert_array_equal(found, regions[:, 0] @ W)


def test_the_best_region_is_the_one_that_a_class_wins():
    scores = np.array([[[0.9, 0.95], [0.5, 0.1]]])  # the second region is the first class's own
    pooling = Pooling(competition=0.1)
    assert scores.argmax(axis=1).tolist() == [[0, 0]]
    assert pooling.competed(scores).argmax(axis=1).tolist() == [[1, 0]]


@pytest.fixture(scope="module")
def problem():
    X, labels, Z = label_arrays(6)
    return X, labels, Z, 2 * len(X) // 3


def test_ranking_serves_labels_that_were_never_shown(problem):
    X, labels, Z, train = problem
    X = X + 2.5 * np.random.default_rng(7).normal(size=X.shape)
    unseen = ~labels[:train].any(axis=0)
    found = []
    for epochs in (0, 30):
        model = MultiLabelZeroShotClassifier(
            ZeroShotClassifier(feature_scaling="center-unit", seen_penalty=0.0),
            ranking_epochs=epochs,
            threshold=0.5,
        ).fit(X[:train], labels[:train], semantics=Z)
        scores = model.decision_function(X[train:])
        found.append(mean_average_precision(labels[train:, unseen], scores[:, unseen]))
        kept = model.zero_shot_._rule.prototypes(
            model.zero_shot_.semantics_,
            model.zero_shot_._kernel(
                Z / np.linalg.norm(Z, axis=1, keepdims=True), model.seen_, model.hierarchy_
            ),
        )
        # What add_class and a bundle go by makes the prototypes that score.
        np.testing.assert_allclose(kept, model.zero_shot_.prototypes_, rtol=1e-9, atol=1e-12)
    assert found[1] > found[0] + 1, found


def test_a_penalty_of_seen_classes_is_taken_off_at_the_end(problem):
    X, labels, Z, train = problem
    plain, lowered = (
        MultiLabelZeroShotClassifier(
            ZeroShotClassifier(feature_scaling="center-unit", seen_penalty=penalty),
            competition=0.1,
            pooling=0.05,
            threshold=0.5,
        ).fit(X[:train], labels[:train], semantics=Z)
        for penalty in (0.0, 0.37)
    )
    before, after = (model.decision_function(X[train:]) for model in (plain, lowered))
    expected = 0.37 * np.isin(np.arange(len(Z)), plain.seen_)
    np.testing.assert_allclose(before - after, np.tile(expected, (len(before), 1)), atol=1e-12)


def test_ranking_needs_cosines(problem):
    X, labels, Z, train = problem
    model = MultiLabelZeroShotClassifier(ZeroShotClassifier(distance="euclidean"), ranking_epochs=2)
    with pytest.raises(InvalidInput, match="distance='euclidean' has no ranking: choose"):
        model.fit(X[:train], labels[:train], semantics=Z)
