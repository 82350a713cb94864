"""Few-shot peers in the harness: the same normalizations on offer, the same episodes to use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.few_shot.episodes import Episodes
from zerokin.benchmark.few_shot.method import EpisodeScorer, FewShotMethod
from zerokin.benchmark.few_shot.peers import BaseClasses, FewShotPeer
from zerokin.classifiers.few_shot.episode_scores import gather, gather_queries
from zerokin.selection.method import Params, TrainingData, product_of


class FewShotPeerMethod(FewShotMethod):
    """A published method with its grid, over every normalization that it may use.

    The normalization is chosen at the peer's default hyper-parameters, then the grid is tried with
    it.
    """

    def __init__(self, peer: type[FewShotPeer]) -> None:
        self.peer = peer
        self.name = peer.name
        self.defaults = {
            "feature_scaling": peer.normalizations[0],
            **{name: getattr(peer(), name) for name in peer.grid},
        }
        self.stages = (product_of(feature_scaling=peer.normalizations), product_of(**peer.grid))

    def scorers(
        self, data: TrainingData, pool: NDArray[Any], trials: Sequence[Params]
    ) -> Iterator[EpisodeScorer]:
        """Learn with every trial, normalizing features once for each normalization in a row."""
        base: BaseClasses | None = None
        for params in trials:
            data.start_trial()
            if base is None or base.normalizer.steps != params["feature_scaling"]:
                normalizer = data.scale_features(params["feature_scaling"]).normalizer
                base = BaseClasses(
                    data.features,
                    data.labels,
                    normalizer,
                    data.semantics,
                    data.random_state,
                )
                F = normalizer.transform(pool)
            peer = self.peer(**{name: params[name] for name in self.peer.grid})
            peer.learn(base)
            yield _scorer(peer, F, data.semantics)


def _scorer(peer: FewShotPeer, F: NDArray[Any], semantics: NDArray[np.float64]) -> EpisodeScorer:
    def score(episodes: Episodes) -> NDArray[np.floating]:
        known = semantics[episodes.classes] if peer.uses_semantics else None
        return peer.scores(gather(F, episodes.shots), gather_queries(F, episodes), known)

    return score
