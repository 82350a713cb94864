"""What is chosen and calibrated on validation classes, and what is measured in the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.data.dataset import Dataset
from zerokin.hierarchy import ClassHierarchy
from zerokin.metrics.accuracy import harmonic_mean, per_class_top1
from zerokin.recognizer.confidence.confidence_model import ConfidenceModel
from zerokin.recognizer.confidence.fitting import AnswerFitter, Kind
from zerokin.selection.fitting import choose_parameters


@dataclass(frozen=True)
class Choice:
    """Parameters of the classifier, and what they reached on validation classes."""

    params: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] | None = None
    by_taxonomy: bool = False


def choose(
    dataset: Dataset, *, tune: bool, taxonomy_only: bool, random_state: int, quiet: bool
) -> Choice:
    """Choose hyper-parameters and calibration for seen and unseen classes together."""
    chosen = choose_parameters(
        dataset,
        tune=tune,
        taxonomy_only=taxonomy_only,
        random_state=random_state,
        quiet=quiet,
    )
    metrics = {
        "folds": f"{len(dataset.split.folds)} ({dataset.split.folds_version})",
        "tried": chosen.tried,
        "unseen_among_unseen": chosen.best.score("pure"),
        "harmonic_mean": chosen.best.score("generalised"),
    }
    return Choice(chosen.params, metrics, chosen.by_taxonomy)


def calibrate(
    dataset: Dataset,
    params: Mapping[str, Any],
    hierarchy: ClassHierarchy | None,
    *,
    random_state: int,
    quiet: bool,
) -> dict[str, ConfidenceModel]:
    """Learn how far answers can be trusted, for all candidates and for unseen ones alone."""
    fitter = AnswerFitter(
        dataset, params, hierarchy=hierarchy, random_state=random_state, quiet=quiet
    )
    return {kind: fitter.with_candidates(kind).calibration() for kind in get_args(Kind)}


def measure(model: ZeroShotClassifier, dataset: Dataset) -> dict[str, float] | None:
    """Measure once on the test pictures; None where there are none of unseen classes."""
    split = dataset.split
    if not len(split.test_unseen):
        return None
    truth = dataset.evaluation_labels(split.test_unseen)
    scores = model.decision_function(np.asarray(dataset.features[split.test_unseen]))
    named = dataset.unseen[scores[:, dataset.unseen].argmax(axis=1)]
    unseen = per_class_top1(truth, scores.argmax(axis=1))
    found = {"unseen_among_unseen": per_class_top1(truth, named), "unseen_among_all": unseen}
    if len(split.test_seen):
        own = dataset.evaluation_labels(split.test_seen)
        scores = model.decision_function(np.asarray(dataset.features[split.test_seen]))
        seen = per_class_top1(own, scores.argmax(axis=1))
        found |= {"seen_among_all": seen, "harmonic_mean": harmonic_mean(seen, unseen)}
    return found
