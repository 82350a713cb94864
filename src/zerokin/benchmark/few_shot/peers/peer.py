"""`FewShotPeer`: what every few-shot method that zerokin is compared with looks like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.finite_scores import finite_scores
from zerokin.declared import Declared
from zerokin.errors import InvalidInput
from zerokin.features.class_means import class_means
from zerokin.features.scaler import FeatureScaler
from zerokin.matrices import real_array, refuse_too_large
from zerokin.selection.method import FEATURE_NORMALIZATIONS

Array = NDArray[np.floating[Any]]
Learned = TypeVar("Learned")


@dataclass(frozen=True, eq=False)
class BaseClasses:
    """What a peer may learn from: samples of the base classes.

    Nothing is normalized before a peer asks: most learn nothing from base classes.

    Parameters
    ----------
    raw_features
        (N, d_f) features as they were read.
    labels
        (N,) their classes.
    normalizer
        Fitted; what `features` go through.
    class_semantics
        (C, d_z) of all classes, with no columns where there are none. Peers get those of base
        classes alone, as `semantics`.
    random_state
        Seed of what a peer draws.
    """

    raw_features: Array
    labels: NDArray[np.int64]
    normalizer: FeatureScaler
    class_semantics: NDArray[np.float64] | None = None
    random_state: int = 0
    _learned: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, learn: Callable[..., Learned], *args: Any, **settings: Any) -> Learned:
        """Return ``learn(self, *args, **settings)``, learned when it is first asked for."""
        key = (learn, args, tuple(sorted(settings.items())))
        if key not in self._learned:
            self._learned[key] = learn(self, *args, **settings)
        found: Learned = self._learned[key]
        return found

    @cached_property
    def semantics(self) -> NDArray[np.float64]:
        """(B, d_z) semantics of the base classes."""
        if self.class_semantics is None or not self.class_semantics.shape[1]:
            raise InvalidInput(
                "this method needs class semantics: give some with semantics=, or leave it out"
            )
        return self.class_semantics[np.unique(self.labels)]

    @cached_property
    def features(self) -> Array:
        """(N, d_f) features, normalized."""
        return self.normalizer.transform(self.raw_features)

    @cached_property
    def members(self) -> NDArray[np.int64]:
        """(N,) the samples' classes, numbered without gaps."""
        return np.unique(self.labels, return_inverse=True)[1]

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """(B, d_f) mean of every base class."""
        return class_means(self.features, self.members, int(self.members.max()) + 1)

    @cached_property
    def covariances(self) -> Array:
        """(B, d_f, d_f) covariance of every base class."""
        B, width = self.means.shape
        covariances = np.empty((B, width, width), self.features.dtype)
        order = np.argsort(self.members, kind="stable")
        ends = np.cumsum(np.bincount(self.members))
        for number, samples in enumerate(np.split(order, ends[:-1])):
            rest = self.features[samples] - self.means[number].astype(self.features.dtype)
            covariances[number] = rest.T @ rest / max(1, len(samples) - 1)
        return covariances


