"""How often answers are wrong against how much they say, for every risk a user may accept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from zerokin.hierarchy import ClassHierarchy
from zerokin.recognizer.confidence.ancestors import find_ancestors, wrong_answers
from zerokin.recognizer.confidence.confidence import probabilities
from zerokin.recognizer.confidence.confidence_model import ConfidenceModel
from zerokin.recognizer.confidence.scored import Scored, Values
from zerokin.recognizer.confidence.selective_prediction import ancestor_risks


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """The curve, from the most cautious answers to the boldest.

    Parameters
    ----------
    max_risk
        (m,) the risk accepted for each answer, ascending; the last is 1.
    coverage
        (m,) the share of samples that are told more than "anything".
    specificity
        (m,) the mean information of all answers: 1 if all are classes, 0 if all are anything.
    risk
        (m,) the share of wrong answers among the samples covered; 0 where none is.
    """

    max_risk: Values
    coverage: Values
    specificity: Values
    risk: Values

    def area(self, over: Literal["coverage", "specificity"] = "coverage") -> float:
        """Return the mean risk over coverage or specificity from 0 to 1: smaller is better.

        Left of the curve's first point its first risk counts.
        """
        axis = self.coverage if over == "coverage" else self.specificity
        said = axis > 0
        if not said.any():
            return 0.0
        x, y = axis[said], self.risk[said]
        return float(np.trapezoid(np.r_[y[0], y], np.r_[0.0, x]))

    def at(self, max_risk: float) -> tuple[float, float, float]:
        """Return coverage, specificity and risk where each answer may carry ``max_risk``."""
        place = max(int(np.searchsorted(self.max_risk, max_risk, side="right")) - 1, 0)
        return float(self.coverage[place]), float(self.specificity[place]), float(self.risk[place])


def risk_coverage(
    samples: Scored,
    hierarchy: ClassHierarchy | None,
    calibration: ConfidenceModel,
    *,
    superclasses: bool = True,
) -> RiskCoverage:
    """Return the curve over samples whose class is known.

    Parameters
    ----------
    samples
        Scores, candidates and true classes.
    hierarchy, calibration
        As for `zerokin.recognizer.confidence.selective_prediction.predict_selectively`.
    superclasses
        False leaves only the class or "anything", for comparison.
    """
    shares = probabilities(samples.scores, calibration.temperature)
    steps = find_ancestors(shares, hierarchy, samples.candidates)
    risks = ancestor_risks(steps, calibration.risk_maps)
    wrong = wrong_answers(steps, hierarchy, samples)
    told = steps.information
    if not superclasses:
        risks, wrong, told = risks[[0, -1]], wrong[[0, -1]], told[[0, -1]]
    bounds = np.unique(np.r_[0.0, risks.ravel(), 1.0])
    points = np.empty((len(bounds), 3))
    rows = np.arange(len(samples))
    for i, bound in enumerate(bounds):
        layer = (risks <= bound).argmax(axis=0)
        covered = float(samples.weights @ (told[layer, rows] > 0))
        mistakes = float(samples.weights @ wrong[layer, rows])
        points[i] = (
            covered,
            samples.weights @ told[layer, rows],
            mistakes / covered if covered else 0.0,
        )
    return RiskCoverage(bounds, points[:, 0], points[:, 1], points[:, 2])
