"""Kinship, offsets, hubness and pruning against brute force."""

from __future__ import annotations

import itertools

import numpy as np

from zerokin.classifiers.hubness import hubness
from zerokin.classifiers.prototypes import PrototypeRule
from zerokin.classifiers.pruning import surviving_classes
from zerokin.classifiers.residual_correction import superclass_kernel, weigh_residuals
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
