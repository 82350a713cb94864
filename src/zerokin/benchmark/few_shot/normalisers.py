"""Normalisers fitted to base classes, once for all methods that are measured on them."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from zerokin.features.scaler import FeatureScaler
from zerokin.selection.method import TrainingData

_FITTED: WeakKeyDictionary[TrainingData, dict[str, FeatureScaler]] = WeakKeyDictionary()


def fitted_normaliser(data: TrainingData, steps: str) -> FeatureScaler:
    """Return the normaliser of these steps, fitted to the data when it is first asked for."""
    fitted = _FITTED.setdefault(data, {})
    if steps not in fitted:
        fitted[steps] = FeatureScaler(steps).fit(data.features, data.labels)
    return fitted[steps]
