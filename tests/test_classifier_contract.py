"""What the classifiers promise by name: ends of ranges, defaults, and where their names live."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from api_problem import NEW, SHOTS, C, X, Y, Z
from zerokin.benchmark.few_shot.ours import DEFAULTS as FEW_SHOT_DEFAULTS
from zerokin.classifiers import FewShotClassifier, ZeroShotClassifier
from zerokin.classifiers.finite_scores import refuse_no_candidate, refuse_without_direction
from zerokin.classifiers.samples import new_samples, refuse_not_finite, training_samples
from zerokin.classifiers.stages import build_superclasses, score_samples
from zerokin.errors import InvalidInput
from zerokin.parameters import check_parameters
from zerokin.selection.zero_shot_space import DEFAULTS

# The least and the most that is taken, and what lies just beyond.
ENDS = {
    "alpha": ((0, 0.999), (-0.001, 1)),
    "beta": ((0, 1), (-0.001, 1.001)),
    "epsilon": ((0, 1e6), (-0.001, 1.1e6)),
    "gamma": ((0, 1e12), (-0.001, 1.1e12)),
    "n_neighbors": ((1, 10**6), (0,)),
    "max_iter": ((1, 10**6), (0,)),
    "tol": ((0, 1e9), (-0.001,)),
    "branching": ((2, 50), (1,)),
    "layer_decay": ((0, 4), (-0.001, 4.001)),
    "semantic_variance": ((0, 1e4), (-0.001, 1e4 + 0.1)),
    "length_scale": ((1e-9, 1e9), (0,)),
    "noise": ((1e-6, 1e12), (9e-7, 1.1e12)),
    "hub_weight": ((0, 2), (-0.001, 2.001)),
    "hub_neighbors": ((1, 10**6), (0,)),
    "top_k": ((1, 10**6), (0,)),
    "seen_penalty": ((-1e6, 1e6), (-1.001 * 1e6, 1.001 * 1e6)),
}
FEW_SHOT_ENDS = {
    "kappa": ((0, 1e12), (-0.001, 1.1e12)),
    "base_weight": ((0, 1e12), (-0.001, 1.1e12)),
    "base_neighbors": ((1, 10**6), (0,)),
    "seen_penalty": ((None, -1e6, 1e6), (-1.001 * 1e6, 1.001 * 1e6)),
}


@pytest.mark.parametrize(
    ("kind", "name", "taken", "refused"),
    [
        (kind, name, *ends)
        for kind, table in ((ZeroShotClassifier, ENDS), (FewShotClassifier, FEW_SHOT_ENDS))
        for name, ends in table.items()
    ],
)
def test_ranges_end_where_they_should(kind, name, taken, refused):
    for value in taken:
        check_parameters(kind(**{name: value}))
    for value in refused:
        with pytest.raises(InvalidInput, match=f"^{name} must"):
            check_parameters(kind(**{name: value}))


def test_defaults_are_those_that_the_benchmark_starts_from():
    params = ZeroShotClassifier().get_params()
    assert {name: params.pop(name) for name in DEFAULTS} == DEFAULTS
    few = FewShotClassifier().get_params()
    assert few["zero_shot"] is None
    assert few["seen_penalty"] is None
    for name in ("kappa", "base_weight", "base_neighbors"):
        assert few[name] == FEW_SHOT_DEFAULTS[name]


def test_a_few_shot_classifier_centers_features_and_knows_no_hubs_unless_told():
    given = ZeroShotClassifier(feature_scaling="center-unit", hub_weight=0.0)
    one, other = (
        FewShotClassifier(zero_shot).fit(X, Y, semantics=Z, shots=SHOTS, shot_labels=[6, 7, 8])
        for zero_shot in (None, given)
    )
    np.testing.assert_array_equal(one.decision_function(NEW), other.decision_function(NEW))
    for model in (one, ZeroShotClassifier().fit(X, Y, semantics=Z)):
        assert model.predict_top_k(NEW, candidates="all")[0].shape == (len(NEW), 5)


@pytest.mark.parametrize(
    "module", ["zerokin.classifiers", "zerokin.classifiers.few_shot", "zerokin.selection"]
)
def test_names_of_a_room_are_found_in_it(module):
    home = importlib.import_module(module)
    for name in home.__all__:
        assert getattr(home, name).__name__ == name
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'Unknown'"):
        home.Unknown  # noqa: B018


class Estimator:
    """As far as reading samples needs one."""

    def __sklearn_tags__(self):
        return ZeroShotClassifier().__sklearn_tags__()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_samples_are_read_as_they_are(kind):
    estimator = Estimator()
    features, labels = training_samples(estimator, X.astype(kind), Y)
    assert features.dtype == kind
    np.testing.assert_array_equal(features, X.astype(kind))
    np.testing.assert_array_equal(labels, Y)
    assert estimator.n_features_in_ == X.shape[1]
    np.testing.assert_array_equal(new_samples(estimator, NEW.astype(kind)), NEW.astype(kind))
    assert new_samples(estimator, X[:2].round().astype(int)).dtype == np.float64
    with pytest.raises(InvalidInput, match="X must be numbers, not dates or times"):
        training_samples(estimator, X.astype("datetime64[s]"), Y)
    with pytest.raises(InvalidInput, match="X has 3 features, but Estimator is expecting 7 feat"):
        new_samples(estimator, X[:, :3])


def test_samples_that_are_all_equal_are_refused_and_no_others():
    """Two samples may be equal, or all but one; one alone is equal to no other."""
    same = np.tile(X[:1], (4, 1))
    labels = np.array([0, 0, 1, 1])
    for at in range(4):
        other = same.copy()
        other[at, 3] += 1e-9
        assert len(training_samples(Estimator(), other, labels)[0]) == 4
    for count in (2, 4):
        with pytest.raises(InvalidInput, match=f"X: all {count} samples are equal"):
            training_samples(Estimator(), same[:count], labels[:count])
    assert len(training_samples(Estimator(), same[:1], labels[:1])[0]) == 1


def test_rows_without_a_number_are_counted():
    rows = np.ones((6, 3))
    rows[2, 1], rows[4, 0], rows[4, 2] = np.nan, np.inf, np.nan
    with pytest.raises(InvalidInput, match=r"F: row 2 holds NaN or infinity \(2 such rows\)"):
        refuse_not_finite(rows, "F")
    assert refuse_not_finite(rows[:2], "F").shape == (2, 3)


def test_rows_without_a_candidate_or_a_direction_are_named():
    scores = np.array([[1.0, -np.inf], [-np.inf, 0.5]])
    assert refuse_no_candidate(scores) is scores
    with pytest.raises(InvalidInput, match="no candidate is left for sample 1: raise top_k"):
        refuse_no_candidate(np.array([[1.0, 0.0], [-np.inf, -np.inf]]))
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, -2.0], [0.0, 0.0]])
    with pytest.raises(InvalidInput, match=r"^X: sample 1 is all zero .*\(2 such samples\)"):
        refuse_without_direction(rows)
    with pytest.raises(InvalidInput, match=r"^S: sample 1 is all zero .*\(1 such sample\)"):
        refuse_without_direction(rows[:3], "S")
    assert refuse_without_direction(rows[[0, 2]]).shape == (2, 2)


def test_scores_are_cosines_less_penalties():
    rng = np.random.default_rng(2)
    F, P, hubs = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)
    np.testing.assert_allclose(score_samples(F, P, hubs), F @ P.T - hubs)
    found = score_samples(F, P, hubs, [1, 3], 0.5)
    np.testing.assert_allclose(found, F @ P.T - hubs - 0.5 * np.array([0, 1, 0, 1]))


@pytest.mark.parametrize("branching", [2, 3, 4])
def test_superclasses_need_as_many_classes_as_the_square_of_their_number(branching):
    rng = np.random.default_rng(branching)
    for n in (branching**2 - 1, branching**2):
        tree = build_superclasses(
            rng.normal(size=(n, 3)),
            np.arange(n),
            None,
            branching=branching,
            grouping="agglomerative",
            random_state=0,
        )
        assert (tree is None) == (n < branching**2)
    assert tree.sizes[0] == branching**2 // branching
    assert list(tree.names) == [str(i) for i in range(n)]


@pytest.mark.parametrize("name", [True, 2.5, None, ["a"]])
def test_a_class_is_called_by_a_text_or_a_whole_number(name):
    model = ZeroShotClassifier().fit(X, Y, semantics=Z)
    with pytest.raises(InvalidInput, match="a class is called by a text or a whole number"):
        model.add_class(name, Z[0])
    for number in (C, np.int64(C + 1)):
        model.add_class(number, Z[0] + 0.1 * number)
    assert model.classes_[-2:].tolist() == [C, C + 1]
    words = ZeroShotClassifier().fit(X, Y, semantics={f"k{i}": z for i, z in enumerate(Z)})
    for wrong in (3, " "):
        with pytest.raises(InvalidInput, match="classes are called by name here"):
            words.add_class(wrong, Z[0])
    assert words.add_class("new", Z[0] + 1).classes_[-1] == "new"


def test_two_classes_have_one_decision():
    """As scikit-learn has it: the second's score less the first's."""
    rows, labels = X[:8], Y[:8]  # two classes of four samples
    for kind in (ZeroShotClassifier, FewShotClassifier):
        model = kind().fit(rows, labels)
        decided = model.decision_function(NEW)
        assert decided.shape == (len(NEW),)
        assert model.predict(NEW).tolist() == (decided > 0).astype(int).tolist()
        scores = model.predict_top_k(NEW, 2, "all")[1]
        np.testing.assert_allclose(np.abs(decided), scores[:, 0] - scores[:, 1])


def test_prototypes_that_are_no_numbers_are_refused():
    model = ZeroShotClassifier().fit(X, Y, semantics=Z)
    for wrong in (np.zeros((C, 2)), np.full((C, 2), np.nan)):
        with pytest.raises(InvalidInput, match="no class has a prototype"):
            model._checked_prototypes(wrong)
    some = np.zeros((C, 2))
    some[3] = 1  # one of them is enough
    assert model._checked_prototypes(some) is some


def test_iterations_are_the_most_that_any_layer_took():
    params = {"beta": 0.3, "epsilon": 0.1, "tol": 1e-9}
    few = ZeroShotClassifier(**params, inference="paper", max_iter=3).fit(X, Y, semantics=Z)
    assert few.n_iter_ == 3
    once = ZeroShotClassifier(inference="paper").fit(X, Y, semantics=Z)
    assert once.n_iter_ == 1
