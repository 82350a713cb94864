"""What a few-shot method must offer to be chosen on validation classes and measured."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.few_shot.episodes import Episodes
from zerokin.selection.method import Params, Stage, TrainingData

EpisodeScorer = Callable[[Episodes], NDArray[np.floating]]
"""From T episodes to the scores (T, W · Q, W) of their queries for their classes."""


class FewShotMethod(ABC):
    """A few-shot method with hyper-parameters to choose.

    ``stages`` says how: each stage is a list of changes, all of which are tried on top of the best
    so far. The first stage starts from ``defaults``.
    """

    name: str
    defaults: Params
    stages: Sequence[Stage]

    @abstractmethod
    def scorers(
        self, data: TrainingData, pool: NDArray[Any], trials: Sequence[Params]
    ) -> Iterator[EpisodeScorer]:
        """Learn from base classes with each of these hyper-parameters.

        Parameters
        ----------
        data
            Features and labels of the base classes, semantics of all classes, or with no columns
            where there are none.
        pool
            (N, d_f) raw features that episodes draw from.
        trials
            Hyper-parameters; what they share is computed once.

        Yields
        ------
        EpisodeScorer
            One for each of the trials, in their order. A scorer looks at nothing but shots when it
            scores a query, and at no other query.
        """
