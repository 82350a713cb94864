"""`MultiLabelPeer`: what every method for several labels looks like that ours is compared with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.peers.training_set import (
    Array,
    Samples,
    Shared,
    TrainingSet,
    finite_matrix,
    refuse_all_zero,
    root_mean_square,
)
from zerokin.classifiers.finite_scores import finite_scores
from zerokin.declared import Declared
from zerokin.errors import InvalidInput
from zerokin.features.scaler import unit_length
from zerokin.metrics.multi_label import label_matrix
from zerokin.parameters import check_parameters


@dataclass(frozen=True, eq=False)
class LabelTraining(Shared):
    """Training samples and the rows of Z that they may use: those of the seen classes alone.

    Parameters
    ----------
    F : (N, d_f)
        Features, divided by one number, so that rows have length one in the root mean square.
    Y : (N, p)
        Which of the seen classes each sample has.
    S : (p, d_z)
        Semantics of the seen classes, of unit length.
    feature_scale
        By what features were divided.
    random_state
        Seed of methods that draw.
    """

    F: Array
    Y: NDArray[np.bool_]
    S: Array
    feature_scale: float
    random_state: int = 0

    @classmethod
    def from_arrays(cls, F: Array, Y: Any, Z: Array, *, random_state: int = 0) -> LabelTraining:
        """Check and scale what a fit was given: see `MultiLabelPeer.fit`."""
        F, Z, Y = finite_matrix(F, "F"), finite_matrix(Z, "Z"), label_matrix(Y, "Y")
        if Y.shape != (len(F), len(Z)):
            raise InvalidInput(
                f"Y must have a row for each of {len(F):,} samples and a column for each of "
                f"{len(Z)} classes: got shape {Y.shape}"
            )
        refuse_all_zero(F, "F")
        seen = np.flatnonzero(Y.any(axis=0))
        if len(seen) < 2:
            raise InvalidInput("Y holds fewer than two classes: at least two are needed")
        scale = root_mean_square(F)
        return cls(
            F / F.dtype.type(scale), Y[:, seen], unit_length(Z[seen].astype(np.float64)), scale,
            random_state,
        )  # fmt: skip

    @cached_property
    def for_linear_models(self) -> TrainingSet:
        """The same for `fit_linear_models`, which looks at the features alone."""
        nothing = np.zeros(len(self.F), dtype=np.int64)
        samples = Samples(self.F, nothing, np.arange(1), self.feature_scale)
        return TrainingSet(samples, self.S, 1.0, self.random_state)


@dataclass
class MultiLabelPeer(Declared, ABC):
    """A published method for several labels: fitted on seen classes, it scores all of them.

    Its fields are the hyper-parameters. `learn` is given the seen classes alone, and `score` meets
    the semantics of all candidate classes for the first time.

    Attributes
    ----------
    name
        How the registry calls it.
    reference
        Who proposed it, and where.
    grid
        Values of the hyper-parameters to choose from on validation classes.
    """

    name: ClassVar[str]
    reference: ClassVar[str]
    grid: ClassVar[Mapping[str, Sequence[float]]]

    def fit(self, F: Array, Y: Any, Z: Array, *, random_state: int = 0) -> Self:
        """Learn from samples and their labels.

        Parameters
        ----------
        F : (N, d_f)
            Training features.
        Y : (N, C)
            Labels, 0 and 1. The classes that occur are the seen ones.
        Z : (C, d_z)
            Semantics of all candidate classes, seen and unseen.
        random_state
            Seed of methods that draw.
        """
        training = LabelTraining.from_arrays(F, Y, Z, random_state=random_state)
        return self.fit_on(training, Z)

    def fit_on(self, training: LabelTraining, Z: Array) -> Self:
        """Learn from a training set that several fits share.

        Parameters
        ----------
        training
            Made of the rows of Z that are those of seen classes.
        Z : (C, d_z)
            Semantics of all candidate classes, seen and unseen.
        """
        check_parameters(self)
        self.learn(training)
        self._width, self._feature_scale = training.F.shape[1], training.feature_scale
        self._Z = unit_length(np.asarray(Z, dtype=np.float64))
        return self

    def scores(self, F: Array) -> NDArray[np.float64]:
        """Return the (n, C) scores of samples (n, d_f) for every class of Z; higher is better."""
        if not hasattr(self, "_width"):
            raise InvalidInput(f"this {self.name} is not fitted yet: call fit first")
        F = finite_matrix(F, "F")
        if F.shape[1] != self._width:
            raise InvalidInput(
                f"F has {F.shape[1]} columns, but {self.name} was fitted on {self._width}"
            )
        with np.errstate(over="ignore", invalid="ignore"):  # said in one line below
            scores = np.asarray(
                self.score(F.astype(np.float64) / self._feature_scale, self._Z), dtype=np.float64
            )
        return finite_scores(scores, hint=f"look at the features' scale and at {self.name}")

    @abstractmethod
    def learn(self, training: LabelTraining) -> None:
        """Learn from the seen classes, and keep the result in attributes that end in ``_``."""

    @abstractmethod
    def score(self, F: Array, Z: Array) -> Array:
        """Return the (n, C) scores of samples for classes with unit semantics Z."""
