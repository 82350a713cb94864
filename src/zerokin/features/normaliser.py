"""Normalising features before anything is projected: the same steps on offer to every method."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, did_you_mean
from zerokin.features.class_means import class_means

Features = NDArray[Any]

STEPS = ("power", "centre", "whiten", "unit")


class FeatureNormaliser:
    """Steps that are learned on the training features and applied to all.

    Parameters
    ----------
    steps
        Steps joined by ``-``, applied in order, or ``"none"``:

        - ``power``: the signed square root, which evens out bursts of single features;
        - ``centre``: subtract the training mean;
        - ``whiten``, such as ``whiten3``: multiply by (S + s·t·I)^-1/2 for the scatter S within the
          seen classes, t its mean eigenvalue and s the number given, so that directions in which
          pictures of one class differ count less;
        - ``unit``: scale every sample to length 1.

    Examples
    --------
    >>> F = np.array([[4.0, 0.0], [0.0, 9.0]])
    >>> FeatureNormaliser("power-unit").fit(F, np.array([0, 1])).transform(F)
    array([[1., 0.],
           [0., 1.]])
    >>> FeatureNormaliser("unity")
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: unknown normalisation step 'unity'; did you mean 'unit'? ...
    """

    def __init__(self, steps: str) -> None:
        self.steps = steps
        self._parsed = _parse(steps)
        self.maps: list[Affine | Callable[[Features], Features]] = []

    @property
    def names(self) -> list[str]:
        """The names of the steps, in order."""
        return [name for name, _ in self._parsed]

    def fit(self, F: Features, labels: NDArray[np.integer]) -> FeatureNormaliser:
        """Learn the steps from training features (N, d_f) and their classes (N,)."""
        self.fit_transform(F, labels)
        return self

    def fit_transform(self, F: Features, labels: NDArray[np.integer]) -> Features:
        """Learn the steps and return the training features, normalised."""
        self.maps = []
        for name, amount in self._parsed:
            if name == "power":
                self.maps.append(signed_root)
            elif name == "unit":
                self.maps.append(unit_length)
            elif name == "centre":
                self.maps.append(Affine(shift=F.mean(axis=0), matrix=None))
            else:
                matrix = whitening(F, labels, shrinkage=amount).astype(F.dtype)
                self.maps.append(Affine(shift=None, matrix=matrix))
            F = self.maps[-1](F)
        return F

    def transform(self, F: Features) -> Features:
        """Return features (n, d_f), normalised."""
        for step in self.maps:
            F = step(F)
        return F


@dataclass(frozen=True, eq=False)
class Affine:
    """(F - shift) matrix, either part of which may be missing."""

    shift: Features | None
    matrix: Features | None

    def __call__(self, F: Features) -> Features:
        moved = F if self.shift is None else F - self.shift
        return moved if self.matrix is None else moved @ self.matrix


def signed_root(F: Features) -> Features:
    """Return sign(F) √|F|."""
    root: Features = np.sign(F) * np.sqrt(np.abs(F))
    return root


def unit_length(F: Features) -> Features:
    """Scale rows to length 1; a row of zeros stays."""
    lengths = np.linalg.norm(F, axis=1, keepdims=True)
    scaled: Features = F / np.where(lengths > 0, lengths, 1)
    return scaled


def whitening(F: Features, labels: NDArray[np.integer], *, shrinkage: float) -> NDArray[np.float64]:
    """Return (S + s·t·I)^-1/2 √t, S being the scatter of features around their class means.

    The factor √t keeps lengths of the size they had. Features that do not vary within classes
    are left as they are.
    """
    _, members = np.unique(labels, return_inverse=True)
    means = class_means(F, members, members.max() + 1)
    # Σ (f - m)(f - m)ᵀ = FᵀF - Σ n m mᵀ would cancel: subtract first.
    scatter = np.zeros((F.shape[1], F.shape[1]))
    for start in range(0, len(F), 4096):
        rest = F[start : start + 4096] - means[members[start : start + 4096]]
        scatter += rest.T @ rest
    mean_eigenvalue = np.trace(scatter) / len(scatter)
    if mean_eigenvalue <= 0:
        return np.eye(len(scatter))
    eigenvalues, vectors = np.linalg.eigh(scatter / mean_eigenvalue)
    scales = 1 / np.sqrt(np.clip(eigenvalues, 0, None) + shrinkage)
    white: NDArray[np.float64] = (vectors * scales) @ vectors.T
    return white


def _parse(steps: str) -> list[tuple[str, float]]:
    if steps == "none":
        return []
    parsed = []
    for step in steps.split("-"):
        found = re.fullmatch(r"([a-z]+)([0-9]*\.?[0-9]*)", step)
        name, amount = (found[1], found[2]) if found else (step, "")
        if name not in STEPS:
            known = ", ".join(STEPS)
            raise InvalidInput(
                f"unknown normalisation step {step!r}{did_you_mean(name, STEPS)} (known: {known})"
            )
        if name == "whiten" and (not amount or float(amount) <= 0):
            raise InvalidInput(f"step {step!r} lacks its amount above 0: write whiten1")
        if name != "whiten" and amount:
            raise InvalidInput(f"step {name!r} takes no amount: got {step!r}")
        parsed.append((name, float(amount) if amount else 0.0))
    return parsed
