"""The hierarchy of a data set's classes, and all drawings of it in one folder."""

from __future__ import annotations

from typing import Literal

from zerokin.data.classes import ClassTable
from zerokin.data.dataset import Dataset
from zerokin.errors import InvalidInput
from zerokin.hierarchy.class_hierarchy import ClassHierarchy
from zerokin.hierarchy.wordnet import common_hypernyms
from zerokin.semantics.hypernyms import hypernym_paths
from zerokin.semantics.wordnet_nouns import usual_folder

Grouping = Literal["kmeans", "agglomerative", "taxonomy"]


def build_hierarchy(
    dataset: Dataset,
    grouping: Grouping = "kmeans",
    *,
    branching: int = 2,
    random_state: int = 0,
) -> ClassHierarchy:
    """Group the classes of a data set by their semantics or by the taxonomy it knows.

    Clusters get the names of `readable_names`.

    Examples
    --------
    >>> import zerokin
    >>> build_hierarchy(zerokin.load_dataset("critters"), branching=3).sizes
    [20, 6]
    """
    classes = dataset.classes
    if grouping == "taxonomy":
        if classes.taxonomy is None:
            remedy = (
                "put WordNet 3.0's data.noun into the folder wordnet of its data"
                if dataset.name == "ImNet"
                else "add order, family and genus columns to classes.csv"
            )
            raise InvalidInput(
                f"{dataset.name} knows no taxonomy of its classes: group them by kmeans, or "
                f"{remedy}"
            )
        semantics = None if classes.vectors is None else classes.semantics
        return ClassHierarchy.from_taxonomy(
            classes.taxonomy,
            names=classes.names,
            semantics=semantics,
            ranks=classes.taxonomy_ranks,
        )
    tree = ClassHierarchy.from_semantics(
        classes.semantics, branching, random_state, names=classes.names, method=grouping
    )
    return readable_names(tree, classes)


def readable_names(tree: ClassHierarchy, classes: ClassTable) -> ClassHierarchy:
    """Return clusters with names: by attributes, by WordNet where it is installed, or by members.

    Parameters
    ----------
    tree
        With the vectors of its classes; one that has names keeps them.
    classes
        The same classes in the same order: with the names of attributes, or their wnids.
    """
    if tree.has_node_names:
        return tree
    return tree.named_by(classes.attribute_names, concepts=_concepts(tree, classes))


def _concepts(tree: ClassHierarchy, classes: ClassTable) -> list[list[str | None]] | None:
    folder = usual_folder()
    if classes.wnids is None or not (folder / "data.noun").is_file():
        return None
    try:
        above = hypernym_paths(classes.wnids, folder)
    except InvalidInput:  # another version of WordNet, which has not these concepts
        return None
    named = zip(classes.wnids, classes.names, strict=True)
    paths = [(*above[wnid], f"{name}#{wnid}") for wnid, name in named]
    return common_hypernyms(paths, [tree.labels(1 + at) for at in range(tree.n_layers)])
