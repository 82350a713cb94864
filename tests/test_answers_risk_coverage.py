"""The curve of risk against what is said, by answering again for every bound."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.recognizer.confidence.ancestors import find_ancestors, wrong_answers
from zerokin.recognizer.confidence.confidence import probabilities
from zerokin.recognizer.confidence.confidence_model import ConfidenceModel
from zerokin.recognizer.confidence.novelty import NoveltyRule
from zerokin.recognizer.confidence.overall_risk import OverallRisk
from zerokin.recognizer.confidence.risk_coverage import RiskCoverage, risk_coverage
from zerokin.recognizer.confidence.risk_map import RiskMap
from zerokin.recognizer.confidence.scored import Scored
from zerokin.recognizer.confidence.selective_prediction import (
    ancestor_risks,
    learn_risk_maps,
    predict_selectively,
)
from zerokin.report.risk_coverage import draw_risk_coverage

TREE = ClassHierarchy([[0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1]])


def made(seed=0, n=300):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 6, n)
    scores = rng.normal(size=(n, 6)) + 1.5 * np.eye(6)[truth]
    return Scored(scores, np.arange(6), truth, rng.uniform(size=n))


def calibrated(maps):
    return ConfidenceModel("unseen", 1.0, tuple(maps), OverallRisk((), ()), NoveltyRule(None, 0.0))


def test_every_point_equals_answering_at_its_bound():
    samples = made()
    calibration = calibrated(learn_risk_maps([made(1)], TREE, 1.0))
    curve = risk_coverage(samples, TREE, calibration)
    sizes = {0: np.ones(6), 1: np.array([2, 2, 2]), 2: np.array([4, 2]), 3: np.array([6])}
    for i in np.linspace(0, len(curve.max_risk) - 1, 12).astype(int):
        answers = predict_selectively(
            samples.scores, TREE, np.arange(6), calibration, curve.max_risk[i]
        )
        covered = told = wrong = 0.0
        for layer, node, truth, weight in zip(
            answers.layer, answers.node, samples.truth, samples.weights, strict=True
        ):
            told += weight * (1 - np.log(sizes[layer][node]) / np.log(6))
            covered += weight * (layer < 3)
            wrong += weight * (layer < 3 and truth not in TREE.members(int(layer), int(node)))
        risk = wrong / covered if covered else 0.0
        point = (curve.coverage[i], curve.specificity[i], curve.risk[i])
        assert point == pytest.approx((covered, told, risk))
    assert (np.diff(curve.coverage) >= -1e-12).all()
    assert (np.diff(curve.specificity) >= -1e-12).all()


def test_class_or_nothing_is_the_usual_curve_of_sorted_confidence():
    samples = made()
    steps = np.linspace(0, 1, 100_001)
    curve = risk_coverage(
        samples, None, calibrated([RiskMap(tuple(steps), tuple(1 - steps))]), superclasses=False
    )
    shares = probabilities(samples.scores, 1.0)
    order = np.argsort(-shares.max(axis=1))
    wrong = (shares.argmax(axis=1) != samples.truth)[order]
    weights = samples.weights[order]
    answered = np.cumsum(weights)
    usual = np.cumsum(weights * wrong) / answered
    found = np.interp(answered, curve.coverage, curve.risk)
    assert found == pytest.approx(usual, abs=1e-9)
    area = np.trapezoid(np.r_[usual[0], usual], np.r_[0, answered])
    assert curve.area() == pytest.approx(area)
    assert curve.coverage == pytest.approx(curve.specificity)


def test_superclasses_say_more_at_the_same_risk():
    # Errors stay within the superclass, as they do where kin look alike.
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 6, 2000)
    kin = np.array([1, 0, 3, 2, 5, 4])
    scores = rng.normal(scale=0.5, size=(2000, 6)) + 3 * (np.eye(6)[truth] + np.eye(6)[kin[truth]])
    parts = [Scored(scores[k::2], np.arange(6), truth[k::2]) for k in (0, 1)]
    calibration = calibrated(learn_risk_maps(parts[:1], TREE, 1.0))
    hedged = risk_coverage(parts[1], TREE, calibration)
    flat = risk_coverage(parts[1], TREE, calibration, superclasses=False)
    assert hedged.at(0.1)[1] > 0.5
    assert flat.at(0.1)[1] < 0.2
    assert hedged.area("specificity") < flat.area("specificity")


def test_areas_of_worked_curves():
    curve = RiskCoverage(
        np.array([0.0, 0.2, 1.0]),
        np.array([0.0, 0.5, 1.0]),
        np.array([0.0, 0.25, 1.0]),
        np.array([0.0, 0.1, 0.3]),
    )
    assert curve.area() == pytest.approx(0.5 * 0.1 + 0.5 * 0.2)
    assert curve.area("specificity") == pytest.approx(0.25 * 0.1 + 0.75 * 0.2)
    assert curve.at(0.5) == (0.5, 0.25, 0.1)


def test_the_overall_bound_is_the_largest_that_keeps_the_share():
    samples = made(3)
    steps = find_ancestors(probabilities(samples.scores, 1.0), TREE, samples.candidates)
    maps = learn_risk_maps([made(4)], TREE, 1.0)
    risks, wrong = ancestor_risks(steps, maps), wrong_answers(steps, TREE, samples)
    overall = OverallRisk.from_samples(risks, wrong, samples.weights, n_classes=20)
    rows = np.arange(len(samples))

    def share_at(bound):
        first = [int(np.flatnonzero(risks[:, i] <= bound)[0]) for i in rows]
        return (20 * (samples.weights @ wrong[first, rows]) + 1) / 21

    bounds = np.unique(risks[risks > 0])
    for accepted in (0.03, 0.06, 0.1, 0.2, 0.5):
        kept = [bound for bound in bounds if share_at(bound) <= accepted]
        assert overall.each_for(accepted) == (max(kept) if kept else 0.0)
    with pytest.raises(InvalidInput, match="share of wrong answers"):
        overall.each_for(-0.1)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_image_is_drawn(tmp_path, suffix):
    calibration = calibrated(learn_risk_maps([made(1)], TREE, 1.0))
    path = tmp_path / f"curve.{suffix}"
    curve = risk_coverage(made(), TREE, calibration)
    draw_risk_coverage({"superclasses": curve}, path, title="made up")
    if suffix == "png":
        with Image.open(path) as image:
            dark = np.asarray(image.convert("L")) < 200
        assert dark.mean() > 0.01
    else:
        assert "</svg>" in path.read_text()
    again = tmp_path / f"again.{suffix}"
    draw_risk_coverage({"superclasses": curve}, again, title="made up")
    assert again.read_bytes() == path.read_bytes()


def test_images_that_cannot_be_drawn_are_refused(tmp_path):
    curve = risk_coverage(made(), TREE, calibrated(learn_risk_maps([made(1)], TREE, 1.0)))
    with pytest.raises(InvalidInput, match=r"\.png or \.svg"):
        draw_risk_coverage({"one": curve}, tmp_path / "curve.pdf")
    with pytest.raises(InvalidInput, match="got 0"):
        draw_risk_coverage({}, tmp_path / "curve.png")
