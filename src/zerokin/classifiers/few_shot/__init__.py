"""Classes with a handful of shots: the mean of the shots and the projected prototype, together."""

from typing import TYPE_CHECKING

from zerokin.aliases import former

if TYPE_CHECKING:
    from zerokin.classifiers.few_shot.few_shot_classifier import FewShotClassifier

__all__ = ["FewShotClassifier"]

# Loaded on first use, as in the room above: `shots` alone needs no scikit-learn.
__getattr__ = former(__name__, {}, homes={"FewShotClassifier": "few_shot_classifier"})
