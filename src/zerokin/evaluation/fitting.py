"""Fitting the classifier to a data set, its hyper-parameters chosen on validation classes."""

from __future__ import annotations

import numpy as np

from zerokin.data.dataset import Dataset
from zerokin.evaluation.ours import Ours
from zerokin.evaluation.selection import Selector
from zerokin.recognition.zero_shot_classifier import ZeroShotClassifier


def fit_classifier(
    dataset: Dataset, *, tune: bool = True, random_state: int = 0, quiet: bool = False
) -> tuple[ZeroShotClassifier, float | None]:
    """Fit a classifier to the training samples of a data set of features.

    Parameters
    ----------
    dataset
        Features and classes.
    tune
        Choose hyper-parameters and calibration on the validation folds, for the generalised
        setting; otherwise the defaults are used.
    random_state
        Seed.
    quiet
        Show no progress.

    Returns
    -------
    classifier, accuracy
        The fitted classifier, and what its choice reached on unseen validation classes (None if
        nothing was tuned).
    """
    params, accuracy = {}, None
    if tune:
        selector = Selector(dataset, Ours(), random_state=random_state, quiet=quiet)
        chosen = selector.choose("generalised").best
        params = {**chosen.params, "calibration": chosen.calibration}
        accuracy = chosen.score("pure")
    model = ZeroShotClassifier(**params, random_state=random_state)
    train = dataset.split.train
    model.fit(
        np.asarray(dataset.features[train]),
        dataset.training_labels(),
        semantics=dataset.classes,
    )
    return model, accuracy
