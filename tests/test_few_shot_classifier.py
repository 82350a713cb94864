"""The few-shot classifier: what a user may rely on."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from zerokin import FewShotClassifier, ZeroShotClassifier
from zerokin.data import ClassTable
from zerokin.errors import ZerokinError, ZerokinWarning
from zerokin.hierarchy import ClassHierarchy

RNG = np.random.default_rng(2)
C, BASE, D_Z, D_F = 22, 16, 8, 30
Z = RNG.normal(size=(C, D_Z))
NAMES = np.array([f"kind {chr(97 + i)}" for i in range(C)])
WORLD = RNG.normal(size=(D_Z, D_F))
OWN = 2.0 * RNG.normal(size=(C, D_F))
TABLE = ClassTable(tuple(NAMES), Z)


def samples(classes, seed, noise=4.0):
    rng = np.random.default_rng(seed)
    return Z[classes] @ WORLD + OWN[classes] + noise * rng.normal(size=(len(classes), D_F))


LABELS = np.repeat(np.arange(BASE), 25)
X = samples(LABELS, 0)
SHOWN = np.array([16, 16, 17, 18, 19, 19, 19, 20, 21])
SHOTS = samples(SHOWN, 1)
TRUTH = np.repeat(np.arange(BASE, C), 60)
NEW = samples(TRUTH, 2)


def estimator(inference="residual", feature_scaling="center-unit", **params):
    return FewShotClassifier(
        ZeroShotClassifier(inference=inference, feature_scaling=feature_scaling, hub_weight=0.0),
        **params,
    )


def fitted(semantics=TABLE, **params):
    return estimator(**params).fit(X, LABELS, semantics=semantics, shots=SHOTS, shot_labels=SHOWN)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@parametrize_with_checks([FewShotClassifier(ZeroShotClassifier(feature_scaling="unit"))])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kappa", [0.0, 0.7, 5.0])
def test_prototypes_by_the_formula(kappa):
    model = fitted(kappa=kappa)
    prior = ZeroShotClassifier(feature_scaling="center-unit").fit(X, LABELS, semantics=TABLE)
    center = X.mean(axis=0)
    for k in range(C):
        own = unit((SHOTS[k == SHOWN] if k >= BASE else X[k == LABELS]) - center)
        expected = unit(kappa * prior.prototypes_[k] + own.sum(axis=0))
        np.testing.assert_allclose(model.prototypes_[k], expected, atol=1e-10)
    expected = unit(NEW - center) @ model.prototypes_.T
    np.testing.assert_allclose(model.decision_function(NEW), expected, atol=1e-10)


@pytest.mark.parametrize("neighbors", [1, 3])
def test_base_classes_lend_by_the_formula(neighbors):
    model = fitted(kappa=2.0, base_weight=1.5, base_neighbors=neighbors)
    plain = fitted(kappa=2.0)
    prior = ZeroShotClassifier(feature_scaling="center-unit").fit(X, LABELS, semantics=TABLE)
    center = X.mean(axis=0)
    means = np.array([unit(X[k == LABELS] - center).mean(axis=0) for k in range(BASE)])
    for k in range(BASE, C):
        summed = 2.0 * prior.prototypes_[k] + unit(SHOTS[k == SHOWN] - center).sum(axis=0)
        near = sorted(range(BASE), key=lambda b: -unit(means[b]) @ summed)[:neighbors]
        expected = unit(summed + 1.5 * means[near].mean(axis=0))
        np.testing.assert_allclose(model.prototypes_[k], expected, atol=1e-10)
    np.testing.assert_array_equal(model.prototypes_[:BASE], plain.prototypes_[:BASE])


def test_shots_and_semantics_together_beat_either():
    def accuracy(model):
        return np.mean(model.predict(NEW) == NAMES[TRUTH])

    both, shots_alone = accuracy(fitted(kappa=2.0)), accuracy(fitted(kappa=0.0))
    zero_shot = ZeroShotClassifier(feature_scaling="center-unit").fit(X, LABELS, semantics=TABLE)
    assert both > shots_alone + 0.02
    assert both > np.mean(zero_shot.predict(NEW) == NAMES[TRUTH]) + 0.02


def test_many_shots_leave_nothing_of_the_semantics():
    shown = np.repeat(np.arange(BASE, C), 400)
    shots = samples(shown, 5)
    many = estimator(kappa=1.0).fit(X, LABELS, semantics=TABLE, shots=shots, shot_labels=shown)
    none = estimator(kappa=0.0).fit(X, LABELS, semantics=TABLE, shots=shots, shot_labels=shown)
    assert (many.prototypes_ * none.prototypes_).sum(axis=1).min() > 0.999


def test_a_class_without_shots_is_recognised_by_its_semantics():
    shown = SHOWN[SHOWN != 21]
    model = estimator(kappa=1.0).fit(
        X, LABELS, semantics=TABLE, shots=SHOTS[SHOWN != 21], shot_labels=shown
    )
    assert NAMES[21] not in model.predict(NEW)
    prior = ZeroShotClassifier(feature_scaling="center-unit").fit(X, LABELS, semantics=TABLE)
    np.testing.assert_allclose(model.prototypes_[21], prior.prototypes_[21], atol=1e-12)
    assert NAMES[21] in model.predict(NEW, candidates=list(NAMES[BASE:]))


def test_labels_by_name_and_by_position_are_the_same():
    expected = fitted().decision_function(NEW)
    by_map = dict(zip(NAMES, Z, strict=True))
    others = [
        estimator().fit(
            X, NAMES[LABELS], semantics=TABLE, shots=SHOTS, shot_labels=list(NAMES[SHOWN])
        ),
        estimator().fit(X, NAMES[LABELS], semantics=by_map, shots=SHOTS, shot_labels=NAMES[SHOWN]),
        fitted(semantics=Z),
    ]
    for other in others:
        np.testing.assert_allclose(other.decision_function(NEW), expected, atol=1e-10)
    assert others[-1].predict(NEW).dtype.kind == "i"


@pytest.mark.parametrize("inference", ["residual", "flat", "paper"])
def test_order_of_samples_shots_and_classes_changes_nothing(inference):
    model = fitted(inference=inference)
    rows, shown, classes = (RNG.permutation(n) for n in (len(X), len(SHOTS), C))
    table = ClassTable(tuple(NAMES[classes]), Z[classes])
    other = estimator(inference=inference).fit(
        X[rows],
        NAMES[LABELS[rows]],
        semantics=table,
        shots=SHOTS[shown],
        shot_labels=NAMES[SHOWN[shown]],
    )
    for candidates in ("novel", "base", "all", list(NAMES[4:19])):
        one, two = (m.predict_top_k(NEW, 3, candidates) for m in (model, other))
        np.testing.assert_allclose(one[1], two[1], atol=1e-8)
        assert np.array_equal(one[0][np.isfinite(one[1])], two[0][np.isfinite(two[1])])


def test_candidates_and_calibration():
    model = fitted()
    assert set(model.predict(NEW)) <= set(NAMES[BASE:])
    assert set(model.predict(NEW, candidates="base")) <= set(NAMES[:BASE])
    among_all = model.predict(NEW, candidates="all")
    assert set(among_all) & set(NAMES[:BASE])
    calibrated = fitted(seen_penalty=2.5)
    assert set(calibrated.predict(NEW, candidates="all")) <= set(NAMES[BASE:])
    scores = calibrated.decision_function(NEW)
    np.testing.assert_allclose(
        scores + np.where(np.arange(C) < BASE, 2.5, 0), model.decision_function(NEW)
    )
    names, best = model.predict_top_k(NEW, 5)
    assert np.mean([t in row for t, row in zip(NAMES[TRUTH], names, strict=True)]) > 0.9
    assert (np.diff(best, axis=1) <= 0).all()


def test_without_semantics_it_is_the_nearest_mean():
    model = estimator().fit(X, NAMES[LABELS], shots=SHOTS, shot_labels=NAMES[SHOWN])
    center = X.mean(axis=0)
    means = unit(np.array([unit(SHOTS[k == SHOWN] - center).mean(axis=0) for k in range(BASE, C)]))
    expected = NAMES[BASE:][(unit(NEW - center) @ means.T).argmax(axis=1)]
    assert np.array_equal(model.predict(NEW), expected)
    assert model.zero_shot_ is None


@pytest.mark.parametrize("missing", ["left out", "all zero", "NaN"])
def test_a_support_class_without_semantics_is_known_by_its_shots_alone(missing):
    vectors = dict(zip(NAMES, Z, strict=True))
    if missing == "left out":
        del vectors[NAMES[19]]
    else:
        vectors[NAMES[19]] = np.full(D_Z, np.nan if missing == "NaN" else 0.0)
    with pytest.warns(ZerokinWarning, match="without semantics, known by their shots alone: 'kin"):
        model = estimator(kappa=3.0).fit(
            X, NAMES[LABELS], semantics=vectors, shots=SHOTS, shot_labels=NAMES[SHOWN]
        )
    place = list(model.classes_).index(NAMES[19])
    own = unit(SHOTS[SHOWN == 19] - X.mean(axis=0))
    np.testing.assert_allclose(model.prototypes_[place], unit(own.mean(axis=0)), atol=1e-10)
    assert NAMES[19] in model.predict(NEW)


def test_an_unknown_support_class_is_warned_of_with_the_nearest_spelling():
    shown = NAMES[SHOWN].copy()
    shown[0] = "knid q"
    with pytest.warns(ZerokinWarning, match="'knid q'; did you mean 'kind q'"):
        estimator().fit(X, NAMES[LABELS], semantics=TABLE, shots=SHOTS, shot_labels=shown)


def test_paper_pruning_keeps_classes_of_the_best_superclasses_alone():
    tree = ClassHierarchy.from_semantics(Z, 2, 0)
    zero_shot = ZeroShotClassifier(
        inference="paper", feature_scaling="center-unit", top_k=1, hub_weight=0.0
    )
    model = FewShotClassifier(zero_shot).fit(
        X, LABELS, semantics=TABLE, shots=SHOTS, shot_labels=SHOWN, hierarchy=tree
    )
    flat = fitted(inference="flat")
    names, scores = model.predict_top_k(NEW, 6)
    for row, values in zip(names, scores, strict=True):
        alive = np.flatnonzero(np.isin(NAMES, row[np.isfinite(values)]))
        assert len({tree.labels(1)[k] for k in alive}) == 1
    best = flat.decision_function(NEW)
    chosen = model.predict(NEW)
    alive_best = [
        NAMES[max(np.flatnonzero(np.isin(NAMES, row[np.isfinite(v)])), key=lambda k: b[k])]
        for row, v, b in zip(names, scores, best, strict=True)
    ]
    assert np.array_equal(chosen, alive_best)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"shots": SHOTS[:0], "shot_labels": []}, "shots is empty: give at least one shot"),
        ({"shots": SHOTS[:, :5]}, "shots have 5 features, but X has 30"),
        ({"shots": SHOTS[0]}, r"shots must be a matrix \(n, d_f\): got shape \(30,\)"),
        ({"shots": [["a"] * D_F] * 9}, "shots must be a matrix of numbers"),
        ({"shot_labels": SHOWN[:4]}, r"9 shots need as many shot_labels: got shape \(4,\)"),
        ({"shot_labels": None}, "9 shots need as many shot_labels: got none"),
        ({"shots": None}, "there are shot_labels but no shots"),
        ({"shots": np.where(np.arange(9)[:, None] == 3, np.nan, SHOTS)}, "shots: row 3 holds NaN"),
        ({"shot_labels": [0, *SHOWN[1:]]}, "shot_labels: 'kind a' are base classes, being in y"),
        ({"shot_labels": [99, *SHOWN[1:]]}, "shot_labels: there is no class 99 among 22"),
        (
            {"X": np.where(np.arange(400)[:, None] == 7, np.inf, X)},
            "X: row 7 holds NaN or infinity",
        ),
        ({"y": np.r_[["kind z"], NAMES[LABELS[1:]]]}, "y: unknown class 'kind z'; did you mean"),
        ({"semantics": {}}, "semantics is empty"),
        (
            {"semantics": np.where(np.arange(C)[:, None] == 2, 0.0, Z)},
            "all zero for '2'; give these classes other vectors",
        ),
        (
            {"hierarchy": ClassHierarchy.from_semantics(Z[:20], 2, 0)},
            "the hierarchy has 20 classes",
        ),
    ],
)
def test_what_cannot_be_fitted_is_said_in_one_line(change, line):
    given = {"X": X, "y": LABELS, "semantics": TABLE, "shots": SHOTS, "shot_labels": SHOWN}
    given |= change
    with pytest.raises(ZerokinError, match=line) as caught:
        estimator().fit(given.pop("X"), given.pop("y"), **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("candidates", "line"),
    [
        ("unseen", "candidates='unseen' is none of novel, base, all"),
        (["kind y"], "candidates: unknown class 'kind y'; did you mean 'kind "),
        ([], "leaves no class to choose from"),
    ],
)
def test_candidates_that_cannot_be_used(candidates, line):
    with pytest.raises(ZerokinError, match=line):
        fitted().predict(NEW, candidates=candidates)


def test_bad_kappa_and_nan_in_predict():
    with pytest.raises(ZerokinError, match="kappa must be a number from 0 to 1e\\+12: got -1"):
        fitted(kappa=-1)
    with pytest.raises(
        ZerokinError, match="base_weight must be a number from 0 to 1e\\+12: got -2"
    ):
        fitted(base_weight=-2)
    with pytest.raises(ZerokinError, match="base_neighbors must be a whole number from 1: got 0"):
        fitted(base_weight=1.0, base_neighbors=0)
    with pytest.raises(ZerokinError, match="X: row 0 holds NaN"):
        fitted().predict(NEW * np.nan)


def test_clone_keeps_parameters_and_forgets_what_was_learned():
    model = fitted(kappa=3.0)
    copy = clone(model)
    assert copy.get_params()["kappa"] == 3.0
    assert copy.get_params()["zero_shot__feature_scaling"] == "center-unit"
    assert not hasattr(copy, "prototypes_")
    assert not hasattr(model.zero_shot, "prototypes_")  # what was passed in is not fitted
    copy.set_params(zero_shot__inference="flat", kappa=1.0)
    assert copy.zero_shot.inference == "flat"


def test_float32_features_give_the_same_names():
    half = estimator().fit(
        X.astype(np.float32),
        LABELS,
        semantics=TABLE,
        shots=SHOTS.astype(np.float32),
        shot_labels=SHOWN,
    )
    assert np.mean(half.predict(NEW.astype(np.float32)) == fitted().predict(NEW)) > 0.99


def test_other_shots_need_no_new_fit():
    model = fitted(kappa=2.0)
    shown = np.array([18, 20, 20])
    shots = samples(shown, 9)
    again = estimator(kappa=2.0).fit(X, LABELS, semantics=TABLE, shots=shots, shot_labels=shown)
    with pytest.warns(ZerokinWarning, match="'newcomer'"):
        model.set_shots(samples([17], 8), ["newcomer"])
    assert set(model.predict(NEW)) == {"newcomer"}
    model.set_shots(shots, shown)
    assert set(model.predict(NEW)) <= set(NAMES[[18, 20]])
    assert np.array_equal(model.classes_, again.classes_)
    np.testing.assert_array_equal(model.decision_function(NEW), again.decision_function(NEW))
    with pytest.raises(ZerokinError, match="kind c' are base classes"):
        model.set_shots(shots, NAMES[[2, 18, 20]])
    np.testing.assert_array_equal(model.decision_function(NEW), again.decision_function(NEW))


def test_hubness_and_calibration_of_the_zero_shot_classifier_count():
    """Without shots a class scores as in zero-shot recognition, hubness and all."""
    params = {"feature_scaling": "center-unit", "hub_weight": 0.7, "hub_neighbors": 2}
    prior = ZeroShotClassifier(**params, seen_penalty=0.3).fit(X, LABELS, semantics=TABLE)
    model = FewShotClassifier(prior).fit(X, LABELS, semantics=TABLE)
    np.testing.assert_allclose(
        model.decision_function(NEW)[:, BASE:], prior.decision_function(NEW)[:, BASE:], atol=1e-12
    )
    scores = fitted_with(prior).decision_function(NEW)
    cosines = fitted_with(ZeroShotClassifier(**params | {"hub_weight": 0.0})).decision_function(NEW)
    prototypes = fitted_with(prior).prototypes_
    means = unit(fitted_with(prior)._base_means[:BASE])
    nearest = np.sort(prototypes @ means.T, axis=1)[:, -2:].mean(axis=1)
    expected = cosines - 0.7 * nearest - 0.3 * (np.arange(C) < BASE)
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    own = FewShotClassifier(prior, seen_penalty=0.1)
    own.fit(X, LABELS, semantics=TABLE, shots=SHOTS, shot_labels=SHOWN)
    np.testing.assert_allclose(
        own.decision_function(NEW), scores + 0.2 * (np.arange(C) < BASE), atol=1e-12
    )


def fitted_with(zero_shot):
    model = FewShotClassifier(zero_shot)
    return model.fit(X, LABELS, semantics=TABLE, shots=SHOTS, shot_labels=SHOWN)


def test_decision_function_is_pruned_as_predict_is():
    zero_shot = ZeroShotClassifier(inference="paper", feature_scaling="center-unit", top_k=1)
    model = fitted_with(zero_shot)
    scores = model.decision_function(NEW)
    assert np.isfinite(scores).all()
    assert list(NAMES[scores.argmax(axis=1)]) == list(model.predict(NEW, candidates="all"))
    assert (scores < -900).any(axis=1).all()
