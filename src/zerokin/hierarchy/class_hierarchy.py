"""`ClassHierarchy`: the superclasses of all classes, seen and unseen, layer by layer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.errors import InvalidInput, shown
from zerokin.hierarchy.canonical import (
    canonical_order,
    in_order_of_first,
    numbered_by_first,
)
from zerokin.hierarchy.checks import checked_integer, checked_names, checked_semantics
from zerokin.hierarchy.choice import chosen_classes
from zerokin.hierarchy.clustering import Method, cluster_layers
from zerokin.hierarchy.layered_tree import LayeredTree
from zerokin.hierarchy.layers import layer_sizes
from zerokin.hierarchy.naming import attribute_candidates, choose_names, member_candidates
from zerokin.hierarchy.serialization import read_hierarchy, write_hierarchy
from zerokin.hierarchy.taxonomy import checked_iterable, listed_paths, taxonomy_layers


class ClassHierarchy(LayeredTree):
    """A tree of superclasses over C classes.

    Layer 0 is the classes themselves; layers 1 … n are superclasses, each node of which belongs
    to exactly one node of the layer above. Build one with `from_semantics` or `from_taxonomy`.

    Parameters
    ----------
    layers
        For layers 1, 2, … the node of each class (C,), 0 … r_l - 1.
    names
        Class names; ``None`` for ``"class 00"``, ….
    semantics
        Class vectors (C, d_z), if there are any.
    node_names
        For each layer a name per node; ``None`` to name them by their most typical classes.
    ranks
        What each layer is called, bottom to top, such as ``["genus", "family"]``; ``None`` where
        layers have no names, as clusters have none.

    Examples
    --------
    >>> tree = ClassHierarchy([[0, 0, 1, 1], [0, 0, 0, 0]], names=["lynx", "puma", "wolf", "fox"])
    >>> tree
    ClassHierarchy(4 classes, layers of 2 and 1 superclasses)
    >>> tree.labels(1)
    array([0, 0, 1, 1])
    >>> tree.children(2, 0), tree.members(1, 1)
    (array([0, 1]), array([2, 3]))
    """

    @classmethod
    def from_semantics(
        cls,
        Z: ArrayLike,
        branching: int = 2,
        random_state: int = 0,
        *,
        names: Sequence[str] | None = None,
        method: Method = "kmeans",
    ) -> ClassHierarchy:
        """Cluster classes by their vectors.

        Layer l has ⌊C / t^l⌋ nodes, as long as that is at least t, and clusters the vectors of
        the layer below. The result depends on neither the order of the rows nor the number of
        threads. (Rows that are equal to the last bit can only be told apart by name.)

        Parameters
        ----------
        Z
            Class vectors (C, d_z), of all classes, seen and unseen.
        branching
            t, at least 2; C must be at least t².
        random_state
            Seed of k-means.
        names
            Class names, all different.
        method
            ``"kmeans"`` or ``"agglomerative"`` (Ward).

        Examples
        --------
        >>> Z = np.random.default_rng(0).normal(size=(50, 8))
        >>> ClassHierarchy.from_semantics(Z, branching=3).sizes
        [16, 5]
        """
        semantics = checked_semantics(Z)
        seed = checked_integer(random_state, "random_state")
        if not 0 <= seed < 2**32:
            raise InvalidInput(f"random_state is {seed}: it must lie between 0 and 2**32 - 1")
        if names is not None:
            names = checked_names(names, len(semantics))
        layers = cluster_layers(
            semantics,
            layer_sizes(len(semantics), branching),
            random_state=seed,
            names=names,
            method=method,
        )
        return cls(layers, names=names, semantics=semantics)

    @classmethod
    def from_taxonomy(
        cls,
        paths: Mapping[str, Sequence[str | None]] | Sequence[Sequence[str | None]],
        *,
        names: Sequence[str] | None = None,
        semantics: ArrayLike | None = None,
        ranks: Sequence[str] | None = None,
    ) -> ClassHierarchy:
        """Take the superclasses from a taxonomy.

        A node is its whole path, so equal names under different parents stay apart. Where a path
        is shorter than others or has a gap (``""`` or ``None``), the class stays in its deepest
        known node. Layers that group nothing, or group as the layer below does, are left out.

        Parameters
        ----------
        paths
            For each class, the names of its superclasses from the most general to the most
            specific, the class itself excluded; or such paths by class name, as
            `read_taxonomy_csv` and `wordnet_paths` return them.
        names
            Class names. With ``paths`` by name they choose the classes and their order.
        semantics
            Class vectors (C, d_z), in the order of the classes, for prototypes.
        ranks
            What the levels of the paths are called, from the most general, such as
            ``["order", "family"]``; layers that stay keep theirs.

        Examples
        --------
        >>> tree = ClassHierarchy.from_taxonomy({
        ...     "lynx": ("mammal", "cat"),
        ...     "puma": ("mammal", "cat"),
        ...     "wolf": ("mammal", "dog"),
        ...     "wren": ("bird",),
        ... }, ranks=["class", "family"])
        >>> tree.node_names(1), tree.node_names(2)
        (('cat', 'dog', 'bird'), ('mammal', 'bird'))
        >>> tree.ranks
        ('family', 'class')
        """
        listed, names = listed_paths(paths, names)
        checked = checked_names(names, len(listed))
        layers, node_names, depths = taxonomy_layers(listed, checked)
        if ranks is not None:
            levels = checked_names(ranks, max(map(len, listed)), what="rank")
            ranks = [levels[depth - 1] for depth in depths]
        return cls._canonical(
            layers,
            names=checked,
            semantics=None if semantics is None else checked_semantics(semantics),
            node_names=node_names,
            ranks=ranks,
        )

    @classmethod
    def _canonical(
        cls,
        layers: Sequence[NDArray[np.int64]],
        *,
        names: Sequence[str],
        semantics: NDArray[np.float64] | None,
        node_names: Sequence[Sequence[str]] | None,
        ranks: Sequence[str] | None,
    ) -> ClassHierarchy:
        """Build a hierarchy whose nodes are numbered by their first class in canonical order."""
        if semantics is not None and len(semantics) != len(names):
            raise InvalidInput(
                f"{len(semantics)} class vectors were given for {len(names)} classes"
            )
        order = canonical_order(len(names), semantics=semantics, names=names)
        return cls(
            [numbered_by_first(labels, order) for labels in layers],
            names=names,
            semantics=semantics,
            node_names=node_names
            and [in_order_of_first(n, x, order) for n, x in zip(node_names, layers, strict=True)],
            ranks=ranks,
        )

    def replace(self, **changes: Any) -> ClassHierarchy:
        """Return a copy with some of its parts replaced.

        Parameters
        ----------
        **changes
            Arguments of `ClassHierarchy`; the others stay as they are.

        Examples
        --------
        >>> ClassHierarchy([[0, 0, 1]]).replace(names=["lynx", "puma", "wren"]).names
        ('lynx', 'puma', 'wren')
        """
        parts: dict[str, Any] = {
            "layers": self._labels[1:],
            "names": self._names,
            "semantics": self._semantics,
            "node_names": self._node_names,
            "ranks": self._ranks,
        }
        return ClassHierarchy(**{**parts, **changes})

    def named_by(
        self,
        attribute_names: Sequence[str] | None = None,
        *,
        concepts: Sequence[Sequence[str | None]] | None = None,
    ) -> ClassHierarchy:
        """Return a copy whose nodes are named by the attributes that set them most apart.

        Where attributes do not tell nodes apart, they are named by what stands above all of
        their classes, then by their most typical classes. One name means one group of classes.

        Parameters
        ----------
        attribute_names
            A name for each of the d_z numbers of a class vector; None where they have none.
        concepts
            What stands above the classes of each node, for layers 1, … n, such as
            `zerokin.hierarchy.wordnet.common_hypernyms` finds; None for a node without.

        Examples
        --------
        >>> Z = [[1, 0, 1], [1, 0, 0.8], [0, 1, 0], [0, 0.9, 0]]
        >>> tree = ClassHierarchy.from_semantics(Z).named_by(["wings", "hooves", "stripes"])
        >>> sorted(tree.node_names(1))
        ['hooves', 'wings, stripes']
        """
        wanted: list[list[list[str]]] = [
            [[] for _ in range(self._size(layer))] for layer in range(1, self.n_layers + 1)
        ]
        if attribute_names is not None:
            wanted = self._attribute_names(attribute_names)
        for layer, names in enumerate(wanted, start=1):
            members = member_candidates(self._labels[layer], self._names, self._semantics)
            for node, possible in enumerate(names):
                concept = None if concepts is None else concepts[layer - 1][node]
                possible += [*([concept] if concept else []), *members[node]]
        return self.replace(node_names=choose_names(self._labels, self._names, wanted))

    def _attribute_names(self, attribute_names: Sequence[str]) -> list[list[list[str]]]:
        Z = self.prototypes(0)
        if isinstance(attribute_names, str):
            raise InvalidInput(f"attribute_names is the single word {attribute_names!r}")
        words = list(checked_iterable(attribute_names))
        strange = next((word for word in words if not isinstance(word, str)), None)
        if strange is not None or any(word is None for word in words):
            raise InvalidInput(f"attribute_names must be words: got {shown(strange)}")
        if len(words) != Z.shape[1]:
            raise InvalidInput(
                f"{len(words)} attribute names were given for vectors of {Z.shape[1]} numbers"
            )
        layers = range(1, self.n_layers + 1)
        return [attribute_candidates(self.prototypes(layer), Z, words) for layer in layers]

    def select(self, classes: Iterable[int] | Iterable[str] | NDArray[np.bool_]) -> ClassHierarchy:
        """Return the hierarchy of some of the classes, in the order given.

        Nodes without classes are dropped and the others renumbered; layers stay, so that layer l
        remains layer l.

        Parameters
        ----------
        classes
            Class indices, class names, or a boolean mask (C,).

        Examples
        --------
        >>> tree = ClassHierarchy([[0, 0, 1, 2]], names=["lynx", "puma", "wolf", "wren"])
        >>> tree.select(["puma", "wren"]).labels(1)
        array([0, 1])
        """
        chosen = chosen_classes(classes, self._names)
        if not len(chosen):
            raise InvalidInput("no classes were selected: name at least one")
        return self._canonical(
            [labels[chosen] for labels in self._labels[1:]],
            names=[self._names[i] for i in chosen],
            semantics=None if self._semantics is None else self._semantics[chosen],
            node_names=self._node_names,
            ranks=self._ranks,
        )

    def select_layers(self, layers: Iterable[int]) -> ClassHierarchy:
        """Return the hierarchy with some of its superclass layers only.

        A deep taxonomy such as WordNet has more layers than most uses need.

        Parameters
        ----------
        layers
            Layers to keep, 1 to `n_layers`; they become layers 1, 2, … bottom to top.

        Examples
        --------
        >>> tree = ClassHierarchy([[0, 1, 2, 2], [0, 0, 1, 1], [0, 0, 0, 0]])
        >>> tree.select_layers([1, 2]).sizes
        [3, 2]
        """
        given: object = layers
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InvalidInput(f"layers must be a list of layers: got {shown(given)}")
        kept = sorted({self._checked_layer(layer) for layer in given})
        if not kept or kept[0] == 0:
            raise InvalidInput(f"layers must be one or more of 1 to {self.n_layers}")
        return self.replace(
            layers=[self._labels[layer] for layer in kept],
            node_names=self._node_names and [self._node_names[layer - 1] for layer in kept],
            ranks=self._ranks and [self._ranks[layer - 1] for layer in kept],
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the hierarchy to a JSON file, whole or not at all."""
        write_hierarchy(
            path,
            names=self._names,
            layers=self._labels[1:],
            node_names=self._node_names,
            semantics=self._semantics,
            ranks=self._ranks,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ClassHierarchy:
        """Read a hierarchy that `save` wrote; every number comes back exactly."""
        return cls(**read_hierarchy(path))
