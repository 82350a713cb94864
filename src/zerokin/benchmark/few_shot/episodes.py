"""Episodes: small recognition tasks, each with its own classes, shots and queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.errors import InvalidInput, listing, shown
from zerokin.matrices import real_array
from zerokin.parameters import LARGEST_INTEGER, Integer, check_arguments

Indices = NDArray[np.int64]
AT_LEAST_1 = Integer(1)


@dataclass(frozen=True, eq=False)
class Episodes:
    """T tasks of W classes with K shots and Q queries each, as positions of samples.

    Parameters
    ----------
    classes
        (T, W) the classes of every episode, each once.
    shots
        (T, W, K) samples that are shown with their class.
    queries
        (T, W, Q) samples of the same classes to recognize; none may be a shot of its episode.

    Examples
    --------
    >>> Episodes(classes=[[7, 9]], shots=[[[0], [1]]], queries=[[[2, 3], [4, 0]]])
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: episode 0: sample 0 is both a shot and a query: shots must not ...
    """

    classes: Indices
    shots: Indices
    queries: Indices
    _parts: dict[int, list[Episodes]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("classes", "shots", "queries"):
            object.__setattr__(self, name, _whole_numbers(getattr(self, name), name))
        shapes = f"{self.classes.shape}, {self.shots.shape} and {self.queries.shape}"
        if (
            (self.classes.ndim, self.shots.ndim, self.queries.ndim) != (2, 3, 3)
            or not self.classes.shape == self.shots.shape[:2] == self.queries.shape[:2]
            or 0 in self.shots.shape + self.queries.shape
        ):
            raise InvalidInput(
                "classes, shots and queries must have shapes (T, W), (T, W, K) and (T, W, Q), "
                f"none of them 0: got {shapes}"
            )
        _refuse_repeated(self.classes, "class", "is in it twice: give every class once")
        _refuse_repeated(self.shots, "sample", "is a shot twice: give every shot once")
        self._refuse_shared()

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def way(self) -> int:
        """W, the classes of an episode."""
        return int(self.classes.shape[1])

    @property
    def truth(self) -> Indices:
        """(W · Q,) which of its episode's classes each query is of, the same in all episodes."""
        return np.repeat(np.arange(self.way), self.queries.shape[2])

    def chunks(self, size: int) -> list[Episodes]:
        """Return at most ``size`` episodes at a time, in order; the same objects every time."""
        if size not in self._parts:
            starts = range(0, len(self), size)
            self._parts[size] = [self._part(slice(start, start + size)) for start in starts]
        return self._parts[size]

    def _part(self, which: slice) -> Episodes:
        part = object.__new__(Episodes)  # already checked as a whole
        for name in ("classes", "shots", "queries"):
            object.__setattr__(part, name, getattr(self, name)[which])
        object.__setattr__(part, "_parts", {})
        return part

    def check(self, labels: NDArray[np.integer]) -> None:
        """Refuse samples that do not exist or are not of the class they stand for."""
        for name, samples in (("shot", self.shots), ("query", self.queries)):
            outside = samples[(samples < 0) | (samples >= len(labels))]
            if len(outside):
                raise InvalidInput(
                    f"{name} {outside[0]} does not exist: there are {len(labels):,} samples "
                    "(counted from 0)"
                )
            wrong = np.argwhere(labels[samples] != self.classes[:, :, None])
            if len(wrong):
                episode, place, _ = wrong[0]
                sample = samples[tuple(wrong[0])]
                raise InvalidInput(
                    f"episode {episode}: {name} {sample} is of class {labels[sample]}, but stands "
                    f"for class {self.classes[episode, place]}"
                )

    def _refuse_shared(self) -> None:
        both = np.concatenate(
            [self.shots.reshape(len(self), -1), self.queries.reshape(len(self), -1)], axis=1
        )
        is_query = np.arange(both.shape[1]) >= self.shots[0].size
        order = np.argsort(both, axis=1, kind="stable")
        ordered = np.take_along_axis(both, order, axis=1)
        came_first = ~is_query[order]
        shared = (ordered[:, 1:] == ordered[:, :-1]) & came_first[:, :-1] & ~came_first[:, 1:]
        if shared.any():
            episode = int(shared.any(axis=1).argmax())
            samples = ordered[episode, 1:][shared[episode]]
            subject = (
                f"sample {samples[0]} is both a shot and a query"
                if len(samples) == 1
                else f"samples {listing(samples)} are both shots and queries"
            )
            raise InvalidInput(
                f"episode {episode}: {subject}: shots must not be tested on, so take them out of "
                "either"
            )


