"""Former home of `zerokin.recognizer.confidence.selective_prediction`."""

from zerokin.recognizer.confidence.selective_prediction import (
    ANYTHING as ANYTHING,
)
from zerokin.recognizer.confidence.selective_prediction import (
    SHARE as SHARE,
)
from zerokin.recognizer.confidence.selective_prediction import (
    SelectiveAnswers,
    ancestor_risks,
    predict_selectively,
)
from zerokin.recognizer.confidence.selective_prediction import (
    learn_risk_maps as learn_risk_maps,
)

HedgedAnswers, hedge, ladder_risks = SelectiveAnswers, predict_selectively, ancestor_risks
