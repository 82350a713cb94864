"""The hierarchy as indented text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zerokin.hierarchy.layered_tree import LayeredTree
from zerokin.report.figures import Unseen, unseen_mask

if TYPE_CHECKING:
    from rich.tree import Tree


def tree_text(tree: LayeredTree, unseen: Unseen = None) -> Tree:
    """Return a hierarchy to print with rich, top layer first; unseen classes are marked ``*``.

    Parameters
    ----------
    tree
        The hierarchy.
    unseen
        Unseen classes: a boolean mask (C,), indices or names.

    Examples
    --------
    >>> from rich.console import Console
    >>> from zerokin.hierarchy import ClassHierarchy
    >>> pets = ClassHierarchy.from_taxonomy(
    ...     {"lynx": ["cat"], "puma": ["cat"], "wolf": ["dog"]}
    ... )
    >>> Console(width=60).print(tree_text(pets, unseen=["puma"]))
    3 classes: 2 seen, 1 unseen (*)
    ├── cat (2 classes)
    │   ├── lynx
    │   └── puma *
    └── dog (1 class)
        └── wolf
    """
    from rich.text import Text
    from rich.tree import Tree

    mask = unseen_mask(tree, unseen)
    counts = f"{tree.n_classes} classes"
    if mask.any():
        counts += f": {(~mask).sum()} seen, {mask.sum()} unseen (*)"
    printed = Tree(Text(counts, style="bold"), guide_style="dim")
    for node in range(tree.sizes[-1]):
        _branch(printed, tree, tree.n_layers, node, mask)
    return printed


def _branch(above: Tree, tree: LayeredTree, layer: int, node: int, mask: NDArray[np.bool_]) -> None:
    from rich.text import Text

    # Text rather than markup: names may hold brackets.
    name = tree.node_names(layer)[node]
    # A chain of nodes with one child each is one group: its names stand in one line.
    while layer and len(children := tree.children(layer, node)) == 1:
        below = tree.node_names(layer - 1)[children[0]]
        if layer == 1 and below != name:
            break
        layer, node = layer - 1, int(children[0])
        name = below if below == name or layer == 0 else f"{name} > {below}"
    if layer == 0:
        above.add(
            Text(f"{name} *", style="dark_orange") if mask[node] else Text(name, style="blue")
        )
        return
    n = len(tree.members(layer, node))
    label = Text(name, style="default")
    label.append(f" ({n} class{'' if n == 1 else 'es'})", style="dim")
    branch = above.add(label)
    for child in tree.children(layer, node).tolist():
        _branch(branch, tree, layer - 1, child, mask)
