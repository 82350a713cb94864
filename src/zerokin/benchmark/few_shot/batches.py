"""Scoring many episodes at once, in chunks of bounded memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.few_shot.episodes import Episodes
from zerokin.benchmark.few_shot.method import EpisodeScorer
from zerokin.classifiers.finite_scores import finite_scores

CHUNK_BYTES = 4 << 20
"""Features that are gathered at a time: few enough to stay in a processor's cache."""


def episode_predictions(
    scorer: EpisodeScorer, episodes: Episodes, *, d_f: int
) -> NDArray[np.int64]:
    """Return which of its episode's classes each query (T, W · Q) is taken for."""
    chunks = episodes.chunks(chunk_size(episodes, d_f))
    return np.concatenate([finite_scores(scorer(chunk)).argmax(axis=2) for chunk in chunks])


def episode_accuracies(
    scorer: EpisodeScorer, episodes: Episodes, *, d_f: int, top: int = 1
) -> NDArray[np.float64]:
    """Return the percentage of queries recognized in every episode (T,).

    Parameters
    ----------
    scorer
        What scores.
    episodes
        The episodes.
    d_f
        Length of a feature vector.
    top
        A query counts as recognized if its class is among so many best; a class counts as worse
        than all it ties with, unless ``top`` is 1, where the first of equals is taken.
    """
    truth = episodes.truth
    if top == 1:
        right = episode_predictions(scorer, episodes, d_f=d_f) == truth
        return np.asarray(100 * right.mean(axis=1))
    shares = []
    for chunk in episodes.chunks(chunk_size(episodes, d_f)):
        scores = finite_scores(scorer(chunk))
        own = np.take_along_axis(scores, truth[None, :, None], axis=2)
        right = np.count_nonzero(scores >= own, axis=2) <= top
        shares.append(100 * right.mean(axis=1))
    return np.concatenate(shares)


def chunk_size(episodes: Episodes, d_f: int) -> int:
    """Return how many episodes to score at a time."""
    samples = episodes.shots[0].size + episodes.queries[0].size
    return int(max(1, CHUNK_BYTES // (4 * samples * (d_f + episodes.way))))
