"""Projection learning: the neighbour graph, the exact solvers, and the estimator above them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zerokin.projection.graph import neighbour_graph, normalised_laplacian
    from zerokin.projection.neighbours import nearest_neighbours
    from zerokin.projection.projection_learner import ProjectionLearner
    from zerokin.projection.spectrum import FeatureSpectrum

_HOMES = {
    "FeatureSpectrum": "spectrum",
    "ProjectionLearner": "projection_learner",
    "nearest_neighbours": "neighbours",
    "neighbour_graph": "graph",
    "normalised_laplacian": "graph",
}

__all__ = [
    "FeatureSpectrum",
    "ProjectionLearner",
    "nearest_neighbours",
    "neighbour_graph",
    "normalised_laplacian",
]


def __getattr__(name: str) -> Any:
    # Loaded on first use: scikit-learn would slow down every import of zerokin.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
