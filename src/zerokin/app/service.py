"""`Service`: one bundle, asked by many visitors at once and changed by one at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from copy import copy
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from zerokin.app.limits import Limits
from zerokin.app.refusals import Conflict, ReadOnly, TooLarge, Unknown
from zerokin.app.serving import Asked, Content, Serving
from zerokin.app.uploads import decode_upload
from zerokin.class_names import checked_name
from zerokin.data.feature_files import FeatureFile
from zerokin.data.images import Images
from zerokin.data.resizing import resize_to_square
from zerokin.errors import InvalidInput, did_you_mean
from zerokin.features.input.sources import ResidentSource
from zerokin.recognizer import ImageAnswer, Recognizer, UnreadableImage
from zerokin.recognizer.answering import Answerer, Question
from zerokin.recognizer.feature_input import feature_batches
from zerokin.recognizer.former_classifier import current_generation, is_former_classifier

if TYPE_CHECKING:
    from zerokin.recognizer.examples import Examples


class Service(Serving[ImageAnswer]):
    """A recognizer that many threads share.

    Parameters
    ----------
    folder
        The bundle.
    limits
        What is refused.
    read_only
        Let nobody add or remove classes.
    device
        ``"cpu"`` or ``"cuda"``; by default a GPU if there is one.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        limits: Limits | None = None,
        read_only: bool = False,
        device: str | None = None,
    ) -> None:
        super().__init__(folder, limits)
        self.read_only = read_only or is_former_classifier(folder)
        self._device = device
        self._load()
        self._change = Lock()
        learner = self.recognizer.learner
        self._start("cpu" if learner is None else next(learner.network_.parameters()).device.type)

    def _load(self) -> None:
        # The pointer first: should the bundle change in between, the next change reads it again.
        self._generation = current_generation(self.folder)
        self.recognizer = Recognizer.load(self.folder, device=self._device)
        known = self.recognizer
        self.examples: Examples = {name: known.examples(name) for name in known.classes.names}

    def ask(
        self, content: Content | Callable[[], Content], name: str, question: Question
    ) -> Future[ImageAnswer]:
        """Return what will hold the answer for a sample; a bad question is refused at once.

        Parameters
        ----------
        content
            An image file or a row of features, or what reads it when its turn has come.
        name
            What answers and messages call it.
        question
            What is asked.
        """
        known = self.recognizer
        answerer = Answerer(known.classifier, known.calibrations, question, self.examples)
        return self._promise(content, name, answerer)

    def ask_many(
        self, samples: Images | FeatureFile, question: Question
    ) -> Iterator[ImageAnswer | UnreadableImage]:
        """Yield answers just as ``zerokin predict`` does, between those of other visitors."""
        self._take_in()
        try:
            stream = self.recognizer.recognize_stream(samples, **vars(question))
            while True:
                with self._model:
                    answer = next(stream, None)
                if answer is None:
                    return
                yield answer
        finally:
            self._let_go()

    def add_class(
        self,
        name: str,
        *,
        attributes: Mapping[str, float] | None = None,
        text: str | None = None,
        vector: Sequence[float] | None = None,
        images: Images | None = None,
        features: Sequence[Sequence[float]] | FeatureFile | None = None,
        kappa: float | None = None,
    ) -> int:
        """Make a class known and save the bundle; return how many are known then.

        Images or features of a class that is known already, by anything but training, are added.
        """
        name = checked_name(name)
        shots = features if images is None else images
        if shots is not None and len(shots) > self.limits.shots:
            raise TooLarge(f"{len(shots):,} examples, over the limit of {self.limits.shots:,}")
        self._refuse_read_only()
        with self._counted(shots is not None), self._changing() as known:
            if name in known.classes.names:
                told = attributes is not None or text is not None or vector is not None
                if shots is None or told or known.seen[known.classes.names.index(name)]:
                    raise Conflict(_taken(known, name))
            with self._model:
                known.add_class(
                    name,
                    attributes=attributes,
                    text=text,
                    vector=vector,
                    images=images,
                    features=features,
                    kappa=kappa,
                )
            return self._keep(known)

    def remove_class(self, name: str) -> int:
        """Forget an unseen class and save the bundle; return how many are known then."""
        with self._changing() as known:
            names = known.classes.names
            if name not in names:
                raise Unknown(f"there is no class {name!r}{did_you_mean(name, names)}")
            if known.seen[names.index(name)]:
                raise Conflict(f"{name!r} was seen in training, so it cannot be forgotten")
            known.remove_class(name)
            return self._keep(known)

    @contextmanager
    def _changing(self) -> Iterator[Recognizer]:
        """Give a copy to change, to one at a time: what others use stays as it is."""
        self._refuse_read_only()
        with self._change:
            if current_generation(self.folder) != self._generation:
                self._load()  # the bundle was changed by another process
            yield copy(self.recognizer)

    def _refuse_read_only(self) -> None:
        if self.read_only:
            raise ReadOnly("this server is read-only: classes cannot be added or removed")

    def _keep(self, known: Recognizer) -> int:
        known.save(self.folder)
        self._generation = current_generation(self.folder)
        self.recognizer = known
        return len(known.classes)

    def _sample(self, content: Content, name: str) -> NDArray[Any]:
        learner = self.recognizer.learner
        if learner is None:
            width = self.recognizer.classifier.n_features_in_
            (_, row), *more = next(feature_batches(content, width, batch_size=2))
            if more or isinstance(row, UnreadableImage):
                raise InvalidInput("one row at a time" if more else row.error)  # type: ignore[union-attr]
            return row
        image = decode_upload(content, name, self.limits)  # type: ignore[arg-type]
        return resize_to_square(image, learner.cache_size, learner.settings.resize_mode)

    def _answer(self, batch: Sequence[Asked]) -> list[ImageAnswer]:
        learner = self.recognizer.learner
        features = np.stack([asked.sample for asked in batch])
        if learner is not None:
            squares = torch.from_numpy(features)
            with self._model:
                features = learner.transform(ResidentSource(squares.to(learner.torch_device)))
        return [
            asked.answerer.answer(features[row : row + 1], asked.name)
            for row, asked in enumerate(batch)
        ]


def _taken(known: Recognizer, name: str) -> str:
    if known.seen[known.classes.names.index(name)]:
        return f"{name!r} was seen in training: examples can be added to other classes only"
    more = "remove it or choose a name, or add examples of it alone"
    return f"there is a class {name!r} already: {more}"
