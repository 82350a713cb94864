"""Images as regions: their scores by the best-matching region, and which region shows a label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.samples import refuse_not_finite
from zerokin.errors import InvalidInput
from zerokin.matrices import real_array, refuse_too_large

RegionScorer = Callable[[NDArray[Any]], NDArray[np.float64]]
"""From raw features (n, d_f) to scores (n, C)."""

ROWS = 8192
"""Regions that are scored together: of many images, scores of all would not fit into memory."""


def as_regions(X: Any, name: str = "X") -> NDArray[Any]:
    """Return features of regions (N, R, d_f); one vector an image (N, d_f) is a single region."""
    found = real_array(X, name, "features (N, R, d_f) or (N, d_f)")
    if found.ndim not in (2, 3) or 0 in found.shape:
        raise InvalidInput(
            f"{name} must be features of regions (N, R, d_f), or (N, d_f) of whole images: got "
            f"shape {found.shape}"
        )
    if found.dtype.kind != "f":
        found = found.astype(np.float64)
    elif found.dtype.itemsize < 4:
        found = found.astype(np.float32)
    regions = found[:, None] if found.ndim == 2 else found
    flat = regions.reshape(len(regions), -1)
    return refuse_too_large(refuse_not_finite(flat, name), name).reshape(regions.shape)


def whole_images(regions: NDArray[Any]) -> NDArray[Any]:
    """Return one vector an image (N, d_f): the mean of its regions (N, R, d_f)."""
    mean: NDArray[Any] = regions[:, 0] if regions.shape[1] == 1 else regions.mean(axis=1)
    return mean


def image_scores(
    regions: NDArray[Any], score: RegionScorer, *, global_weight: float
) -> NDArray[np.float64]:
    """Return the scores of images (N, C): of the best-matching region of each class.

    ``global_weight`` is the share of the score of the whole image, the mean of its regions (N, R,
    d_f). A single region is the whole image.
    """
    parts = []
    for block in region_blocks(regions):
        n, R, d_f = block.shape
        if R == 1 or global_weight == 1:
            parts.append(score(whole_images(block)))
            continue
        best = score(block.reshape(n * R, d_f)).reshape(n, R, -1).max(axis=1)
        if global_weight:
            best = (1 - global_weight) * best + global_weight * score(whole_images(block))
        parts.append(best)
    return np.concatenate(parts)


def best_regions(regions: NDArray[Any], score: RegionScorer) -> NDArray[np.int64]:
    """Return which region matches each class best, (N, C)."""
    parts = [
        score(block.reshape(-1, block.shape[2])).reshape(*block.shape[:2], -1).argmax(axis=1)
        for block in region_blocks(regions)
    ]
    return np.concatenate(parts)


def assigned_regions(
    regions: NDArray[Any],
    images: NDArray[np.int64],
    labels: NDArray[np.int64],
    score: RegionScorer,
) -> NDArray[Any]:
    """Return for pairs of an image and its label (M,) the region that matches best, (M, d_f)."""
    return regions[images, best_regions(regions, score)[images, labels]]


def region_blocks(regions: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield the regions of some images at a time."""
    step = max(1, ROWS // regions.shape[1])
    for start in range(0, len(regions), step):
        yield regions[start : start + step]
