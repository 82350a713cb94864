"""Fitting the classifier to a data set, its hyper-parameters chosen on validation classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.data.dataset import Dataset
from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy
from zerokin.hierarchy.from_dataset import build_hierarchy
from zerokin.selection.class_fold_search import ClassFoldSearch
from zerokin.selection.staged_search import Trial
from zerokin.selection.zero_shot_space import Ours, OursByTaxonomy

CLUSTERING = ("grouping", "branching")


class Chosen(NamedTuple):
    """What validation classes prefer."""

    params: dict[str, Any]
    """of `ZeroShotClassifier`"""
    best: Trial
    tried: int
    by_taxonomy: bool
    """superclasses are those of the data's taxonomy, not clusters"""


def choose_parameters(
    dataset: Dataset,
    *,
    tune: bool = True,
    taxonomy_only: bool = False,
    random_state: int = 0,
    quiet: bool = False,
) -> Chosen:
    """Choose hyper-parameters and calibration for seen and unseen classes together.

    Where the data knows a taxonomy, its superclasses compete with clusters.

    Parameters
    ----------
    dataset
        Features and classes, with validation folds.
    tune
        Choose hyper-parameters; otherwise they are the defaults, and only the calibration is
        chosen.
    taxonomy_only
        Superclasses will be the taxonomy's, so that clusters do not compete.
    random_state
        Seed.
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
        search = ClassFoldSearch(method, random_state=random_state, quiet=quiet).prepare(dataset)
        found.append((search.choose("generalized").best, method))
        tried += len(search.tried)
    best, method = max(found, key=lambda one: one[0].score("generalized"))
    by_taxonomy = isinstance(method, OursByTaxonomy)
    params = {**best.params, "calibration": best.calibration}
    if by_taxonomy:
        params = {name: value for name, value in params.items() if name not in CLUSTERING}
    return Chosen(params, best, tried, by_taxonomy)


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
    return dataset.with_classes(replace(dataset.classes, taxonomy=paths))


def fit_classifier(
    dataset: Dataset, *, tune: bool = True, random_state: int = 0, quiet: bool = False
) -> tuple[ZeroShotClassifier, float | None]:
    """Fit a classifier to the training samples of a data set of features.

    Parameters
    ----------
    dataset
        Features and classes.
    tune
        Choose hyper-parameters and calibration on the validation folds, for the generalised
        setting; otherwise the defaults are used.
    random_state
        Seed.
    quiet
        Show no progress.

    Returns
    -------
    classifier, accuracy
        The fitted classifier, and what its choice reached on unseen validation classes (None if
        nothing was tuned).
    """
    params: dict[str, Any] = {}
    accuracy = hierarchy = None
    if tune:
        chosen = choose_parameters(dataset, random_state=random_state, quiet=quiet)
        params, accuracy = chosen.params, chosen.best.score("pure")
        hierarchy = build_hierarchy(dataset, "taxonomy") if chosen.by_taxonomy else None
    model = ZeroShotClassifier(**params, random_state=random_state)
    train = dataset.split.train
    model.fit(
        dataset.finite_features(train),
        dataset.training_labels(),
        semantics=dataset.classes,
        hierarchy=hierarchy,
    )
    return model, accuracy
