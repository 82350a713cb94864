"""From projected features to class names."""

from importlib import import_module
from typing import TYPE_CHECKING

from zerokin.classifiers.nearest_prototype import cosine_scores, nearest_prototype

if TYPE_CHECKING:
    from zerokin.classifiers.explanation import Explanation
    from zerokin.classifiers.few_shot.few_shot_classifier import FewShotClassifier
    from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier

_HOMES = {
    "Explanation": "explanation",
    "FewShotClassifier": "few_shot.few_shot_classifier",
    "ZeroShotClassifier": "zero_shot_classifier",
}

__all__ = [
    "Explanation",
    "FewShotClassifier",
    "ZeroShotClassifier",
    "cosine_scores",
    "nearest_prototype",
]


def __getattr__(name: str) -> object:
    # Loaded on first use: scikit-learn would slow down every import of zerokin.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
