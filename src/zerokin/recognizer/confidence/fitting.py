"""Learning on validation classes how far answers can be trusted.

On every validation fold the classifier is fitted anew with the parameters chosen, and its held-out
samples are scored: of validation classes, which play the unseen ones, and of seen classes. Nothing
else of the data set is touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.compute.processes import current
from zerokin.data.dataset import Dataset
from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy
from zerokin.parameters import (
    SEED,
    Boolean,
    InstanceOf,
    OneOf,
    Optional,
    Ranges,
    Real,
    check_arguments,
)
from zerokin.progress import track
from zerokin.projection.memory import MEMORY_BUDGET
from zerokin.recognizer.confidence.ancestors import find_ancestors, wrong_answers
from zerokin.recognizer.confidence.confidence import fit_temperature, probabilities
from zerokin.recognizer.confidence.confidence_model import KINDS, ConfidenceModel, Kind
from zerokin.recognizer.confidence.novelty import REJECTED, NoveltyRule, typicality
from zerokin.recognizer.confidence.overall_risk import OverallRisk
from zerokin.recognizer.confidence.scored import Scored
from zerokin.recognizer.confidence.selective_prediction import ancestor_risks, learn_risk_maps
from zerokin.selection.method import features_of


@dataclass(frozen=True, eq=False)
class AnswerFold:
    """What one validation fold tells.

    ``scored`` and ``samples`` are the held-out samples that have a true candidate; ``typical`` and
    ``typical_weights`` are of all held-out samples, whatever the candidates. Classes are counted
    as in the whole data set.
    """

    scored: Scored
    samples: NDArray[np.int64]
    validation: NDArray[np.int64]
    typical: NDArray[np.float64]
    typical_weights: NDArray[np.float64]

    def without(self, other: AnswerFold) -> Scored | None:
        """Return the samples that share neither image nor validation class with another fold."""
        # A fold holds out every image of its validation classes, so that images suffice.
        apart = ~np.isin(self.samples, other.samples)
        return self.scored.where(apart) if apart.any() else None


class FoldScores(NamedTuple):
    """Scores (n, C) of a fold's held-out samples, of unseen and seen classes; positions in it."""

    scores: NDArray[np.float64]
    truth: NDArray[np.int64]
    samples: NDArray[np.int64]
    is_unseen: NDArray[np.bool_]
    unseen: NDArray[np.int64]


