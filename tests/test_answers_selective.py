"""Hedging against walks over the tree, and the properties people rely on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.recognizer.confidence.ancestors import find_ancestors
from zerokin.recognizer.confidence.confidence import probabilities
from zerokin.recognizer.confidence.confidence_model import ConfidenceModel
from zerokin.recognizer.confidence.novelty import NoveltyRule
from zerokin.recognizer.confidence.overall_risk import OverallRisk
from zerokin.recognizer.confidence.risk_map import RiskMap
from zerokin.recognizer.confidence.scored import Scored
from zerokin.recognizer.confidence.selective_prediction import (
    ANYTHING,
    learn_risk_maps,
    predict_selectively,
)

TREE = ClassHierarchy(
    [[0, 0, 1, 1, 2, 3, 3, 4], [0, 0, 0, 0, 1, 1, 1, 2]],
    names=["lynx", "puma", "wolf", "fox", "emu", "wren", "tit", "newt"],
    node_names=[["cat", "dog", "ratite", "songbird", "salamander"], ["mammal", "bird", "other"]],
)
PLAIN = RiskMap(tuple(np.linspace(0, 1, 1001)), tuple(1 - np.linspace(0, 1, 1001)))


def calibrated(risk_maps=(PLAIN,) * 3, temperature=1.0):
    return ConfidenceModel(
        "unseen", temperature, tuple(risk_maps), OverallRisk((), ()), NoveltyRule(None, 0.0)
    )


def said(shares, max_risk, candidates=range(8), **calibration):
    """Names of the answers for class probabilities."""
    scores = np.log(np.atleast_2d(shares))
    answers = predict_selectively(
        scores, TREE, np.array(candidates), calibrated(**calibration), max_risk
    )
    return answers.names(TREE)


def test_worked_example():
    # lynx .4, cats .7, mammals .9
    shares = [[0.4, 0.3, 0.15, 0.05, 0.04, 0.03, 0.02, 0.01]]
    assert said(shares, 0.602) == ["lynx"]
    assert said(shares, 0.5) == ["cat"]
    assert said(shares, 0.302) == ["cat"]
    assert said(shares, 0.2) == ["mammal"]
    assert said(shares, 0.05) == [ANYTHING]


def test_risk_maps_decide_and_not_the_probability():
    shares = [[0.4, 0.3, 0.15, 0.05, 0.04, 0.03, 0.02, 0.01]]
    maps = [RiskMap((0.0,), (0.5,)), RiskMap((0.0, 0.6), (0.9, 0.02)), RiskMap((0.0,), (0.01,))]
    assert said(shares, 0.05, risk_maps=maps) == ["cat"]
    assert said(shares, 0.01, risk_maps=maps) == ["mammal"]


def random_case(seed):
    rng = np.random.default_rng(seed)
    candidates = np.sort(rng.choice(8, size=rng.integers(1, 9), replace=False))
    scores = rng.normal(scale=2, size=(12, len(candidates)))
    maps = []
    for _ in range(3):
        starts = np.sort(rng.uniform(size=5))
        maps.append(RiskMap(tuple(starts), tuple(np.sort(rng.uniform(size=5))[::-1])))
    return candidates, scores, calibrated(maps, temperature=rng.uniform(0.3, 3))


def brute_force(scores, candidates, calibration, max_risk):
    """Walk up from the best class, counting the candidates under every node by hand."""
    shares = np.exp(scores / calibration.temperature)
    shares = shares / shares.sum()
    best = candidates[shares.argmax()]
    below = None
    for layer in range(TREE.n_layers + 1):
        node = TREE.labels(layer)[best]
        under = [i for i, c in enumerate(candidates) if c in TREE.members(layer, node)]
        if len(under) == len(candidates):
            return layer, node
        if under == below:
            continue
        below = under
        steps = calibration.risk_maps[layer]
        own = [
            r
            for p, r in zip(steps.probability, steps.risk, strict=True)
            if p <= shares[under].sum()
        ]
        if (own[-1] if own else steps.risk[0]) <= max_risk:
            return layer, node
    return TREE.n_layers + 1, 0


@pytest.mark.parametrize("seed", range(60))
def test_answers_equal_a_walk_up_the_tree(seed):
    candidates, scores, calibration = random_case(seed)
    for max_risk in (0.0, 0.2, 0.5, 0.8, 1.0):
        answers = predict_selectively(scores, TREE, candidates, calibration, max_risk)
        for i, row in enumerate(scores):
            expected = brute_force(row, candidates, calibration, max_risk)
            assert (answers.layer[i], answers.node[i]) == expected


@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=100, deadline=None)
def test_a_smaller_risk_is_never_more_specific_and_never_contradicts(seed, one, other):
    candidates, scores, calibration = random_case(seed)
    cautious = predict_selectively(scores, TREE, candidates, calibration, min(one, other))
    bold = predict_selectively(scores, TREE, candidates, calibration, max(one, other))
    assert (cautious.layer >= bold.layer).all()
    assert (cautious.probability >= bold.probability - 1e-12).all()
    for i in range(len(scores)):
        if cautious.layer[i] <= TREE.n_layers:
            wide = TREE.members(int(cautious.layer[i]), int(cautious.node[i]))
            narrow = TREE.members(int(bold.layer[i]), int(bold.node[i]))
            assert set(narrow) <= set(wide)


@pytest.mark.parametrize("seed", range(20))
def test_any_risk_accepted_gives_the_best_class_and_none_gives_all_candidates(seed):
    candidates, scores, calibration = random_case(seed)
    bold = predict_selectively(scores, TREE, candidates, calibration, 1.0)
    assert (bold.layer == 0).all()
    assert (bold.node == candidates[scores.argmax(axis=1)]).all()
    safe = predict_selectively(scores, TREE, candidates, calibration, 0.0)
    assert safe.probability == pytest.approx(1)
    assert (safe.risk == 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_probabilities_of_children_sum_to_the_parent(seed):
    candidates, scores, calibration = random_case(seed)
    shares = probabilities(scores, calibration.temperature)
    steps = find_ancestors(shares, TREE, candidates)
    for layer in (1, 2):
        for i in range(len(scores)):
            node = int(steps.node[layer, i])
            total = sum(
                shares[i, np.isin(candidates, TREE.members(layer - 1, int(child)))].sum()
                for child in TREE.children(layer, node)
            )
            assert steps.probability[layer, i] == pytest.approx(total)
    assert (np.diff(steps.probability, axis=0) >= 0).all()
    assert (np.diff(steps.leaves, axis=0) >= 0).all()


def test_a_superclass_with_one_candidate_is_that_class():
    # Among these candidates the only cat is the lynx: "cat" says no less than "lynx".
    maps = [RiskMap((0.0,), (0.9,)), RiskMap((0.0,), (0.1,)), RiskMap((0.0,), (0.05,))]
    assert said([[0.6, 0.3, 0.1]], 0.2, candidates=[0, 2, 5], risk_maps=maps) == ["mammal"]


def test_the_superclass_of_all_candidates_is_said_rather_than_anything():
    assert said([[0.4, 0.3, 0.3]], 0.0, candidates=[0, 2, 3]) == ["mammal"]
    assert said([[0.5, 0.5]], 0.0, candidates=[0, 1]) == ["cat"]
    assert said([[1.0]], 0.0, candidates=[4]) == ["emu"]


def test_without_a_hierarchy_there_is_the_class_or_anything():
    scores = np.log([[0.7, 0.2, 0.1]])
    for max_risk, layer in ((0.31, 0), (0.2, 1)):
        answers = predict_selectively(scores, None, np.arange(3), calibrated([PLAIN]), max_risk)
        assert answers.layer.tolist() == [layer]


def test_information_counts_candidates():
    steps = find_ancestors(np.array([[0.4, 0.3, 0.2, 0.1]]), TREE, np.array([0, 1, 2, 4]))
    # lynx, cat (2 of 4), mammal (3 of 4), anything
    expected = [1, 1 - np.log(2) / np.log(4), 1 - np.log(3) / np.log(4), 0]
    assert steps.information[:, 0] == pytest.approx(expected)


def test_layers_must_fit():
    with pytest.raises(InvalidInput, match="knows 0 superclass layers, but the hierarchy has 2"):
        said([[0.5, 0.5]], 0.1, candidates=[0, 1], risk_maps=[PLAIN])
    with pytest.raises(InvalidInput, match="candidate 8"):
        said([[0.5, 0.5]], 0.1, candidates=[0, 8])
    with pytest.raises(InvalidInput, match="max_risk"):
        said([[0.5, 0.5]], 1.5, candidates=[0, 1])


def falling(values, weights):
    """Isotonic regression by its min-max formula."""
    n = len(values)

    def mean(a, b):
        return np.average(values[a : b + 1], weights=weights[a : b + 1])

    return np.array(
        [min(max(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]
    )


@pytest.mark.parametrize("seed", range(5))
def test_risk_maps_equal_the_min_max_formula(seed):
    rng = np.random.default_rng(seed)
    p = np.sort(rng.uniform(size=40))
    wrong = rng.uniform(size=40) > p
    fit = falling(wrong.astype(float), np.ones(40))
    starts = [i for i in range(40) if i == 0 or not np.isclose(fit[i], fit[i - 1])]
    n = np.diff([*starts, 40])
    errors = np.add.reduceat(wrong, starts, dtype=float)
    expected = np.repeat(falling((errors + 1) / (n + 1), n.astype(float)), n)
    order = rng.permutation(40)
    assert RiskMap.from_samples(p[order], wrong[order]).at(p) == pytest.approx(expected)


def test_risk_maps_care_for_weights_but_not_their_scale():
    rng = np.random.default_rng(1)
    p, wrong, weights = rng.uniform(size=80), rng.uniform(size=80) < 0.3, rng.uniform(size=80)
    one, other = (
        RiskMap.from_samples(p, wrong, weights),
        RiskMap.from_samples(p, wrong, 7 * weights),
    )
    assert one.risk == pytest.approx(other.risk)
    weights[:40] = 0
    assert RiskMap.from_samples(p, wrong, weights) == RiskMap.from_samples(
        p[40:], wrong[40:], weights[40:]
    )


def test_without_samples_everything_is_a_risk():
    assert RiskMap.from_samples([], []).at([0.0, 1.0]).tolist() == [1.0, 1.0]


def test_risks_learned_on_one_half_hold_on_the_other():
    # The classifier is overconfident: true odds are flatter than the temperature says.
    rng = np.random.default_rng(0)
    scores = 3 * rng.normal(size=(8000, 8))
    odds = np.exp(scores)
    edges = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    truth = (rng.uniform(size=(8000, 1)) > edges).sum(axis=1)
    halves = [Scored(scores[k::2], np.arange(8), truth[k::2]) for k in (0, 1)]
    maps = learn_risk_maps(halves[:1], TREE, 0.3)
    for max_risk in (0.1, 0.2, 0.4):
        answers = predict_selectively(
            halves[1].scores, TREE, np.arange(8), calibrated(maps, 0.3), max_risk
        )
        risky = answers.risk > 0.5 * max_risk
        for some in (np.ones(4000, dtype=bool), risky):
            right = [
                t in TREE.members(int(layer), int(node)) if layer <= 2 else True
                for t, layer, node in zip(
                    halves[1].truth[some], answers.layer[some], answers.node[some], strict=True
                )
            ]
            assert 1 - np.mean(right) <= max_risk
        naive = np.mean(1 - answers.probability[answers.layer == 0])
        assert naive < max_risk  # the plain probability would have promised too much
