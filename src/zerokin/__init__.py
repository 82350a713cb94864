"""zerokin recognizes classes it has no images of, through the superclasses they share."""

from typing import TYPE_CHECKING

from zerokin._version import __version__
from zerokin.aliases import former
from zerokin.errors import ZerokinError, ZerokinWarning

if TYPE_CHECKING:
    from zerokin.classifiers import (
        FewShotClassifier,
        MultiLabelZeroShotClassifier,
        ZeroShotClassifier,
    )
    from zerokin.data import Dataset, load_dataset
    from zerokin.features.feature_learner import FeatureLearner
    from zerokin.hierarchy import ClassHierarchy
    from zerokin.projection import ProjectionLearner
    from zerokin.recognizer import Recognizer, fit_recognizer
    from zerokin.selection import ClassFoldSearch

# Imported on first use: a command that needs no solver does not wait for one.
_ROOMS = {
    "ClassFoldSearch": "selection",
    "ClassHierarchy": "hierarchy",
    "Dataset": "data",
    "FeatureLearner": "features.feature_learner",
    "FewShotClassifier": "classifiers",
    "MultiLabelZeroShotClassifier": "classifiers",
    "ProjectionLearner": "projection",
    "Recognizer": "recognizer",
    "ZeroShotClassifier": "classifiers",
    "fit_recognizer": "recognizer",
    "load_dataset": "data",
}

_FORMER = {"Recogniser": "Recognizer", "fit_recogniser": "fit_recognizer"}

__all__ = [
    "ClassFoldSearch",
    "ClassHierarchy",
    "Dataset",
    "FeatureLearner",
    "FewShotClassifier",
    "MultiLabelZeroShotClassifier",
    "ProjectionLearner",
    "Recognizer",
    "ZeroShotClassifier",
    "ZerokinError",
    "ZerokinWarning",
    "__version__",
    "fit_recognizer",
    "load_dataset",
]


__getattr__ = former(__name__, _FORMER, homes=_ROOMS)


def __dir__() -> list[str]:
    return sorted(__all__)
