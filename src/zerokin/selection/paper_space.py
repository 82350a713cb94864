"""The search space of the paper's own method, and of variants that change one part of it.

What the paper says (arXiv 1810.08329, *Implementation Details*): k-means hierarchy with
r_l = ⌊C / t^l⌋ nodes (see `zerokin.hierarchy`), t chosen by cross-validation; γ = 0.01; α, β and ε
of layer 1 chosen by cross-validation and used for all other layers and for the classes; E learned
over the graph; the 3 best superclasses of every layer survive; nearest prototype in feature space.

What it does not say, and how it is settled here: what the cross-validation of layer 1 measures
(the accuracy of the whole chain on held-out classes, all layers having the same α, β and ε); which
values are tried (`STAGES`); the distance (chosen); the scale of features (as they are, or of unit
length: chosen); neighbors of a sample in the graph (10); when the alternation stops (at a relative
decrease of 0.001, or after 20 iterations); any balance between seen and unseen classes in the
generalized setting. There the harness chooses a penalty of seen classes on the folds, as for every
method; ``paper-uncalibrated`` has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from zerokin.selection.method import Params, Stage, product_of
from zerokin.selection.zero_shot_space import Ours

PAPER: Params = {
    "alpha": 0.5,
    "beta": 0.5,
    "epsilon": 0.1,
    "gamma": 0.01,
    "feature_scaling": "unit",
    "inference": "paper",
    "distance": "euclidean",
    "grouping": "kmeans",
    "branching": 3,
    "hub_weight": 0.0,
    "top_k": 3,
}

STAGES: Sequence[Stage] = (
    product_of(
        feature_scaling=["none", "unit"],
        alpha=[0.1, 0.3, 0.5, 0.7, 0.9, 0.99],
        distance=["euclidean", "cosine"],
    ),
    # Together: as β falls to 0, E stays fixed, and a fixed E prefers a larger α than a free one.
    product_of(
        alpha=[0.1, 0.3, 0.5, 0.7, 0.9], beta=[0.01, 0.1, 0.3, 0.5], epsilon=[0.01, 0.1, 1.0]
    ),
    product_of(branching=[2, 3, 4, 5, 6, 7, 8]),
)


@dataclass(frozen=True)
class Variant:
    """One part of the paper's method held still; all others are chosen as for the whole.

    Parameters
    ----------
    fixed
        Hyper-parameters that are not chosen.
    calibrated
        Whether a penalty of seen classes is chosen for the generalized setting.
    """

    fixed: Params = field(default_factory=dict)
    calibrated: bool = True


VARIANTS: Mapping[str, Variant] = {
    "paper": Variant(),
    "paper-uncalibrated": Variant(calibrated=False),
    "paper-euclidean": Variant({"distance": "euclidean"}),
    "paper-cosine": Variant({"distance": "cosine"}),
    # Without superclasses there is no t to choose.
    "paper-flat": Variant({"inference": "flat", "branching": 2}),
    # The paper's ablation names features by class semantics alone, with no E-step.
    "paper-baseline": Variant({"inference": "flat", "beta": 0.0, "epsilon": 0.0, "branching": 2}),
    "paper-residual": Variant({"inference": "residual"}),
    "paper-fixed-e": Variant({"beta": 0.0, "epsilon": 0.0}),
    "paper-no-graph": Variant({"epsilon": 0.0}),
    "paper-taxonomy": Variant({"grouping": "taxonomy", "branching": 2}),
}


class Paper(Ours):
    """The paper's projection learning and top-3 inference: ``inference="paper"``, swept.

    Parameters
    ----------
    name
        Of `VARIANTS`.

    Examples
    --------
    >>> Paper("paper-no-graph").stages[1][:2]
    [{'alpha': 0.1, 'beta': 0.01}, {'alpha': 0.1, 'beta': 0.1}]
    """

    def __init__(self, name: str = "paper") -> None:
        variant = VARIANTS[name]
        self.name = name
        self.calibrated = variant.calibrated
        self.defaults = {**PAPER, **variant.fixed}
        self.stages = tuple(_without(stage, variant.fixed) for stage in STAGES)


def _without(stage: Stage, fixed: Params) -> Stage:
    """Return the different changes of a stage once some hyper-parameters are held still."""
    left: list[Params] = []
    for change in stage:
        free = {name: value for name, value in change.items() if name not in fixed}
        if free not in left:
            left.append(free)
    return left
