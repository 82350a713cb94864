"""A hierarchy saved and drawn in every way there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerokin.hierarchy import ClassHierarchy
from zerokin.report.sunburst_figure import draw_sunburst
from zerokin.report.tree_figure import draw_tree
from zerokin.report.tsne_figure import draw_tsne


def draw_all(
    tree: ClassHierarchy, unseen: NDArray[np.bool_], folder: Path, *, suffix: str = "png"
) -> Iterator[Path]:
    """Save a hierarchy and draw it as tree, sunburst and t-SNE, yielding what was written."""
    tree.save(folder / "hierarchy.json")
    yield folder / "hierarchy.json"
    for name, draw in (("tree", draw_tree), ("sunburst", draw_sunburst), ("tsne", draw_tsne)):
        if name == "tsne" and not tree.has_semantics:
            continue
        path = folder / f"{name}.{suffix}"
        draw(tree, path, unseen=unseen)
        yield path
