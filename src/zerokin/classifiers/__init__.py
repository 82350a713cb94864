"""From projected features to class names."""

from typing import TYPE_CHECKING

from zerokin.aliases import former
from zerokin.classifiers.nearest_prototype import cosine_scores, nearest_prototype

if TYPE_CHECKING:
    from zerokin.classifiers.explanation import Explanation
    from zerokin.classifiers.few_shot.few_shot_classifier import FewShotClassifier
    from zerokin.classifiers.multi_label.multi_label_classifier import (
        MultiLabelZeroShotClassifier,
    )
    from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier

_HOMES = {
    "Explanation": "explanation",
    "FewShotClassifier": "few_shot.few_shot_classifier",
    "MultiLabelZeroShotClassifier": "multi_label.multi_label_classifier",
    "ZeroShotClassifier": "zero_shot_classifier",
}

__all__ = [
    "Explanation",
    "FewShotClassifier",
    "MultiLabelZeroShotClassifier",
    "ZeroShotClassifier",
    "cosine_scores",
    "nearest_prototype",
]

# Loaded on first use: scikit-learn would slow down every import of zerokin.
__getattr__ = former(__name__, {}, homes=_HOMES)
