"""Normalizing features before anything is projected: the same steps on offer to every method."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zerokin.compute.processes import ALONE, Processes, current
from zerokin.errors import InvalidInput, did_you_mean, shown
from zerokin.features.class_means import class_means
from zerokin.features.row_sources import MappedRows, RowSource, blocks_of
from zerokin.matrices import finite_matrix, plain_array
from zerokin.parameters import InstanceOf, Ranges, check_parameters

Features = NDArray[Any]

STEPS = ("power", "center", "whiten", "unit")
MOST_SHRINKAGE = 1e12
SMALL = (1e-12, 1e-100)  # below which sums of squares lose digits, in float32 and in float64


class FeatureScaler:
    """Steps that are learned on the training features and applied to all.

    Parameters
    ----------
    steps
        Steps joined by ``-``, applied in order, or ``"none"``:

        - ``power``: the signed square root, which evens out bursts of single features;
        - ``center``: subtract the training mean;
        - ``whiten``, such as ``whiten3``: multiply by (S + s·t·I)^-1/2 for the scatter S within the
          seen classes, t its mean eigenvalue and s the number given, so that directions in which
          images of one class differ count less;
        - ``unit``: scale every sample to length 1.

    Examples
    --------
    >>> F = np.array([[4.0, 0.0], [0.0, 9.0]])
    >>> FeatureScaler("power-unit").fit(F, np.array([0, 1])).transform(F)
    array([[1., 0.],
           [0., 1.]])
    >>> FeatureScaler("unity")
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: unknown normalization step 'unity'; did you mean 'unit'? ...
    """

    _parameter_ranges: ClassVar[Ranges] = {
        "steps": InstanceOf(str, "steps as a text, such as 'power-whiten3-unit'")
    }

    def __init__(self, steps: str) -> None:
        self.steps = steps
        check_parameters(self)
        self._parsed = _parse(steps)
        self.maps: list[Affine | Callable[[Features], Features]] = []

    @property
    def names(self) -> list[str]:
        """The names of the steps, in order."""
        return [name for name, _ in self._parsed]

    def fit(self, F: Features, labels: NDArray[np.integer]) -> FeatureScaler:
        """Learn the steps from training features (N, d_f) and their classes (N,)."""
        self.fit_transform(F, labels)
        return self

    def fit_transform(self, F: Any, labels: NDArray[np.integer]) -> Any:
        """Learn the steps and return the training features, normalized.

        Of features that are read by blocks of rows, so are the normalized ones (`MappedRows`).
        """
        lies_in_files = isinstance(F, RowSource)
        F = MappedRows(F, ()) if lies_in_files else finite_matrix(F, "F")
        labels, processes = _checked_labels(labels, len(F)), current()
        self.maps = []
        for name, amount in self._parsed:
            if name == "power":
                self.maps.append(signed_root)
            elif name == "unit":
                self.maps.append(unit_length)
            elif name == "center":
                self.maps.append(Affine(shift=_mean(F, processes), matrix=None))
            else:
                white = whitening(F, labels, shrinkage=amount, processes=processes)
                matrix = processes.leading(white).astype(F.dtype)
                self.maps.append(Affine(shift=None, matrix=matrix))
            F = MappedRows(F.source, self.maps) if lies_in_files else self.maps[-1](F)
        return F

    def transform(self, F: Features) -> Features:
        """Return features (n, d_f), normalized."""
        F = finite_matrix(F, "F")
        if len(self.maps) != len(self._parsed):
            raise InvalidInput("this FeatureScaler is not fitted yet: call fit first")
        for step in self.maps:
            width = step.width if isinstance(step, Affine) else None
            if width not in (None, F.shape[1]):
                raise InvalidInput(
                    f"F has {F.shape[1]} columns, but the normalizer was fitted on {width}"
                )
            F = step(F)
        return F


@dataclass(frozen=True, eq=False)
class Affine:
    """(F - shift) matrix, either part of which may be missing."""

    shift: Features | None
    matrix: Features | None

    @property
    def width(self) -> int | None:
        """How many features it takes, where it knows."""
        part = self.matrix if self.shift is None else self.shift
        return None if part is None else len(part)

    def __call__(self, F: Features) -> Features:
        moved = F if self.shift is None else F - self.shift
        return moved if self.matrix is None else moved @ self.matrix


def signed_root(F: Features) -> Features:
    """Return sign(F) √|F|."""
    root: Features = np.sign(F) * np.sqrt(np.abs(F))
    return root


def unit_length(F: Features) -> Features:
    """Scale rows to length 1; a row of zeros stays."""
    with np.errstate(over="ignore", under="ignore"):
        lengths = np.linalg.norm(F, axis=1, keepdims=True)
    scaled: Features = F / np.where(lengths > 0, lengths, 1)
    # The squares of very large and very small numbers are no floats: scale such rows first.
    tiny = np.sqrt(np.finfo(lengths.dtype).tiny)
    extreme = ~((lengths[:, 0] > tiny) & np.isfinite(lengths[:, 0]))
    if extreme.any():
        rows = F[extreme]
        largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
        rows = rows / np.where(largest > 0, largest, 1)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        scaled[extreme] = rows / np.where(lengths > 0, lengths, 1)
    return scaled


def _mean(F: Any, processes: Processes) -> Features:
    """Return the mean of the rows that all processes have."""
    if not processes.shared and isinstance(F, np.ndarray):
        mean: Features = F.mean(axis=0)
        return mean
    own = sum(F[rows].sum(axis=0, dtype=np.float64) for rows in blocks_of(F))
    total = processes.sum(np.asarray(own))
    whole: Features = (total / processes.sum(np.array([len(F)]))).astype(F.dtype)
    return whole


def whitening(
    F: Any,
    labels: NDArray[np.integer],
    *,
    shrinkage: float,
    processes: Processes = ALONE,
) -> NDArray[np.float64]:
    """Return (S + s·t·I)^-1/2 √t, S being the scatter of features around their class means.

    The factor √t keeps lengths of the size they had. Features that do not vary within classes
    are left as they are. Of several processes each gives its own rows.
    """
    classes = processes.union(labels)
    members = np.searchsorted(classes, labels)
    own = max(np.abs(F[rows]).max(initial=0.0) for rows in blocks_of(F))
    largest = float(processes.gather(np.array([own])).max())
    if 0 < largest < SMALL[F.dtype.itemsize > 4]:
        # Whitening does not depend on scale, and a power of two changes no digit.
        exponent = -int(np.frexp(largest)[1])
        in_memory = isinstance(F, np.ndarray)
        F = np.ldexp(F, exponent) if in_memory else MappedRows(F, [partial(_raise, exponent)])
    means = class_means(F, members, len(classes), processes)
    if len(F) < F.shape[1] and not processes.shared:
        return _whitening_of_few(F[:] - means[members], shrinkage)
    # Σ (f - m)(f - m)ᵀ = FᵀF - Σ n m mᵀ would cancel: subtract first.
    scatter = np.zeros((F.shape[1], F.shape[1]))
    for start in range(0, len(F), 4096):
        rest = F[start : start + 4096] - means[members[start : start + 4096]]
        scatter += rest.T @ rest
    scatter = processes.sum(scatter)
    mean_eigenvalue = np.trace(scatter) / len(scatter)
    if mean_eigenvalue <= 0:
        return np.eye(len(scatter))
    eigenvalues, vectors = np.linalg.eigh(scatter / mean_eigenvalue)
    scales = 1 / np.sqrt(np.clip(eigenvalues, 0, None) + shrinkage)
    white: NDArray[np.float64] = (vectors * scales) @ vectors.T
    return white


def _raise(exponent: int, rows: Features) -> Features:
    raised: Features = np.ldexp(rows, exponent)
    return raised


def _whitening_of_few(rest: Features, shrinkage: float) -> NDArray[np.float64]:
    """Return the same of fewer samples than features, around their means (N, d_f).

    Scatter has at most N directions; all others share the eigenvalue 0.
    """
    rest = rest.astype(np.float64, copy=False)
    width = rest.shape[1]
    mean_eigenvalue = np.einsum("nd,nd->", rest, rest) / width
    if mean_eigenvalue <= 0:
        return np.eye(width)
    eigenvalues, vectors = np.linalg.eigh(rest @ rest.T / mean_eigenvalue)
    some = eigenvalues > eigenvalues[-1] * width * np.finfo(np.float64).eps
    eigenvalues = eigenvalues[some]
    directions = rest.T @ (vectors[:, some] / np.sqrt(eigenvalues * mean_eigenvalue))
    flat = 1 / np.sqrt(shrinkage)
    white: NDArray[np.float64]
    white = (directions * (1 / np.sqrt(eigenvalues + shrinkage) - flat)) @ directions.T
    white[np.diag_indices(width)] += flat
    return white


def _checked_labels(labels: object, samples: int) -> NDArray[np.integer]:
    found = plain_array(labels, "labels")
    if found.shape != (samples,) or found.dtype.kind not in "iu":
        raise InvalidInput(
            f"labels must hold the class of each of the {samples:,} rows of F as a whole number: "
            f"got {found.dtype} of shape {found.shape}"
        )
    return found


def _parse(steps: str) -> list[tuple[str, float]]:
    if steps == "none":
        return []
    parsed = []
    for step in steps.split("-"):
        found = re.fullmatch(r"([a-z]+)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)?", step, re.ASCII)
        name, amount = (found[1], found[2] or "") if found else (step, "")
        if name not in STEPS:
            known = ", ".join(STEPS)
            raise InvalidInput(
                f"unknown normalization step {shown(step)}{did_you_mean(name, STEPS)} "
                f"(known: {known})"
            )
        if name == "whiten" and (not amount or float(amount) <= 0):
            raise InvalidInput(
                f"normalization step {shown(step)} lacks its amount above 0: write whiten1"
            )
        if name == "whiten" and float(amount) > MOST_SHRINKAGE:
            raise InvalidInput(
                f"normalization step {shown(step)}: its amount must be at most {MOST_SHRINKAGE:g}"
            )
        if name != "whiten" and amount:
            raise InvalidInput(f"normalization step {name!r} takes no amount: got {shown(step)}")
        parsed.append((name, float(amount) if amount else 0.0))
    return parsed
