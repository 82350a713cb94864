"""What a peer may learn from: features of seen classes, their labels and their semantics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.matrices import plain_array, real_matrix, refuse_too_large
from zerokin.parameters import SEED, check_arguments

Array = NDArray[np.floating[Any]]
Labels = NDArray[np.integer[Any]]
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Shared:
    """What is made of it once, for all points of a grid."""

    _made: dict[object, Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, key: object, make: Callable[[], Made]) -> Made:
        """Return what was made under this key before, or make it: a grid's points share it."""
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def keep(self, key: object, made: object) -> None:
        """Keep what was made elsewhere under this key."""
        self._made[key] = made

    def has(self, key: object) -> bool:
        """Tell whether something was made under this key."""
        return key in self._made


@dataclass(frozen=True, eq=False)
class Samples(Shared):
    """Training samples without the semantics of their classes: what all semantics share.

    Parameters
    ----------
    F : (N, d_f)
        Features, divided by one number, so that their rows have length one in the root mean square.
    labels : (N,)
        Which of the seen classes each sample has.
    seen : (p,)
        Which classes these are, ascending.
    feature_scale
        The number.
    """

    F: Array
    labels: Labels
    seen: Labels
    feature_scale: float

    @classmethod
    def from_arrays(cls, F: Array, y: Labels) -> Samples:
        """Check and scale what a fit was given: see `Peer.fit`."""
        F, y = finite_matrix(F, "F"), plain_array(y, "y")
        if y.shape != (len(F),) or y.dtype.kind not in "iu":
            raise InvalidInput(
                f"y must hold the class of each of the {len(F):,} rows of F as an integer: "
                f"got {y.dtype} of shape {y.shape}"
            )
        seen, labels = np.unique(y, return_inverse=True)
        if len(seen) < 2:
            raise InvalidInput("y holds one class only: at least two seen classes are needed")
        refuse_all_zero(F, "F")
        scale = root_mean_square(F)
        return cls(F / F.dtype.type(scale), labels, seen, scale)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(p,) samples of each seen class."""
        return np.bincount(self.labels)

    @cached_property
    def class_sums(self) -> NDArray[np.float64]:
        """(p, d_f) sum of the features of each seen class: YᵀF for one-hot labels Y."""
        order = np.argsort(self.labels, kind="stable")
        starts = np.cumsum(self.counts) - self.counts
        return np.add.reduceat(self.F[order].astype(np.float64), starts, axis=0)

    @cached_property
    def spectrum(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Eigenvalues (r,) and eigenvectors (d_f, r) of FᵀF: see `row_spectrum`."""
        return row_spectrum(self.F)


