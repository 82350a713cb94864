"""What a hierarchy holds: the node of every class at each layer, names and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zerokin.errors import InvalidInput, shown
from zerokin.hierarchy.canonical import canonical_order, mean_vectors
from zerokin.hierarchy.checks import (
    checked_integer,
    checked_labels,
    checked_names,
    checked_semantics,
)
from zerokin.hierarchy.naming import choose_names, member_candidates

Number = TypeVar("Number", np.int64, np.float64)


class LayeredTree:
    """Layers of nodes over C classes, each node under exactly one node of the layer above.

    Layer 0 is the classes themselves; layers 1 … n are superclasses.

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
    """

    def __init__(
        self,
        layers: Sequence[ArrayLike],
        *,
        names: Sequence[str] | None = None,
        semantics: ArrayLike | None = None,
        node_names: Sequence[Sequence[str]] | None = None,
        ranks: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(layers, Sequence | np.ndarray) or isinstance(layers, str):
            raise InvalidInput(f"layers must be a list of layers: got {shown(layers)}")
        if not len(layers) or np.ndim(layers[0]) != 1 or not np.size(layers[0]):
            raise InvalidInput("layers must hold, for every layer, the node of each class")
        n_classes = np.size(layers[0])
        checked = checked_labels(layers, n_classes)
        self._labels = [frozen(x) for x in (np.arange(n_classes, dtype=np.int64), *checked)]
        self._names = checked_names(names, self.n_classes)
        self._semantics = None if semantics is None else frozen(checked_semantics(semantics))
        if self._semantics is not None and len(self._semantics) != self.n_classes:
            raise InvalidInput(
                f"{len(self._semantics)} class vectors were given for {self.n_classes} classes"
            )
        self._node_names = None
        if node_names is not None:
            if len(node_names) != self.n_layers:
                raise InvalidInput(
                    f"node names of {len(node_names)} layers were given for {self.n_layers}"
                )
            self._node_names = [
                checked_names(given, size, what="node")
                for given, size in zip(node_names, self.sizes, strict=True)
            ]
        self._ranks = None
        if ranks is not None:
            self._ranks = checked_names(ranks, self.n_layers, what="rank")
        self._prototypes: dict[int, NDArray[np.float64]] = {}

    @property
    def n_classes(self) -> int:
        """Number of classes C."""
        return len(self._labels[0])

    @property
    def n_layers(self) -> int:
        """Number of superclass layers."""
        return len(self._labels) - 1

    @property
    def sizes(self) -> list[int]:
        """Number of nodes r_1, r_2, … of every superclass layer, bottom to top."""
        return [self._size(layer) for layer in range(1, self.n_layers + 1)]

    def labels(self, layer: int) -> NDArray[np.int64]:
        """Return the node of each class (C,) at a layer; at layer 0 each class is its own."""
        return self._labels[self._checked_layer(layer)]

    def parents(self, layer: int) -> NDArray[np.int64]:
        """Return, for each node of a layer (r_l,), its node in the layer above."""
        layer = self._checked_layer(layer)
        if layer == self.n_layers:
            raise InvalidInput(f"layer {layer} is the top layer: its nodes have no parents")
        parents = np.empty(self._size(layer), dtype=np.int64)
        parents[self._labels[layer]] = self._labels[layer + 1]
        return frozen(parents)

    def children(self, layer: int, node: int) -> NDArray[np.int64]:
        """Return the nodes of the layer below (at layer 1: the classes) that belong to a node."""
        layer, node = self._checked_node(layer, node)
        if layer == 0:
            raise InvalidInput("layer 0 is the classes: they have no children")
        return frozen(np.flatnonzero(self.parents(layer - 1) == node))

    def members(self, layer: int, node: int) -> NDArray[np.int64]:
        """Return the classes under a node."""
        layer, node = self._checked_node(layer, node)
        return frozen(np.flatnonzero(self._labels[layer] == node))

    @property
    def names(self) -> tuple[str, ...]:
        """Class names."""
        return self._names

    @property
    def has_semantics(self) -> bool:
        """Whether there are class vectors, and so prototypes."""
        return self._semantics is not None

    def prototypes(self, layer: int) -> NDArray[np.float64]:
        """Return the mean vector of the classes of each node (r_l, d_z); layer 0: class vectors."""
        layer = self._checked_layer(layer)
        if self._semantics is None:
            raise InvalidInput(
                "this hierarchy has no class vectors: build it with semantics to have prototypes"
            )
        if layer == 0:
            return self._semantics
        if layer not in self._prototypes:
            order = canonical_order(len(self._names), semantics=self._semantics)
            means = mean_vectors(self._semantics, self._labels[layer], order)
            self._prototypes[layer] = frozen(means)
        return self._prototypes[layer]

    def node_names(self, layer: int) -> tuple[str, ...]:
        """Return the names of a layer's nodes; at layer 0 the class names."""
        layer = self._checked_layer(layer)
        if layer == 0:
            return self._names
        return (self._node_names or self._named_by_members)[layer - 1]

    @property
    def has_node_names(self) -> bool:
        """Whether superclasses have names of their own rather than those of their classes."""
        return self._node_names is not None

    @cached_property
    def _named_by_members(self) -> list[tuple[str, ...]]:
        wanted = [member_candidates(at, self._names, self._semantics) for at in self._labels[1:]]
        return [tuple(names) for names in choose_names(self._labels, self._names, wanted)]

    @property
    def ranks(self) -> tuple[str, ...] | None:
        """What each superclass layer is called, bottom to top, such as genus and family."""
        return self._ranks

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LayeredTree):
            return NotImplemented
        return (
            self._names == other._names
            and self._node_names == other._node_names
            and self._ranks == other._ranks
            and self.n_layers == other.n_layers
            and all(map(np.array_equal, self._labels, other._labels))
            and _same(self._semantics, other._semantics)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        *most, top = map(str, self.sizes)
        layers = f"layers of {', '.join(most)} and {top}" if most else f"one layer of {top}"
        return f"{type(self).__name__}({self.n_classes} classes, {layers} superclasses)"

    def _size(self, layer: int) -> int:
        return int(self._labels[layer].max()) + 1

    def _checked_layer(self, layer: int) -> int:
        number = checked_integer(layer, "layer")
        if not 0 <= number <= self.n_layers:
            raise InvalidInput(f"there is no layer {number}: layers are 0 to {self.n_layers}")
        return number

    def _checked_node(self, layer: int, node: int) -> tuple[int, int]:
        layer, number = self._checked_layer(layer), checked_integer(node, "node")
        if not 0 <= number < self._size(layer):
            raise InvalidInput(
                f"layer {layer} has no node {number}: nodes are 0 to {self._size(layer) - 1}"
            )
        return layer, number


def frozen(array: NDArray[Number]) -> NDArray[Number]:
    """Make an array read-only, so that what is handed out cannot be changed by accident."""
    array.flags.writeable = False
    return array


def _same(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)
