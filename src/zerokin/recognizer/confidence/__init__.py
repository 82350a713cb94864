"""From scores to answers a person can use: how sure, how specific, and when to say none."""

from zerokin.aliases import former
from zerokin.recognizer.confidence.confidence_model import ConfidenceModel
from zerokin.recognizer.confidence.selective_prediction import (
    ANYTHING,
    NONE_OF_THESE,
    SelectiveAnswers,
    predict_selectively,
)

__all__ = [
    "ANYTHING",
    "NONE_OF_THESE",
    "ConfidenceModel",
    "SelectiveAnswers",
    "predict_selectively",
]

__getattr__ = former(
    __name__,
    {
        "AnswerCalibration": "ConfidenceModel",
        "HedgedAnswers": "SelectiveAnswers",
        "hedge": "predict_selectively",
    },
)
