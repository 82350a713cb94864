"""Kinship, offsets, hubness and pruning against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from zerokin.classifiers.class_labels import KnownClasses, candidate_positions, class_names
from zerokin.classifiers.hubness import hubness
from zerokin.classifiers.nearest_prototype import cosine_scores, nearest_prototype
from zerokin.classifiers.prototypes import PrototypeRule
from zerokin.classifiers.pruning import surviving_classes
from zerokin.classifiers.ranking import ranked
from zerokin.classifiers.residual_correction import (
    semantic_kernel,
    superclass_kernel,
    weigh_residuals,
)
from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy

RNG = np.random.default_rng(3)
Z = RNG.normal(size=(24, 6))
TREE = ClassHierarchy.from_semantics(Z, 2)


def test_kinship_counts_shared_superclasses():
    K = superclass_kernel(TREE, decay=0.3)
    for a, b in itertools.product(range(24), repeat=2):
        expected = sum(
            0.3 ** (layer - 1)
            for layer in range(1, TREE.n_layers + 1)
            if TREE.labels(layer)[a] == TREE.labels(layer)[b]
        )
        assert abs(K[a, b] - expected) < 1e-12


def test_offsets_are_the_posterior_mean_of_superclass_effects():
    """The kernel formula equals ridge regression on one indicator column per superclass."""
    seen = np.arange(18)
    means, projected = RNG.normal(size=(18, 5)), RNG.normal(size=(24, 5))
    decay, shrinkage = 0.5, 1.7
    columns = []
    for layer in range(1, TREE.n_layers + 1):
        indicator = np.eye(TREE.sizes[layer - 1])[TREE.labels(layer)]
        columns.append(indicator * np.sqrt(decay ** (layer - 1)))
    design = np.hstack(columns)
    gram = design[seen].T @ design[seen] + shrinkage * np.eye(design.shape[1])
    effects = np.linalg.solve(gram, design[seen].T @ (means - projected[seen]))
    K = superclass_kernel(TREE, decay=decay)
    residuals = weigh_residuals(projected[seen], means, K[:18, :18], noise=shrinkage)
    np.testing.assert_allclose(K[:, :18] @ residuals, design @ effects, atol=1e-10)


def test_without_noise_a_class_alone_in_its_superclasses_gets_its_mean():
    alone = ClassHierarchy([[0, 1, 2]])
    means = RNG.normal(size=(3, 4))
    W, semantics = RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))
    K = superclass_kernel(alone, decay=1.0)
    rule = PrototypeRule.learn(W, semantics, means, K, noise=1e-12)
    expected = means / np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(rule.prototypes(semantics, K), expected, atol=1e-9)


def test_without_kin_prototypes_are_the_directions_of_projected_semantics():
    W, semantics, means = RNG.normal(size=(4, 6)), Z[:5], RNG.normal(size=(5, 4))
    prototypes = PrototypeRule.learn(W, semantics, means, None, noise=1).prototypes(Z, None)
    for row, z in zip(prototypes, Z, strict=True):
        direction = W @ z
        sign = np.sign(np.sum((semantics @ W.T) * means))
        np.testing.assert_allclose(row, sign * direction / np.linalg.norm(direction), atol=1e-12)


def test_hubness_is_the_mean_of_the_nearest_means():
    prototypes, means = RNG.normal(size=(7, 5)), RNG.normal(size=(11, 5))
    found = hubness(prototypes, means, n_neighbors=3)
    for value, row in zip(found, prototypes, strict=True):
        products = sorted((float(row @ mean) for mean in means), reverse=True)
        assert abs(value - np.mean(products[:3])) < 1e-12
    everything = hubness(prototypes, means, n_neighbors=99)
    np.testing.assert_allclose(everything, (prototypes @ means.T).mean(axis=1))


def test_pruning_equals_a_plain_walk_down_the_tree():
    candidates = np.array([0, 3, 4, 8, 9, 15, 20, 23])
    scores = [RNG.normal(size=(30, size)) for size in TREE.sizes]
    for keep in (1, 2, 3):
        found = surviving_classes(scores, TREE, candidates, keep=keep)
        for sample in range(30):
            alive = None
            for layer in range(TREE.n_layers, 0, -1):
                nodes = {int(TREE.labels(layer)[c]) for c in candidates}
                if alive is not None:
                    nodes = {n for n in nodes if int(TREE.parents(layer)[n]) in alive}
                alive = set(sorted(nodes, key=lambda n: -scores[layer - 1][sample, n])[:keep])
            expected = [int(TREE.labels(1)[c]) in alive for c in candidates]
            assert found[sample].tolist() == expected


@pytest.mark.parametrize("seed", range(6))
def test_semantic_kinship_is_a_gaussian_of_the_median_distance(seed):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** -(seed % 3)
    classes = scale * rng.normal(size=(int(rng.integers(2, 9)), 3))
    seen = scale * rng.normal(size=(2 + seed, 3))
    width = rng.uniform(0.2, 3)
    among = [np.sum((a - b) ** 2) for a, b in itertools.combinations(seen, 2)]
    found = semantic_kernel(classes, seen, width=width)
    for a, b in itertools.product(range(len(classes)), range(len(seen))):
        near = np.exp(-np.sum((classes[a] - seen[b]) ** 2) / (width * np.median(among)))
        assert found[a, b] == pytest.approx(near)


def test_semantic_kinship_of_one_seen_class_takes_the_width_itself():
    for seen in (np.zeros((1, 2)), np.zeros((3, 2))):
        found = semantic_kernel(np.array([[1.0, 2.0]]), seen, width=0.7)
        np.testing.assert_allclose(found, np.exp(-5 / 0.7))


@pytest.mark.parametrize("seed", range(6))
def test_ranked_and_nearest_equal_plain_sorting(seed):
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(1, 9)), int(rng.integers(2, 9))
    scores = rng.integers(4, size=(n, classes)).astype(float)
    for k in range(1, classes + 2):
        order, values = ranked(scores, k)
        for row, places, best in zip(scores, order, values, strict=True):
            expected = sorted(range(classes), key=lambda c: (-row[c], c))[:k]
            assert places.tolist() == expected
            assert best.tolist() == [row[c] for c in expected]
    samples, prototypes = rng.normal(size=(n, 5)), rng.normal(size=(classes, 5))
    cosines = cosine_scores(samples, prototypes)
    candidates = np.sort(rng.permutation(classes)[: classes // 2 + 1])
    named = nearest_prototype(samples, prototypes, candidates)
    for sample in range(n):
        expected = [
            samples[sample] @ p / (np.linalg.norm(samples[sample]) * np.linalg.norm(p))
            for p in prototypes
        ]
        np.testing.assert_allclose(cosines[sample], expected, atol=1e-12)
        assert named[sample] == max(candidates, key=lambda c: expected[c])


@pytest.mark.parametrize("wrong", [[], [[0]], [0.5], [-1], [3]])
def test_candidates_that_are_no_positions_are_named(wrong):
    with pytest.raises(InvalidInput, match=r"candidates must be .*positions of classes"):
        nearest_prototype(np.ones((1, 2)), np.ones((3, 2)), wrong)


def test_samples_of_another_width_are_named():
    with pytest.raises(InvalidInput, match="projected has 2 columns, but prototypes 3"):
        cosine_scores(np.ones((1, 2)), np.ones((4, 3)))
    with pytest.raises(InvalidInput, match="k must be a whole number from 1"):
        ranked(np.ones((1, 2)), 0)


def test_positions_of_classes_by_name_and_by_number():
    words = KnownClasses(np.array(["otter", "lynx", "asp"]), np.eye(3))
    assert len(words) == 3
    assert words.positions(["asp", "otter", "asp"], "y").tolist() == [2, 0, 2]
    assert words.positions([0, 2], "y").tolist() == [0, 2]
    assert words.positions([], "y").tolist() == []
    numbers = KnownClasses(np.array([7, 3]), np.eye(2))
    assert numbers.positions([3, 7], "y").tolist() == [1, 0]
    for labels, message in (
        ([3], "y: there is no class 3 among 3"),
        ([-1], "y: there is no class -1 among 3"),
        (["lynxx"], "y: unknown class 'lynxx'.*did you mean 'lynx'"),
        (["zebra"], "y: unknown class 'zebra'"),
        ([["asp"]], r"y must be a list of classes: got shape \(1, 1\)"),
    ):
        with pytest.raises(InvalidInput, match=message):
            words.positions(labels, "y")
    with pytest.raises(InvalidInput, match="y: unknown class '4'"):
        numbers.positions([4], "y")


def test_candidates_by_kind_or_by_name():
    words = KnownClasses(np.array(["otter", "lynx", "asp"]), np.eye(3))
    seen = np.array([1])
    for candidates, expected in (
        (None, [0, 2]),
        ("unseen", [0, 2]),
        ("seen", [1]),
        ("all", [0, 1, 2]),
        (["asp", "lynx", "asp"], [1, 2]),
    ):
        assert candidate_positions(candidates, words, seen).tolist() == expected
    assert candidate_positions(None, words, np.arange(3)).tolist() == [0, 1, 2]
    with pytest.raises(InvalidInput, match=r"is none of .*did you mean 'seen'"):
        candidate_positions("sen", words, seen)
    with pytest.raises(InvalidInput, match="leaves no class to choose from"):
        candidate_positions("unseen", words, np.arange(3))


def test_names_of_classes_are_all_of_one_kind_and_differ():
    assert class_names(["b", "a"]).tolist() == ["b", "a"]
    assert class_names([4, 2]).tolist() == [4, 2]
    for names, message in (
        (["lynx", 3], "all be texts, or all whole numbers: got 3"),
        ([3, "lynx"], "all be texts, or all whole numbers: got 'lynx'"),
        (["asp", "lynx", "asp"], "must differ: 'asp' stands there twice"),
        ([2, 5, 5], "must differ: 5 stands there twice"),
    ):
        with pytest.raises(InvalidInput, match=message):
            class_names(names)


def test_semantics_of_every_kind_become_names_and_vectors():
    by_map = KnownClasses.from_labels({"asp": [1, 2], "lynx": [3, 4]}, np.array(["asp"]))
    assert by_map.names.tolist() == ["asp", "lynx"]
    np.testing.assert_array_equal(by_map.vectors, [[1, 2], [3, 4]])
    by_row = KnownClasses.from_labels([[1.0], [2.0], [5.0]], np.array([0]))
    assert by_row.names.tolist() == [0, 1, 2]
    without = KnownClasses.from_labels(None, np.array(["b", "a", "b"]))
    assert without.names.tolist() == ["a", "b"]
    np.testing.assert_array_equal(without.vectors, np.eye(2))
    for wrong in ([1.0, 2.0], np.empty((0, 3)), np.empty((3, 0))):
        with pytest.raises(InvalidInput, match="semantics must be a matrix"):
            KnownClasses.from_labels(wrong, np.array([0]))
