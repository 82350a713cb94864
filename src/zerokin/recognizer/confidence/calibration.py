"""Former home of `zerokin.recognizer.confidence.confidence_model`."""

from zerokin.recognizer.confidence.confidence_model import KINDS as KINDS
from zerokin.recognizer.confidence.confidence_model import ConfidenceModel

AnswerCalibration = ConfidenceModel
