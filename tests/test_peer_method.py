"""Peers in the harness: trials share what they can, score as single fits do, and are as many."""

from __future__ import annotations

import numpy as np
import pytest

from test_evaluation import made_dataset
from zerokin.benchmark.comparison import known_methods
from zerokin.benchmark.peer_method import PeerMethod
from zerokin.benchmark.peers import PEERS, training_set
from zerokin.benchmark.settings import Evaluation
from zerokin.features.scaler import FeatureScaler
from zerokin.report.comparison import comparison_lines
from zerokin.selection.class_fold_search import ClassFoldSearch
from zerokin.selection.method import TrainingData
from zerokin.selection.zero_shot_space import Ours

RNG = np.random.default_rng(3)
Z = RNG.uniform(size=(17, 8))
Z /= np.linalg.norm(Z, axis=1, keepdims=True)
LABELS = RNG.permutation(np.repeat(np.arange(2, 15), 11))  # classes 0, 1, 15 and 16 are unseen
FEATURES = Z[LABELS] @ RNG.normal(size=(8, 21)) + 0.3 * RNG.normal(size=(len(LABELS), 21))
NEW = RNG.normal(size=(19, 21))


def trials_of(method):
    return [{**method.defaults, **change} for stage in method.stages for change in stage]


def alone(name, params):
    """Return scores of a single fit, its hubs penalized sample by sample."""
    normalizer = FeatureScaler(params["feature_scaling"])
    F = normalizer.fit_transform(FEATURES, LABELS)
    vectors = Z
    if params["semantics"] == "centered":
        moved = Z - np.mean([Z[c] for c in range(2, 15)], axis=0)
        vectors = np.array([row / np.linalg.norm(row) for row in moved])
    chosen = {key: params[key] for key in PEERS[name].grid}
    peer = PEERS[name](**chosen).fit(F, LABELS, vectors)
    scores = peer.scores(normalizer.transform(NEW))
    means = np.array([F[c == LABELS].mean(axis=0) for c in range(2, 15)])
    of_means = peer.scores(means / np.linalg.norm(means, axis=1, keepdims=True))
    for c in range(len(Z)):
        nearest = sorted(of_means[:, c])[-params["hub_neighbors"] :]
        scores[:, c] -= params["hub_weight"] * np.mean(nearest)
    return scores


def test_methods_that_share_folds_measure_what_each_does_alone():
    dataset = made_dataset()
    lender = Evaluation(dataset, PeerMethod(PEERS["ridge"]), random_state=3, quiet=True)
    for method in (PeerMethod(PEERS["eszsl"]), PeerMethod(PEERS["sae-f2s"]), Ours()):
        alone = Evaluation(dataset, method, random_state=3, quiet=True)
        beside = Evaluation(dataset, method, random_state=3, beside=lender, quiet=True)
        for setting in ("pure", "generalized"):
            (row, found), (other, chosen) = alone.run(setting), beside.run(setting)
            assert (row.metrics, row.selection) == (other.metrics, other.selection)
            assert [trial.unseen for trial in found.trials] == [t.unseen for t in chosen.trials]
    # What all scale alike lies with the lender, and what one method made lies with that method.
    training = lender.search._folds[0].training
    assert len(training.common) > 0
    assert len(training.memo) == 0


def test_ridges_of_a_generative_peer_share_a_generator(monkeypatch):
    trained, peer = [], PEERS["cvae"]
    train = peer.train_generator

    def noted(self, *arguments):
        trained.append(self.variance)
        return train(self, *arguments)

    monkeypatch.setattr(peer, "train_generator", noted)
    method = PeerMethod(peer)
    trials = [{**method.defaults, **change} for change in method.stages[0][:6]]
    assert [trial["variance"] for trial in trials] == [0.3] * 3 + [1.0] * 3
    for params, scorer in zip(
        trials, method.fit_many(TrainingData(FEATURES, LABELS, Z), trials), strict=True
    ):
        monkeypatch.setattr(peer, "train_generator", noted)
        found, shared = scorer(NEW), len(trained)
        np.testing.assert_allclose(found, alone("cvae", params), rtol=1e-5, atol=1e-6)
        del trained[shared:]
    assert trained == [0.3, 1.0]


