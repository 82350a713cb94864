"""Peers for several labels in the harness: offered what ours is, and chosen on the same folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.multi_label.peers.peer import LabelTraining, MultiLabelPeer
from zerokin.classifiers.multi_label.regions import Pooling, image_scores, whole_images
from zerokin.features.scaler import FeatureScaler
from zerokin.selection.method import Params, product_of
from zerokin.selection.multi_label.method import LabeledData, MultiLabelMethod, RegionsScorer
from zerokin.selection.multi_label.ours import GLOBAL_WEIGHTS, SCALINGS


class MultiLabelPeerMethod(MultiLabelMethod):
    """A published method with its grid, every scaling, and scores of regions.

    Peers learn from whole images, as published. Their scores may be those of the best-matching
    region, too: that share is chosen on validation classes, as ours is.

    Parameters
    ----------
    peer
        The method.
    """

    def __init__(self, peer: type[MultiLabelPeer]) -> None:
        self.peer, self.name = peer, peer.name
        self.defaults = {
            "feature_scaling": "power-center-unit",
            **{name: getattr(peer(), name) for name in peer.grid},
            "global_weight": 1.0,
        }
        self.stages = (
            product_of(feature_scaling=SCALINGS, **peer.grid),
            product_of(global_weight=GLOBAL_WEIGHTS),
        )

    def fit_many(self, data: LabeledData, trials: Sequence[Params]) -> Iterator[RegionsScorer]:
        run = data.memo
        for params in trials:
            run.start_trial()
            normalizer, training = run(
                scaled_training, data, params["feature_scaling"], data.random_state
            )
            chosen = {name: params[name] for name in self.peer.grid}
            fitted = run(fit_peer, self.peer, training, data.semantics, **chosen)

            def scores(
                regions: NDArray[Any],
                normalizer: FeatureScaler = normalizer,
                fitted: MultiLabelPeer = fitted,
                share: float = params["global_weight"],
            ) -> NDArray[np.float64]:
                return image_scores(
                    regions,
                    lambda features: fitted.scores(normalizer.transform(features)),
                    Pooling(share),
                )

            yield scores


def scaled_training(
    data: LabeledData, steps: str, random_state: int
) -> tuple[FeatureScaler, LabelTraining]:
    """Return whole images scaled by these steps, and how: learned as ours learns them."""
    images, labels = np.nonzero(data.labels)
    whole = whole_images(data.regions)
    normalizer = FeatureScaler(steps)
    normalizer.fit_transform(whole[images], labels)
    scaled = normalizer.transform(whole)
    training = LabelTraining.from_arrays(
        scaled, data.labels, data.semantics, random_state=random_state
    )
    return normalizer, training


def fit_peer(
    peer: type[MultiLabelPeer], training: LabelTraining, Z: NDArray[np.float64], **chosen: Any
) -> MultiLabelPeer:
    """Return a peer with these hyper-parameters, fitted."""
    return peer(**chosen).fit_on(training, Z)
