"""Answers a person can use: a class where that is safe, else a superclass, or none of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zerokin.classifiers.class_labels import KnownClasses, candidate_positions
from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy
from zerokin.parameters import InstanceOf, check_arguments
from zerokin.recognizer.confidence.confidence import probabilities
from zerokin.recognizer.confidence.confidence_model import ConfidenceModel
from zerokin.recognizer.confidence.novelty import typicality
from zerokin.recognizer.confidence.scored import Values
from zerokin.recognizer.confidence.selective_prediction import ANYTHING, SHARE, predict_selectively

if TYPE_CHECKING:
    from zerokin.classifiers.zero_shot_classifier import Candidates, ZeroShotClassifier

NONE_OF_THESE = "none of these"


@dataclass(frozen=True)
class Answer:
    """What can be said of one picture.

    Parameters
    ----------
    name
        A class, a superclass, ``"anything"`` or ``"none of these"``.
    layer
        0 for a class, 1 and up for a superclass, one more than the top layer for anything; None
        for none of these.
    probability, risk
        How probable the answer is, and its estimated risk of being wrong, among the candidates.
        Of none of these nothing is known: both are None.
    best_class, best_probability
        The likeliest candidate, whatever the answer.
    """

    name: Any
    layer: int | None
    probability: float | None
    risk: float | None
    best_class: Any
    best_probability: float


def answer(
    model: ZeroShotClassifier,
    X: Any,
    calibration: ConfidenceModel,
    *,
    candidates: Candidates = None,
    hierarchy: ClassHierarchy | None = None,
    max_risk: float = 0.1,
) -> list[Answer]:
    """Return for every sample the most specific answer whose risk is at most ``max_risk``.

    Parameters
    ----------
    model
        A fitted classifier.
    X
        (n, d_f) features.
    calibration
        What `zerokin.recognizer.confidence.fitting.fit_answers` learned with the parameters of
        the classifier.
    candidates
        Those of the calibration by default, or a list of classes.
    hierarchy
        The superclasses that the calibration was learned with; the classifier's by default.
    max_risk
        As for `zerokin.recognizer.confidence.selective_prediction.predict_selectively`.
    """
    from sklearn.utils.validation import check_is_fitted

    from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier

    check_arguments(
        {
            "model": InstanceOf(ZeroShotClassifier, "a fitted ZeroShotClassifier"),
            "calibration": InstanceOf(ConfidenceModel, "a ConfidenceModel"),
            "max_risk": SHARE,
        },
        model=model,
        calibration=calibration,
        max_risk=max_risk,
    )
    if isinstance(candidates, str) and candidates != calibration.candidates:
        raise InvalidInput(
            f"candidates={candidates!r}, but the calibration was learned for "
            f"{calibration.candidates!r}: fit the answers for {candidates!r}"
        )
    check_is_fitted(model)
    tree = model.hierarchy_
    if hierarchy is not None:
        tree = aligned_hierarchy(hierarchy, model.classes_, beside="the classifier")
    wanted = calibration.candidates if candidates is None else candidates
    _, everything = model._candidate_scores(X, "all")
    known = KnownClasses(model.classes_, model.semantics_)
    chosen = candidate_positions(wanted, known, model.seen_)
    scores = everything[:, chosen]
    given = predict_selectively(scores, tree, chosen, calibration, max_risk)
    shares: Values = probabilities(scores, calibration.temperature)
    best = shares.argmax(axis=1)
    novel = calibration.novelty.rejects(typicality(everything))
    superclasses = [] if tree is None else _layer_names(tree)
    names: list[Sequence[Any]] = [model.classes_.tolist(), *superclasses, (ANYTHING,)]
    answers = []
    for i, column in enumerate(best):
        likeliest = (names[0][chosen[column]], float(shares[i, column]))
        if novel[i]:
            answers.append(Answer(NONE_OF_THESE, None, None, None, *likeliest))
            continue
        layer, node = int(given.layer[i]), int(given.node[i])
        sure, risk = float(given.probability[i]), float(given.risk[i])
        answers.append(Answer(names[layer][node], layer, sure, risk, *likeliest))
    return answers


def _layer_names(tree: ClassHierarchy) -> list[tuple[str, ...]]:
    return [tree.node_names(layer) for layer in range(1, tree.n_layers + 1)]
