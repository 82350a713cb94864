"""Tables, figures and pages made of results."""

from zerokin.report.printed_tree import tree_text
from zerokin.report.sunburst_figure import draw_sunburst
from zerokin.report.tree_figure import draw_tree
from zerokin.report.tsne_figure import draw_tsne

__all__ = ["draw_sunburst", "draw_tree", "draw_tsne", "tree_text"]
