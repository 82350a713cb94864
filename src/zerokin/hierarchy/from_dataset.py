"""The hierarchy of a data set's classes, and all drawings of it in one folder."""

from __future__ import annotations

from typing import Literal

from zerokin.data.dataset import Dataset
from zerokin.errors import InvalidInput
from zerokin.hierarchy.class_hierarchy import ClassHierarchy

Grouping = Literal["kmeans", "agglomerative", "taxonomy"]


def build_hierarchy(
    dataset: Dataset,
    grouping: Grouping = "kmeans",
    *,
    branching: int = 2,
    random_state: int = 0,
) -> ClassHierarchy:
    """Group the classes of a data set by their semantics or by the taxonomy it knows.

    Clusters are named by the attributes that set them apart, where the attributes have names.

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
    return tree.named_by(classes.attribute_names) if classes.attribute_names else tree