def draw_episodes(
    labels: NDArray[np.integer],
    *,
    way: int = 5,
    shots: int = 1,
    queries: int = 15,
    episodes: int = 600,
    random_state: int = 0,
    names: Sequence[str] | None = None,
) -> Episodes:
    """Draw episodes: classes without repetition, and of each distinct shots and queries.

    Parameters
    ----------
    labels
        (N,) classes of the samples to draw from.
    way
        Classes of an episode.
    shots, queries
        Samples of each of its classes that are shown, and that are to be recognized.
    episodes
        How many to draw.
    random_state
        Seed: the same seed draws the same episodes.
    names
        What an error calls the classes, by label.

    Examples
    --------
    >>> labels = np.repeat([3, 5, 8], 10)
    >>> drawn = draw_episodes(labels, way=2, shots=1, queries=4, episodes=100)
    >>> drawn.classes.shape, drawn.shots.shape, drawn.queries.shape
    ((100, 2), (100, 2, 1), (100, 2, 4))
    >>> draw_episodes(labels, way=5)
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: 5-way episodes need 5 classes, but there are 3: lower way
    """
    if shots == 0:
        raise InvalidInput(
            "shots must be a whole number from 1: got 0; without any shots, use ZeroShotClassifier"
        )
    check_arguments(
        {
            **dict.fromkeys(("way", "shots", "queries", "episodes"), AT_LEAST_1),
            "random_state": Integer(0, None),
        },
        way=way,
        shots=shots,
        queries=queries,
        episodes=episodes,
        random_state=random_state,
    )
    labels = _whole_numbers(labels, "labels")
    if labels.ndim != 1 or not len(labels):
        raise InvalidInput(f"labels must be a list of classes: got shape {labels.shape}")
    classes, counts = np.unique(labels, return_counts=True)
    if way > len(classes):
        raise InvalidInput(
            f"{way}-way episodes need {way} classes, but there are {len(classes)}: lower way"
        )
    wanted = shots + queries
    if counts.min() < wanted:
        few = counts.argmin()
        named = names is not None and 0 <= classes[few] < len(names)
        called = repr(names[classes[few]]) if names is not None and named else classes[few]
        raise InvalidInput(
            f"{shots} shots and {queries} queries need {wanted} samples of a class, but class "
            f"{called} has {counts[few]}: lower shots or queries"
        )
    rng = np.random.default_rng(random_state)
    picked = rng.random((episodes, len(classes))).argsort(axis=1)[:, :way]
    ranks = draw_distinct(counts[picked], wanted, rng)
    starts = np.cumsum(counts) - counts
    samples = np.argsort(labels, kind="stable")[starts[picked][:, :, None] + ranks]
    return Episodes(classes[picked], samples[:, :, :shots], samples[:, :, shots:])


def draw_distinct(
    counts: NDArray[np.integer], size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw ``size`` distinct numbers below each of the counts (...), in random order (..., size).

    Floyd's algorithm, for all counts at once: memory does not depend on how large they are.

    Examples
    --------
    >>> np.sort(draw_distinct(np.array([3, 4]), 3, np.random.default_rng(0)))[0]
    array([0, 1, 2])
    """
    drawn = np.empty((*counts.shape, size), dtype=np.int64)
    for place in range(size):
        last = counts - size + place  # the largest number that this draw may give
        new = rng.integers(last + 1)
        taken = (drawn[..., :place] == new[..., None]).any(axis=-1)
        drawn[..., place] = np.where(taken, last, new)
    # The set is uniform, its order is not: later draws tend to be larger.
    return rng.permuted(drawn, axis=-1)


def mean_with_ci95(accuracies: NDArray[np.floating]) -> tuple[float, float]:
    """Return the mean over episodes and half the width of its 95 % confidence interval.

    Parameters
    ----------
    accuracies
        One for every episode. Of a single one, the width is NaN.

    Examples
    --------
    >>> mean_with_ci95(np.array([40.0, 60.0, 40.0, 60.0]))[0]
    50.0
    """
    accuracies = real_array(accuracies, "accuracies", "a list of numbers").astype(np.float64)
    if accuracies.ndim != 1 or not len(accuracies) or not np.isfinite(accuracies).all():
        raise InvalidInput(
            f"accuracies must be one finite number for every episode: got {shown(accuracies)}"
        )
    if len(accuracies) < 2:
        return float(accuracies.mean()), float("nan")
    spread = accuracies.std(ddof=1) / np.sqrt(len(accuracies))
    return float(accuracies.mean()), float(1.96 * spread)


def _whole_numbers(values: ArrayLike, name: str) -> Indices:
    try:
        numbers: NDArray[Any] = np.asarray(values)
    except ValueError as error:
        raise InvalidInput(f"{name}: all episodes must have the same way and shots") from error
    if numbers.dtype.kind not in "iu" or (
        numbers.dtype.kind == "u" and numbers.size and numbers.max() > LARGEST_INTEGER
    ):
        raise InvalidInput(f"{name} must be positions, whole numbers: got {numbers.dtype}")
    return numbers.astype(np.int64)


def _refuse_repeated(values: Indices, what: str, fault: str) -> None:
    flat = np.sort(values.reshape(len(values), -1), axis=1)
    repeated = np.argwhere(flat[:, 1:] == flat[:, :-1])
    if len(repeated):
        episode, place = repeated[0]
        raise InvalidInput(f"episode {episode}: {what} {flat[episode, place]} {fault}")
