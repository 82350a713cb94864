"""Choosing the classifier's hyper-parameters, and whose superclasses, on validation classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from zerokin.data.dataset import Dataset
from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy
from zerokin.hierarchy.from_dataset import build_hierarchy
from zerokin.selection.class_fold_search import ClassFoldSearch
from zerokin.selection.zero_shot_space import Ours, OursByTaxonomy

CLUSTERING = ("grouping", "branching")


class Chosen(NamedTuple):
    """What validation classes prefer; by default nothing was asked of them."""

    params: Mapping[str, Any] = {}
    """of `ZeroShotClassifier`"""
    metrics: Mapping[str, Any] | None = None
    """what they reached, how many were tried and on which folds"""
    by_taxonomy: bool = False
    """superclasses are those of the data's taxonomy, not clusters"""


def choose_parameters(
    dataset: Dataset,
    *,
    tune: bool = True,
    taxonomy_only: bool = False,
    random_state: int = 0,
    folder: Path | None = None,
    memory_budget: int | str | None = None,
    quiet: bool = False,
) -> Chosen:
    """Choose hyper-parameters and seen penalty for seen and unseen classes together.

    Where the data knows a taxonomy, its superclasses compete with clusters.

    Parameters
    ----------
    dataset
        Features and classes, with validation folds.
    tune
        Choose hyper-parameters; otherwise they are the defaults, and only the seen penalty is
        chosen.
    taxonomy_only
        Superclasses will be the taxonomy's, so that clusters do not compete.
    random_state
        Seed.
    folder
        Where trials are kept, so that a choice that was interrupted goes on.
    memory_budget
        Of `ClassFoldSearch`.
    quiet
        Show no progress.
    """
    grouped = (taxonomy_only or tune) and _taxonomy_groups(dataset)
    methods: list[Ours] = [] if taxonomy_only and grouped else [Ours()]
    if grouped:
        methods.append(OursByTaxonomy())
    found, tried = [], 0
    for method in methods:
        if not tune:
            method.stages = ([{}],)
        search = ClassFoldSearch(
            method,
            random_state=random_state,
            folder=folder,
            memory_budget=memory_budget,
            quiet=quiet,
        ).prepare(dataset)
        found.append((search.choose("generalized").best, search))
        tried += len(search.tried)
    best, search = max(found, key=lambda one: one[0].score("generalized"))
    by_taxonomy = isinstance(search.method, OursByTaxonomy)
    params = {**best.params, "seen_penalty": best.seen_penalty}
    if by_taxonomy:
        params = {name: value for name, value in params.items() if name not in CLUSTERING}
    metrics = {
        "folds": search.described_folds,
        "tried": tried,
        "unseen_among_unseen": best.score("pure"),
        **search.report(best).as_metrics(),
    }
    return Chosen(params, metrics, by_taxonomy)


def _taxonomy_groups(dataset: Dataset) -> bool:
    """Tell whether there is a taxonomy that groups all classes, and those of every fold."""
    if dataset.classes.taxonomy is None:
        return False
    folds = (dataset.fold(number) for number in range(1, len(dataset.split.folds) + 1))
    try:
        for one in (dataset, *folds):
            build_hierarchy(one, "taxonomy")
    except InvalidInput:
        return False
    return True


def with_taxonomy_of(dataset: Dataset, hierarchy: ClassHierarchy) -> Dataset:
    """Return the data set with the superclasses of a hierarchy of its classes for a taxonomy."""
    hierarchy = aligned_hierarchy(hierarchy, dataset.classes.names, beside="the data set")
    layers = range(hierarchy.n_layers, 0, -1)
    labels = np.stack([hierarchy.labels(layer) for layer in layers], axis=1)
    paths = tuple(tuple(map(str, path)) for path in labels.tolist())
    return dataset.with_classes(replace(dataset.classes, taxonomy=paths, taxonomy_ranks=None))
