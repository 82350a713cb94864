"""From features to answers, with whatever the calibration knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.class_labels import KnownClasses, candidate_positions
from zerokin.classifiers.explanation import nearest_kin
from zerokin.classifiers.zero_shot_classifier import Candidates, ZeroShotClassifier
from zerokin.declared import Count, Declared, Share
from zerokin.errors import InvalidInput
from zerokin.parameters import Real, Unchecked
from zerokin.recognizer.confidence.ancestors import find_ancestors
from zerokin.recognizer.confidence.confidence import probabilities
from zerokin.recognizer.confidence.confidence_model import ConfidenceModel
from zerokin.recognizer.confidence.novelty import typicality
from zerokin.recognizer.confidence.selective_prediction import (
    ANYTHING,
    NONE_OF_THESE,
    SelectiveAnswers,
    predict_selectively,
)
from zerokin.recognizer.image_answer import (
    ImageAnswer,
    Kin,
    RankedClass,
    SelectiveAnswer,
    Superclass,
    UnreadableImage,
)

Values = NDArray[np.float64]
Positions = NDArray[np.int64]
Calibrations = Mapping[str, ConfidenceModel]
# Far beyond the scores, differences between classes drown in rounding.
UnseenBias = Annotated[float, Real(-100, 100)]


@dataclass(frozen=True)
class Question(Declared):
    """What is asked about images.

    Parameters
    ----------
    candidates
        ``"all"``, ``"seen"``, ``"unseen"`` or a list of class names.
    k
        How many classes are ranked.
    max_risk
        The risk of being wrong that one answer may carry, 0 to 1; None for no hedging.
    unseen_bias
        Added to the scores of unseen classes: above 0 they are named more often.
    """

    candidates: Annotated[Candidates, Unchecked("candidate_positions, which knows the classes")] = (
        "all"
    )
    k: Count = 5
    max_risk: Share | None = None
    unseen_bias: UnseenBias = 0.0


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
        known = KnownClasses(classifier.classes_, classifier.semantics_)
        self.chosen = candidate_positions(question.candidates, known, classifier.seen_)
        self.seen = np.isin(np.arange(len(known)), classifier.seen_)
        # Unseen classes among themselves are told apart with another certainty than all together.
        kind = "all" if self.seen[self.chosen].any() else "unseen"
        self.calibration = calibrations.get(kind) or next(iter(calibrations.values()), None)
        if question.max_risk is not None and self.calibration is None:
            raise InvalidInput(
                "max_risk needs calibrated answers, which this recognizer has not: it was fitted "
                "with too few seen classes, or without calibration"
            )
        # By layer, the classes being layer 0; made once, since a tree names its nodes when asked.
        tree = classifier.hierarchy_
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
        return ImageAnswer(
            image=sample,
            ranked=self._ranked(order, scores[0], None if shares is None else shares[0]),
            superclasses=self._superclasses(scores, shares),
            selective=self._named(self._select(scores), out_of_distribution=novel),
            kin=self._kin(int(self.chosen[order[0]])),
            out_of_distribution=novel,
        )

    def _novel(self, everything: Values) -> NDArray[np.bool_]:
        if self.calibration is None:
            return np.zeros(len(everything), dtype=bool)
        return self.calibration.novelty.rejects(typicality(everything))

    def _select(self, scores: Values) -> SelectiveAnswers | None:
        if self.question.max_risk is None or self.calibration is None:
            return None
        return predict_selectively(
            scores, self.model.hierarchy_, self.chosen, self.calibration, self.question.max_risk
        )

    def _named(
        self, given: SelectiveAnswers | None, *, out_of_distribution: bool
    ) -> SelectiveAnswer | None:
        if given is None:
            return None
        if out_of_distribution:
            return SelectiveAnswer(NONE_OF_THESE, None, None, None)
        layer, node = int(given.layer[0]), int(given.node[0])
        name = self.names[layer][node] if layer < len(self.names) else ANYTHING
        return SelectiveAnswer(name, layer, float(given.probability[0]), float(given.risk[0]))

    def _ranked(
        self, order: Positions, scores: Values, shares: Values | None
    ) -> tuple[RankedClass, ...]:
        return tuple(
            RankedClass(
                name=self.names[0][self.chosen[column]],
                score=float(scores[column]),
                probability=None if shares is None else float(shares[column]),
                seen=bool(self.seen[self.chosen[column]]),
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
