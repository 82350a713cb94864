"""Thousands of classes: blocks give what whole arrays give, and adding a class stays cheap."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from zerokin import ClassHierarchy, ZeroShotClassifier
from zerokin.classifiers import class_kernel, hubness, residual_correction
from zerokin.classifiers.class_kernel import ClassKernel
from zerokin.classifiers.memo import run_stage
from zerokin.classifiers.stages import relate_classes
from zerokin.hierarchy import clustering

SEEDS = range(5)
KERNEL = {"decay": 0.4, "semantic_weight": 7.0, "width": 0.6}


def drawn(seed, *, few=20, many=140):
    rng = np.random.default_rng(seed)
    classes, d_z = int(rng.integers(few, many)), int(rng.integers(3, 20))
    Z = rng.normal(size=(classes, d_z))
    seen = np.sort(rng.choice(classes, int(classes * rng.uniform(0.4, 0.95)), replace=False))
    return rng, Z, seen


def small_blocks(monkeypatch, size):
    for module in (class_kernel, residual_correction, hubness):
        monkeypatch.setattr(module, "BLOCK_BYTES", size)


@pytest.mark.parametrize("seed", range(12))
def test_median_of_distances_without_all_of_them(seed, monkeypatch):
    rng, Z, _ = drawn(seed)
    Z = np.concatenate([Z, Z[: seed // 2]])  # distances of zero, too
    if seed % 4 == 3:
        Z = np.rint(Z)  # and many that are equal
    pairs = [np.sum((a - b) ** 2) for i, a in enumerate(Z) for b in Z[:i]]
    small_blocks(monkeypatch, int(rng.integers(1, 9_000)))
    monkeypatch.setattr(residual_correction, "BINS", int(rng.integers(2, 900)))
    found = residual_correction.median_squared_distance(Z, many=2)
    assert found == pytest.approx(np.median(pairs), rel=1e-12, abs=1e-12)
    assert residual_correction.median_squared_distance(Z[:1]) == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_kernel_by_blocks_is_the_kernel(seed, monkeypatch):
    rng, Z, seen = drawn(seed)
    tree = ClassHierarchy.from_semantics(Z, 2) if seed % 2 else None
    whole = relate_classes(Z, seen, tree, **KERNEL, run=run_stage)
    small_blocks(monkeypatch, int(rng.integers(8, 50)) * 8 * len(seen))
    parts = ClassKernel(Z, seen, tree, **KERNEL)
    np.testing.assert_allclose(parts[:], whole, atol=1e-12)
    np.testing.assert_allclose(parts[seen], whole[seen], atol=1e-12)
    np.testing.assert_allclose(parts[-1:], whole[-1:], atol=1e-12)
    weights = rng.normal(size=(len(seen), 7))
    np.testing.assert_allclose(parts @ weights, whole @ weights, atol=1e-10)


def problem(seed):
    rng, Z, seen = drawn(seed)
    y = np.repeat(seen, 6)
    X = Z[y] @ rng.normal(size=(Z.shape[1], 23)) + 0.3 * rng.normal(size=(len(y), 23))
    return rng, X, y, Z


@pytest.mark.parametrize("seed", SEEDS)
def test_a_classifier_of_many_classes_is_that_of_few(seed, monkeypatch, tmp_path):
    rng, X, y, Z = problem(seed)
    settings = {"feature_scaling": "unit", "seen_penalty": 0.02, "hub_weight": 0.5}
    whole = ZeroShotClassifier(**settings).fit(X, y, semantics=Z)
    small_blocks(monkeypatch, int(rng.integers(8, 4_000)))
    monkeypatch.setattr(class_kernel, "DENSE_BYTES", 0)
    monkeypatch.setattr(residual_correction, "MANY", 3)
    parts = ZeroShotClassifier(**settings).fit(X, y, semantics=Z)
    np.testing.assert_allclose(parts.prototypes_, whole.prototypes_, atol=1e-9)
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-9)
    vector = rng.normal(size=Z.shape[1])
    parts.save(tmp_path / "many")
    loaded = ZeroShotClassifier.load(tmp_path / "many")
    assert loaded._median == parts._median is not None
    monkeypatch.setattr(residual_correction, "_pair_blocks", None)  # no pass over pairs again
    for model in (whole, parts, loaded):
        model.add_class(len(Z), vector)
    np.testing.assert_allclose(parts.prototypes_, whole.prototypes_, atol=1e-9)
    np.testing.assert_allclose(loaded.decision_function(X), parts.decision_function(X), atol=1e-12)


def test_adding_a_class_takes_no_memory_of_all_pairs():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(2431, 6))
    y = np.arange(2200)
    X = Z[y] @ rng.normal(size=(6, 11))
    model = ZeroShotClassifier(feature_scaling="unit", seen_penalty=0.0).fit(X, y, semantics=Z)
    before = model.add_class(2431, rng.normal(size=6)).prototypes_  # which may find the median
    tracemalloc.start()
    model.add_class(2432, rng.normal(size=6))
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 2200 * 2433  # an eighth of one array of classes with seen classes
    np.testing.assert_array_equal(model.prototypes_[:-1], before)


def test_added_class_is_where_fitting_with_it_puts_it():
    _, X, y, Z = problem(2)
    tree = ClassHierarchy(
        [np.arange(len(Z)) // 3], semantics=Z, names=[str(n) for n in range(len(Z))]
    )
    known = np.setdiff1d(np.arange(len(Z)), [len(Z) - 1])
    settings = {"feature_scaling": "unit", "seen_penalty": 0.0, "semantic_variance": 5.0}
    keep = y != len(Z) - 1
    fewer = ZeroShotClassifier(**settings).fit(
        X[keep], y[keep], semantics=Z[known], hierarchy=tree.select(known.tolist())
    )
    fewer.add_class(len(Z) - 1, Z[-1])
    joined = fewer.hierarchy_
    all_at_once = ZeroShotClassifier(**settings).fit(
        X[keep], y[keep], semantics=Z, hierarchy=joined
    )
    np.testing.assert_allclose(fewer.prototypes_, all_at_once.prototypes_, atol=1e-9)


def test_many_points_are_clustered_from_one_start(monkeypatch):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(317, 5))
    ten = ClassHierarchy.from_semantics(Z, 3)
    monkeypatch.setattr(clustering, "MANY", 200)
    one = ClassHierarchy.from_semantics(Z, 3)
    assert one.sizes == ten.sizes == [105, 35, 11, 3]
    assert not np.array_equal(one.labels(1), ten.labels(1))
    order = rng.permutation(len(Z))
    assert np.array_equal(
        ClassHierarchy.from_semantics(Z[order], 3).labels(1), one.labels(1)[order]
    )
