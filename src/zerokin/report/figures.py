"""What every image of a hierarchy shares: colors, layout of classes, text and writing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput
from zerokin.files import replacing
from zerokin.hierarchy.choice import chosen_classes
from zerokin.hierarchy.layered_tree import LayeredTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Unseen = Iterable[int] | Iterable[str] | NDArray[np.bool_] | None

# Blue and vermilion stay apart for every common kind of color blindness (Okabe and Ito), and
# markers differ as well.
SEEN, UNSEEN, SHARED = "#0072B2", "#D55E00", "#7A6C96"
PALE_SEEN, PALE_UNSEEN, PALE_SHARED = "#C9E1F0", "#F8D3B9", "#DFD8EA"
INK, QUIET = "#222222", "#8A8A8A"
MOST_LABELS = 300  # beyond this many classes their names are left out


def names_elsewhere(tree: LayeredTree, layer: int) -> set[str]:
    """Return the names of a superclass layer that its parents or its classes are drawn with.

    One name means one group of classes: those of a chain of one child are drawn once.
    """
    if layer == 0:
        return set()
    above = tree.node_names(layer + 1) if layer < tree.n_layers else ()
    return {*above, *tree.names}


def unseen_mask(tree: LayeredTree, unseen: Unseen) -> NDArray[np.bool_]:
    """Return which classes (C,) are unseen, from a mask, indices or names; ``None`` is none."""
    mask = np.zeros(tree.n_classes, dtype=np.bool_)
    if unseen is not None:
        mask[chosen_classes(unseen, tree.names)] = True
    return mask


def leaf_order(tree: LayeredTree) -> NDArray[np.int64]:
    """Return the classes (C,) so ordered that the members of every node stand together."""
    return np.lexsort([tree.labels(layer) for layer in range(tree.n_layers + 1)]).astype(np.int64)


def node_spans(tree: LayeredTree, layer: int) -> NDArray[np.int64]:
    """Return where the members of each node start and end (r_l, 2) in `leaf_order`."""
    labels = tree.labels(layer)[leaf_order(tree)]
    first = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
    spans = np.empty((len(first), 2), dtype=np.int64)
    spans[labels[first]] = np.c_[first, np.r_[first[1:], len(labels)]]
    return spans


def unseen_share(tree: LayeredTree, layer: int, unseen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the fraction of unseen classes under each node (r_l,)."""
    labels = tree.labels(layer)
    return np.bincount(labels, weights=unseen) / np.bincount(labels)


def color_of(share: float, *, pale: bool = False) -> str:
    """Return the color of a node: seen classes only, unseen classes only, or both."""
    if 0 < share < 1:
        return PALE_SHARED if pale else SHARED
    if pale:
        return PALE_UNSEEN if share else PALE_SEEN
    return UNSEEN if share else SEEN


def shown(name: str, *, most: int = 40) -> str:
    """Return a name as it is printed in an image.

    Examples
    --------
    >>> shown("001.Black_footed_Albatross")
    'Black footed Albatross'
    >>> shown("great crested flycatcher", most=12)
    'great crest…'
    """
    name = " ".join(re.sub(r"^\d+\.(?=\D)", "", name).replace("_", " ").split())
    return name if len(name) <= most else f"{name[: most - 1]}…"


def text_width(text: str, size: float) -> float:
    """Return how wide a text is in inches at a font size in points."""
    return _unit_width(text) * size


@lru_cache(maxsize=4096)
def _unit_width(text: str) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    # Measured large, because small sizes are rounded to whole pixels.
    width, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(size=100), ismath=False
    )
    return float(width) / 100 / 72


def summary(tree: LayeredTree, unseen: NDArray[np.bool_]) -> str:
    """Say in one line what a hierarchy holds."""
    classes = f"{tree.n_classes} classes"
    if unseen.any():
        classes = f"{(~unseen).sum()} seen and {unseen.sum()} unseen classes"
    plural = "s" if tree.n_layers > 1 else ""
    sizes = ", ".join(map(str, tree.sizes))
    return f"{classes}  ·  superclass layer{plural} of {sizes}"


def blank_figure(width: float, height: float) -> Figure:
    """Return an empty figure (inches) that is not known to pyplot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def checked_image_path(path: str | os.PathLike[str]) -> Path:
    """Return the path if its suffix names a kind of image that can be written."""
    path = Path(path)
    if path.suffix.lower() not in (".png", ".svg"):
        raise InvalidInput(f"cannot draw to {path}: the name must end in .png or .svg")
    return path


def write_figure(figure: Figure, path: Path, *, dpi: int = 150) -> None:
    """Write a figure as PNG or SVG, whole or not at all, the same bytes for the same figure."""
    from matplotlib import rc_context

    metadata = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}
    with replacing(path) as temporary, rc_context({"svg.hashsalt": "zerokin"}):
        figure.savefig(temporary, dpi=dpi, metadata=metadata)
