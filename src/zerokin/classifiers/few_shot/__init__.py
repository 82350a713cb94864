"""Classes with a handful of shots: the mean of the shots and the projected prototype, together."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zerokin.classifiers.few_shot.few_shot_classifier import FewShotClassifier

__all__ = ["FewShotClassifier"]


def __getattr__(name: str) -> object:
    # Loaded on first use, as in the room above: `shots` alone needs no scikit-learn.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.few_shot_classifier"), name)
