"""What a method must offer to be chosen and measured on data with several labels a sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.memo import Memo
from zerokin.classifiers.multi_label.learning import LabeledRegions
from zerokin.classifiers.multi_label.regions import as_regions, whole_images
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.selection.method import Params, Stage

RegionsScorer = Callable[[NDArray[Any]], NDArray[np.float64]]
"""From raw features of regions (n, R, d_f) to scores (n, C), all of them finite."""


@dataclass(frozen=True, eq=False)
class LabeledData:
    """What a method may learn from: regions and labels of seen classes, semantics of all."""

    regions: NDArray[Any]
    labels: NDArray[np.bool_]
    semantics: NDArray[np.float64]
    random_state: int = 0
    taxonomy: Sequence[Sequence[str | None]] | None = None
    memo: Memo = field(default_factory=Memo, repr=False)

    @classmethod
    def from_dataset(cls, dataset: MultiLabelDataset, random_state: int) -> LabeledData:
        """Read features and labels of the training samples, and what is known of the classes."""
        return cls(
            regions_of(dataset, dataset.split.train),
            dataset.training_label_matrix(),
            dataset.semantics,
            random_state,
            dataset.classes.taxonomy,
        )

    @cached_property
    def labeled(self) -> LabeledRegions:
        """The same for our classifier; classes are called by their row."""
        names = np.arange(len(self.semantics))
        return LabeledRegions(self.regions, self.labels, self.semantics, names)

    @cached_property
    def of_whole_images(self) -> LabeledData:
        """The same with a single region an image, the mean of all."""
        return replace(self, regions=whole_images(self.regions)[:, None])

    @property
    def seen(self) -> NDArray[np.int64]:
        """Positions of the classes that some sample has."""
        return np.flatnonzero(self.labels.any(axis=0))


class MultiLabelMethod(ABC):
    """A method with hyper-parameters to choose; ``stages`` as of `zerokin.selection.method`."""

    name: str
    defaults: Params
    stages: Sequence[Stage]

    @abstractmethod
    def fit_many(self, data: LabeledData, trials: Sequence[Params]) -> Iterator[RegionsScorer]:
        """Fit with each of these hyper-parameters; yield what scores, in the order of trials."""


def regions_of(dataset: MultiLabelDataset, samples: NDArray[np.int64]) -> NDArray[Any]:
    """Return features of regions (n, R, d_f); a vector of a whole image is a single region."""
    return as_regions(dataset.finite_features(samples), "features")
