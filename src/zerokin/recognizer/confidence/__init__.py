"""From scores to answers a person can use: how sure, how specific, and when to say none."""

from zerokin.recognizer.confidence.answering import NONE_OF_THESE, Answer, answer
from zerokin.recognizer.confidence.calibration import AnswerCalibration
from zerokin.recognizer.confidence.hedging import ANYTHING, HedgedAnswers, hedge

__all__ = [
    "ANYTHING",
    "NONE_OF_THESE",
    "Answer",
    "AnswerCalibration",
    "HedgedAnswers",
    "answer",
    "hedge",
]
