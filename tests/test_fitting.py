"""Choosing between clusters and a taxonomy: by validation classes, and only where it groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from few_shot_data import clustered_dataset
from zerokin import ClassHierarchy
from zerokin.recognizer import fit_recognizer
from zerokin.selection.class_fold_search import ClassFoldSearch
from zerokin.selection.fitting import choose_parameters, with_taxonomy_of
from zerokin.selection.zero_shot_space import Ours, OursByTaxonomy

DATASET = clustered_dataset(n_train=18, n_validation=8, n_test=6, per_class=10)


def offset_by_group(strength, seed=0):
    """Return the data set with groups of classes that are shifted alike, beyond their semantics."""
    rng = np.random.default_rng(seed)
    groups = np.arange(len(DATASET.classes)) % 5
    labels = DATASET.evaluation_labels(np.arange(len(DATASET)))
    shifts = strength * rng.normal(size=(5, 24))
    features = np.asarray(DATASET.features) + shifts[groups[labels]]
    paths = tuple((f"group {g}",) for g in groups)
    return DATASET.with_classes(replace(DATASET.classes, taxonomy=paths)).with_inputs(
        features.astype(np.float32)
    )


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """One trial for each method, with offsets by superclasses alone."""
    trial = {"semantic_variance": 0.0, "noise": 1.0, "layer_decay": 1.0}
    for method in (Ours, OursByTaxonomy):
        monkeypatch.setattr(method, "stages", ([trial],))


def test_a_taxonomy_that_says_more_than_clusters_is_taken():
    data = offset_by_group(2.0)
    chosen = choose_parameters(data, quiet=True)
    assert chosen.by_taxonomy
    scores = [
        ClassFoldSearch(method(), quiet=True).fit(data).best_score_
        for method in (Ours, OursByTaxonomy)
    ]
    assert chosen.metrics["harmonic_mean"] == max(scores) == scores[1]
    assert chosen.metrics["tried"] == 2
    assert not {"grouping", "branching"} & set(chosen.params)
    fitted = fit_recognizer(data, calibrated=False, quiet=True)
    assert sorted(fitted.hierarchy.node_names(1)) == [f"group {g}" for g in range(5)]
    assert fitted.metrics["validation"] == chosen.metrics
    assert fitted.classifier.get_params() == {
        **fitted.classifier.get_params(),
        **chosen.params,
    }
    said = fitted.about["training"]["superclasses of the classifier"]
    assert said == "5 (the taxonomy of the data)"


def test_a_taxonomy_that_groups_nothing_or_is_not_there_does_not_compete():
    alone = tuple((name,) for name in DATASET.classes.names)
    for paths in (alone, None):
        data = DATASET.with_classes(replace(DATASET.classes, taxonomy=paths))
        chosen = choose_parameters(data, taxonomy_only=True, quiet=True)
        assert not chosen.by_taxonomy
        assert chosen.params["grouping"] == "agglomerative"


def test_without_tuning_clusters_are_used_unless_superclasses_are_given():
    data = offset_by_group(2.0)
    assert not choose_parameters(data, tune=False, quiet=True).by_taxonomy
    given = choose_parameters(data, tune=False, taxonomy_only=True, quiet=True)
    assert given.by_taxonomy
    assert given.params["semantic_variance"] == 9.0  # the default


def test_a_hierarchy_becomes_a_taxonomy_of_the_same_superclasses():
    tree = ClassHierarchy.from_semantics(DATASET.semantics, 2)
    data = with_taxonomy_of(DATASET, tree)
    again = ClassHierarchy.from_taxonomy(data.classes.taxonomy)
    assert again.sizes == tree.sizes
    for layer in range(1, tree.n_layers + 1):
        pairs = set(zip(tree.labels(layer).tolist(), again.labels(layer).tolist(), strict=True))
        assert len(pairs) == tree.sizes[layer - 1]  # the same groups, numbered somehow
