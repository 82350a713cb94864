"""A hierarchy beside classes: matched by name, by order where there are no names, or refused."""

from __future__ import annotations

import numpy as np
import pytest

from api_problem import NAMES, NEW, SHOTS, TREE, UNNAMED, C, X, Y, Z
from zerokin.classifiers import FewShotClassifier, ZeroShotClassifier
from zerokin.data import ClassTable
from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy, renamed_hierarchy

TABLE = ClassTable(tuple(NAMES), Z)
ORDERS = [np.random.default_rng(seed).permutation(C) for seed in range(4)]
OTHER = renamed_hierarchy(TREE, [*NAMES[:4], "unicorn", *NAMES[5:]])


def zero_shot(tree, inference="residual"):
    return ZeroShotClassifier(inference=inference).fit(X, Y, semantics=TABLE, hierarchy=tree)


def few_shot(tree, inference="residual"):
    model = FewShotClassifier(ZeroShotClassifier(inference=inference))
    return model.fit(X, Y, semantics=TABLE, hierarchy=tree, shots=SHOTS, shot_labels=NAMES[6:])


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("inference", ["residual", "paper"])
@pytest.mark.parametrize("fitted", [zero_shot, few_shot])
def test_the_order_of_a_hierarchys_classes_changes_nothing(fitted, inference, order):
    straight, turned = fitted(TREE, inference), fitted(TREE.select(order), inference)
    expected, found = (model.predict_top_k(NEW, 3, NAMES) for model in (straight, turned))
    assert np.array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], atol=1e-12)


@pytest.mark.parametrize("fitted", [zero_shot, few_shot])
def test_a_hierarchy_of_other_classes_is_refused_by_the_first_that_differs(fitted):
    with pytest.raises(InvalidInput, match=f"no class '{NAMES[4]}', which is class 4 of semantics"):
        fitted(OTHER)
    near = renamed_hierarchy(TREE, [*NAMES[:-1], "kind zz"])
    with pytest.raises(InvalidInput, match="did you mean 'kind zz'"):
        fitted(near)


@pytest.mark.parametrize("fitted", [zero_shot, few_shot])
def test_a_hierarchy_without_names_counts_by_position(fitted):
    np.testing.assert_array_equal(
        fitted(UNNAMED).decision_function(NEW), fitted(TREE).decision_function(NEW)
    )


@pytest.mark.parametrize("kind", [ZeroShotClassifier, FewShotClassifier])
def test_rows_of_a_matrix_count_by_position(kind):
    """Whatever the hierarchy calls its classes, counted from 1 included."""
    expected = kind().fit(X, Y, semantics=Z, hierarchy=UNNAMED).decision_function(NEW)
    for names in (NAMES, [str(i + 1) for i in range(C)], [f"{i}" for i in range(C)]):
        tree = renamed_hierarchy(TREE, names)
        found = kind().fit(X, Y, semantics=Z, hierarchy=tree).decision_function(NEW)
        np.testing.assert_array_equal(found, expected)


def test_few_shot_leaves_out_classes_without_semantics():
    vectors = Z.copy()
    vectors[7] = 0
    table = ClassTable(tuple(NAMES), vectors)
    small = TREE.select([i for i in range(C) if i != 7])
    scores = [
        FewShotClassifier().fit(X, Y, semantics=table, hierarchy=tree).decision_function(NEW)
        for tree in (TREE, TREE.select(ORDERS[0]), small)
    ]
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-12)
    np.testing.assert_allclose(scores[2], scores[0], atol=1e-12)


def test_what_is_no_hierarchy_is_refused():
    with pytest.raises(InvalidInput, match="hierarchy must be a ClassHierarchy: got 3"):
        aligned_hierarchy(3, NAMES)
    with pytest.raises(InvalidInput, match="the hierarchy has 2 classes, but the data set 9"):
        aligned_hierarchy(ClassHierarchy([[0, 1]]), NAMES, beside="the data set")
