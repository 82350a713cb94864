"""`LabelService`: a bundle that gives several labels an image, asked by many visitors at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.app.limits import Limits
from zerokin.app.serving import Asked, Content, Serving
from zerokin.app.uploads import decode_upload
from zerokin.classifiers.zero_shot_classifier import Candidates
from zerokin.errors import InvalidInput
from zerokin.parameters import Integer, Optional, check_arguments
from zerokin.recognizer.label_answer import LabelAnswer
from zerokin.recognizer.label_recognizer import LabelRecognizer


@dataclass(frozen=True)
class LabelQuestion:
    """What is asked of an image.

    Parameters
    ----------
    candidates
        ``"all"``, ``"seen"``, ``"unseen"``, or a list of class names.
    k
        How many labels are given; None for those that are probable enough.
    """

    candidates: Candidates = "all"
    k: int | None = None

    def __post_init__(self) -> None:
        check_arguments({"k": Optional(Integer(1))}, k=self.k)


class LabelService(Serving[LabelAnswer]):
    """A recognizer of several labels that many threads share; nobody can change it.

    Parameters
    ----------
    folder
        The bundle.
    limits
        What is refused.
    device
        ``"cpu"`` or ``"cuda"``; by default a GPU if there is one.
    """

    read_only = True

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        limits: Limits | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(folder, limits)
        self.recognizer = LabelRecognizer.load(folder, device=device)
        if self.recognizer.reader is None:
            raise InvalidInput(
                f"{folder} takes features of regions, and the page images: fit it to images"
            )
        self.reader = self.recognizer.reader
        self._start(next(self.reader.learner.network_.parameters()).device.type)

    def ask(
        self, content: Content | Callable[[], Content], name: str, question: LabelQuestion
    ) -> Future[LabelAnswer]:
        """Return what will hold the answer for an image; a bad question is refused at once.

        Parameters
        ----------
        content
            An image file, or what reads it when its turn has come.
        name
            What answers and messages call it.
        question
            What is asked.
        """
        self.recognizer.classifier._candidates(question.candidates)
        return self._promise(content, name, question)

    def _sample(self, content: Content, name: str) -> NDArray[Any]:
        return self.reader.frame(decode_upload(content, name, self.limits))  # type: ignore[arg-type]

    def _answer(self, batch: Sequence[Asked]) -> list[LabelAnswer]:
        squares = np.stack([asked.sample for asked in batch])
        with self._model:
            features = self.reader.transform(squares)
        answers: list[LabelAnswer] = []
        for row, asked in enumerate(batch):
            question: LabelQuestion = asked.answerer
            answers += self.recognizer.answer(
                features[row : row + 1], [asked.name], question.candidates, question.k
            )
        return answers
