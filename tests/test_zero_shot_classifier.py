"""The classifier: what a user may rely on."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.linalg
from safetensors.numpy import load_file, save_file
from sklearn.utils.estimator_checks import parametrize_with_checks

from zerokin.classifiers import ZeroShotClassifier
from zerokin.classifiers.samples import refuse_not_finite
from zerokin.data import ClassTable
from zerokin.errors import InvalidInput, ZerokinError, ZerokinWarning
from zerokin.hierarchy import ClassHierarchy

RNG = np.random.default_rng(1)
C, SEEN, D_Z, D_F = 24, 18, 10, 40
Z = RNG.uniform(size=(C, D_Z))
NAMES = [f"kind {chr(97 + i)}" for i in range(C)]
WORLD = RNG.normal(size=(D_Z, D_F))


def samples(classes, noise=0.25, seed=0):
    rng = np.random.default_rng(seed)
    return Z[classes] @ WORLD + noise * rng.normal(size=(len(classes), D_F))


LABELS = np.repeat(np.arange(SEEN), 15)
X = samples(LABELS)
TRUTH = np.repeat(np.arange(SEEN, C), 10)
NEW = samples(TRUTH, seed=1)
TABLE = ClassTable(tuple(NAMES), Z)


def fitted(**params):
    return ZeroShotClassifier(feature_scaling="unit", gamma=0.1, **params).fit(
        X, LABELS, semantics=TABLE
    )


@parametrize_with_checks([ZeroShotClassifier()])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("inference", ["residual", "flat", "paper"])
def test_classes_never_shown_are_named(inference):
    model = fitted(inference=inference)
    named = model.predict(NEW)
    assert np.mean(named == np.array(NAMES)[TRUTH]) > 0.8
    assert set(model.predict(NEW)) <= set(NAMES[SEEN:])


def expected_prototypes(model, means):
    """Prototypes by the formula of ``zerokin.classifiers.kin``, class by class."""
    semantics = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    E = semantics[LABELS]
    F = X / np.linalg.norm(X, axis=1, keepdims=True)
    left = (1 - model.alpha) * F.T @ F + model.gamma * np.eye(D_F)
    W = scipy.linalg.solve_sylvester(left, model.alpha * E.T @ E, F.T @ E)
    projected = semantics @ W.T
    projected *= np.sum(projected[:SEEN] * means) / np.sum(projected[:SEEN] ** 2)
    if model.inference == "residual":
        squares = ((semantics[:, None] - semantics[None]) ** 2).sum(axis=2)
        median = np.median([squares[a, b] for a in range(SEEN) for b in range(a)])
        K = model.semantic_variance * np.exp(-squares / (model.length_scale * median))
        for layer in range(1, model.hierarchy_.n_layers + 1):
            nodes = model.hierarchy_.labels(layer)
            K += model.layer_decay ** (layer - 1) * (nodes[:, None] == nodes)
        noisy = K[:SEEN, :SEEN] + model.noise * np.eye(SEEN)
        projected = projected + K[:, :SEEN] @ np.linalg.solve(noisy, means - projected[:SEEN])
    return projected / np.linalg.norm(projected, axis=1, keepdims=True)


@pytest.mark.parametrize("inference", ["residual", "flat"])
def test_prototypes_and_scores_are_those_of_the_formula(inference):
    rng = np.random.default_rng(4)
    for _ in range(4):
        model = fitted(
            inference=inference,
            alpha=rng.uniform(0.1, 0.9),
            semantic_variance=rng.uniform(0.2, 4),
            length_scale=rng.uniform(0.2, 2),
            layer_decay=rng.uniform(0.2, 0.9),
            noise=rng.uniform(0.2, 3),
            hub_weight=rng.uniform(0.1, 0.6),
            hub_neighbors=int(rng.integers(1, 7)),
            seen_penalty=rng.uniform(0.1, 0.4),
        )
        F = X / np.linalg.norm(X, axis=1, keepdims=True)
        means = np.stack([F[c == LABELS].mean(axis=0) for c in range(SEEN)])
        prototypes = expected_prototypes(model, means)
        np.testing.assert_allclose(model.prototypes_, prototypes, atol=1e-8)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        hubs = np.sort(prototypes @ means.T, axis=1)[:, -model.hub_neighbors :].mean(axis=1)
        new = NEW / np.linalg.norm(NEW, axis=1, keepdims=True)
        scores = new @ prototypes.T - model.hub_weight * hubs
        scores[:, :SEEN] -= model.seen_penalty
        np.testing.assert_allclose(model.decision_function(NEW), scores, atol=1e-8)


def test_labels_by_name_and_by_position_are_the_same():
    by_name = ZeroShotClassifier().fit(X, np.array(NAMES)[LABELS], semantics=TABLE)
    by_map = ZeroShotClassifier().fit(
        X, np.array(NAMES)[LABELS], semantics=dict(zip(NAMES, Z, strict=True))
    )
    by_position = ZeroShotClassifier().fit(X, LABELS, semantics=TABLE)
    by_matrix = ZeroShotClassifier().fit(X, LABELS, semantics=Z)
    expected = by_name.decision_function(NEW)
    for other in (by_map, by_position, by_matrix):
        np.testing.assert_allclose(other.decision_function(NEW), expected, atol=1e-12)
    assert by_matrix.predict(NEW).dtype.kind == "i"


@pytest.mark.parametrize("inference", ["residual", "flat", "paper"])
def test_order_of_samples_and_classes_changes_nothing(inference):
    model = fitted(inference=inference)
    order, classes = RNG.permutation(len(X)), RNG.permutation(C)
    table = ClassTable(tuple(NAMES[i] for i in classes), Z[classes])
    other = ZeroShotClassifier(feature_scaling="unit", gamma=0.1, inference=inference).fit(
        X[order], np.array(NAMES)[LABELS[order]], semantics=table
    )
    for candidates in ("unseen", "all", NAMES[3:21]):
        one = model.predict_top_k(NEW, 3, candidates)
        two = other.predict_top_k(NEW, 3, candidates)
        np.testing.assert_allclose(one[1], two[1], atol=1e-8)
        assert np.array_equal(one[0], two[0])


def test_candidates_are_a_set():
    model = fitted()
    chosen = NAMES[15:20]
    one = model.predict_top_k(NEW, 3, chosen)
    other = model.predict_top_k(NEW, 3, chosen[::-1] + chosen)
    assert np.array_equal(one[0], other[0])
    assert set(one[0].ravel()) <= set(chosen)


def test_calibration_moves_samples_to_the_unseen_side():
    model = fitted()
    everything = np.concatenate([X, NEW])
    shares = []
    for seen_penalty in (-1.0, 0.0, 0.05, 1.0):
        model.seen_penalty = seen_penalty
        shares.append(np.mean(np.isin(model.predict(everything, "all"), NAMES[SEEN:])))
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == 1


def test_top_k_is_the_head_of_the_decision_function():
    model = fitted()
    scores = model.decision_function(NEW)
    names, values = model.predict_top_k(NEW, 4, "all")
    for row, top, value in zip(scores, names, values, strict=True):
        order = sorted(range(C), key=lambda i: -row[i])[:4]
        assert list(top) == [NAMES[i] for i in order]
        np.testing.assert_allclose(value, row[order])


def test_a_class_added_later_is_the_class_known_from_the_start():
    """For the flat rule exactly; with kin as far as the tree agrees."""
    whole = fitted(inference="flat")
    early = ZeroShotClassifier(feature_scaling="unit", gamma=0.1, inference="flat").fit(
        X, LABELS, semantics=ClassTable(tuple(NAMES[:-2]), Z[:-2])
    )
    early.add_class(NAMES[-2], Z[-2]).add_class(NAMES[-1], 3 * Z[-1])
    np.testing.assert_allclose(
        early.decision_function(NEW), whole.decision_function(NEW), atol=1e-10
    )
    kin = ZeroShotClassifier(feature_scaling="unit", gamma=0.1).fit(
        X, LABELS, semantics=ClassTable(tuple(NAMES[:-1]), Z[:-1])
    )
    before = kin.decision_function(NEW)
    kin.add_class(NAMES[-1], Z[-1])
    np.testing.assert_allclose(kin.decision_function(NEW)[:, :-1], before, atol=1e-12)
    assert kin.hierarchy_.n_classes == C
    last = NEW[TRUTH == C - 1]
    assert np.mean(kin.predict(last) == NAMES[-1]) > 0.7


def test_explanation_shows_path_survivors_and_kin():
    model = fitted(inference="paper")
    for explanation, name in zip(model.explain(NEW), model.predict(NEW), strict=True):
        assert explanation.name == name
        assert not explanation.seen
        assert len(explanation.path) == model.hierarchy_.n_layers
        assert explanation.survivors[0] == name
        assert set(explanation.survivors) <= set(NAMES[SEEN:])
        assert {kin for kin, _ in explanation.kin} <= set(NAMES[:SEEN])
        assert max(score for _, score in explanation.path) == pytest.approx(explanation.score)


@pytest.mark.parametrize("inference", ["residual", "flat", "paper"])
@pytest.mark.parametrize("feature_scaling", ["none", "power-center-whiten1-unit"])
def test_saved_and_loaded_answers_are_identical(tmp_path, inference, feature_scaling):
    model = ZeroShotClassifier(
        inference=inference, feature_scaling=feature_scaling, seen_penalty=0.01
    )
    model.fit(X, LABELS, semantics=TABLE)
    model.save(tmp_path / "model")
    loaded = ZeroShotClassifier.load(tmp_path / "model")
    for candidates in ("unseen", "all"):
        one, other = (m.predict_top_k(NEW, 5, candidates) for m in (model, loaded))
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])
    assert loaded.get_params() == model.get_params()
    loaded.add_class("one more", Z[0] + 0.1)
    loaded.save(tmp_path / "model")
    assert "one more" in ZeroShotClassifier.load(tmp_path / "model").classes_
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def edit_config(folder, **changes):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


def edit_numbers(folder, **changes):
    numbers = load_file(folder / "numbers.safetensors")
    save_file({k: v for k, v in (numbers | changes).items() if v is not None},
              folder / "numbers.safetensors")  # fmt: skip


TAMPERED = {
    "no classifier in": lambda p: (p / "config.json").unlink(),
    "is not JSON": lambda p: (p / "config.json").write_text("{"),
    "does not describe": lambda p: edit_config(p, format="other"),
    "has version 2": lambda p: edit_config(p, version=2),
    "unexpected keyword": lambda p: edit_config(p, parameters={"alphabet": 1}),
    "numbers.safetensors is missing": lambda p: (p / "numbers.safetensors").unlink(),
    "numbers.safetensors is damaged": lambda p: (p / "numbers.safetensors").write_bytes(b"x" * 99),
    "prototypes is of shape": lambda p: edit_numbers(p, prototypes=np.zeros((3, 3))),
    "or not finite": lambda p: edit_numbers(p, offsets=np.full(C, np.nan)),
    "'projection'": lambda p: edit_numbers(p, projection=None),
    "seen does not hold positions": lambda p: edit_numbers(p, seen=np.arange(SEEN) + 20),
    "semantics is of shape (24, 10), not (23, 10)": lambda p: edit_config(p, classes=NAMES[:-1]),
}


@pytest.mark.parametrize("line", TAMPERED)
def test_a_tampered_classifier_is_refused(tmp_path, line):
    fitted().save(tmp_path / "model")
    TAMPERED[line](tmp_path / "model")
    with pytest.raises(ZerokinError) as refusal:
        ZeroShotClassifier.load(tmp_path / "model")
    assert line in str(refusal.value)


def test_a_folder_with_something_else_is_not_overwritten(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ZerokinError, match="holds something else"):
        fitted().save(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "precious"


@pytest.mark.parametrize(
    ("action", "line"),
    [
        (lambda m: m.predict(NEW, "unsen"), "did you mean 'unseen'?"),
        (lambda m: m.predict(NEW, ["kind z"]), "unknown class 'kind z'"),
        (lambda m: m.predict(NEW, [99]), "there is no class 99"),
        (lambda m: m.predict(NEW, []), "leaves no class"),
        (lambda m: m.predict_top_k(NEW, 0), "k must be a whole number from 1"),
        (lambda m: m.add_class("kind a", Z[0]), "there is a class 'kind a' already"),
        (lambda m: m.add_class("new", Z[0, :3]), "shape (3,), but semantics have 10"),
        (lambda m: m.add_class("new", 0 * Z[0]), "all zero for 'new'"),
        (
            lambda m: m.fit(X, LABELS, semantics=Z).add_class("new", Z[0]),
            "classes are called by number here: 'new' is none",
        ),
        (lambda m: m.fit(X, LABELS + 10, semantics=Z), "unknown class '24'"),
        (lambda m: m.fit(X, LABELS, semantics=Z[0]), "must be a matrix"),
        (lambda m: m.fit(X, LABELS, semantics={"a": [1], "b": [1, 2]}), "all of one length"),
        (
            lambda m: m.fit(X, LABELS, semantics=Z, hierarchy=ClassHierarchy([[0, 0, 1]])),
            "hierarchy has 3 classes, but semantics 24",
        ),
        (
            lambda m: m.set_params(inference="best").fit(X, LABELS),
            "inference must be one of residual, flat, paper",
        ),
    ],
)
def test_what_a_user_got_wrong_is_named(action, line):
    with pytest.raises(ZerokinError) as refusal:
        action(fitted())
    assert line in str(refusal.value)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (X[:, :3], "X has 3 features, but ZeroShotClassifier is expecting 40 features"),
        (np.where(np.arange(len(X))[:, None] == 7, np.nan, X), "X: row 7 holds NaN .*1 such rows"),
        (np.where(np.arange(len(X))[:, None] > 8, -np.inf, X), "X: row 9 holds NaN or infinity"),
        (X[0], "Expected 2D array, got 1D array"),
        (X[:0], r"Found array with 0 sample\(s\)"),
        ([["a"] * D_F], "could not convert string to float"),
        (X * 1j, "Complex data not supported"),
    ],
    ids=["width", "NaN", "infinity", "vector", "nothing", "words", "complex"],
)
def test_features_that_cannot_be_used_are_refused_in_one_line(features, message):
    model = fitted()
    for use in (model.predict, model.decision_function, model.explain):
        with pytest.raises(InvalidInput, match=message) as error:
            use(features)
        assert len(str(error.value).splitlines()) == 1
        assert "\\n" not in str(error.value)
    if np.shape(features) != (len(X), 3):
        with pytest.raises(InvalidInput, match=message):
            ZeroShotClassifier().fit(features, LABELS[: len(features)], semantics=TABLE)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (LABELS[:-1], "inconsistent numbers of samples"),
        (LABELS + 0.5, "y: Unknown label type: continuous"),
        (None, "requires y to be passed"),
    ],
    ids=["fewer", "fractions", "none"],
)
def test_labels_that_cannot_be_used_are_refused_in_one_line(labels, message):
    with pytest.raises(InvalidInput, match=message):
        ZeroShotClassifier().fit(X, labels, semantics=TABLE)


def test_large_finite_features_are_no_infinity():
    huge = np.full((3, D_F), 1e308)  # whose sum is infinite
    assert refuse_not_finite(huge, "X") is huge


def test_decision_function_is_pruned_as_predict_is():
    model = fitted(inference="paper", top_k=1, seen_penalty=0.05)
    both = np.concatenate([NEW, X[::7]])
    scores = model.decision_function(both)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(
        model.classes_[scores.argmax(axis=1)], model.predict(both, candidates="all")
    )
    survivors = [set(one.survivors) for one in model.explain(both, candidates="all")]
    assert [set(model.classes_[row > -500]) for row in scores] == survivors
    # Unpruned, other classes would win.
    flat = fitted(inference="flat", seen_penalty=0.05).decision_function(both)
    assert (flat.argmax(axis=1) != scores.argmax(axis=1)).any()


@pytest.mark.parametrize(
    ("name", "most"),
    [("epsilon", 1e6), ("gamma", 1e12), ("layer_decay", 4), ("semantic_variance", 1e4)],
)
def test_a_range_ends_where_it_says(name, most):
    X, y, Z = np.eye(4), np.arange(4), np.eye(5)[:, :4] + 1
    ZeroShotClassifier(feature_scaling="unit", **{name: most}).fit(X, y, semantics=Z)
    with pytest.raises(InvalidInput, match=f"{name} must be a number from 0 to"):
        ZeroShotClassifier(**{name: np.nextafter(most, np.inf)}).fit(X, y, semantics=Z)


def test_score_has_the_candidates_of_predict_and_warns_of_labels_beyond_them():
    X, y, Z = np.eye(4).repeat(3, axis=0), np.arange(4).repeat(3), np.eye(6)[:, :4] + 0.1
    model = ZeroShotClassifier(feature_scaling="unit", gamma=0.1, seen_penalty=0.0)
    model.fit(X, y, semantics=Z)
    for candidates in ("all", "seen", [1, 2, 3, 4]):
        with warnings.catch_warnings():
            warnings.simplefilter("error" if candidates != [1, 2, 3, 4] else "ignore")
            share = model.score(X, y, candidates=candidates)
        assert share == np.mean(model.predict(X, candidates) == y)
    weights = np.arange(12.0)
    expected = weights[model.predict(X, "all") == y].sum() / weights.sum()
    assert model.score(X, y, weights, candidates="all") == pytest.approx(expected)
    with pytest.warns(ZerokinWarning, match="y holds 4 of the classes that are no candidates"):
        assert model.score(X, y) == 0
    with pytest.raises(InvalidInput, match=r"^y: .*class"):
        model.score(X, np.full(12, 9))


def test_semantics_may_be_a_data_frame():
    pandas = pytest.importorskip("pandas")
    names, Z = ["ox", "yak", "elk", "emu"], np.random.default_rng(2).uniform(size=(4, 3))
    X, y = np.eye(3).repeat(4, axis=0), np.array(names[:3]).repeat(4)
    frame = pandas.DataFrame(Z, index=names, columns=["horns", "wool", "legs"])
    made = [
        ZeroShotClassifier(feature_scaling="unit").fit(X, y, semantics=semantics)
        for semantics in (frame, dict(zip(names, Z, strict=True)))
    ]
    np.testing.assert_array_equal(made[0].classes_, made[1].classes_)
    np.testing.assert_array_equal(made[0].decision_function(X), made[1].decision_function(X))
