"""`Peer`: what every zero-shot method that zerokin is compared with looks like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.peers.training_set import (
    Array,
    Labels,
    TrainingSet,
    finite_matrix,
    scale_samples,
)
from zerokin.classifiers.finite_scores import finite_scores
from zerokin.declared import Declared
from zerokin.errors import InvalidInput
from zerokin.parameters import Real, check_parameters

RidgeWeight = Annotated[float, Real(0, 1e12, closed="right")]
"""Of the weight of a penalty: without any, a solution need not exist."""


@dataclass
class Peer(Declared, ABC):
    """A published zero-shot method: fitted on seen classes, it scores seen and unseen ones.

    A method is a dataclass in one file. Its fields are the hyper-parameters, and it writes two
    functions: `learn`, which is given the seen classes alone, and `score`, which meets the
    semantics of all candidate classes for the first time. So no method can learn from an unseen
    class.

    Attributes
    ----------
    name
        How the registry calls it.
    reference
        Who proposed it, and where.
    grid
        Values of the hyper-parameters to choose from on validation classes.
    iterative
        Whether it is fitted in many steps. Such trials race: see ``PeerMethod``.
    """

    name: ClassVar[str]
    reference: ClassVar[str]
    grid: ClassVar[Mapping[str, Sequence[float]]]
    iterative: ClassVar[bool] = True

    def fit(self, F: Array, y: Labels, Z: Array, *, random_state: int = 0) -> Self:
        """Learn from features of seen classes.

        Parameters
        ----------
        F : (N, d_f)
            Training features, normalized as the caller likes.
        y : (N,)
            Rows of Z: the classes of the samples. The classes that occur are the seen ones.
        Z : (C, d_z)
            Semantics of all candidate classes, seen and unseen.
        random_state
            Seed of methods that draw at random.
        """
        return self.fit_on(TrainingSet.from_samples(F, y, Z, random_state=random_state), Z)

    def fit_on(self, training: TrainingSet, Z: Array) -> Self:
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
        self._training_shape = training.F.shape
        self._feature_scale = training.feature_scale
        self._Z = np.asarray(Z, dtype=np.float64) / training.semantic_scale
        return self

    def scores(self, F: Array) -> NDArray[np.float64]:
        """Return the (N, C) scores of samples (N, d_f) for every class of Z; higher is better."""
        if not hasattr(self, "_training_shape"):
            raise InvalidInput(f"this {self.name} is not fitted yet: call fit first")
        F = finite_matrix(F, "F")
        if F.shape[1] != self._training_shape[1]:
            raise InvalidInput(
                f"F has {F.shape[1]} columns, but {self.name} was fitted on "
                f"{self._training_shape[1]}"
            )
        return self.scores_of_scaled(scale_samples(F, self._feature_scale))

    def scores_of_scaled(self, scaled: Array) -> NDArray[np.float64]:
        """Return the scores (N, C) of samples (N, d_f) that `scale_samples` scaled."""
        with np.errstate(over="ignore", invalid="ignore"):  # said in one line below
            scores = np.asarray(self.score(scaled, self._Z), dtype=np.float64)
        hint = f"look at the features' scale and the hyper-parameters of {self.name}"
        return finite_scores(scores, hint=hint)

    @classmethod
    def sweep(
        cls, F: Array, y: Labels, Z: Array, *, random_state: int = 0
    ) -> Iterator[tuple[dict[str, float], Self]]:
        """Yield every point of the grid with its fitted peer; what points share is made once."""
        training = TrainingSet.from_samples(F, y, Z, random_state=random_state)
        points = [
            dict(zip(cls.grid, values, strict=True)) for values in product(*cls.grid.values())
        ]
        cls.learn_together(training, [cls(**point) for point in points])
        for point in points:
            yield point, cls(**point).fit_on(training, Z)

    @classmethod
    def learn_together(cls, training: TrainingSet, peers: Sequence[Self]) -> None:
        """Learn at once what several peers will ask for, and leave it with the training set.

        `learn` finds it there. By default nothing is: peers are learned one by one.
        """

    @abstractmethod
    def learn(self, training: TrainingSet) -> None:
        """Learn from the seen classes, and keep the result in attributes that end in ``_``."""

    @abstractmethod
    def score(self, F: Array, Z: Array) -> Array:
        """Return the (N, C) scores of samples for classes with semantics Z, scaled alike."""
