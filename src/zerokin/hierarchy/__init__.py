"""Superclasses: clustered from class vectors or read from a taxonomy."""

from zerokin.hierarchy.class_hierarchy import ClassHierarchy
from zerokin.hierarchy.layers import layer_sizes
from zerokin.hierarchy.taxonomy_csv import read_taxonomy_csv
from zerokin.hierarchy.wordnet import parse_wordnet_path, wordnet_paths

__all__ = [
    "ClassHierarchy",
    "layer_sizes",
    "parse_wordnet_path",
    "read_taxonomy_csv",
    "wordnet_paths",
]
