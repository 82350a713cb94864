"""Few-shot peers against references written from their papers, one episode at a time."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as ReferenceRegression

from few_shot_data import clustered_dataset
from zerokin.benchmark.few_shot import draw_episodes
from zerokin.benchmark.few_shot.batches import episode_predictions
from zerokin.benchmark.few_shot.peer_method import FewShotPeerMethod
from zerokin.benchmark.few_shot.peers import PEERS
from zerokin.features.scaler import FeatureScaler
from zerokin.selection.method import TrainingData

DATASET = clustered_dataset()
SPLIT = DATASET.split
BASE = TrainingData(
    DATASET.features[SPLIT.train].astype(np.float64), DATASET.training_labels(), DATASET.semantics
)
POOL = DATASET.features[SPLIT.test_unseen].astype(np.float64)
EPISODES = {
    k: draw_episodes(DATASET.evaluation_labels(SPLIT.test_unseen), shots=k, queries=6, episodes=12)
    for k in (1, 4)
}


def nearest_neighbor(S, q):
    return [max(-np.linalg.norm(q - s) for s in shots) for shots in S]


def prototypical(S, q):
    return [-np.linalg.norm(q - shots.mean(axis=0)) for shots in S]


def simple_shot(S, q):
    center = BASE.features.mean(axis=0)

    def normal(x):
        return (x - center) / np.linalg.norm(x - center)

    return [-np.linalg.norm(normal(q) - np.mean([normal(s) for s in shots], axis=0)) for shots in S]


def logistic_regression(S, q, ridge=0.05):
    flat = S.reshape(-1, S.shape[-1])
    scale = np.sqrt((flat**2).sum(axis=1).mean())
    model = ReferenceRegression(
        C=1 / (ridge * len(flat)), fit_intercept=False, tol=1e-10, max_iter=10_000
    )
    model.fit(flat / scale, np.repeat(np.arange(len(S)), S.shape[1]))
    return model.decision_function(q[None] / scale)[0]


def distribution_calibration(S, q, neighbors=2, spread=1.0):
    classes = np.unique(BASE.labels)
    samples = [BASE.features[BASE.labels == c] for c in classes]
    means = [x.mean(axis=0) for x in samples]
    covariances = [np.cov(x.T) for x in samples]
    calibrated, pooled = [], []
    for shots in S:
        of_class = []
        for s in shots:
            near = np.argsort([np.linalg.norm(s - m) for m in means])[:neighbors]
            of_class.append((s + sum(means[b] for b in near)) / (neighbors + 1))
            pooled.append(np.mean([covariances[b] for b in near], axis=0))
        calibrated.append(np.mean(of_class, axis=0))
    covariance = np.mean(pooled, axis=0)
    covariance = covariance + spread * np.trace(covariance) / len(covariance) * np.eye(len(q))
    inverse = np.linalg.inv(covariance)
    return [-(q - m) @ inverse @ (q - m) for m in calibrated]


REFERENCES = {
    "nearest-neighbor": (nearest_neighbor, {"feature_scaling": "none"}),
    "prototypical": (prototypical, {"feature_scaling": "none"}),
    "simple-shot": (simple_shot, {"feature_scaling": "center-unit"}),
    "logistic-regression": (logistic_regression, {"feature_scaling": "none", "ridge": 0.05}),
    "distribution-calibration": (
        distribution_calibration,
        {"feature_scaling": "none", "neighbors": 2, "spread": 1.0},
    ),
}


@pytest.mark.parametrize("shots", EPISODES)
@pytest.mark.parametrize("name", PEERS)
def test_peer_equals_its_reference_one_query_at_a_time(name, shots):
    reference, params = REFERENCES[name]
    episodes = EPISODES[shots]
    scorer = next(FewShotPeerMethod(PEERS[name]).scorers(BASE, POOL, [params]))
    scores = scorer(episodes)
    assert scores.shape == (12, 30, 5)
    for t, (shown, asked) in enumerate(zip(episodes.shots, episodes.queries, strict=True)):
        for m, sample in enumerate(asked.ravel()):
            expected = np.array(reference(POOL[shown], POOL[sample]))
            assert scores[t, m].argmax() == expected.argmax()
            if m == 0:  # scores agree up to what is the same for all classes of a query
                order = np.argsort(expected)
                assert np.array_equal(np.argsort(scores[t, m]), order)


def test_logistic_regression_scores_are_the_reference_s():
    episodes = EPISODES[4]
    params = {"feature_scaling": "none", "ridge": 0.05}
    method = FewShotPeerMethod(PEERS["logistic-regression"])
    scores = next(method.scorers(BASE, POOL, [params]))(episodes)
    for t in range(12):
        for m in (0, 17):
            query = POOL[episodes.queries[t].ravel()[m]]
            expected = logistic_regression(POOL[episodes.shots[t]], query)
            np.testing.assert_allclose(scores[t, m], expected, atol=1e-4)


@pytest.mark.parametrize("name", PEERS)
def test_trials_in_one_sweep_are_trials_alone(name):
    method = FewShotPeerMethod(PEERS[name])
    trials = [{**method.defaults, **change} for stage in method.stages for change in stage][:6]
    episodes = EPISODES[4]
    for params, scorer in zip(trials, method.scorers(BASE, POOL, trials), strict=True):
        alone = next(method.scorers(BASE, POOL, [params]))
        np.testing.assert_array_equal(scorer(episodes), alone(episodes))


@pytest.mark.parametrize("name", PEERS)
def test_batches_equal_episodes_one_by_one(name):
    method = FewShotPeerMethod(PEERS[name])
    scorer = next(method.scorers(BASE, POOL, [method.defaults]))
    episodes = EPISODES[4]
    together = episode_predictions(scorer, episodes, d_f=POOL.shape[1])
    alone = [scorer(one).argmax(axis=2) for one in episodes.chunks(1)]
    assert np.array_equal(together, np.concatenate(alone))


@pytest.mark.parametrize("name", PEERS)
def test_a_query_is_scored_without_the_others(name):
    """Inductive: what else is asked in an episode changes nothing."""
    peer = PEERS[name]()
    from zerokin.benchmark.few_shot.peers import BaseClasses

    peer.learn(BaseClasses(BASE.features, BASE.labels, FeatureScaler("none")))
    shots, queries = POOL[EPISODES[4].shots], POOL[EPISODES[4].queries].reshape(12, 30, -1)
    np.testing.assert_allclose(
        peer.score(shots, queries[:, 7:9]), peer.score(shots, queries)[:, 7:9], atol=1e-9
    )
