"""From features to answers, with whatever the calibration knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.explanation import nearest_kin
from zerokin.classifiers.zero_shot_classifier import Candidates, ZeroShotClassifier
from zerokin.declared import Count, Declared, Share
from zerokin.errors import InvalidInput
from zerokin.parameters import Real, Unchecked
from zerokin.recognizer.confidence.ancestors import find_ancestors
from zerokin.recognizer.confidence.confidence import probabilities
from zerokin.recognizer.confidence.confidence_model import ConfidenceModel
from zerokin.recognizer.confidence.levels import candidate_levels, level_number, rank_nodes
from zerokin.recognizer.confidence.novelty import typicality
from zerokin.recognizer.confidence.selective_prediction import (
    ANYTHING,
    NONE_OF_THESE,
    predict_selectively,
)
from zerokin.recognizer.image_answer import (
    AnswerLevel,
    ImageAnswer,
    Kin,
    RankedClass,
    RankedNode,
    SelectiveAnswer,
    Superclass,
    UnreadableImage,
)
from zerokin.recognizer.restriction import restrict_candidates

Values = NDArray[np.float64]
Positions = NDArray[np.int64]
Calibrations = Mapping[str, ConfidenceModel]
# Far beyond the scores, differences between classes drown in rounding.
UnseenBias = Annotated[float, Real(-100, 100)]
Names = str | Sequence[str] | None


@dataclass(frozen=True)
class Question(Declared):
    """What is asked about images.

    Parameters
    ----------
    candidates
        ``"all"``, ``"seen"``, ``"unseen"`` or a list of class names.
    k
        How many classes are ranked, and nodes of each level.
    max_risk
        The risk of being wrong that one answer may carry, 0 to 1; None for no hedging.
    unseen_bias
        Added to the scores of unseen classes: above 0 they are named more often.
    classes, under
        Only these classes of the candidates, and only those below these superclasses; None for
        all. Probabilities are shared among what is left.
    level
        The layer to answer at: a number (0 for classes), the name of a taxonomy's rank such as
        ``"family"``, ``"class"``, or ``"all"`` for classes with every level listed. With
        ``max_risk`` or ``min_confidence`` the deepest layer that is answered at.
    min_confidence
        The probability that an answer must have, 0 to 1: the deepest level whose best node has it.
    """

    candidates: Annotated[Candidates, Unchecked("candidate_positions, which knows the classes")] = (
        "all"
    )
    k: Count = 5
    max_risk: Share | None = None
    unseen_bias: UnseenBias = 0.0
    classes: Annotated[Names, Unchecked("restrict_candidates, which knows the classes")] = None
    under: Annotated[Names, Unchecked("restrict_candidates, which knows the hierarchy")] = None
    level: Annotated[int | str | None, Unchecked("level_number, which knows the hierarchy")] = None
    min_confidence: Share | None = None


class Answerer:
    """Answers one question about any number of images.

    Parameters
    ----------
    classifier
        Fitted.
    calibrations
        By what the candidates were when they were learned: ``"all"`` and ``"unseen"``, or none.
    question
        What is asked; checked here, before any image is read.
    examples
        JPEG images of seen classes by name.
    """

    def __init__(
        self,
        classifier: ZeroShotClassifier,
        calibrations: Calibrations,
        question: Question,
        examples: Mapping[str, Sequence[bytes]],
    ) -> None:
        self.model, self.question, self.examples = classifier, question, examples
        self.chosen = restrict_candidates(question, classifier)
        self.shots = {str(name): one.count for name, one in classifier._shots.items()}
        self.seen = np.isin(np.arange(len(classifier.classes_)), classifier.seen_)
        # Unseen classes among themselves are told apart with another certainty than all together.
        kind = "all" if self.seen[self.chosen].any() else "unseen"
        self.calibration = calibrations.get(kind) or next(iter(calibrations.values()), None)
        asked = {"max_risk": question.max_risk, "min_confidence": question.min_confidence}
        given = [name for name, value in asked.items() if value is not None]
        if given and self.calibration is None:
            raise InvalidInput(
                f"{given[0]} needs calibrated answers, which this recognizer has not: it was "
                "fitted with too few seen classes, or without calibration"
            )
        if len(given) > 1:
            raise InvalidInput("give one of max_risk and min_confidence")
        # By layer, the classes being layer 0; made once, since a tree names its nodes when asked.
        tree = classifier.hierarchy_
        self.level = None if question.level is None else level_number(question.level, tree)
        leveled = question.level is not None or question.min_confidence is not None
        self.levels = candidate_levels(classifier.classes_, tree, self.chosen) if leveled else ()
        self.names = [[str(name) for name in classifier.classes_]]
        if tree is not None:
            self.names += [list(tree.node_names(1 + at)) for at in range(tree.n_layers)]

    def answer_each(
        self, features: Any, samples: Sequence[str]
    ) -> Iterator[ImageAnswer | UnreadableImage]:
        """Yield an answer for every row of features (n, d_f), or why it cannot be scored."""
        for row, name in enumerate(samples):
            try:
                yield self.answer(features[row : row + 1], name)
            except InvalidInput as error:
                yield UnreadableImage(name, f"sample {name} cannot be scored ({error})")

    def answer(self, features: Any, sample: str) -> ImageAnswer:
        """Return the answer for one row of features (1, d_f).

        Row by row: products of matrices round otherwise in other company, and an answer is to be
        the same to the last bit whatever else is asked.
        """
        _, everything = self.model._candidate_scores(features, "all")
        biased = everything + self.question.unseen_bias * ~self.seen
        scores = biased[:, self.chosen]
        if self.model.inference == "paper":
            # Superclasses are pruned among the candidates: of all, none of these need survive.
            _, scores = self.model._candidate_scores(features, self.model.classes_[self.chosen])
            scores = scores + self.question.unseen_bias * ~self.seen[self.chosen]
        order = np.argsort(-scores, axis=1, kind="stable")[0]
        order = order[np.isfinite(scores[0, order])]
        shares = None
        if self.calibration is not None:
            shares = probabilities(scores, self.calibration.temperature)
        novel = bool(self._novel(everything)[0])
        levels = self._levels(scores[0], None if shares is None else shares[0])
        return ImageAnswer(
            image=sample,
            ranked=self._ranked(order, scores[0], None if shares is None else shares[0]),
            superclasses=self._superclasses(scores, shares),
            selective=self._selective(scores, levels, out_of_distribution=novel),
            kin=self._kin(int(self.chosen[order[0]])),
            out_of_distribution=novel,
            level=self.level,
            levels=levels,
        )

    def _novel(self, everything: Values) -> NDArray[np.bool_]:
        if self.calibration is None:
            return np.zeros(len(everything), dtype=bool)
        return self.calibration.novelty.rejects(typicality(everything))

    def _selective(
        self, scores: Values, levels: Sequence[AnswerLevel], *, out_of_distribution: bool
    ) -> SelectiveAnswer | None:
        risk, sure = self.question.max_risk, self.question.min_confidence
        if self.calibration is None or (risk is None and sure is None):
            return None
        if out_of_distribution:
            return SelectiveAnswer(NONE_OF_THESE, None, None, None)
        lowest = self.level or 0
        if sure is not None:
            return _sure_enough(levels, sure, lowest)
        assert risk is not None
        tree = self.model.hierarchy_
        given = predict_selectively(
            scores, tree, self.chosen, self.calibration, risk, lowest_layer=lowest
        )
        layer, node = int(given.layer[0]), int(given.node[0])
        name = self.names[layer][node] if layer < len(self.names) else ANYTHING
        return SelectiveAnswer(name, layer, float(given.probability[0]), float(given.risk[0]))

    def _levels(self, scores: Values, shares: Values | None) -> tuple[AnswerLevel, ...]:
        found = []
        for level in reversed(self.levels):
            best, sums = level.best_scores(scores), None if shares is None else level.sums(shares)
            ranked = tuple(
                RankedNode(
                    level.names[node],
                    float(best[node]),
                    None if sums is None else float(sums[node]),
                )
                for node in rank_nodes(best, sums)[: self.question.k].tolist()
            )
            found.append(AnswerLevel(level.layer, level.rank, ranked))
        return tuple(found)

    def _ranked(
        self, order: Positions, scores: Values, shares: Values | None
    ) -> tuple[RankedClass, ...]:
        return tuple(
            RankedClass(
                name=self.names[0][self.chosen[column]],
                score=float(scores[column]),
                probability=None if shares is None else float(shares[column]),
                seen=bool(self.seen[self.chosen[column]]),
                shots=self.shots.get(self.names[0][self.chosen[column]], 0),
            )
            for column in order[: self.question.k].tolist()
        )

    def _superclasses(self, scores: Values, shares: Values | None) -> tuple[Superclass, ...]:
        tree = self.model.hierarchy_
        if tree is None:
            return ()
        # Without probabilities the ancestors are found from the best class alone.
        given = shares
        if given is None:
            given = np.zeros_like(scores)
            given[0, scores[0].argmax()] = 1
        steps = find_ancestors(given, tree, self.chosen)
        return tuple(
            Superclass(
                name=self.names[layer][steps.node[layer, 0]],
                layer=layer,
                probability=None if shares is None else float(steps.probability[layer, 0]),
            )
            for layer in range(tree.n_layers, 0, -1)
        )

    def _kin(self, position: int) -> tuple[Kin, ...]:
        return tuple(
            Kin(str(name), similarity, tuple(self.examples.get(str(name), ())))
            for name, similarity in nearest_kin(self.model, position)
        )


def _sure_enough(
    levels: Sequence[AnswerLevel], min_confidence: float, lowest: int
) -> SelectiveAnswer:
    """Return the best node of the deepest level that is sure enough; levels come top down."""
    for level in reversed(levels):
        best = level.ranked[0]
        sure = best.probability is not None and best.probability >= min_confidence
        if sure and level.layer >= lowest:
            return SelectiveAnswer(best.name, level.layer, best.probability, None)
    return SelectiveAnswer(ANYTHING, levels[0].layer + 1, 1.0, None)
