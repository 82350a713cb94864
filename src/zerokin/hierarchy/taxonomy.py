"""Superclasses that people have drawn up: taxonomies, of whatever depth and with gaps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from zerokin.errors import InvalidInput, did_you_mean, shown
from zerokin.hierarchy.naming import choose_names, member_candidates
from zerokin.hierarchy.wordnet import without_wnid

# A step of a path: a node's name, or the fact that it is unknown (None) or was filled in from
# below (a name in a tuple, so that it never equals a name somebody wrote).
Step = str | tuple[str] | None
Path = tuple[Step, ...]


def taxonomy_layers(
    paths: Sequence[Sequence[str | None]], names: Sequence[str]
) -> tuple[list[NDArray[np.int64]], list[list[str]], list[int]]:
    """Turn one path per class into layers of superclasses.

    A node is its whole path, so equal names under different parents are different nodes. A
    class whose path is shorter than others, or has a gap, stays in its deepest known node on the
    layers in between; a gap at the top is filled with the first known name. Layers that say
    nothing are dropped: a single node for all classes, every class on its own, or the same groups
    as the layer below.

    Parameters
    ----------
    paths
        For each of C classes, the names of its superclasses from the most general to the most
        specific, the class itself excluded; ``""`` or ``None`` where a level is unknown.
    names
        Class names, for messages.

    Returns
    -------
    layers : list of ndarray of int, each (C,)
        Node of each class, bottom to top; nodes are numbered by their first class.
    node_names : list of list of str
        Names of the nodes of each layer; one name means one group of classes.
    depths : list of int
        How many steps of a path lead to each layer.

    Examples
    --------
    >>> layers, node_names, depths = taxonomy_layers(
    ...     [("mammal", "cat"), ("mammal", "cat"), ("mammal", "dog"), ("bird",), ("bird",)],
    ...     ["lynx", "puma", "wolf", "heron", "wren"],
    ... )
    >>> layers
    [array([0, 0, 1, 2, 2]), array([0, 0, 0, 1, 1])]
    >>> node_names
    [['cat', 'dog', 'bird'], ['mammal', 'bird']]
    >>> depths
    [2, 1]
    """
    cleaned = [_cleaned(path, name) for path, name in zip(paths, names, strict=True)]
    layers: list[NDArray[np.int64]] = []
    possible: list[list[list[str]]] = []
    depths: list[int] = []
    # From the deepest layer up, so that of equal layers the most specific names stay.
    for depth in range(max(map(len, cleaned)), 0, -1):
        nodes: dict[Path, int] = {}
        labels = np.array([nodes.setdefault(_known(p[:depth]), len(nodes)) for p in cleaned])
        speaks = 1 < len(nodes) < len(cleaned)
        # Of two nested partitions, equal numbers of nodes mean equal groups.
        if speaks and not (possible and len(possible[-1]) == len(nodes)):
            layers.append(labels)
            members = member_candidates(labels, names, None)
            wanted = zip(nodes, members, strict=True)
            possible.append([_possible_names(node, depth, own) for node, own in wanted])
            depths.append(depth)
    if not layers:
        raise InvalidInput(
            f"the taxonomy puts the {len(cleaned)} classes into no groups: at some level at least "
            "two classes must share a superclass that others do not"
        )
    classes = np.arange(len(names))
    return layers, choose_names([classes, *layers], names, possible, share=False), depths


def listed_paths(
    paths: Mapping[str, Sequence[str | None]] | Sequence[Sequence[str | None]],
    names: Sequence[str] | None,
) -> tuple[list[Sequence[str | None]], Sequence[str] | None]:
    """Return a list of paths and the class names that go with it, from paths by name or listed.

    Examples
    --------
    >>> listed_paths({"lynx": ("cat",), "wolf": ("dog",)}, ["wolf"])
    ([('dog',)], ['wolf'])
    """
    if isinstance(paths, Mapping):
        names = list(paths) if names is None else list(checked_iterable(names))
        absent = next((name for name in names if name not in paths), None)
        if absent is not None:
            raise InvalidInput(
                f"the taxonomy has no class {absent!r}{did_you_mean(str(absent), paths)}"
            )
        paths = [paths[name] for name in names]
    if isinstance(paths, str) or not isinstance(paths, Sequence | np.ndarray):
        raise InvalidInput(f"paths must be a list of paths, or paths by name: got {shown(paths)}")
    if not len(paths):
        raise InvalidInput("the taxonomy is empty: give a path for every class")
    return list(paths), names


def checked_iterable(names: object) -> Iterable[str]:
    """Return names if they are a list of any kind, and not one word."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInput(f"names must be a list of class names: got {shown(names)}")
    return names


def _cleaned(path: Sequence[str | None], name: str) -> Path:
    if isinstance(path, str) or not isinstance(path, Sequence):
        raise InvalidInput(
            f"the taxonomy of {name!r} is {path!r}: a list of superclass names is needed"
        )
    steps: list[Step] = []
    for step in path:
        if step is not None and not isinstance(step, str):
            raise InvalidInput(f"the taxonomy of {name!r} holds {step!r}, which is not a name")
        steps.append((step or "").strip() or None)
    top = next((step for step in steps if isinstance(step, str)), None)
    if top is None:
        raise InvalidInput(f"the taxonomy of {name!r} is empty: give it at least one superclass")
    gap = steps.index(top)
    return _known(((top,),) * gap + tuple(steps[gap:]))


def _known(path: Path) -> Path:
    """Cut what is unknown off the end: the deepest known node stands for it."""
    while path and path[-1] is None:
        path = path[:-1]
    return path


def _filled(node: Path) -> tuple[str, ...]:
    return next((step for step in node if isinstance(step, tuple)), ())


def _possible_names(node: Path, depth: int, members: Sequence[str]) -> list[str]:
    """Return what a node may be called, as briefly as keeps it apart: name, parent, whole path.

    Classes of which no more is known than their order stand together at the family level, too:
    there they are named with the order and by themselves.
    """
    # A node filled in from below is known by that one name.
    known = [step for step in node if isinstance(step, str)] or [*_filled(node)]
    name = without_wnid(known[-1])
    longer = []
    if len(node) == depth and len(known) > 1:
        longer = [f"{name} ({without_wnid(known[-2])})", " > ".join(known)]
    return [name, *longer, *(f"{name}: {listed}" for listed in members)]
