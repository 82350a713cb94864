"""The search space of `zerokin.MultiLabelZeroShotClassifier`, and of it without its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zerokin.classifiers.multi_label.multi_label_classifier import MultiLabelZeroShotClassifier
from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.parameters import check_parameters
from zerokin.selection.method import Params, Stage, product_of
from zerokin.selection.multi_label.method import LabeledData, MultiLabelMethod, RegionsScorer

OWN = ("n_assignments", "global_weight")
"""Hyper-parameters that are not of the `ZeroShotClassifier`."""

GLOBAL_WEIGHTS = (0.0, 0.3, 0.6, 1.0)
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
    "gamma": 3.0,
    "inference": "residual",
    "grouping": "agglomerative",
    "branching": 2,
    "semantic_variance": 9.0,
    "noise": 1.0,
    "hub_weight": 0.0,
    "n_assignments": 0,
    "global_weight": 0.3,
}
SCALING = product_of(feature_scaling=SCALINGS, gamma=[3.0, 10.0])
PROTOTYPES: Stage = (
    {"inference": "flat"},
    *product_of(inference=["residual"], semantic_variance=[0.0, 9.0], noise=[1.0, 4.0, 16.0]),
)
REGIONS = product_of(n_assignments=[0, 1, 2], global_weight=GLOBAL_WEIGHTS)
NO_TREE = 10**6
"""A branching that leaves no superclass."""


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
            model = fit_trial(data, params)
            yield model._decide


def estimator_of(params: Params, random_state: int) -> MultiLabelZeroShotClassifier:
    """Return the classifier with these hyper-parameters, unfitted and without a seen penalty."""
    inner = {name: value for name, value in params.items() if name not in OWN}
    if inner["grouping"] == "taxonomy":
        del inner["grouping"]
    zero_shot = ZeroShotClassifier(**inner, seen_penalty=0.0, random_state=random_state)
    own = {name: params[name] for name in OWN}
    return MultiLabelZeroShotClassifier(zero_shot, **own)


def fit_trial(data: LabeledData, params: Params) -> MultiLabelZeroShotClassifier:
    """Return the classifier with these hyper-parameters, fitted but not calibrated."""
    model = estimator_of(params, data.random_state)
    check_parameters(model)
    return model._fit(data.labeled, tree_of(data, params), data.memo)


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


OURS: Mapping[str, tuple[Mapping[str, Any], Sequence[Stage]]] = {
    "ours": ({}, (SCALING, PROTOTYPES, REGIONS)),
    "ours-taxonomy": ({"grouping": "taxonomy"}, (SCALING, PROTOTYPES, REGIONS)),
    "ours-no-superclasses": ({"branching": NO_TREE}, (SCALING, PROTOTYPES, REGIONS)),
    "ours-no-regions": ({"n_assignments": 0, "global_weight": 1.0}, (SCALING, PROTOTYPES)),
}
"""By name: what is held still, and the stages of what is chosen."""