class AnswerFitter:
    """Scores the validation folds of a data set once; calibrations are learned from the scores.

    Parameters
    ----------
    dataset
        Features with validation folds.
    classifier_params
        Parameters of `ZeroShotClassifier`, ``seen_penalty`` included, as they were chosen.
    candidates
        ``"unseen"`` or ``"all"``: what the classifier will choose from.
    hierarchy
        Superclasses of all classes to hedge with; by default those of the classifier.
    unseen_share
        The share of images in use that are of unseen classes, where all are candidates.
    reject
        Share of known images that may be turned away as none of these.
    random_state
        Seed.
    memory_budget
        Of `ZeroShotClassifier`, for every fold.
    quiet
        Show no progress.
    """

    _parameter_ranges: ClassVar[Ranges] = {
        "dataset": InstanceOf(Dataset, "a Dataset"),
        "classifier_params": InstanceOf(Mapping, "names with values"),
        "candidates": OneOf(KINDS),
        "hierarchy": Optional(InstanceOf(ClassHierarchy, "a ClassHierarchy")),
        "unseen_share": Real(0, 1, closed="neither"),
        "reject": REJECTED,
        "random_state": SEED,
        "memory_budget": MEMORY_BUDGET,
        "quiet": Boolean(),
    }

    def __init__(
        self,
        dataset: Dataset,
        classifier_params: Mapping[str, Any],
        *,
        candidates: Kind = "unseen",
        hierarchy: ClassHierarchy | None = None,
        unseen_share: float = 0.5,
        reject: float = 0.02,
        random_state: int = 0,
        memory_budget: int | str | None = None,
        quiet: bool = False,
    ) -> None:
        check_arguments(
            self._parameter_ranges,
            dataset=dataset,
            classifier_params=classifier_params,
            candidates=candidates,
            hierarchy=hierarchy,
            unseen_share=unseen_share,
            reject=reject,
            random_state=random_state,
            memory_budget=memory_budget,
            quiet=quiet,
        )
        n_folds = len(dataset.split.folds)
        if not n_folds:
            raise InvalidInput(
                f"{dataset.name} has no validation folds to learn from: it needs at least four "
                "seen classes"
            )
        self.params = {**classifier_params, "random_state": random_state}
        own = self.params.pop("memory_budget", None)
        self.memory_budget = own if memory_budget is None else memory_budget
        if self.params.get("inference") == "paper":
            raise InvalidInput(
                "inference='paper' rules classes out, so that they have no probability: "
                "use 'residual' or 'flat'"
            )
        self.dataset, self.candidates, self.reject = dataset, candidates, reject
        self.unseen_share = unseen_share
        if hierarchy is not None:
            hierarchy = aligned_hierarchy(hierarchy, dataset.classes.names, beside="the data set")
        self.hierarchy = hierarchy or classifier_hierarchy(dataset, self.params)
        numbers = track(
            range(1, n_folds + 1), "scoring validation folds", total=n_folds, quiet=quiet
        )
        self._scores = [self._score(number) for number in numbers]
        self.folds = [self._among_candidates(scores) for scores in self._scores]

    def with_candidates(self, candidates: Kind) -> AnswerFitter:
        """Return a fitter for other candidates; the folds are not scored again."""
        check_arguments(self._parameter_ranges, candidates=candidates)
        other = copy(self)
        other.candidates = candidates
        other.folds = [other._among_candidates(scores) for scores in self._scores]
        return other

    def calibration(self) -> ConfidenceModel:
        """Learn from all folds."""
        return self._learn(self.folds, [fold.scored for fold in self.folds])

    def left_out(self) -> list[tuple[AnswerFold, ConfidenceModel]]:
        """Return each fold with a calibration that was learned without its images and classes."""
        pairs = []
        for fold in self.folds:
            others = [other for other in self.folds if other is not fold]
            parts = [part for other in others if (part := other.without(fold)) is not None]
            if parts:
                pairs.append((fold, self._learn(others, parts)))
        return pairs

    def _score(self, number: int) -> FoldScores:
        fold = self.dataset.fold(number, seed=int(self.params["random_state"]))
        split = fold.split
        processes = current()
        train = split.train[processes.share(len(split.train))]
        model = ZeroShotClassifier(**self.params, memory_budget=self.memory_budget).fit(
            features_of(fold, train, by_blocks=self.memory_budget is not None),
            fold.training_labels(train),
            semantics=fold.classes,
        )
        samples = np.concatenate([split.test_unseen, split.test_seen])
        is_unseen = np.arange(len(samples)) < len(split.test_unseen)
        own = samples[processes.share(len(samples))]
        scores = processes.gather(model.decision_function(fold.finite_features(own)))
        truth = fold.evaluation_labels(samples)
        return FoldScores(scores, truth, samples, is_unseen, fold.unseen)

    def _among_candidates(self, fold: FoldScores) -> AnswerFold:
        seen, scores = self.dataset.seen, fold.scores
        weights = balanced_weights(fold.is_unseen, self.unseen_share)
        chosen, asked = np.arange(len(seen)), np.ones(len(fold.samples), dtype=bool)
        if self.candidates == "unseen":
            chosen, asked = fold.unseen, fold.is_unseen
        return AnswerFold(
            Scored(scores[asked][:, chosen], seen[chosen], seen[fold.truth[asked]], weights[asked]),
            fold.samples[asked],
            seen[fold.unseen],
            typicality(scores),
            weights,
        )

    def _learn(self, folds: Sequence[AnswerFold], parts: Sequence[Scored]) -> ConfidenceModel:
        temperature = fit_temperature(parts)
        return ConfidenceModel(
            candidates=self.candidates,
            temperature=temperature,
            risk_maps=learn_risk_maps(parts, self.hierarchy, temperature),
            overall=self._overall(folds),
            novelty=NoveltyRule.from_known(
                np.concatenate([fold.typical for fold in folds]),
                share=self.reject,
                weights=np.concatenate([fold.typical_weights for fold in folds]),
            ),
            fitted_on=self._provenance(parts),
        )

    def _overall(self, folds: Sequence[AnswerFold]) -> OverallRisk:
        """Relate risks to wrong answers on each fold by maps that were learned on the others."""
        risks, wrong, weights, classes = [], [], [], []
        for fold in folds:
            rest = [
                part
                for other in folds
                if other is not fold and (part := other.without(fold)) is not None
            ]
            if not rest:
                continue
            temperature = fit_temperature(rest)
            maps = learn_risk_maps(rest, self.hierarchy, temperature)
            scored = fold.scored
            steps = find_ancestors(
                probabilities(scored.scores, temperature), self.hierarchy, scored.candidates
            )
            risks.append(ancestor_risks(steps, maps))
            wrong.append(wrong_answers(steps, self.hierarchy, scored))
            weights.append(scored.weights)
            classes.append(scored.truth)
        if not risks:
            return OverallRisk((), ())
        return OverallRisk.from_samples(
            np.concatenate(risks, axis=1),
            np.concatenate(wrong, axis=1),
            np.concatenate(weights),
            n_classes=len(np.unique(np.concatenate(classes))),
        )

    def _provenance(self, parts: Sequence[Scored]) -> dict[str, Any]:
        dataset = self.dataset
        return {
            "dataset": dataset.name,
            "split": dataset.split.version,
            "folds": f"{len(self.folds)} ({dataset.split.folds_version})",
            "samples": sum(map(len, parts)),
            "classes": len(np.unique(np.concatenate([part.truth for part in parts]))),
            "unseen_share": 1.0 if self.candidates == "unseen" else self.unseen_share,
            "classifier": dict(self.params),
        }


def classifier_hierarchy(dataset: Dataset, params: Mapping[str, Any]) -> ClassHierarchy | None:
    """Return the superclasses that a classifier with these parameters makes of all classes."""
    model = ZeroShotClassifier(**params)
    if len(dataset.classes) < model.branching**2:
        return None
    return ClassHierarchy.from_semantics(
        dataset.semantics,
        model.branching,
        model.random_state,
        names=dataset.classes.names,
        method=model.grouping,  # type: ignore[arg-type]
    )


def balanced_weights(is_unseen: NDArray[np.bool_], unseen_share: float) -> NDArray[np.float64]:
    """Return weights that give samples of unseen classes together the share asked for.

    Examples
    --------
    >>> balanced_weights(np.array([True, False, False, False, False]), 0.5)
    array([0.5  , 0.125, 0.125, 0.125, 0.125])
    """
    unseen = np.count_nonzero(is_unseen)
    seen = len(is_unseen) - unseen
    if not seen or not unseen:
        return np.full(len(is_unseen), 1 / len(is_unseen))
    return np.where(is_unseen, unseen_share / unseen, (1 - unseen_share) / seen)
