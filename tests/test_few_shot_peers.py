"""Few-shot peers against references written from their papers, one episode at a time."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as ReferenceRegression

from few_shot_data import clustered_dataset
from zerokin.benchmark.few_shot import EpisodePlan, FewShotEvaluation, draw_episodes
from zerokin.benchmark.few_shot.batches import episode_accuracies, episode_predictions
from zerokin.benchmark.few_shot.comparison import find_few_shot_methods
from zerokin.benchmark.few_shot.generalized import GeneralizedFewShotEvaluation
from zerokin.benchmark.few_shot.peer_method import FewShotPeerMethod
from zerokin.benchmark.few_shot.peers import PEERS, BaseClasses
from zerokin.benchmark.few_shot.peers.am3 import train_am3
from zerokin.errors import InvalidInput
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


def base_classes(data=BASE):
    return BaseClasses(data.features, data.labels, FeatureScaler("none"), data.semantics)


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


def am3(S, q, Z, peer):
    """Prototypes λ p + (1 − λ) g(z), by the learned weights."""
    base = DATASET.semantics[np.unique(BASE.labels)]
    W = {
        k: v.astype(float)
        for k, v in peer.base_.once(train_am3, S.shape[1], learning_rate=0.003, dropout=0.5).items()
    }
    length = np.sqrt((BASE.features**2).sum(axis=1).mean())
    scores = []
    for shots, z in zip(S, Z, strict=True):
        z = (z - base.mean(axis=0)) / np.sqrt(((base - base.mean(axis=0)) ** 2).mean())
        g = W["g2"].T @ np.maximum(W["g1"].T @ z + W["g1_bias"], 0) + W["g2_bias"]
        h = W["h2"].T @ np.maximum(W["h1"].T @ g + W["h1_bias"], 0) + W["h2_bias"]
        share = 1 / (1 + np.exp(-h[0]))
        prototype = share * shots.mean(axis=0) / length + (1 - share) * g
        scores.append(-np.linalg.norm(q / length - prototype))
    return scores


def semfew(S, q, Z, peer):
    """Cosines with k r + (1 − k) p, r the mean of what every shot reconstructs."""
    base = DATASET.semantics[np.unique(BASE.labels)]
    W = {k: np.asarray(v, dtype=float) for k, v in peer.weights_.items()}
    first = np.concatenate([W["semantics"], W["sample"]])
    scores = []
    for shots, z in zip(S, Z, strict=True):
        z = (z - base.mean(axis=0)) / np.sqrt(((base - base.mean(axis=0)) ** 2).mean())
        made = []
        for s in shots:
            hidden = np.concatenate([z, s / W["length"]]) @ first + W["bias"]
            hidden = np.array([h if h > 0 else 0.2 * h for h in hidden])
            made.append((hidden @ W["last"] + W["last_bias"]) * W["length"])
        prototype = 0.4 * np.mean(made, axis=0) + 0.6 * shots.mean(axis=0)
        scores.append(q @ prototype / np.linalg.norm(q) / np.linalg.norm(prototype))
    return scores


REFERENCES = {
    "easy": (simple_shot, {"feature_scaling": "center-unit"}),
    "am3": (am3, {"feature_scaling": "none", "learning_rate": 0.003, "dropout": 0.5}),
    "semfew": (semfew, {"feature_scaling": "none", "mix": 0.4, "learning_rate": 0.001}),
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
    more = []
    if PEERS[name].uses_semantics:
        peer = PEERS[name](**{k: v for k, v in params.items() if k != "feature_scaling"})
        peer.learn(base_classes())
        more = [peer]
    assert scores.shape == (12, 30, 5)
    for t, (shown, asked) in enumerate(zip(episodes.shots, episodes.queries, strict=True)):
        for m, sample in enumerate(asked.ravel()):
            known = [DATASET.semantics[episodes.classes[t]], *more] if more else []
            expected = np.array(reference(POOL[shown], POOL[sample], *known))
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
    peer.learn(base_classes())
    shots, queries = POOL[EPISODES[4].shots], POOL[EPISODES[4].queries].reshape(12, 30, -1)
    known = DATASET.semantics[EPISODES[4].classes] if peer.uses_semantics else None
    np.testing.assert_allclose(
        peer.scores(shots, queries[:, 7:9], known),
        peer.scores(shots, queries, known)[:, 7:9],
        atol=1e-9,
    )


SEMANTIC = [name for name, peer in PEERS.items() if peer.uses_semantics]


def test_peers_with_semantics_are_better_than_shots_alone_where_semantics_tell():
    episodes = draw_episodes(
        DATASET.evaluation_labels(SPLIT.test_unseen), shots=1, queries=9, episodes=150
    )
    found = {}
    for name in ("simple-shot", *SEMANTIC):
        method = FewShotPeerMethod(PEERS[name])
        params = {**method.defaults, "feature_scaling": "center-unit"}
        scorer = next(method.scorers(BASE, POOL, [params]))
        found[name] = episode_accuracies(scorer, episodes, d_f=24).mean()
    assert found["am3"] > found["simple-shot"] + 1
    assert found["semfew"] > found["simple-shot"] + 1


@pytest.mark.parametrize("name", SEMANTIC)
def test_semantics_of_novel_classes_have_no_say_in_what_is_learned(name):
    other = DATASET.semantics.copy()
    other[18:] = 7.0
    data = TrainingData(BASE.features, BASE.labels, other)
    method, episodes = FewShotPeerMethod(PEERS[name]), EPISODES[1]
    shots, queries = POOL[episodes.shots], POOL[episodes.queries].reshape(12, 30, -1)
    known = DATASET.semantics[episodes.classes]
    scores = []
    for one in (BASE, data):
        peer = method.peer()
        peer.learn(base_classes(one))
        scores.append(peer.scores(shots, queries, known))
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("name", SEMANTIC)
def test_peers_with_semantics_say_what_they_miss(name):
    bare = TrainingData(BASE.features, BASE.labels, np.empty((25, 0)))
    method = FewShotPeerMethod(PEERS[name])
    with pytest.raises(InvalidInput, match="this method needs class semantics: give some"):
        next(method.scorers(bare, POOL, [method.defaults]))
    peer = PEERS[name]()
    peer.learn(base_classes())
    shots, queries = POOL[EPISODES[1].shots], POOL[EPISODES[1].queries].reshape(12, 30, -1)
    with pytest.raises(InvalidInput, match=f"{name} also needs the semantics of an episode's cla"):
        peer.scores(shots, queries)
    with pytest.raises(
        InvalidInput, match=r"must be of the shots' classes \(T, W\): got \(12, 4, "
    ):
        peer.scores(shots, queries, DATASET.semantics[EPISODES[1].classes][:, :4])
    names = [one.name for one in find_few_shot_methods(["all"], has_semantics=False)]
    assert name not in names
    assert "easy" not in names
    assert "easy" in [m.name for m in find_few_shot_methods(["all"], has_shot_features=True)]


def test_am3_needs_a_query_beside_its_shots():
    peer = PEERS["am3"]()
    peer.learn(base_classes())
    shots = np.ones((1, 2, 20, 24))
    with pytest.raises(InvalidInput, match="but one has 20 samples: lower shots"):
        peer.scores(shots, np.ones((1, 3, 24)), np.ones((1, 2, 6)))


def test_shots_have_features_of_their_own_where_given():
    """As if shots were other samples; queries and base classes stay as they are."""
    rng = np.random.default_rng(8)
    shown = DATASET.with_inputs(
        DATASET.features + rng.normal(size=DATASET.features.shape).astype(np.float32)
    )
    plan = EpisodePlan(way=4, shots=3, queries=5, episodes=13, validation_episodes=4)
    evaluation = FewShotEvaluation(DATASET, plan, shot_features=shown, quiet=True)
    row, _ = evaluation.run(FewShotPeerMethod(PEERS["easy"]))
    S, F = shown.features[SPLIT.test_unseen], DATASET.features[SPLIT.test_unseen]
    episodes = draw_episodes(
        DATASET.evaluation_labels(SPLIT.test_unseen), way=4, shots=3, queries=5, episodes=13
    )
    center = DATASET.features[SPLIT.train][np.isin(DATASET.training_labels(), np.arange(12))].mean(
        0
    )

    def unit(rows):
        return (rows - center) / np.linalg.norm(rows - center, axis=-1, keepdims=True)

    right = []
    for shots, queries in zip(episodes.shots, episodes.queries, strict=True):
        means = unit(S[shots]).mean(axis=1)
        for c, asked in enumerate(queries):
            near = np.linalg.norm(unit(F[asked])[:, None] - means, axis=2).argmin(axis=1)
            right += (near == c).tolist()
    assert row.metrics["top1"] == pytest.approx(100 * np.mean(right))
    assert row.selection["shot_features"].startswith("array (")
    with pytest.raises(InvalidInput, match="shot_features are for setting few-shot"):
        GeneralizedFewShotEvaluation(evaluation)
    narrow = DATASET.with_inputs(DATASET.features[:, :9])
    with pytest.raises(InvalidInput, match=r"shot_features are 500 × 9, but features 500 × 24"):
        FewShotEvaluation(DATASET, plan, shot_features=narrow)
