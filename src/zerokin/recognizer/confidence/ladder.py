"""Former home of `zerokin.recognizer.confidence.ancestors`."""

from zerokin.recognizer.confidence.ancestors import Ancestors, find_ancestors
from zerokin.recognizer.confidence.ancestors import wrong_answers as wrong_answers

Ladder, ladder = Ancestors, find_ancestors