@dataclass
class FewShotPeer(Declared, ABC):
    """A published few-shot method on ready features: a dataclass in one file.

    Its fields are the hyper-parameters. It writes `score`, and `learn` if it learns from base
    classes. Episodes come many at a time, and each is scored for itself.

    Attributes
    ----------
    name
        How the registry calls it.
    reference
        Who proposed it, and where.
    normalizations
        Steps of `FeatureScaler` to choose from: all of them, unless the method names its own.
    grid
        Values of the hyper-parameters to choose from on validation classes.
    uses_semantics
        Whether it also learns from class semantics: see `SemanticFewShotPeer`.
    """

    name: ClassVar[str]
    reference: ClassVar[str]
    normalizations: ClassVar[Sequence[str]] = ("none", *FEATURE_NORMALIZATIONS)
    grid: ClassVar[Mapping[str, Sequence[float]]] = {}
    uses_semantics: ClassVar[bool] = False

    def scores(self, shots: Array, queries: Array, semantics: Array | None = None) -> Array:
        """Return what `score` does, with its arguments and its result checked.

        Parameters
        ----------
        shots
            (T, W, K, d_f) features of K shots of each of W classes, in T episodes.
        queries
            (T, M, d_f) features to name.
        semantics
            (T, W, d_z) of the classes, for peers that use them.
        """
        shown, asked = (
            _finite_array(values, name, ndim)
            for values, name, ndim in ((shots, "shots", 4), (queries, "queries", 3))
        )
        if shown.shape[0] != asked.shape[0] or shown.shape[-1] != asked.shape[-1]:
            raise InvalidInput(
                f"shots (T, W, K, d_f) and queries (T, M, d_f) must agree in T and d_f: got shapes "
                f"{shown.shape} and {asked.shape}"
            )
        with np.errstate(over="ignore", invalid="ignore"):  # said in one line
            return finite_scores(self._score(shown, asked, semantics))

    def _score(self, shots: Array, queries: Array, semantics: Array | None) -> Array:  # noqa: ARG002
        return self.score(shots, queries)

    def learn(self, base: BaseClasses) -> None:
        """Learn from the base classes, and keep the result in attributes that end in ``_``."""

    @abstractmethod
    def score(self, shots: Array, queries: Array) -> Array:
        """Return the scores (T, M, W) of queries (T, M, d_f), given shots (T, W, K, d_f)."""


@dataclass
class SemanticFewShotPeer(FewShotPeer):
    """A few-shot method that also knows the semantics of classes.

    It writes `score_with_semantics` in the place of `score`. What it learns from are the semantics
    of base classes alone: those of an episode's classes come with its shots.
    """

    uses_semantics: ClassVar[bool] = True

    @abstractmethod
    def score_with_semantics(self, shots: Array, queries: Array, semantics: Array) -> Array:
        """Return the scores (T, M, W), given shots (T, W, K, d_f) and semantics (T, W, d_z)."""

    def score(self, shots: Array, queries: Array) -> Array:  # noqa: ARG002
        """Refuse to score by shots alone."""
        raise InvalidInput(f"{self.name} also needs the semantics of an episode's classes")

    def _score(self, shots: Array, queries: Array, semantics: Array | None) -> Array:
        if semantics is None:
            return self.score(shots, queries)
        known = _finite_array(semantics, "semantics", 3)
        if known.shape[:2] != shots.shape[:2]:
            raise InvalidInput(
                f"semantics (T, W, d_z) must be of the shots' classes (T, W): got {known.shape} "
                f"for {shots.shape[:2]}"
            )
        return self.score_with_semantics(shots, queries, known)


class Standardized(NamedTuple):
    """Semantics less their mean over base classes, with entries of mean square one there."""

    mean: NDArray[np.float64]
    scale: float

    @classmethod
    def from_base(cls, semantics: NDArray[np.float64]) -> Standardized:
        """Learn from base classes (B, d_z)."""
        mean = semantics.mean(axis=0)
        scale = float(np.sqrt(((semantics - mean) ** 2).mean()))
        return cls(mean, scale or 1.0)

    def __call__(self, semantics: Array) -> NDArray[np.float32]:
        """Return semantics (..., d_z), standardized."""
        return np.asarray((semantics - self.mean) / self.scale, dtype=np.float32)


def _finite_array(values: object, name: str, ndim: int) -> Array:
    array = real_array(values, name, f"numbers in {ndim} dimensions")
    if array.ndim != ndim or 0 in array.shape:
        raise InvalidInput(f"{name} must have {ndim} dimensions, none of 0: got {array.shape}")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise InvalidInput(f"{name} holds NaN or infinity: drop or fill such values first")
    refuse_too_large(array.reshape(-1, array.shape[-1]), name)
    return array
