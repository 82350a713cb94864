"""From scores to answers a person can use: how sure, how specific, and when to say none."""

from zerokin.recognition.answers.answering import NONE_OF_THESE, Answer, answer
from zerokin.recognition.answers.calibration import AnswerCalibration
from zerokin.recognition.answers.hedging import ANYTHING, HedgedAnswers, hedge

__all__ = [
    "ANYTHING",
    "NONE_OF_THESE",
    "Answer",
    "AnswerCalibration",
    "HedgedAnswers",
    "answer",
    "hedge",
]
