"""Names of superclasses: by number, by the attributes that set them apart, and kept different."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray


def numbered_names(layer: int, size: int) -> tuple[str, ...]:
    """Name the nodes of a layer by layer and number.

    Examples
    --------
    >>> numbered_names(1, 12)[7]
    '1.07'
    """
    width = len(str(size - 1))
    return tuple(f"{layer}.{node:0{width}}" for node in range(size))


def made_unique(names: Sequence[str]) -> list[str]:
    """Append a number to names that occur again.

    Examples
    --------
    >>> made_unique(["striped", "spotted", "striped"])
    ['striped', 'spotted', 'striped (2)']
    """
    taken = set(names)
    found: set[str] = set()
    result = []
    for name in names:
        unique = name
        if name in found:
            unique = next(n for i in count(2) if (n := f"{name} ({i})") not in taken)
            taken.add(unique)
        found.add(unique)
        result.append(unique)
    return result


def repeated(names: Sequence[str]) -> list[int]:
    """Return the positions of names that occur more than once.

    Examples
    --------
    >>> repeated(["a", "b", "a"])
    [0, 2]
    """
    times = Counter(names)
    return [i for i, name in enumerate(names) if times[name] > 1]


def distinctive_names(
    prototypes: NDArray[np.float64],
    semantics: NDArray[np.float64],
    attributes: Sequence[str],
    defaults: Sequence[str],
) -> list[str]:
    """Name nodes by the attributes that set them most apart from all classes.

    How far an attribute sets a node apart is the z-score of the node's mean among all classes.
    A node gets the two highest attributes, or three where two would name several nodes alike.
    Only a node that is above average in nothing is named by what it lacks.

    Parameters
    ----------
    prototypes
        Mean vector of every node (r, d_z).
    semantics
        Class vectors (C, d_z).
    attributes
        Names of the d_z attributes.
    defaults
        Names for nodes that no attribute sets apart.

    Returns
    -------
    list of str
        A name per node, all different.

    Examples
    --------
    >>> Z = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.8], [0.0, 1.0, 0.0], [0.0, 0.9, 0.0]])
    >>> distinctive_names(Z[[0, 2]], Z, ["wings", "hooves", "has_coat::striped"], ["1.0", "1.1"])
    ['striped coat, wings', 'hooves']
    """
    words = [tidy_attribute(name) for name in attributes]
    mean, spread = semantics.mean(axis=0), semantics.std(axis=0)
    # Rounding alone can give an attribute that never changes a spread of this size.
    varies = spread > 1e-12 * np.abs(semantics).max(axis=0)
    score = np.where(varies, (prototypes - mean) / np.where(varies, spread, 1.0), 0.0)
    ranked = np.argsort(-score, axis=1, kind="stable")

    def name(node: int, most: int) -> str:
        above = [words[i] for i in ranked[node, :most] if score[node, i] > 1e-9]
        if above:
            return ", ".join(above)
        lacked = int(ranked[node, -1])
        return f"no {words[lacked]}" if score[node, lacked] < -1e-9 else defaults[node]

    names = [name(node, 2) for node in range(len(prototypes))]
    for node in repeated(names):
        names[node] = name(node, 3)
    return made_unique(names)


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
