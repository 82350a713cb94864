"""Names of superclasses that people can read: one name for one group of classes.

A node has several possible names, the best one first: the attributes that set it apart, what
WordNet puts its classes under, or its most typical members. Broader nodes choose first; a node
whose name another group bears takes its next one. A node with a single child is the same group as
that child: they share their name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, pairwise

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
MEMBERS_NAMED = 3


def numbered(name: str, taken: set[str]) -> str:
    """Return a name with the first number that makes it another one than those taken."""
    return next(n for i in count(2) if (n := f"{name} ({i})") not in taken)


def group_ids(layers: Sequence[Labels]) -> list[Labels]:
    """Return which group of classes every node is, for layers 0 (the classes), 1, … n.

    A node with a single child is the group that the child is.

    Parameters
    ----------
    layers
        For layers 0, 1, … the node of each class (C,).

    Examples
    --------
    >>> group_ids([np.arange(3), np.array([0, 0, 1]), np.array([0, 0, 1])])
    [array([0, 1, 2]), array([3, 2]), array([3, 2])]
    """
    groups = [np.arange(len(layers[0]))]
    fresh = len(layers[0])
    for below, above in pairwise(layers):
        parents = np.empty(len(groups[-1]), dtype=np.int64)
        parents[below] = above
        children = np.bincount(parents)
        own = np.arange(fresh, fresh + len(children))
        alone = children[parents] == 1
        own[parents[alone]] = groups[-1][alone]
        # Numbers without gaps: those of nodes that have more children than one.
        many = np.flatnonzero(children > 1)
        own[many] = fresh + np.arange(len(many))
        fresh += len(many)
        groups.append(own)
    return groups


def choose_names(
    layers: Sequence[Labels],
    names: Sequence[str],
    wanted: Sequence[Sequence[Sequence[str]]],
    *,
    share: bool = True,
) -> list[list[str]]:
    """Return a name for each node of layers 1, … n, so that one name means one group of classes.

    Parameters
    ----------
    layers
        For layers 0, 1, … n the node of each class (C,).
    names
        (C,) class names, which are taken.
    wanted
        For each node of layers 1, … n its possible names, the preferred one first.
    share
        Nodes that are the same group get the same name; otherwise each its own, as the ranks of a
        taxonomy have them.

    Examples
    --------
    >>> layers = [np.arange(4), np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1])]
    >>> wanted = [[["cat"], ["cat", "big cat"], ["wren"]], [["cat"], ["bird"]]]
    >>> choose_names(layers, ["lynx", "wild cat", "puma", "wren"], wanted)
    [['cat (2)', 'big cat', 'bird'], ['cat', 'bird']]
    """
    groups = group_ids(layers)
    called: dict[int, str] = {}  # by group
    bearers = {name: group for group, name in enumerate(names)}
    found: list[list[str]] = []
    for layer in range(len(wanted), 0, -1):
        own = groups[layer].tolist()
        free = [node for node, group in enumerate(own) if not share or group not in called]
        given = {node: called.get(group, "") for node, group in enumerate(own)}
        given |= _untaken({node: wanted[layer - 1][node] for node in free}, own, bearers)
        for node, name in given.items():
            if bearers.get(name, own[node]) != own[node]:
                given[node] = numbered(name, set(bearers))
            bearers[given[node]] = own[node]
            called[own[node]] = given[node]
        found.append([given[node] for node in range(len(own))])
    return found[::-1]


def _untaken(
    wanted: Mapping[int, Sequence[str]], groups: Sequence[int], bearers: Mapping[str, int]
) -> dict[int, str]:
    """Return the first name of each node that no other bears or wants, else its last one."""
    places = dict.fromkeys(wanted, 0)
    while True:
        names = {node: wanted[node][place] for node, place in places.items()}
        times = Counter(names.values())
        taken = [
            node
            for node, name in names.items()
            if times[name] > 1 or bearers.get(name, groups[node]) != groups[node]
        ]
        movable = [node for node in taken if places[node] + 1 < len(wanted[node])]
        if not movable:
            return names
        for node in movable:
            places[node] += 1


def member_candidates(
    labels: Labels, names: Sequence[str], semantics: NDArray[np.float64] | None
) -> list[list[str]]:
    """Return names of a layer's nodes by the members that are most like their mean.

    Parameters
    ----------
    labels
        (C,) the node of each class.
    names
        (C,) what the classes are called.
    semantics
        Class vectors (C, d_z); without, the first members by name are named.

    Examples
    --------
    >>> member_candidates(np.array([0, 0, 0, 0, 1]), ["lynx", "puma", "lion", "cat", "wolf"], None)
    [['cat, lion, lynx', 'cat, lion, lynx and 1 more'], ['wolf']]
    """
    distance = np.zeros(len(labels))
    if semantics is not None:
        sums = np.zeros((int(labels.max()) + 1, semantics.shape[1]))
        np.add.at(sums, labels, semantics)
        means = sums / np.bincount(labels)[:, None]
        with np.errstate(over="ignore"):  # farther than a float can say is infinitely far
            distance = ((semantics - means[labels]) ** 2).sum(axis=1)
    # Rounding must not order members that are equally near, such as two of two.
    order = np.lexsort((np.array(names), distance.round(9), labels))
    members = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    found = []
    for own in members:
        listed = ", ".join(names[i] for i in own[:MEMBERS_NAMED])
        beyond = len(own) - MEMBERS_NAMED
        found.append([listed, *([f"{listed} and {beyond:,} more"] if beyond > 0 else [])])
    return found


def attribute_candidates(
    prototypes: NDArray[np.float64],
    semantics: NDArray[np.float64],
    attributes: Sequence[str],
) -> list[list[str]]:
    """Return names of nodes by the attributes that set them most apart from all classes.

    How far an attribute sets a node apart is the z-score of the node's mean among all classes.
    A node is named by its two highest attributes, or three or four where fewer would name several
    nodes alike. Only a node that is above average in nothing is named by what it lacks, and
    one that is average in all has no name here.

    Parameters
    ----------
    prototypes
        Mean vector of every node (r, d_z).
    semantics
        Class vectors (C, d_z).
    attributes
        Names of the d_z attributes.

    Returns
    -------
    list of list of str
        Possible names of each node, the preferred one first.

    Examples
    --------
    >>> Z = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.8], [0.0, 1.0, 0.0], [0.0, 0.9, 0.0]])
    >>> attribute_candidates(Z[[0, 2]], Z, ["wings", "hooves", "has_coat::striped"])
    [['striped coat, wings'], ['hooves']]
    """
    words = [tidy_attribute(name) for name in attributes]
    mean, spread = semantics.mean(axis=0), semantics.std(axis=0)
    # Rounding alone can give an attribute that never changes a spread of this size.
    varies = spread > 1e-12 * np.abs(semantics).max(axis=0)
    score = np.where(varies, (prototypes - mean) / np.where(varies, spread, 1.0), 0.0)
    ranked = np.argsort(-score, axis=1, kind="stable")

    def possible(node: int) -> Iterator[str]:
        above = [words[i] for i in ranked[node, :4] if score[node, i] > 1e-9]
        for most in range(min(2, len(above)), len(above) + 1):
            if above:
                yield ", ".join(above[:most])
        lacked = int(ranked[node, -1])
        if not above and score[node, lacked] < -1e-9:
            yield f"no {words[lacked]}"

    return [list(possible(node)) for node in range(len(prototypes))]


def tidy_attribute(name: str) -> str:
    """Turn an attribute's identifier into words.

    Examples
    --------
    >>> tidy_attribute("has_wing_pattern::multi-colored")
    'multi-colored wing pattern'
    >>> tidy_attribute("legs::six"), tidy_attribute("has::fins"), tidy_attribute("lives_in_trees")
    ('six legs', 'fins', 'lives in trees')
    """
    name = " ".join(name.replace("_", " ").split())
    part = re.fullmatch(r"(?:has )?(.+?)::(.+)", name)
    if part is None:
        return name
    return part[2] if part[1] == "has" else f"{part[2]} {part[1]}"
