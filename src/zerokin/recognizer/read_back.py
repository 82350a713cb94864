"""Reading a bundle back before it counts: it must open, and answer as the recognizer does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zerokin.recognizer.answering import Answerer, Question

if TYPE_CHECKING:
    from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
    from zerokin.features.feature_learner import FeatureLearner
    from zerokin.features.network_ensemble import NetworkEnsemble
    from zerokin.recognizer.recognizer import Recognizer


def refuse_difference(read: Recognizer, meant: Recognizer) -> None:
    """Raise ValueError, which says what differs, if a recognizer did not come back as it was.

    Parameters
    ----------
    read
        As it was read back.
    meant
        As it is in memory.
    """
    for what in ("names", "descriptions", "attribute_names"):
        if getattr(read.classes, what) != getattr(meant.classes, what):
            raise ValueError(f"{what.replace('_', ' ')} of classes differ")
    if read.shots != meant.shots:
        raise ValueError("its classes by example differ")
    if read.calibrations != meant.calibrations:
        raise ValueError("its calibration differs")
    names = meant.classes.names
    if any(read.examples(name) != meant.examples(name) for name in names):
        raise ValueError("its example images differ")
    if read.learner is not meant.learner:
        _refuse_other_weights(read.learner, meant.learner)
    # Such as no image has, but every network could give.
    width = meant.classifier.n_features_in_
    sample = np.random.default_rng(0).standard_normal((1, width), dtype=np.float32)
    now, before = _scores(read.classifier, sample), _scores(meant.classifier, sample)
    if not np.isfinite(now).all():
        at = int(np.flatnonzero(~np.isfinite(now[0]))[0])
        raise ValueError(f"the score of {names[at]!r} is not a finite number")
    # Sums over arrays that lie otherwise in memory may be rounded otherwise.
    if not np.allclose(now, before, rtol=1e-9, atol=1e-9):
        raise ValueError("its scores differ")
    Answerer(read.classifier, read.calibrations, Question(), {}).answer(sample, "a sample")


def _scores(model: ZeroShotClassifier, sample: NDArray[np.float32]) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = model._scores(model._normalized(sample))
    return scores


def _refuse_other_weights(
    read: FeatureLearner | NetworkEnsemble | None, meant: FeatureLearner | NetworkEnsemble | None
) -> None:
    import torch

    if read is None or meant is None:
        raise ValueError("its network is missing, or should not be there")
    before, now = meant.network_.state_dict(), read.network_.state_dict()
    if now.keys() != before.keys() or not all(
        torch.equal(now[name].cpu(), before[name].cpu()) for name in now
    ):
        raise ValueError("weights of its network differ")
