"""Superclasses: clustered from class vectors or read from a taxonomy, printed and drawn."""

from zerokin.hierarchy.class_hierarchy import ClassHierarchy
from zerokin.hierarchy.layers import layer_sizes
from zerokin.hierarchy.printed import tree_text
from zerokin.hierarchy.sunburst_figure import draw_sunburst
from zerokin.hierarchy.taxonomy_csv import read_taxonomy_csv
from zerokin.hierarchy.tree_figure import draw_tree
from zerokin.hierarchy.tsne_figure import draw_tsne
from zerokin.hierarchy.wordnet import parse_wordnet_path, wordnet_paths

__all__ = [
    "ClassHierarchy",
    "draw_sunburst",
    "draw_tree",
    "draw_tsne",
    "layer_sizes",
    "parse_wordnet_path",
    "read_taxonomy_csv",
    "tree_text",
    "wordnet_paths",
]
