"""`Recognizer`: images or features in, answers out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.aliases import ReadingSaved, accept_old_names
from zerokin.class_names import checked_name, checked_text
from zerokin.classifiers.few_shot.class_by_example import refuse_seen, with_shots
from zerokin.classifiers.removal import without_class
from zerokin.classifiers.zero_shot_classifier import Candidates, ZeroShotClassifier
from zerokin.data.classes import ClassTable
from zerokin.data.resizing import resize_to_square
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.hierarchy import ClassHierarchy
from zerokin.recognizer.answering import Answerer, Calibrations, Names, Question
from zerokin.recognizer.class_notes import class_notes
from zerokin.recognizer.class_vectors import class_vector
from zerokin.recognizer.examples import Examples
from zerokin.recognizer.feature_input import FeatureInput, feature_batches
from zerokin.recognizer.image_answer import ImageAnswer, UnreadableImage
from zerokin.recognizer.image_input import ImageInput, decoded_batches, named_images

if TYPE_CHECKING:
    from zerokin.features.feature_learner import FeatureLearner
    from zerokin.features.network_ensemble import NetworkEnsemble

BATCH_SIZE = 32


@dataclass(frozen=True, eq=False)
class Known:
    """Classifier and class table: they only change together, from one answer to the next."""

    classifier: ZeroShotClassifier
    classes: ClassTable


@accept_old_names({"recognise": "recognize", "recognise_stream": "recognize_stream"})
class Recognizer:
    """Name what images show or features tell, classes without any sample included.

    Made by `fit_recognizer`, or read with `load`.

    Parameters
    ----------
    learner
        The network and how images are shown to it, fitted, or several as a `NetworkEnsemble`; None
        for a recognizer of features.
    classifier
        Fitted on the network's features, or on those of the data.
    classes
        Names and semantics in the classifier's order.
    calibrations
        How far answers can be trusted, by candidates: ``"all"`` and ``"unseen"``; may be empty.
    examples
        Small JPEG images of seen classes by name.
    metrics, about
        What was measured, and what it was made from: plain data for JSON.

    Examples
    --------
    >>> recognizer = Recognizer.load("birds")                                   # doctest: +SKIP
    >>> recognizer.recognize(["garden/1.jpg"])[0].name                          # doctest: +SKIP
    'great tit'
    """

    def __init__(
        self,
        learner: FeatureLearner | NetworkEnsemble | None,
        classifier: ZeroShotClassifier,
        classes: ClassTable,
        *,
        calibrations: Calibrations | None = None,
        examples: Examples | None = None,
        metrics: Mapping[str, Any] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        if tuple(classifier.classes_.tolist()) != tuple(classes.names):
            raise InvalidInput("the class table does not list the classifier's classes in order")
        self.learner = learner
        self.calibrations = dict(calibrations or {})
        self.metrics = dict(metrics or {})
        self.about = dict(about or {})
        self._examples = dict(examples or {})
        self._known = Known(classifier, classes)
        self._changing = Lock()
        self._origin: tuple[str, str] | None = None

    def __repr__(self) -> str:
        seen = int(self.seen.sum())
        return f"<Recognizer: {seen} seen and {len(self.classes) - seen} unseen classes>"

    @property
    def takes(self) -> Literal["images", "features"]:
        """What is recognized: images where there is a network, features where there is none."""
        return "features" if self.learner is None else "images"

    @property
    def classifier(self) -> ZeroShotClassifier:
        """The classifier of features."""
        return self._known.classifier

    @property
    def classes(self) -> ClassTable:
        """Names and semantics of all classes."""
        return self._known.classes

    @property
    def seen(self) -> NDArray[np.bool_]:
        """(C,) which classes were seen in training."""
        return np.isin(np.arange(len(self.classes)), self.classifier.seen_)

    @property
    def hierarchy(self) -> ClassHierarchy | None:
        """The superclasses of all classes."""
        tree: ClassHierarchy | None = self.classifier.hierarchy_
        return tree

    @property
    def shots(self) -> dict[str, int]:
        """How many shots each class by example is known by."""
        return {name: one.count for name, one in self.classifier._shots.items()}

    def examples(self, name: str) -> tuple[bytes, ...]:
        """Return small JPEG images of a class; none for unseen ones."""
        self.classes.index(name)
        return tuple(self._examples.get(name, ()))

    def recognize(
        self,
        samples: ImageInput | FeatureInput,
        *,
        candidates: Candidates = "all",
        k: int = 5,
        max_risk: float | None = None,
        unseen_bias: float = 0.0,
        classes: Names = None,
        under: Names = None,
        level: int | str | None = None,
        min_confidence: float | None = None,
    ) -> list[ImageAnswer]:
        """Return an answer for every sample; one that cannot be read stops with its name.

        Parameters
        ----------
        samples
            Paths, Pillow images or arrays (height, width, 3), one or several; or `Images`.
            Without a network, features: an array (n, d_f), one row (d_f,), or a ``FeatureFile``.
        candidates
            ``"all"``, ``"seen"``, ``"unseen"``, or a list of class names.
        k
            How many classes are ranked.
        max_risk
            Selective prediction: the risk of being wrong that one answer may carry, 0 to 1.
        unseen_bias
            Added to the scores of unseen classes: above 0 they are named more often.
        classes
            Only these classes of the candidates; None for all.
        under
            Only classes below this superclass, or these; None for all.
        level
            The layer to answer at: 0 for classes, 1 and up for superclasses, or the name of a
            taxonomy's rank such as ``"family"``. Probabilities are summed below each superclass.
            ``"all"`` answers with classes and lists every level. With ``max_risk`` or
            ``min_confidence`` nothing deeper is answered.
        min_confidence
            The probability that an answer must have, 0 to 1: the best of the deepest level that
            has it, in place of ``max_risk``.
        """
        answers = []
        for answer in self.recognize_stream(
            samples,
            candidates=candidates,
            k=k,
            max_risk=max_risk,
            unseen_bias=unseen_bias,
            classes=classes,
            under=under,
            level=level,
            min_confidence=min_confidence,
        ):
            if isinstance(answer, UnreadableImage):
                raise InvalidInput(answer.error)
            answers.append(answer)
        return answers

    def recognize_stream(
        self,
        samples: ImageInput | FeatureInput,
        *,
        candidates: Candidates = "all",
        k: int = 5,
        max_risk: float | None = None,
        unseen_bias: float = 0.0,
        classes: Names = None,
        under: Names = None,
        level: int | str | None = None,
        min_confidence: float | None = None,
        batch_size: int = BATCH_SIZE,
    ) -> Iterator[ImageAnswer | UnreadableImage]:
        """Yield answers in the order of the samples, however many there are.

        Samples are read as they are needed, ``batch_size`` at a time. One that cannot be read
        yields an `UnreadableImage`, and the others are still answered. The other parameters are
        those of `recognize`.
        """
        if batch_size < 1:
            raise InvalidInput(f"batch_size must be at least 1: got {batch_size}")
        question = Question(
            candidates, k, max_risk, unseen_bias, classes, under, level, min_confidence
        )
        known = self._known
        answerer = Answerer(known.classifier, self.calibrations, question, self._examples)
        return self._stream(samples, answerer, batch_size)

    def _stream(
        self, samples: ImageInput | FeatureInput, answerer: Answerer, batch_size: int
    ) -> Iterator[ImageAnswer | UnreadableImage]:
        for batch, features in self._features(samples, batch_size):
            readable = [name for name, at in batch if not isinstance(at, UnreadableImage)]
            answers = iter(answerer.answer_each(features, readable))
            for _, at in batch:
                yield at if isinstance(at, UnreadableImage) else next(answers)

    def _features(
        self, samples: ImageInput | FeatureInput, batch_size: int
    ) -> Iterator[tuple[list[tuple[str, NDArray[Any] | UnreadableImage]], NDArray[Any]]]:
        """Yield named samples, and the features (n, d_f) of those that can be read."""
        learner = self.learner
        if learner is None:
            width = self.classifier.n_features_in_
            batches = feature_batches(samples, width, batch_size=batch_size)  # type: ignore[arg-type]
        else:
            settings = learner.settings
            batches = decoded_batches(
                named_images(samples),  # type: ignore[arg-type]
                lambda image: resize_to_square(image, learner.cache_size, settings.resize_mode),
                batch_size=batch_size,
            )
        for batch in batches:
            rows = [at for _, at in batch if isinstance(at, np.ndarray)]
            features: Any = np.stack(rows) if rows else np.empty((0, 0))
            if rows and learner is not None:
                features = learner.transform(features.transpose(0, 2, 3, 1))
            yield list(batch), features

    def _shots(
        self, images: ImageInput | None, features: FeatureInput | None
    ) -> NDArray[Any] | None:
        """Return the features (n, d_f) of shots, None without any; all of them must be readable."""
        if images is None and features is None:
            return None
        if images is not None and features is not None:
            raise InvalidInput("give images or features of a class, not both")
        given, wanted = (images, "images") if features is None else (features, "features")
        if wanted != self.takes:
            raise InvalidInput(
                f"this recognizer takes {self.takes}: give {self.takes} of the class"
            )
        found = []
        for batch, rows in self._features(given, BATCH_SIZE):  # type: ignore[arg-type]
            for _, at in batch:
                if isinstance(at, UnreadableImage):
                    raise InvalidInput(f"{at.error}: no image was added")
            found.append(rows)
        if not found:
            raise InvalidInput(f"there are no {wanted} of the class: give one or more")
        return np.concatenate(found)

    def add_class(
        self,
        name: str,
        *,
        vector: ArrayLike | None = None,
        attributes: Mapping[str, float] | None = None,
        text: str | None = None,
        images: ImageInput | None = None,
        features: FeatureInput | None = None,
        kappa: float | None = None,
    ) -> Recognizer:
        """Make one more class known, by semantics, by examples or both; nothing is fitted again.

        Parameters
        ----------
        name
            Of at most 200 characters, none of them a control character; blanks around it are left
            out. Not taken yet, unless ``images`` or ``features`` are added to a class that was
            not seen in training.
        vector, attributes, text
            What is known of it, one of the three: a vector as the other classes have it; values of
            attributes by name, 0 for those left out; or a description in words, where the other
            classes are known by descriptions (at most 10,000 characters; lines end in line feeds).
            None of them with ``images`` or ``features``: then the class is known by these alone.
        images, features
            Its shots, as `recognize` takes samples: images, or features without a network.
            Together with semantics they make the prototype of `FewShotClassifier`. Later calls
            for the same class add shots.
        kappa
            How many shots the semantics count as; by default 1, then as before.

        Warns
        -----
        ZerokinWarning
            If a value lies outside those of the other classes, or another class has the same name
            but for case and spaces.
        """
        name = checked_name(name)
        text = None if text is None else checked_text(text, of=name)
        told = any(what is not None for what in (vector, attributes, text))
        by_example = images is not None or features is not None
        if kappa is not None and not by_example:
            raise InvalidInput("kappa weighs semantics against shots: give some, or leave it out")
        # Before images are read, and again when nobody else changes anything.
        self._refuse_taken(name, told=told, by_example=by_example)
        shots = self._shots(images, features)
        with self._changing:
            known = self._known
            self._refuse_taken(name, told=told, by_example=by_example)
            if name in known.classes.names:
                more_shots = with_shots(known.classifier, name, shots, kappa=kappa)
                self._known = Known(more_shots, known.classes)
                return self
            if shots is not None and not told:
                by_shots = with_shots(known.classifier, name, shots, kappa=kappa)
                # Zeros say, here as in tables of classes, that there are no semantics.
                nothing = np.zeros(known.classifier.semantics_.shape[1])
                self._known = Known(by_shots, known.classes.with_class(name, nothing, None))
                return self._warned(class_notes(name, known.classes))
            values = class_vector(
                name,
                known.classes,
                known.classifier.semantics_.shape[1],
                vector=vector,
                attributes=attributes,
                text=text,
            )
            notes = class_notes(name, known.classes, attributes)
            # The copy is changed by assignment alone, so that answers under way keep the old one.
            classifier = copy(known.classifier)
            if shots is None:
                classifier.add_class(name, values)
            else:
                classifier = with_shots(classifier, name, shots, vector=values, kappa=kappa)
            self._known = Known(classifier, known.classes.with_class(name, values, text))
        return self._warned(notes)

    def _refuse_taken(self, name: str, *, told: bool, by_example: bool) -> None:
        names = self.classes.names
        if name not in names:
            return
        if told or not by_example:
            more = ", or add its shots alone" if by_example else ""
            raise InvalidInput(
                f"there is a class {name!r} already: remove it or choose a name{more}"
            )
        refuse_seen(self.classifier, names.index(name))

    def _warned(self, notes: Sequence[str]) -> Recognizer:
        for note in notes:
            warnings.warn(note, ZerokinWarning, stacklevel=3)
        return self

    def remove_class(self, name: str) -> Recognizer:
        """Forget an unseen class; one that was seen in training cannot be forgotten."""
        with self._changing:
            known = self._known
            position = int(known.classes.index(name)[0])
            if position in known.classifier.seen_:
                raise InvalidInput(
                    f"{name!r} was seen in training, so it cannot be forgotten: fit without it, or "
                    "leave it out of the candidates"
                )
            kept = np.delete(np.arange(len(known.classes)), position)
            smaller = without_class(known.classifier, position)
            self._known = Known(smaller, known.classes.select(kept))
        return self

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a bundle, or replace the one in the folder, as a whole or not at all.

        What was written is read back before it counts. The bundle before is kept for `undo`.
        """
        from zerokin.recognizer.serialization import write_recognizer

        write_recognizer(self, folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str | None = None) -> Recognizer:
        """Read a bundle that `save` wrote; nothing in it is executed or fetched.

        Parameters
        ----------
        folder
            The bundle.
        device
            ``"cpu"`` or ``"cuda"``; by default a GPU if there is one.
        """
        from zerokin.recognizer.serialization import read_recognizer

        return read_recognizer(cls, folder, device=device)

    @classmethod
    def undo(cls, folder: str | os.PathLike[str], *, device: str | None = None) -> Recognizer:
        """Take back the last change of a bundle; again, and the change is back.

        Parameters
        ----------
        folder
            The bundle, which has been changed by `save` since it was made.
        device
            ``"cpu"`` or ``"cuda"``; by default a GPU if there is one.

        Returns
        -------
        Recognizer
            The bundle as it is now.
        """
        from zerokin.recognizer.serialization import undo_recognizer

        with ReadingSaved(cls.__name__, folder):
            return undo_recognizer(cls, folder, device=device)
