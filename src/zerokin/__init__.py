"""zerokin recognizes classes it has no images of, through the superclasses they share."""

from importlib import import_module
from typing import TYPE_CHECKING

from zerokin._version import __version__
from zerokin.aliases import former
from zerokin.errors import ZerokinError, ZerokinWarning

if TYPE_CHECKING:
    from zerokin.classifiers import FewShotClassifier, ZeroShotClassifier
    from zerokin.data import Dataset, load_dataset
    from zerokin.features.feature_learner import FeatureLearner
    from zerokin.hierarchy import ClassHierarchy
    from zerokin.projection import ProjectionLearner
    from zerokin.recognizer import Recognizer, fit_recognizer
    from zerokin.selection import ClassFoldSearch

# Imported on first use: a command that needs no solver does not wait for one.
_ROOMS = {
    "ClassFoldSearch": "zerokin.selection",
    "ClassHierarchy": "zerokin.hierarchy",
    "Dataset": "zerokin.data",
    "FeatureLearner": "zerokin.features.feature_learner",
    "FewShotClassifier": "zerokin.classifiers",
    "ProjectionLearner": "zerokin.projection",
    "Recognizer": "zerokin.recognizer",
    "ZeroShotClassifier": "zerokin.classifiers",
    "fit_recognizer": "zerokin.recognizer",
    "load_dataset": "zerokin.data",
}

_FORMER = {"Recogniser": "Recognizer", "fit_recogniser": "fit_recognizer"}

__all__ = [
    "ClassFoldSearch",
    "ClassHierarchy",
    "Dataset",
    "FeatureLearner",
    "FewShotClassifier",
    "ProjectionLearner",
    "Recognizer",
    "ZeroShotClassifier",
    "ZerokinError",
    "ZerokinWarning",
    "__version__",
    "fit_recognizer",
    "load_dataset",
]


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return getattr(import_module(_ROOMS[name]), name)
    return former(__name__, _FORMER)(name)


def __dir__() -> list[str]:
    return sorted(__all__)
