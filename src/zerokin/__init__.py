"""zerokin recognises classes it has no pictures of, through the superclasses they share."""

from importlib import import_module
from typing import TYPE_CHECKING

from zerokin._version import __version__
from zerokin.errors import ZerokinError, ZerokinWarning

if TYPE_CHECKING:
    from zerokin.classifiers import FewShotClassifier, ZeroShotClassifier
    from zerokin.data import Dataset, load_dataset
    from zerokin.features.feature_learner import FeatureLearner
    from zerokin.hierarchy import ClassHierarchy
    from zerokin.projection import ProjectionLearner
    from zerokin.recognizer import Recogniser, fit_recogniser
    from zerokin.selection import ClassFoldSearch

# Imported on first use: a command that needs no solver does not wait for one.
_ROOMS = {
    "ClassFoldSearch": "zerokin.selection",
    "ClassHierarchy": "zerokin.hierarchy",
    "Dataset": "zerokin.data",
    "FeatureLearner": "zerokin.features.feature_learner",
    "FewShotClassifier": "zerokin.classifiers",
    "ProjectionLearner": "zerokin.projection",
    "Recogniser": "zerokin.recognizer",
    "ZeroShotClassifier": "zerokin.classifiers",
    "fit_recogniser": "zerokin.recognizer",
    "load_dataset": "zerokin.data",
}

__all__ = [
    "ClassFoldSearch",
    "ClassHierarchy",
    "Dataset",
    "FeatureLearner",
    "FewShotClassifier",
    "ProjectionLearner",
    "Recogniser",
    "ZeroShotClassifier",
    "ZerokinError",
    "ZerokinWarning",
    "__version__",
    "fit_recogniser",
    "load_dataset",
]


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return getattr(import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'zerokin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
