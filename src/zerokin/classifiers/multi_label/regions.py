"""Images as regions: their scores by the best-matching region, and which region shows a label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
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

RIVALRY, TEMPERATURE = 2 / 3, 0.5
"""How labels share an image's regions; chosen on the validation folds of Critters scenes."""

TINY = 1e-12


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


@dataclass(frozen=True)
class Pooling:
    """How scores of regions become those of an image.

    Parameters
    ----------
    global_weight
        Share of the whole image's score, 0 to 1.
    temperature
        Of the log-mean-exp over regions; 0: the best-matching region alone.
    competition
        Temperature T at which classes compete for a region: its scores become T · log softmax(s /
        T), T log C added. 0: each class for itself.
    """

    global_weight: float = 0.0
    temperature: float = 0.0
    competition: float = 0.0

    def images(
        self, of_regions: NDArray[np.float64], of_whole: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the scores of images (n, C), by those of regions (n, R, C) and of whole images.

        A single region is the whole image.
        """
        if of_regions.shape[1] == 1 or self.global_weight == 1:
            return of_whole.copy()
        found = log_mean_exp(self.competed(of_regions), self.temperature, axis=1)
        return (1 - self.global_weight) * found + self.global_weight * of_whole

    def competed(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores (n, R, C) once classes have competed for the regions."""
        if not self.competition:
            return scores
        return scores - log_mean_exp(scores, self.competition, axis=2)[:, :, None]


BEST_REGION = Pooling()


def log_mean_exp(scores: NDArray[np.float64], temperature: float, axis: int) -> NDArray[np.float64]:
    """Return T log mean exp(s / T) along an axis: from the maximum (T = 0) towards the mean.

    Examples
    --------
    >>> scores = np.array([[0.0, 1.0]])
    >>> [float(log_mean_exp(scores, T, axis=1)[0].round(2)) for T in (0, 0.1, 100)]
    [1.0, 0.93, 0.5]
    """
    best: NDArray[np.float64] = scores.max(axis=axis)
    if not temperature:
        return best
    below = np.exp((scores - np.expand_dims(best, axis)) / temperature)
    found: NDArray[np.float64] = best + temperature * np.log(below.mean(axis=axis))
    return found


def image_scores(
    regions: NDArray[Any], score: RegionScorer, pooling: Pooling = BEST_REGION
) -> NDArray[np.float64]:
    """Return the scores of images (N, C), by those of their regions (N, R, d_f)."""
    return np.concatenate(
        [
            pooling.images(*scores_of(block, score, whole_alone=pooling.global_weight == 1))
            for block in region_blocks(regions)
        ]
    )


def scores_of(
    regions: NDArray[Any], score: RegionScorer, *, whole_alone: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scores of regions (n, R, C) and of whole images (n, C), the means of their regions."""
    n, R, d_f = regions.shape
    of_whole = score(whole_images(regions))
    if R == 1 or whole_alone:
        return of_whole[:, None], of_whole
    return score(regions.reshape(n * R, d_f)).reshape(n, R, -1), of_whole


def best_regions(
    regions: NDArray[Any], score: RegionScorer, pooling: Pooling = BEST_REGION
) -> NDArray[np.int64]:
    """Return which region matches each class best, (N, C)."""
    parts = []
    for block in region_blocks(regions):
        scores = score(block.reshape(-1, block.shape[2])).reshape(*block.shape[:2], -1)
        parts.append(pooling.competed(scores).argmax(axis=1))
    return np.concatenate(parts)


def assigned_regions(
    regions: NDArray[Any], labels: NDArray[np.bool_], score: RegionScorer
) -> NDArray[Any]:
    """Return features (M, d_f) of pairs of an image and one of its labels: of the label's regions.

    Pairs are in the order of ``labels`` (N, C), row by row. A region counts for a label by how well
    it matches (`label_matches`): the weights of an image's regions (N, R, d_f) are a softmax, whose
    temperature is a share of the matches' standard deviation.
    """
    parts, start = [], 0
    for block in region_blocks(regions):
        n, R, d_f = block.shape
        here = labels[start : start + n]
        start += n
        scores = score(block.reshape(n * R, d_f)).reshape(n, R, -1)
        images, matches = label_matches(scores, here)
        spread = TEMPERATURE * matches.std(axis=1, keepdims=True)
        heights = (matches - matches.max(axis=1, keepdims=True)) / np.maximum(spread, TINY)
        weights = np.exp(heights)
        weights /= weights.sum(axis=1, keepdims=True)
        parts.append(np.einsum("mr,mrd->md", weights.astype(block.dtype), block[images]))
    return np.concatenate(parts)


def label_matches(
    scores: NDArray[np.float64], labels: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the image of each pair (M,), and how well its regions match its label (M, R).

    A region matches as it scores for the label, less `RIVALRY` of what it scores for the best of
    the image's other labels: two labels rarely share a region.

    Parameters
    ----------
    scores
        (n, R, C) of regions.
    labels
        (n, C) which labels each image has.
    """
    images, classes = np.nonzero(labels)
    own = scores[images, :, classes]
    several = labels.sum(axis=1) > 1
    held = np.where(labels[:, None, :], scores, -np.inf)
    best = np.partition(held, -2, axis=2)[:, :, -2:] if labels.shape[1] > 1 else held[:, :, [0, 0]]
    second, first = best[images, :, 0], best[images, :, 1]
    rival = np.where(own >= first, second, first)
    return images, own - RIVALRY * np.where(several[images, None], rival, 0.0)


def region_blocks(regions: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield the regions of some images at a time."""
    step = max(1, ROWS // regions.shape[1])
    for start in range(0, len(regions), step):
        yield regions[start : start + step]