@pytest.mark.parametrize(
    "name", ["ridge", "ridge-s2f", "eszsl", "sae-f2s", "sae-s2f", "conse", "sync", "dem", "latem"]
)
def test_trials_score_as_single_fits_do(name):
    method = PeerMethod(PEERS[name])
    drawn = np.random.default_rng(5).choice(len(method.stages[0]), size=2, replace=False)
    trials = [
        {**method.defaults, **method.stages[0][at], **hubs}
        for at in drawn
        for hubs in ({}, {"hub_weight": 0.35, "hub_neighbors": 5}, {"hub_weight": 0.15})
    ]
    scorers = method.fit_many(TrainingData(FEATURES, LABELS, Z), trials)
    for params, scorer in zip(trials, scorers, strict=True):
        np.testing.assert_allclose(scorer(NEW), alone(name, params), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["eszsl", "ridge", "sae-f2s", "sync"])
def test_trials_share_factorizations_and_fits(name, monkeypatch):
    factored, fits = [], []
    eigh, learn = training_set.symmetric_spectrum, PEERS[name].learn

    def noted_spectrum(matrix):
        factored.append(len(matrix))
        return eigh(matrix)

    def noted_learn(self, training):
        fits.append(self)
        learn(self, training)

    for module in ("training_set", "eszsl", "sae"):
        monkeypatch.setattr(f"zerokin.benchmark.peers.{module}.symmetric_spectrum", noted_spectrum)
    monkeypatch.setattr(PEERS[name], "learn", noted_learn)
    method, data = PeerMethod(PEERS[name]), TrainingData(FEATURES, LABELS, Z)
    for scorer in method.fit_many(data, trials_of(method)):
        scorer(NEW)
    # One of the features for each normalization of them, one of semantics for each pair.
    assert factored.count(21) == 6
    assert factored.count(8) == (12 if name in ("eszsl", "sae-f2s") else 0)
    n_points = len(method.stages[0])
    assert n_points == 12 * np.prod([len(values) for values in PEERS[name].grid.values()])
    # The second stage starts from the defaults here, which need not be in the grid.
    assert len(fits) in (n_points, n_points + 1)
    for scorer in method.fit_many(data, trials_of(method)):
        scorer(NEW)
    assert len(factored) == 6 + (12 if name in ("eszsl", "sae-f2s") else 0)
    assert len(fits) in (n_points, n_points + 1)


@pytest.mark.parametrize("name", ["ridge", "eszsl", "sae-f2s", "sae-s2f", "conse", "dap", "sync"])
def test_few_samples_of_many_features_give_the_same_scores_in_fewer_columns(name):
    rng = np.random.default_rng(len(name))
    labels = np.repeat(np.arange(2, 15), 2)
    narrow = Z[labels] @ rng.normal(size=(8, 47)) + 0.3 * rng.normal(size=(26, 47))
    new = rng.normal(size=(19, 47))
    columns, _ = np.linalg.qr(rng.normal(size=(131, 47)))  # 26 samples span a fifth of these
    of_narrow = PEERS[name]().fit(narrow, labels, Z).scores(new)
    of_wide = PEERS[name]().fit(narrow @ columns.T, labels, Z).scores(new @ columns.T)
    np.testing.assert_allclose(of_wide, of_narrow, rtol=1e-4, atol=1e-6)
    assert training_set.row_spectrum(narrow @ columns.T)[1].shape == (131, 26)
    assert training_set.row_spectrum(narrow)[1].shape == (47, 47)


@pytest.mark.parametrize("name", known_methods())
def test_every_method_tries_about_as_much_as_ours(name):
    n_ours = sum(len(stage) for stage in Ours().stages)
    n_tried = sum(len(stage) for stage in known_methods()[name]().stages)
    assert n_ours / 2 <= n_tried <= 2 * n_ours


def test_rows_and_tables_say_how_many_settings_were_compared():
    method = PeerMethod(PEERS["ridge-s2f"])
    evaluation = Evaluation(made_dataset(), method, quiet=True)
    rows = [evaluation.run(setting)[0].as_dict() for setting in ("pure", "generalized")]
    # The correction's weight 0 is the uncorrected fit at the default neighbors, tried before.
    assert [row["selection"]["tried"] for row in rows] == [72 + 18 - 1] * 2
    alone = Evaluation(made_dataset(), method, quiet=True).run("generalized")[0]
    assert alone.selection["tried"] == 89
    headings, lines = comparison_lines(rows)
    assert headings[:2] == ["method", "tried"]
    assert lines[0][:2] == ["ridge-s2f", "89"]


def test_a_better_correction_of_hubs_is_chosen():
    search = ClassFoldSearch(PeerMethod(PEERS["ridge"]), quiet=True).prepare(made_dataset())
    best = search.choose("pure").best
    plain = [trial for trial in search.tried.values() if not trial.params["hub_weight"]]
    assert best.score("pure") >= max(trial.score("pure") for trial in plain)
