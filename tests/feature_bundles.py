"""Small bundles without a network, fitted to features whose classes can be told apart."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np

from few_shot_data import clustered_dataset
from zerokin.data import ClassTable
from zerokin.errors import ZerokinWarning
from zerokin.recognizer import Recognizer, fit_recognizer
from zerokin.recognizer.confidence.fitting import AnswerFitter


@cache
def dataset():
    return clustered_dataset(n_train=18, n_validation=8, n_test=6, per_class=11)


@cache
def fitted() -> Recognizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZerokinWarning)
        return fit_recognizer(dataset(), tune=False, quiet=True)


def fit_answers(dataset, params, **options):
    """Learn how far the answers of a classifier with these parameters can be trusted."""
    return AnswerFitter(dataset, params, **options).calibration()


def recognizer_of(model, calibration) -> Recognizer:
    """A recognizer of features around a classifier and how far it can be trusted."""
    classes = ClassTable(tuple(model.classes_.tolist()), model.semantics_)
    return Recognizer(None, model, classes, calibrations={calibration.candidates: calibration})


def rows(count: int = 5):
    """Features of test samples of unseen classes."""
    return np.asarray(dataset().features[dataset().split.test_unseen[:count]])
