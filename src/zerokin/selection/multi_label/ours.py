"""The search space of `zerokin.MultiLabelZeroShotClassifier`, and of it without its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.multi_label.learning import Learned, learn_prototypes, region_scores
from zerokin.classifiers.multi_label.multi_label_classifier import MultiLabelZeroShotClassifier
from zerokin.classifiers.multi_label.regions import image_scores, scores_of, whole_images
from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.parameters import check_parameters
from zerokin.selection.method import Params, Stage, product_of
from zerokin.selection.multi_label.method import LabeledData, MultiLabelMethod, RegionsScorer

LEARNING = ("n_assignments", "ranking_epochs")
POOLING = ("global_weight", "pooling", "competition")
"""Hyper-parameters that are not of the `ZeroShotClassifier`."""

GLOBAL_WEIGHTS = (0.0, 0.15, 0.3, 0.6, 1.0)
"""Share of the whole image's score, on offer to every method alike."""

SCALINGS = (
    "center-unit",
    "power-center-unit",
    "power-center-whiten1-unit",
    "power-center-whiten3-unit",
)
"""Steps of `FeatureScaler`, on offer to every method alike."""

DEFAULTS: Params = {
    "feature_scaling": "power-center-whiten1-unit",
    "gamma": 10.0,
    "inference": "residual",
    "grouping": "agglomerative",
    "branching": 2,
    "semantic_variance": 9.0,
    "noise": 1.0,
    "hub_weight": 0.0,
    "n_assignments": 1,
    "ranking_epochs": 0,
    "global_weight": 0.0,
    "pooling": 0.02,
    "competition": 0.1,
}
SCALING = product_of(feature_scaling=SCALINGS)
PROTOTYPES: Stage = (
    {"inference": "flat"},
    {"inference": "residual", "semantic_variance": 0.0},
    *product_of(inference=["residual"], semantic_variance=[9.0], noise=[1.0, 4.0]),
)
LEARNED = product_of(n_assignments=[1, 2], ranking_epochs=[0, 20])
POOLINGS = (0.0, 0.02, 0.05)
POOLED = product_of(pooling=POOLINGS, competition=[0.0, 0.05, 0.1])
SHARES = product_of(global_weight=GLOBAL_WEIGHTS)
NO_TREE = 10**6
"""A branching that leaves no superclass."""
MOST_SCORES = 2**25
"""Scores of regions that are kept for the next trial, where there are no more."""


class MultiLabelOurs(MultiLabelMethod):
    """`zerokin.MultiLabelZeroShotClassifier`, swept.

    Parameters
    ----------
    name
        Of `OURS`: what is held still.
    """

    def __init__(self, name: str = "ours") -> None:
        fixed, stages = OURS[name]
        self.name = name
        self.defaults = {**DEFAULTS, **fixed}
        self.stages: Sequence[Stage] = stages

    def fit_many(self, data: LabeledData, trials: Sequence[Params]) -> Iterator[RegionsScorer]:
        for params in trials:
            data.memo.start_trial()
            yield self.scorer(data, params)

    def scorer(self, data: LabeledData, params: Params) -> RegionsScorer:
        """Return what scores with these hyper-parameters; trials share what they can."""
        if self.name in WHOLE_IMAGES:
            scored = self._scorer(data.of_whole_images, params)
            return lambda regions: scored(whole_images(regions)[:, None])
        return self._scorer(data, params)

    def _scorer(self, data: LabeledData, params: Params) -> RegionsScorer:
        estimator = estimator_of(params, data.random_state)
        check_parameters(estimator)
        learning = {name: value for name, value in params.items() if name not in POOLING}
        model = data.memo(learn_trial, data, **learning).model
        pooling = estimator._pooling()

        def score(regions: NDArray[Any]) -> NDArray[np.float64]:
            if len(model.classes_) * regions.shape[0] * regions.shape[1] > MOST_SCORES:
                return image_scores(regions, partial(region_scores, model), pooling)
            return pooling.images(*data.memo(scores_of_all, model, regions))

        return score


def learn_trial(data: LabeledData, **learning: Any) -> Learned:
    """Return what the hyper-parameters that are not of the pooling learn."""
    model = estimator_of({**DEFAULTS, **learning}, data.random_state)
    assert model.zero_shot is not None
    return learn_prototypes(
        data.labeled,
        model.zero_shot,
        tree_of(data, learning),
        n_assignments=model.n_assignments,
        ranking_epochs=model.ranking_epochs,
        run=data.memo,
    )


def scores_of_all(
    model: ZeroShotClassifier, regions: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scores of regions and of whole images, for poolings to be tried on."""
    return scores_of(regions, partial(region_scores, model))


def estimator_of(params: Params, random_state: int) -> MultiLabelZeroShotClassifier:
    """Return the classifier with these hyper-parameters, unfitted and without a seen penalty."""
    own = {name: params[name] for name in (*LEARNING, *POOLING)}
    inner = {name: value for name, value in params.items() if name not in own}
    if inner["grouping"] == "taxonomy":
        del inner["grouping"]
    zero_shot = ZeroShotClassifier(**inner, seen_penalty=0.0, random_state=random_state)
    return MultiLabelZeroShotClassifier(zero_shot, **own)


def tree_of(data: LabeledData, params: Params) -> ClassHierarchy | None:
    """Return the data's taxonomy where it is asked for."""
    if params["grouping"] != "taxonomy":
        return None
    if data.taxonomy is None:
        raise InvalidInput(
            "this data knows no taxonomy of its classes: use method ours, which clusters them"
        )
    tree: ClassHierarchy = data.memo(ClassHierarchy.from_taxonomy, data.taxonomy)
    return tree


STAGES: Sequence[Stage] = (SCALING, PROTOTYPES, LEARNED, POOLED, SHARES)
OURS: Mapping[str, tuple[Mapping[str, Any], Sequence[Stage]]] = {
    "ours": ({}, STAGES),
    "ours-taxonomy": ({"grouping": "taxonomy"}, STAGES),
    "ours-no-superclasses": ({"branching": NO_TREE}, STAGES),
    "ours-no-regions": (
        {"n_assignments": 0, "global_weight": 1.0},
        (SCALING, PROTOTYPES, product_of(ranking_epochs=[0, 20])),
    ),
    "ours-no-ranking": (
        {},
        (SCALING, PROTOTYPES, product_of(n_assignments=[1, 2]), *STAGES[3:]),
    ),
    "ours-no-competition": (
        {"competition": 0.0},
        (*STAGES[:3], product_of(pooling=POOLINGS), SHARES),
    ),
}
"""By name: what is held still, and the stages of what is chosen."""
WHOLE_IMAGES = ("ours-no-regions",)
"""Of which images are a single region."""
