"""`Dataset`: images or features, labels, classes, splits and provenance in one place."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import compress
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zerokin.aliases import accept_old_names
from zerokin.data.classes import ClassTable
from zerokin.data.feature_files import FeatureFile
from zerokin.data.images import FolderImages, Images
from zerokin.data.provenance import Provenance
from zerokin.data.splits import ClassMask, Indices, Split, hold_out, repeat_folds
from zerokin.errors import InvalidInput, UnseenLabels, did_you_mean, listing, shown
from zerokin.matrices import plain_array
from zerokin.parameters import Integer, Ranges, Real, check_arguments, is_whole

Inputs = Images | FeatureFile | NDArray[np.floating]

BLOCK = 4096
TEST_SEEN = 0.2
"""Fraction of every remaining seen class that a fold holds out."""
LEAST_HELD_OUT = 2


class InvalidDataset(InvalidInput):
    """A data set with problems; ``problems`` holds all of them, the message the first."""

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.source = source
        self.problems = tuple(problems)
        more = len(problems) - 1
        tail = f" (and {more} more: `zerokin check {source}` lists them)" if more else ""
        super().__init__(f"{source}: {problems[0]}{tail}")


@accept_old_names({"pictures": "images"})
class Dataset:
    """Labeled samples of C classes, some of them unseen.

    Labels come through two doors. Whatever fits uses `training_labels`, which refuses samples of
    unseen classes; whatever measures uses `evaluation_labels`.

    Parameters
    ----------
    name
        Short name, printed with results.
    classes
        The class table.
    inputs
        `Images` (decoded when asked for), a `FeatureFile`, an (N, d_f) array, or None for a
        class table without samples.
    labels
        (N,) positions in the class table; -1 marks a sample whose class is not in the table.
    splits
        Splits by name; the first is active unless ``split`` names another.
    provenance
        Where it came from.
    split
        Name of the active split.

    Raises
    ------
    InvalidDataset
        If anything is wrong; its ``problems`` lists everything that is.

    Examples
    --------
    >>> import zerokin
    >>> critters = zerokin.load_dataset("critters")
    >>> critters.training_labels(critters.split.test_unseen[:3])
    Traceback (most recent call last):
    zerokin.errors.UnseenLabels: 3 of 3 samples asked for to fit are of unseen classes: fit ...
    """

    multi_label: ClassVar[bool] = False
    """Whether a sample has several labels: see `MultiLabelDataset`."""

    _labels: Any
    _input_shapes: ClassVar[Mapping[int, str]] = MappingProxyType({2: "(N, d_f)"})

    def __init__(
        self,
        *,
        name: str,
        classes: ClassTable,
        inputs: Inputs | None,
        labels: Any,
        splits: Mapping[str, Split],
        provenance: Provenance,
        split: str | None = None,
    ) -> None:
        self.name = name
        self.classes = classes
        self.inputs = inputs
        self._labels = self._label_array([] if labels is None else labels)
        self.splits = dict(splits)
        self.provenance = provenance
        self.split_name = self._known_split(split) if split else next(iter(self.splits))
        problems = self._problems()
        if problems:
            raise InvalidDataset(provenance.source, problems)

    def __repr__(self) -> str:
        return (
            f"<Dataset {self.name!r}: {len(self):,} {self.kind}, {len(self.seen)} seen and "
            f"{len(self.unseen)} unseen classes, {self.split_name} split>"
        )

    def __len__(self) -> int:
        return int(self._labels.shape[0])

    @property
    def kind(self) -> str:
        """What a sample is: ``"images"``, ``"features"`` or ``"classes only"``."""
        if self.inputs is None:
            return "classes only"
        return "images" if isinstance(self.inputs, Images) else "features"

    @property
    def split(self) -> Split:
        """The active split."""
        return self.splits[self.split_name]

    @property
    def seen(self) -> Indices:
        """Positions of the seen classes."""
        return np.flatnonzero(~self.split.unseen)

    @property
    def unseen(self) -> Indices:
        """Positions of the unseen classes."""
        return np.flatnonzero(self.split.unseen)

    @property
    def semantics(self) -> NDArray[np.float64]:
        """(C, d_z) class semantics Z, rows of unit norm."""
        return self.classes.semantics

    @property
    def images(self) -> Images:
        """The images, decoded when asked for."""
        if not isinstance(self.inputs, Images):
            raise InvalidInput(f"{self.provenance.source} holds {self.kind}, not images")
        return self.inputs

    @cached_property
    def features(self) -> NDArray[np.floating]:
        """(N, d_f) features F, memory-mapped where their file allows it."""
        if isinstance(self.inputs, FeatureFile):
            return self.inputs.open()
        if self.inputs is None or isinstance(self.inputs, Images):
            raise InvalidInput(
                f"{self.provenance.source} holds {self.kind}, not features: extract them first"
            )
        return self.inputs

    def refuse_not_finite(self, samples: Indices) -> None:
        """Refuse features that hold NaN or infinity, by the first sample whose they are."""
        for start in range(0, len(samples), BLOCK):
            block = samples[start : start + BLOCK]
            self._refuse_not_finite(self.features[block], block)

    def finite_features(self, samples: Indices) -> NDArray[np.floating]:
        """Return features (n, d_f) of samples, in memory; refuse any that hold NaN or infinity."""
        found: NDArray[np.floating] = np.asarray(self.features[samples])
        for start in range(0, len(samples), BLOCK):
            block = slice(start, start + BLOCK)
            self._refuse_not_finite(found[block], samples[block])
        return found

    def _refuse_not_finite(self, features: NDArray[np.floating], samples: Indices) -> None:
        unfit = ~np.isfinite(features).all(axis=tuple(range(1, features.ndim)))
        if not unfit.any():
            return
        number = int(samples[unfit.argmax()])
        names = getattr(self.inputs, "names", None)
        called = f" ({names[number]!r})" if names else ""
        raise InvalidInput(
            f"features of sample {number + 1:,} of {self.name}{called} hold NaN or infinity: "
            "extract or fill them again"
        )

    @cached_property
    def sha256(self) -> str:
        """One SHA-256 over all that was read, the image files in folders included."""
        files = self.provenance.sha256
        if not isinstance(self.inputs, FolderImages):
            return files
        return hashlib.sha256(f"{files} {self.inputs.sha256()}".encode()).hexdigest()

    def training_labels(self, indices: Indices | None = None) -> NDArray[np.int64]:
        """Return labels to fit on: of the training samples, or of the samples given.

        Raises
        ------
        UnseenLabels
            If any of the samples is of an unseen class.
        """
        indices = self.split.train if indices is None else self._samples(indices)
        labels: NDArray[np.int64] = self._labels[indices]
        refused = (labels < 0) | self.split.unseen[labels]
        if refused.any():
            raise UnseenLabels(
                f"{refused.sum():,} of {len(labels):,} samples asked for to fit are of unseen "
                "classes: fit on dataset.split.train, and use evaluation_labels to measure"
            )
        return labels

    def evaluation_labels(self, indices: Indices) -> NDArray[np.int64]:
        """Return labels to measure with; nothing may be fitted or chosen on them."""
        labels: NDArray[np.int64] = self._labels[self._samples(indices)]
        return labels

    def training_counts(self) -> NDArray[np.int64]:
        """Return how many training samples each class has, (C,)."""
        return np.bincount(self._labels[self.split.train], minlength=len(self.classes))

    def with_split(self, name: str) -> Dataset:
        """Return the same data with another of its splits active."""
        return self._copy(split=self._known_split(name))

    def with_inputs(self, inputs: Inputs, provenance: Provenance | None = None) -> Dataset:
        """Return the same samples with other inputs, such as features extracted from images."""
        return self._copy(inputs=inputs, provenance=provenance or self.provenance)

    def with_classes(self, classes: ClassTable) -> Dataset:
        """Return the same samples with another table of the same classes, such as new vectors."""
        return self._copy(classes=classes)

    def fold(self, number: int, *, test_seen: float = TEST_SEEN, seed: int = 0) -> Dataset:
        """Return validation fold 1, 2, …: a data set in which the test classes do not exist.

        Its unseen classes are the fold's validation classes; its samples are training samples of
        this one. What is chosen on it has not looked at any test sample or unseen class.

        Parameters
        ----------
        number
            Which fold, from 1.
        test_seen
            Fraction of every remaining seen class held out to test on.
        seed
            Draws the held-out samples.
        """
        ranges: Ranges = {
            "number": Integer(1, None),
            "test_seen": Real(0, 1),
            "seed": Integer(0, None),
        }
        if not is_whole(number) or number >= 1:  # what is below has a line of its own
            check_arguments(ranges, number=number)
        check_arguments(ranges, test_seen=test_seen, seed=seed)
        if not 1 <= number <= len(self.split.folds):
            raise InvalidInput(
                f"{self.name} has {len(self.split.folds)} validation folds; there is no {number}"
            )
        return self._without(self.split.folds[number - 1], number, test_seen, seed)

    def repeated_folds(
        self, *, held_out: int, test_seen: float = TEST_SEEN, seed: int = 0
    ) -> list[Dataset]:
        """Return folds drawn anew, until ``held_out`` classes were held out in all.

        A few folds of a few classes tell little. These hold out as many classes at a time as
        there are unseen ones, at most a third of the seen ones, so that candidates are as in use.

        Parameters
        ----------
        held_out
            Classes to hold out in all, each time counted.
        test_seen
            Fraction of every remaining seen class held out to test on.
        seed
            Draws what is held out: classes, and samples of the other ones.
        """
        ranges: Ranges = {"held_out": Integer(1), "test_seen": Real(0, 1), "seed": Integer(0)}
        check_arguments(ranges, held_out=held_out, test_seen=test_seen, seed=seed)
        drawn = repeat_folds(
            self.classes.names,
            self.split.unseen,
            held_out=held_out,
            size=max(LEAST_HELD_OUT, len(self.unseen)),
            seed=seed,
        )
        return [
            self._without(fold, number, test_seen, seed + number)
            for number, fold in enumerate(drawn, start=1)
        ]

    def _without(self, validation: ClassMask, number: int, test_seen: float, seed: int) -> Dataset:
        """Return the data set in which validation classes play the unseen ones."""
        position = np.full(len(self.classes) + 1, -1)  # the last entry keeps label -1 at -1
        position[self.seen] = np.arange(len(self.seen))
        labels = np.full(len(self), -1)
        labels[self.split.train] = position[self._labels[self.split.train]]
        in_validation = validation[self._labels[self.split.train]]
        train, held = hold_out(
            self.split.train[~in_validation], labels, fraction=test_seen, seed=seed
        )
        split = Split(
            version=f"{self.split.version}, validation fold {number}",
            unseen=validation[self.seen],
            train=train,
            test_seen=held,
            test_unseen=self.split.train[in_validation],
        )
        name = f"{self.split_name} fold {number}"
        return self._copy(
            classes=self.classes.select(self.seen), labels=labels, splits={name: split}, split=name
        )

    def _fields(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "classes": self.classes,
            "inputs": self.inputs,
            "labels": self._labels,
            "splits": self.splits,
            "provenance": self.provenance,
            "split": self.split_name,
        }

    def _copy(self, **changes: object) -> Dataset:
        return Dataset(**(self._fields() | changes))

    def _samples(self, indices: Indices) -> Indices:
        """Return positions of samples, or of those that a mask (N,) chooses."""
        found = np.asarray(indices) if isinstance(indices, np.ndarray) else None
        if found is not None and found.dtype == np.bool_ and found.shape == (len(self),):
            return np.flatnonzero(found)
        return positions(indices, "samples", most=len(self))

    def _known_split(self, name: str) -> str:
        if not isinstance(name, str) or name not in self.splits:
            raise InvalidInput(
                f"{self.name} has no {shown(name)} split, only {listing(self.splits)}"
                f"{did_you_mean(name, self.splits)}"
            )
        return name

    def _label_array(self, labels: Any) -> Any:
        """Return labels as they are kept."""
        return positions(labels, "labels")

    def _problems(self) -> list[str]:
        found = self.classes.problems()
        outside = self._labels_outside()
        if outside:
            return [*found, outside]
        shape = getattr(self.inputs, "shape", None)
        if self.inputs is not None and not isinstance(self.inputs, Images | FeatureFile):
            given = self.inputs
            if (
                not isinstance(given, np.ndarray)
                or given.ndim not in self._input_shapes
                or given.dtype.kind not in "fiu"
            ):
                shapes = " or ".join(self._input_shapes.values())
                found.append(f"features must be a matrix of numbers {shapes}: got {shown(given)}")
                return found
        elif shape is not None and len(shape) not in self._input_shapes:
            shapes = " or ".join(self._input_shapes.values())
            found.append(f"features are of shape {shape}, and must be {shapes}")
        if self.inputs is not None and len(self.inputs) != len(self):
            found.append(f"{len(self.inputs):,} {self.kind} but {len(self):,} labels")
        for name, split in self.splits.items():
            found += [f"{name} split: {line}" for line in self._split_problems(split)]
        if not found and self.inputs is not None:
            found += self._untrained_classes()
        return found

    def _labels_outside(self) -> str | None:
        """Return what is wrong with labels that are no classes."""
        labels, C = self._labels, len(self.classes)
        outside = np.flatnonzero((labels < -1) | (labels >= C))
        if not len(outside):
            return None
        return (
            f"sample {outside[0] + 1:,} has label {labels[outside[0]] + 1}, outside the class "
            f"table of {C} classes ({len(outside):,} such samples)"
        )

    def _split_problems(self, split: Split) -> list[str]:
        return split.problems(self._labels, self.classes.names)

    def _untrained_classes(self) -> list[str]:
        empty = (self.training_counts() == 0) & ~self.split.unseen
        if not empty.any():
            return []
        names = listing(compress(self.classes.names, empty))
        return [f"seen classes without training samples: {names}"]


def positions(values: object, what: str, most: int | None = None) -> NDArray[np.int64]:
    """Return whole numbers (n,), refusing others, and those outside 0 to below ``most``."""
    found = plain_array(values, what)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
        raise InvalidInput(
            f"{what} must be a list of whole numbers: got {found.dtype} of shape {found.shape}"
        )
    if most is not None and found.size and (found.min() < 0 or found.max() >= most):
        wrong = found.min() if found.min() < 0 else found.max()
        raise InvalidInput(f"there is no sample {wrong}: samples are 0 to {most - 1:,}")
    return found.astype(np.int64, copy=False)