@dataclass(frozen=True, eq=False)
class TrainingSet(Shared):
    """Training samples and the rows of Z that they may use: those of the seen classes alone.

    Features and semantics are divided by one number each, so that their rows have length one in the
    root mean square: a grid of ridges or learning rates then means the same at any scale, and the
    rows keep their directions and relative lengths.

    Parameters
    ----------
    samples
        Features and labels, scaled; their factorizations serve any semantics.
    S : (p, d_z)
        Semantics of the seen classes, scaled.
    semantic_scale
        By what they were divided.
    random_state
        Seed of methods that draw at random.

    Examples
    --------
    >>> Z = np.array([[0.0, 3.0], [9.0, 9.0], [4.0, 0.0]])
    >>> training = TrainingSet.from_samples(np.array([[2.0], [2], [-2]]), np.array([2, 2, 0]), Z)
    >>> training.labels, training.counts
    (array([1, 1, 0]), array([1, 2]))
    >>> training.F.T, training.class_sums.T
    (array([[ 1.,  1., -1.]]), array([[-1.,  2.]]))
    """

    samples: Samples
    S: Array
    semantic_scale: float
    random_state: int = 0

    @classmethod
    def from_samples(cls, F: Array, y: Labels, Z: Array, *, random_state: int = 0) -> TrainingSet:
        """Take what a fit may use out of what it was given: see `Peer.fit`."""
        return cls.with_semantics(Samples.from_arrays(F, y), Z, random_state)

    @classmethod
    def with_semantics(cls, samples: Samples, Z: Array, random_state: int) -> TrainingSet:
        """Join samples and the rows of Z (C, d_z) that are those of their classes."""
        check_arguments({"random_state": SEED}, random_state=random_state)
        Z, seen = finite_matrix(Z, "Z"), samples.seen
        if seen[0] < 0 or seen[-1] >= len(Z):
            wrong = seen[0] if seen[0] < 0 else seen[-1]
            raise InvalidInput(f"y holds class {wrong}, but Z has rows 0 to {len(Z) - 1}")
        refuse_all_zero(Z[seen], "the seen classes' rows of Z")
        scale = root_mean_square(Z[seen])
        return cls(samples, Z[seen].astype(np.float64) / scale, scale, int(random_state))

    @cached_property
    def row_space(self) -> tuple[Array, Array]:
        """Coordinates (p, r) of S in the space that its rows span, and its basis B (d_z, r).

        S = coordinates Bᵀ, with r the smaller one of p and d_z.
        """
        basis, coordinates = np.linalg.qr(self.S.T)
        return coordinates.T, basis

    @property
    def F(self) -> Array:
        """(N, d_f) features of the training samples, scaled."""
        return self.samples.F

    @property
    def labels(self) -> Labels:
        """(N,) the samples' rows of S."""
        return self.samples.labels

    @property
    def seen(self) -> Labels:
        """(p,) which rows of Z those of S are, ascending."""
        return self.samples.seen

    @property
    def feature_scale(self) -> float:
        """By what features were divided."""
        return self.samples.feature_scale

    @property
    def counts(self) -> NDArray[np.int64]:
        """(p,) samples of each seen class."""
        return self.samples.counts

    @property
    def class_sums(self) -> NDArray[np.float64]:
        """(p, d_f) sum of the features of each seen class: YᵀF for one-hot labels Y."""
        return self.samples.class_sums

    @property
    def spectrum(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Eigenvalues (r,) and eigenvectors (d_f, r) of FᵀF: see `row_spectrum`."""
        return self.samples.spectrum


def refuse_all_zero(rows: Array, name: str) -> None:
    """Refuse rows from which nothing can be learned."""
    if not rows.any():
        raise InvalidInput(f"{name} is all zero: nothing can be learned from it")


def finite_matrix(values: Array, name: str) -> Array:
    """Check that an argument is a matrix of finite numbers, and return it as floats."""
    matrix = real_matrix(values, name)
    unfit = ~np.isfinite(matrix).all(axis=1)
    if unfit.any():
        raise InvalidInput(
            f"{name} holds NaN or infinity in {unfit.sum():,} rows, first in row "
            f"{unfit.argmax()}: drop or fill such values first"
        )
    return refuse_too_large(matrix, name)


def scale_samples(F: Array, feature_scale: float) -> NDArray[np.float64]:
    """Return new samples (n, d_f) as training samples are scaled, in float64."""
    scaled: NDArray[np.float64] = F.astype(np.float64) / feature_scale
    return scaled


def root_mean_square(rows: Array) -> float:
    """Return the root mean square of the rows' lengths, or 1 if all are zero."""
    largest = float(np.abs(rows).max(initial=0.0))
    if 0 < largest < 1e-100:  # whose squares are no floats
        return largest * root_mean_square(rows / largest)
    mean_square = float(np.einsum("ij,ij->", rows, rows, dtype=np.float64)) / len(rows)
    return mean_square**0.5 or 1.0


def gram(rows: Array) -> NDArray[np.float64]:
    """Return rowsᵀ rows in float64: in float32 its small eigenvalues would drown in rounding."""
    exact = rows.astype(np.float64, copy=False)
    product: NDArray[np.float64] = exact.T @ exact
    return product


def row_spectrum(
    rows: Array, total: Array | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return eigenvalues (r,) and eigenvectors (d_f, r) of the Gram matrix of rows (N, d_f).

    What is fitted to few rows never leaves the space that they span. So where the rows are fewer
    than half their columns, r is N: a thin singular value decomposition takes a small part of the
    time of all d_f eigenvectors.

    Parameters
    ----------
    rows
        The rows.
    total
        (d_f,) their sum, for the Gram matrix of rows with their mean taken off.
    """
    if len(rows) <= rows.shape[1] // 2:
        exact = rows.astype(np.float64) - (0.0 if total is None else total / len(rows))
        _, lengths, Vt = np.linalg.svd(exact, full_matrices=False)
        return lengths**2, Vt.T
    scatter = gram(rows)
    if total is not None:
        scatter -= np.outer(total, total) / len(rows)
    return symmetric_spectrum(scatter)


def symmetric_spectrum(
    matrix: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return eigenvalues and eigenvectors of a matrix that has none below zero but by rounding."""
    eigenvalues, eigenvectors = np.linalg.eigh(matrix)
    return eigenvalues.clip(0), eigenvectors
