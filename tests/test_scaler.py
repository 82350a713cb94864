"""Normalization of features against the formulas written plainly."""

from __future__ import annotations

import numpy as np
import pytest

from zerokin.errors import ZerokinError
from zerokin.features.scaler import FeatureScaler, whitening

RNG = np.random.default_rng(0)
F = RNG.normal(size=(60, 8)) @ RNG.normal(size=(8, 8)) + 3
LABELS = RNG.integers(0, 4, size=60)
NEW = RNG.normal(size=(5, 8))


def test_whitening_is_the_inverse_root_of_the_shrunken_within_class_scatter():
    scatter = np.zeros((8, 8))
    for label in range(4):
        group = F[label == LABELS]
        for row in group:
            scatter += np.outer(row - group.mean(axis=0), row - group.mean(axis=0))
    t = np.trace(scatter) / 8
    matrix = whitening(F, LABELS, shrinkage=0.7)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    back = np.linalg.inv(matrix @ matrix) * t
    np.testing.assert_allclose(back, scatter + 0.7 * t * np.eye(8), rtol=1e-9)


def test_steps_are_learned_on_training_features_and_applied_in_order():
    normalizer = FeatureScaler("power-center-whiten2-unit")
    trained = normalizer.fit_transform(F, LABELS)
    root = np.sign(F) * abs(F) ** 0.5
    mean = root.mean(axis=0)
    matrix = whitening(root - mean, LABELS, shrinkage=2)
    moved = (np.sign(NEW) * abs(NEW) ** 0.5 - mean) @ matrix
    expected = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    np.testing.assert_allclose(normalizer.transform(NEW), expected, rtol=1e-10)
    np.testing.assert_allclose(normalizer.transform(F), trained, rtol=1e-10)


def test_order_of_samples_and_names_of_classes_do_not_matter():
    order = RNG.permutation(60)
    one = FeatureScaler("whiten1-unit").fit(F, LABELS).transform(NEW)
    other = FeatureScaler("whiten1-unit").fit(F[order], 10 - LABELS[order]).transform(NEW)
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_none_changes_nothing_and_zero_rows_stay():
    assert FeatureScaler("none").fit(F, LABELS).transform(NEW) is NEW
    zeros = np.zeros((1, 8))
    assert np.array_equal(FeatureScaler("unit").fit(F, LABELS).transform(zeros), zeros)
    one_each = np.arange(60)
    assert np.array_equal(whitening(F, one_each, shrinkage=1), np.eye(8))


def test_float32_stays_float32():
    small = F.astype(np.float32)
    assert FeatureScaler("power-center-whiten1-unit").fit_transform(small, LABELS).dtype == "f4"


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ("unity", "did you mean 'unit'?"),
        ("whiten", "lacks its amount"),
        ("whiten0-unit", "lacks its amount above 0"),
        ("unit2", "takes no amount"),
        ("", "unknown normalization step ''"),
    ],
)
def test_wrong_steps_are_named(steps, line):
    with pytest.raises(ZerokinError) as refusal:
        FeatureScaler(steps)
    assert line in str(refusal.value)


@pytest.mark.parametrize(("n", "width"), [(23, 41), (41, 23), (9, 41)])
def test_whitening_of_fewer_samples_than_features_is_the_same_root(n, width):
    rng = np.random.default_rng(n)
    labels = np.arange(n) % 4
    F = rng.normal(size=(n, width)) * rng.random(width) + 3 * labels[:, None]
    means = np.array([F[labels == label].mean(axis=0) for label in range(4)])
    scatter = (F - means[labels]).T @ (F - means[labels])
    scatter /= np.trace(scatter) / width
    found = whitening(F, labels, shrinkage=0.7)
    np.testing.assert_allclose(
        found @ (scatter + 0.7 * np.eye(width)) @ found, np.eye(width), atol=1e-10
    )
