"""Projection learning: the neighbor graph, the exact solvers, and the estimator above them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zerokin.aliases import former

if TYPE_CHECKING:
    from zerokin.projection.graph import neighbor_graph, normalized_laplacian
    from zerokin.projection.neighbors import nearest_neighbors
    from zerokin.projection.projection_learner import ProjectionLearner
    from zerokin.projection.spectrum import FeatureSpectrum

_HOMES = {
    "FeatureSpectrum": "spectrum",
    "ProjectionLearner": "projection_learner",
    "nearest_neighbors": "neighbors",
    "neighbor_graph": "graph",
    "normalized_laplacian": "graph",
}

_FORMER = {
    "nearest_neighbours": "nearest_neighbors",
    "neighbour_graph": "neighbor_graph",
    "normalised_laplacian": "normalized_laplacian",
}

__all__ = [
    "FeatureSpectrum",
    "ProjectionLearner",
    "nearest_neighbors",
    "neighbor_graph",
    "normalized_laplacian",
]

# Loaded on first use: scikit-learn would slow down every import of zerokin.
__getattr__ = former(__name__, _FORMER, homes=_HOMES)
