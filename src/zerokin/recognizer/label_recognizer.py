"""`LabelRecognizer`: images in, everything that they show out, and where."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.multi_label.multi_label_classifier import MultiLabelZeroShotClassifier
from zerokin.classifiers.multi_label.serialization import CONFIG, read_multi_label, write_files
from zerokin.classifiers.zero_shot_classifier import Candidates
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.errors import InvalidInput
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.region_reader import COMPONENTS, REGIONS, RegionReader
from zerokin.files import refuse_other_folder, replacing_folder
from zerokin.recognizer.image_answer import UnreadableImage
from zerokin.recognizer.image_input import ImageInput, decoded_batches, named_images
from zerokin.recognizer.label_answer import LabelAnswer, find_labels
from zerokin.recognizer.network_features import own_learner

READER = "reader"
BATCH_SIZE = 32


class LabelRecognizer:
    """Name everything that images show, classes without any image included, and tell where.

    Made by `fit_label_recognizer`, or read with `load`.

    Parameters
    ----------
    reader
        Reads regions off images; None where they come from a feature file.
    classifier
        Fitted to the features of such regions.

    Examples
    --------
    >>> recognizer = LabelRecognizer.load("garden")                             # doctest: +SKIP
    >>> [one.label for one in recognizer.recognize(["1.jpg"])[0].labels]        # doctest: +SKIP
    ['great tit', 'hedgehog']
    """

    def __init__(
        self, reader: RegionReader | None, classifier: MultiLabelZeroShotClassifier
    ) -> None:
        if reader is not None and reader.width != classifier.n_features_in_:
            raise InvalidInput(
                f"regions have {reader.width} features, but the classifier was fitted on "
                f"{classifier.n_features_in_}: fit it anew"
            )
        self.reader, self.classifier = reader, classifier

    @property
    def takes(self) -> Literal["images", "features"]:
        """What is recognized: images, or features of regions where there is no network."""
        return "features" if self.reader is None else "images"

    @property
    def names(self) -> list[str]:
        """What the classes are called."""
        return [str(name) for name in self.classifier.classes_]

    @property
    def seen(self) -> NDArray[np.bool_]:
        """(C,) which classes were seen in training."""
        return np.isin(np.arange(len(self.names)), self.classifier.seen_)

    def recognize(
        self, images: ImageInput, *, candidates: Candidates = "all", k: int | None = None
    ) -> list[LabelAnswer]:
        """Return an answer for every image; one that cannot be read stops with its name.

        Parameters
        ----------
        images
            As for `Recognizer.recognize`.
        candidates
            ``"all"``, ``"seen"``, ``"unseen"``, or a list of class names.
        k
            How many labels an image is given; None for those from the threshold on.
        """
        answers = []
        for answer in self.recognize_stream(images, candidates=candidates, k=k):
            if isinstance(answer, UnreadableImage):
                raise InvalidInput(answer.error)
            answers.append(answer)
        return answers

    def recognize_stream(
        self,
        images: ImageInput,
        *,
        candidates: Candidates = "all",
        k: int | None = None,
        batch_size: int = BATCH_SIZE,
    ) -> Iterator[LabelAnswer | UnreadableImage]:
        """Yield answers in the order of the images, which are read as they are needed.

        One that cannot be read yields an `UnreadableImage`, and the others are still answered. The
        other parameters are those of `recognize`.
        """
        if self.reader is None:
            raise InvalidInput("this recognizer takes features of regions, not images")
        if batch_size < 1:
            raise InvalidInput(f"batch_size must be at least 1: got {batch_size}")
        self.classifier._candidates(candidates)  # refused before anything is read
        for batch in decoded_batches(
            named_images(images), self.reader.frame, batch_size=batch_size
        ):
            squares = [at for _, at in batch if isinstance(at, np.ndarray)]
            names = [name for name, at in batch if isinstance(at, np.ndarray)]
            answers = iter(
                self.answer(self.reader.transform(np.stack(squares)), names, candidates, k)
                if squares
                else ()
            )
            for _, at in batch:
                yield at if isinstance(at, UnreadableImage) else next(answers)

    def answer(
        self, features: NDArray[Any], names: list[str], candidates: Candidates, k: int | None
    ) -> list[LabelAnswer]:
        """Return the answers for features of regions (n, R, d_f)."""
        grid = None if self.reader is None else self.reader.regions
        found = find_labels(self.classifier, features, candidates=candidates, k=k, grid=grid)
        return [LabelAnswer(*pair) for pair in zip(names, found, strict=True)]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write network and classifier to a folder, whole or not at all."""
        refuse_other_folder(Path(folder), CONFIG, "a classifier of several labels")
        with replacing_folder(folder) as temporary:
            write_files(self.classifier, temporary)
            if self.reader is not None:
                (temporary / READER).mkdir()
                self.reader.save(temporary / READER)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str | None = None) -> LabelRecognizer:
        """Read what `save` wrote; nothing in the folder is executed."""
        folder = Path(folder)
        classifier = read_multi_label(MultiLabelZeroShotClassifier, folder)
        below = folder / READER
        return cls(RegionReader.load(below, device=device) if below.is_dir() else None, classifier)


def fit_label_recognizer(
    dataset: MultiLabelDataset,
    learner: FeatureLearner | Mapping[str, Any] | None = None,
    *,
    regions: int = REGIONS,
    components: int = COMPONENTS,
    tune: bool = True,
    random_state: int = 0,
    quiet: bool = False,
) -> tuple[LabelRecognizer, Any]:
    """Return a recognizer of several labels an image, and how its classifier was chosen.

    Parameters
    ----------
    dataset
        Images with several labels. Test images are not looked at.
    learner
        A frozen network: trained before, or settings of `FeatureLearner`; by default the best one
        at hand.
    regions
        So many regions a side are read off every image.
    components
        Principal components of their features that are kept; 0 keeps all features.
    tune, random_state, quiet
        As for ``fit_label_classifier``.
    """
    from zerokin.selection.multi_label.fitting import fit_label_classifier

    network, _ = own_learner(learner, finetune=False)
    if not hasattr(network, "network_"):
        network.prepare(dataset)
    reader = RegionReader(network, regions=regions, components=components)
    read = reader.fit_transform(dataset, quiet=quiet)
    features = np.zeros((len(dataset), *read.shape[1:]), np.float32)
    features[dataset.split.train] = read
    del read
    featured = cast(MultiLabelDataset, dataset.with_inputs(features))
    model, chosen = fit_label_classifier(
        featured, tune=tune, random_state=random_state, quiet=quiet
    )
    return LabelRecognizer(reader, model), chosen
