"""Images in, answers out: network, classifier, classes and calibration as one thing to keep."""

from typing import TYPE_CHECKING

from zerokin.aliases import former

if TYPE_CHECKING:
    from zerokin.recognizer.fitting import fit_recognizer
    from zerokin.recognizer.image_answer import (
        AnswerLevel,
        ImageAnswer,
        RankedNode,
        UnreadableImage,
    )
    from zerokin.recognizer.label_answer import FoundLabel, LabelAnswer
    from zerokin.recognizer.label_recognizer import LabelRecognizer, fit_label_recognizer
    from zerokin.recognizer.recognizer import Recognizer

_HOMES = {
    "AnswerLevel": "image_answer",
    "FoundLabel": "label_answer",
    "ImageAnswer": "image_answer",
    "LabelAnswer": "label_answer",
    "LabelRecognizer": "label_recognizer",
    "RankedNode": "image_answer",
    "Recognizer": "recognizer",
    "UnreadableImage": "image_answer",
    "fit_label_recognizer": "label_recognizer",
    "fit_recognizer": "fitting",
}

_FORMER = {
    "PictureAnswer": "ImageAnswer",
    "Recogniser": "Recognizer",
    "UnreadablePicture": "UnreadableImage",
    "fit_recogniser": "fit_recognizer",
}

__all__ = [
    "AnswerLevel",
    "FoundLabel",
    "ImageAnswer",
    "LabelAnswer",
    "LabelRecognizer",
    "RankedNode",
    "Recognizer",
    "UnreadableImage",
    "fit_label_recognizer",
    "fit_recognizer",
]

# Loaded on first use: torch would slow down every command that needs no network.
__getattr__ = former(__name__, _FORMER, homes=_HOMES)
