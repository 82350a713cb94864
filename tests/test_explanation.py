"""Explanations of an answer against a plain reading of the tree and of the scores."""

from __future__ import annotations

import numpy as np
import pytest

from zerokin.classifiers import ZeroShotClassifier
from zerokin.classifiers.growth import grown_hierarchy
from zerokin.hierarchy import ClassHierarchy

RNG = np.random.default_rng(11)
C, SEEN = 17, 12
Z = RNG.normal(size=(C, 6))
UNIT = Z / np.linalg.norm(Z, axis=1, keepdims=True)
NAMES = [f"kind {chr(97 + i)}" for i in range(C)]
TREE = ClassHierarchy.from_semantics(Z, 2, names=NAMES)
Y = np.repeat(RNG.permutation(C)[:SEEN], 7)
WORLD = RNG.normal(size=(6, 15))
X = Z[Y] @ WORLD + 0.4 * RNG.normal(size=(len(Y), 15))
NEW = RNG.normal(size=(23, 6)) @ WORLD


@pytest.fixture(scope="module", params=["residual", "paper"])
def model(request):
    table = dict(zip(NAMES, Z, strict=True))
    return ZeroShotClassifier(inference=request.param, feature_scaling="unit", top_k=2).fit(
        X, Y, semantics=table, hierarchy=TREE
    )


def shares(a, b):
    return sum(TREE.labels(layer)[a] == TREE.labels(layer)[b] for layer in layers())


def layers():
    return range(1, TREE.n_layers + 1)


@pytest.mark.parametrize("candidates", ["all", "unseen", NAMES[2:11]])
def test_an_answer_is_explained_by_scores_tree_and_semantics(model, candidates):
    """Every field from the k best, from labels of layers, and from cosines of semantics."""
    names, scores = model.predict_top_k(NEW, C, candidates)
    told = set()
    for row, values, found in zip(names, scores, model.explain(NEW, candidates), strict=True):
        alive = {n: v for n, v in zip(row, values, strict=True) if np.isfinite(v)}
        best = NAMES.index(row[0])
        assert (found.name, found.seen) == (row[0], best in set(Y))
        assert found.score == values[0]
        assert list(found.survivors) == list(alive)
        path = []
        for layer in reversed(layers()):
            node = TREE.labels(layer)[best]
            under = [v for n, v in alive.items() if TREE.labels(layer)[NAMES.index(n)] == node]
            path.append((TREE.node_names(layer)[node], max(under)))
        assert list(found.path) == path
        kin = sorted(set(Y) - {best}, key=lambda c: (-shares(c, best), -UNIT[c] @ UNIT[best]))[:3]
        assert [name for name, _ in found.kin] == [NAMES[c] for c in kin]
        np.testing.assert_allclose([cosine for _, cosine in found.kin], UNIT[kin] @ UNIT[best])
        told.add(found.seen)
        assert type(found.score) is float
        assert all(type(score) is float for _, score in (*found.path, *found.kin))
    assert told == ({False} if candidates == "unseen" else {True, False})


def test_without_superclasses_kin_are_the_nearest_by_semantics():
    few = Z[:3]  # too few for a tree
    labels = np.repeat([0, 1], 9)
    rows = few[labels] @ WORLD + 0.1 * RNG.normal(size=(18, 15))
    model = ZeroShotClassifier(feature_scaling="unit", branching=4).fit(rows, labels, semantics=few)
    assert model.hierarchy_ is None
    (found,) = model.explain(NEW[:1])
    assert found.path == ()
    assert [name for name, _ in found.kin] == sorted((0, 1), key=lambda c: -UNIT[c] @ UNIT[2])


@pytest.mark.parametrize("seed", range(5))
def test_a_new_class_joins_the_superclasses_of_the_class_nearest_by_angle(seed):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(C, 6)) * rng.uniform(0.1, 9, size=(C, 1))
    plain = ClassHierarchy.from_semantics(vectors, 2, names=NAMES)
    named = ClassHierarchy(
        [plain.labels(layer) for layer in range(1, plain.n_layers + 1)],
        names=NAMES,
        semantics=vectors,
        node_names=[
            [f"group {layer} {node}" for node in range(plain.sizes[layer - 1])]
            for layer in range(1, plain.n_layers + 1)
        ],
    )
    new = rng.normal(size=6)
    near = max(range(C), key=lambda c: vectors[c] @ new / np.linalg.norm(vectors[c]))
    for tree in (plain, named):
        grown = grown_hierarchy(tree, "newcomer", new)
        assert list(grown.names) == [*NAMES, "newcomer"]
        assert grown.n_layers == tree.n_layers
        np.testing.assert_array_equal(grown.prototypes(0), np.vstack([vectors, new]))
        assert grown.has_node_names == tree.has_node_names
        for layer in range(1, tree.n_layers + 1):
            labels = tree.labels(layer)
            assert grown.labels(layer).tolist() == [*labels, labels[near]]
            if tree is named:
                assert list(grown.node_names(layer)) == list(tree.node_names(layer))
