"""`MultiLabelZeroShotClassifier`: its promises, on made-up images of regions."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest
from scipy.special import softmax

from label_sets import csr, label_arrays
from zerokin import ClassHierarchy, MultiLabelZeroShotClassifier, ZeroShotClassifier
from zerokin.classifiers.multi_label.calibration import (
    best_threshold,
    fitted_calibration,
    label_folds,
)
from zerokin.classifiers.multi_label.regions import (
    assigned_regions,
    best_regions,
    image_scores,
)
from zerokin.errors import InvalidInput, MissingFile, ZerokinWarning
from zerokin.metrics import mean_average_precision, precision_recall_f1

PLAIN = ZeroShotClassifier(feature_scaling="center-unit", seen_penalty=0.0)


@pytest.fixture(scope="module")
def problem():
    X, labels, Z = label_arrays(4)
    train = 2 * len(X) // 3
    return X, labels, Z, train


@pytest.fixture(scope="module")
def fitted(problem):
    X, labels, Z, train = problem
    return MultiLabelZeroShotClassifier(PLAIN).fit(X[:train], labels[:train], semantics=Z)


def single_label(seed, n=131, n_classes=13, n_unseen=4, d_f=19, d_z=8):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n_classes, d_z))
    y = rng.integers(0, n_classes - n_unseen, n)
    y[: n_classes - n_unseen] = np.arange(n_classes - n_unseen)
    world = rng.normal(size=(d_z, d_f))
    new = rng.integers(0, n_classes, 37)
    return *(Z[of] @ world + 0.5 * rng.normal(size=(len(of), d_f)) for of in (y, new)), y, Z


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("options", [
    {}, {"inference": "flat"}, {"distance": "euclidean", "feature_scaling": "center-unit"},
    {"seen_penalty": 0.1}, {"beta": 0.1, "epsilon": 0.1},
])  # fmt: skip
def test_one_label_a_sample_ranks_as_the_single_label_classifier(seed, options):
    X, new, y, Z = single_label(seed)
    single = ZeroShotClassifier(**options).fit(X, y, semantics=Z)
    one_hot = np.eye(len(Z), dtype=int)[y]
    for given, labels in ((X, one_hot), (X[:, None], [[at] for at in y.tolist()])):
        several = MultiLabelZeroShotClassifier(ZeroShotClassifier(**options), threshold=0.5)
        several.fit(given, labels, semantics=Z)
        shaped = new if given.ndim == 2 else new[:, None]
        np.testing.assert_array_equal(
            several.decision_function(shaped), single.decision_function(new)
        )
        for candidates in ("all", "unseen", [1, 12]):
            np.testing.assert_array_equal(
                several.predict_top_k(shaped, 5, candidates)[0],
                single.predict_top_k(new, 5, candidates)[0],
            )


def test_regions_find_what_the_mean_of_an_image_cannot(problem, fitted):
    X, labels, Z, train = problem
    unseen = ~labels[:train].any(axis=0)
    whole = MultiLabelZeroShotClassifier(PLAIN).fit(
        X[:train].mean(axis=1), labels[:train], semantics=Z
    )
    by_region = fitted.decision_function(X[train:])
    by_image = whole.decision_function(X[train:].mean(axis=1))
    for columns in (unseen, np.ones_like(unseen)):
        found = [
            mean_average_precision(labels[train:, columns], scores[:, columns])
            for scores in (by_region, by_image)
        ]
        assert found[0] > found[1] + 5, found


def test_an_image_scores_what_its_best_region_does(problem, fitted):
    X, _, _, train = problem
    new = X[train:]
    n, R, d_f = new.shape
    single = fitted.zero_shot_.decision_function(new.reshape(n * R, d_f)).reshape(n, R, -1)
    np.testing.assert_allclose(fitted.decision_function(new), single.max(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(fitted.locate(new), single.argmax(axis=1))
    mixed = MultiLabelZeroShotClassifier(PLAIN, global_weight=0.3)
    mixed.zero_shot_, mixed.n_features_in_ = fitted.zero_shot_, d_f
    whole = fitted.zero_shot_.decision_function(new.mean(axis=1))
    np.testing.assert_allclose(
        mixed.decision_function(new), 0.7 * single.max(axis=1) + 0.3 * whole, rtol=1e-10
    )


def test_images_can_be_asked_about_alone_and_with_other_regions(problem, fitted):
    X, _, _, train = problem
    new = X[train : train + 9]
    together = fitted.decision_function(new)
    for row in range(9):
        np.testing.assert_allclose(fitted.decision_function(new[row : row + 1])[0], together[row])
    order = np.random.default_rng(0).permutation(new.shape[1])
    np.testing.assert_allclose(fitted.decision_function(new[:, order]), together, rtol=1e-12)
    # A further region takes nothing away.
    assert (fitted.decision_function(new) >= fitted.decision_function(new[:, :3]) - 1e-12).all()


@pytest.mark.parametrize("rows", [1, 12, 10_000])
def test_labels_are_assigned_as_they_are_one_by_one(monkeypatch, rows):
    rng = np.random.default_rng(rows)
    regions, W = rng.normal(size=(19, 7, 5)), rng.normal(size=(5, 6))
    labels = rng.random((19, 6)) < 0.35
    labels[np.arange(19), rng.integers(0, 6, 19)] = True
    monkeypatch.setattr("zerokin.classifiers.multi_label.regions.ROWS", rows)
    found = assigned_regions(regions, labels, lambda F: F @ W)
    expected = []
    for image, row in zip(regions, labels, strict=True):
        scores = image @ W
        for label in np.flatnonzero(row):
            others = [c for c in np.flatnonzero(row) if c != label]
            rival = scores[:, others].max(axis=1) if others else 0.0
            match = scores[:, label] - 2 / 3 * rival
            expected.append(softmax(match / (0.5 * match.std())) @ image)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    alone = assigned_regions(regions[:, :1], labels, lambda F: F @ W)
    np.testing.assert_array_equal(alone, regions[np.nonzero(labels)[0], 0])


def test_blocks_make_no_difference(monkeypatch):
    rng = np.random.default_rng(8)
    regions, W = rng.normal(size=(23, 7, 5)), rng.normal(size=(5, 11))
    scores = regions @ W
    for rows in (1, 10, 10_000):
        monkeypatch.setattr("zerokin.classifiers.multi_label.regions.ROWS", rows)
        np.testing.assert_allclose(image_scores(regions, lambda F: F @ W), scores.max(axis=1))
        np.testing.assert_array_equal(best_regions(regions, lambda F: F @ W), scores.argmax(axis=1))


def test_an_ancestor_is_never_less_likely_than_its_child(problem, fitted):
    X, _, _, train = problem
    new = X[train:]
    p, given = fitted.predict_proba(new), fitted.predict(new)
    tree = fitted.hierarchy_
    assert tree is not None
    assert tree.n_layers > 1
    child_p, child_given, below = p, given, tree.labels(1)
    for layer in range(1, tree.n_layers + 1):
        nodes = tree.labels(layer)
        here, marked = fitted.superclass_proba(new, layer), fitted.predict_superclasses(new, layer)
        assert here.shape == (len(new), tree.sizes[layer - 1])
        for node in range(tree.sizes[layer - 1]):
            np.testing.assert_array_equal(here[:, node], p[:, nodes == node].max(axis=1))
        parent = np.array([nodes[np.flatnonzero(below == at)[0]] for at in range(child_p.shape[1])]
                          if layer > 1 else nodes)  # fmt: skip
        assert (here[:, parent] >= child_p).all()
        assert (marked[:, parent] >= child_given).all()
        child_p, child_given, below = here, marked, nodes
    with pytest.raises(InvalidInput, match="layer must be a whole number from 1 to"):
        fitted.superclass_proba(new, tree.n_layers + 1)


def test_probabilities_rank_as_scores_and_thresholds_cut_them(problem, fitted):
    X, labels, _, train = problem
    new = X[train:]
    scores, p = fitted.decision_function(new), fitted.predict_proba(new)
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.argsort(scores, axis=None) == np.argsort(p, axis=None)).all()
    np.testing.assert_array_equal(fitted.predict(new), p >= fitted.thresholds_)
    # The threshold that held-out classes chose serves unseen ones: near the best there is.
    best = max(
        precision_recall_f1(labels[train:], p >= threshold).f1 for threshold in np.unique(p)[::7]
    )
    assert precision_recall_f1(labels[train:], fitted.predict(new)).f1 > best - 8
    some = fitted.predict(new, candidates="unseen")
    assert not some[:, fitted.seen_].any()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_threshold_is_that_of_the_best_f1(seed):
    rng = np.random.default_rng(seed)
    truth = rng.random(83) < 0.3
    p = np.round((0.3 * truth + rng.random(83)) / 1.3, 1 + seed)
    threshold = best_threshold(p, truth)
    f1 = precision_recall_f1(truth[:, None], (p >= threshold)[:, None]).f1
    every = [precision_recall_f1(truth[:, None], (p >= at)[:, None]).f1 for at in np.unique(p)]
    assert f1 == pytest.approx(max(every), abs=1e-9)


def test_the_curve_is_that_of_a_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(3)
    scores = 40 + 3 * rng.normal(size=997)
    truth = rng.random(997) < 1 / (1 + np.exp(-(scores - 42)))
    found = fitted_calibration(scores, truth)
    expected = LogisticRegression(C=1e6).fit(scores[:, None] - 40, truth)
    np.testing.assert_allclose(
        found.probabilities(scores), expected.predict_proba(scores[:, None] - 40)[:, 1], atol=0.01
    )
    assert fitted_calibration(scores, truth | True) is None


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_calibration_folds_fit_on_nothing_of_their_classes(problem, seed):
    _, labels, Z, train = problem
    for fit, scored, classes in label_folds(labels[:train], Z, seed):
        learned = labels[fit].any(axis=0)
        held = np.setdiff1d(classes, np.flatnonzero(learned))
        assert len(held)
        assert not labels[np.ix_(fit, held)].any()
        assert not np.intersect1d(fit, scored).size


def test_thresholds_by_class_and_in_common(problem):
    X, labels, Z, train = problem
    fit = (X[:train, :2], labels[:train])
    common = MultiLabelZeroShotClassifier(PLAIN, threshold=0.25, n_assignments=0)
    assert (common.fit(*fit, semantics=Z).thresholds_ == 0.25).all()
    single = MultiLabelZeroShotClassifier(PLAIN, threshold={3: 0.5, 16: 1.0}, n_assignments=0)
    single.fit(*fit, semantics=Z)
    assert single.thresholds_[[3, 16]].tolist() == [0.5, 1.0]
    assert set(np.delete(single.thresholds_, [3, 16])) == {single.calibration_.threshold}


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"threshold": 1.5}, "threshold must be a number from 0 to 1"),
        ({"threshold": -0.1}, "threshold must be a number from 0 to 1"),
        ({"threshold": {2: 7.0}}, "threshold of 2 must be a number from 0 to 1: got 7.0"),
        ({"threshold": {99: 0.5}}, "threshold: 99 is no class"),
        ({"global_weight": 1.1}, "global_weight must be a number from 0 to 1"),
        ({"n_assignments": -1}, "n_assignments must be a whole number from 0"),
        ({"zero_shot": "ours"}, "zero_shot must be a ZeroShotClassifier, or None"),
        ({"zero_shot": ZeroShotClassifier(inference="paper")}, "inference='paper' keeps"),
        ({"zero_shot": ZeroShotClassifier(alpha=2)}, "alpha must be"),
    ],
)
def test_parameters_outside_their_ranges_are_refused(problem, options, line):
    X, labels, Z, train = problem
    with pytest.raises(InvalidInput, match=re.escape(line)):
        MultiLabelZeroShotClassifier(**options).fit(X[:train], labels[:train], semantics=Z)


def bare(labels):
    changed = labels.copy()
    changed[5] = False
    return changed


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda X, Y: (X, bare(Y)), "Y: sample 5 has no label (1 such samples)"),
        (lambda X, _: (X, [[]] * len(X)), "sample 0 has no label"),
        (lambda X, _: (X, [[1, 99]] * len(X)), "sample 0 has the label 99, which is no class"),
        (lambda X, _: (X, [[1, 1]] * len(X)), "sample 0 has the label 1 twice"),
        (lambda X, Y: (X, Y[:-1]), "samples, but Y has"),
        (lambda X, Y: (X, Y[:, :-1]), "Y has 16 columns, but there are 17 classes"),
        (lambda X, Y: (X, Y * 2), "Y holds 2 in row"),
        (lambda X, Y: (X[0, 0], Y), "X must be features of regions"),
        (lambda X, Y: (np.where(X > 2, np.nan, X), Y), "X: row"),
        (lambda X, Y: (X * 0 + 1, Y), "all regions are equal"),
        (lambda X, Y: (X.astype(str), Y), "X must be features"),
    ],
)
def test_bad_input_is_refused_in_one_line(problem, change, line):
    X, labels, Z, train = problem
    with pytest.raises(InvalidInput, match=re.escape(line)) as caught:
        MultiLabelZeroShotClassifier(PLAIN).fit(*change(X[:train], labels[:train]), semantics=Z)
    assert "\n" not in str(caught.value)


def test_new_samples_must_be_like_those_it_was_fitted_on(fitted):
    with pytest.raises(InvalidInput, match="X has 7 features, but the classifier was fitted on 23"):
        fitted.predict(np.ones((2, 3, 7)))
    with pytest.raises(InvalidInput, match="holds NaN"):
        fitted.predict_proba(np.full((2, 23), np.nan))


def test_names_sparse_labels_and_given_hierarchies_are_taken(problem):
    X, labels, Z, train = problem
    names = [f"class {at}" for at in range(len(Z))]
    table = dict(zip(names, Z, strict=True))
    lists = [[names[at] for at in row.nonzero()[0]] for row in labels[:train]]
    tree = ClassHierarchy([np.arange(17) // 6], names=names)
    made = [
        MultiLabelZeroShotClassifier(PLAIN, threshold=0.5).fit(
            X[:train], Y, semantics=table, hierarchy=tree
        )
        for Y in (lists, csr(labels[:train]), labels[:train].astype(float))
    ]
    for one in made[1:]:
        np.testing.assert_array_equal(
            one.decision_function(X[train:]), made[0].decision_function(X[train:])
        )
    assert made[0].hierarchy_.sizes == [3] or tuple(made[0].hierarchy_.sizes) == (3,)
    assert made[0].predict_top_k(X[train:], 1)[0][0, 0] in names


def test_too_few_classes_to_hold_any_out_are_said(problem):
    X, _, Z, _ = problem
    rng = np.random.default_rng(0)
    lists = [rng.choice(3, rng.integers(1, 3), replace=False).tolist() for _ in range(41)]
    with pytest.warns(ZerokinWarning, match="no seen classes could be held out"):
        model = MultiLabelZeroShotClassifier(PLAIN).fit(X[:41], lists, semantics=Z[:5])
    assert np.isfinite(model.predict_proba(X[41:50])).all()


def test_saved_and_loaded_it_answers_the_same(problem, fitted, tmp_path):
    X, labels, Z, train = problem
    fitted.save(tmp_path / "model")
    again = MultiLabelZeroShotClassifier.load(tmp_path / "model")
    for method in ("decision_function", "predict_proba", "predict", "locate"):
        np.testing.assert_array_equal(
            getattr(again, method)(X[train:]), getattr(fitted, method)(X[train:])
        )
    again.add_class(99, Z[3] + 0.1)
    assert again.predict_proba(X[train:]).shape[1] == len(Z) + 1
    again.save(tmp_path / "model")  # over the old one
    assert len(MultiLabelZeroShotClassifier.load(tmp_path / "model").classes_) == len(Z) + 1
    by_class = MultiLabelZeroShotClassifier(PLAIN, threshold={3: 0.5}, n_assignments=0)
    by_class.fit(X[:train, :2], labels[:train], semantics=Z).save(tmp_path / "other")
    assert MultiLabelZeroShotClassifier.load(tmp_path / "other").threshold == {3: 0.5}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda c: c | {"thresholds": c["thresholds"][1:]}, "is not a whole classifier"),
        (lambda c: c | {"thresholds": [2.0] * 17}, "is not a whole classifier"),
        (lambda c: c | {"calibration": [-1, 0, 0.5]}, "is not a whole classifier"),
        (lambda c: c | {"threshold": 3}, "is not a whole classifier|threshold must"),
        (lambda c: {k: v for k, v in c.items() if k != "parameters"}, "is not a whole classifier"),
        (lambda c: c | {"version": 9}, "has version 9"),
    ],
)
def test_a_tampered_folder_is_refused(fitted, tmp_path, change, line):
    fitted.save(tmp_path / "model")
    path = tmp_path / "model" / "multi_label.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))), encoding="utf-8")
    with pytest.raises(InvalidInput, match=line):
        MultiLabelZeroShotClassifier.load(tmp_path / "model")
    shutil.rmtree(tmp_path / "model" / "zero_shot")
    with pytest.raises((MissingFile, InvalidInput)):
        MultiLabelZeroShotClassifier.load(tmp_path / "model")
