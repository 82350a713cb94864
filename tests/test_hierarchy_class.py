"""What a hierarchy answers, against brute force, and what is derived from it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from zerokin.data import load_dataset
from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.from_dataset import build_hierarchy
from zerokin.hierarchy.naming import attribute_candidates


@pytest.fixture(scope="module")
def tree() -> ClassHierarchy:
    Z = np.random.default_rng(0).normal(size=(40, 5))
    return ClassHierarchy.from_semantics(Z, 2, names=[f"kind {i}" for i in range(40)])


def test_members_children_parents_and_prototypes_by_brute_force(tree: ClassHierarchy) -> None:
    Z = tree.prototypes(0)
    np.testing.assert_array_equal(tree.labels(0), np.arange(40))
    for layer in range(1, tree.n_layers + 1):
        for node in range(tree.sizes[layer - 1]):
            members = [i for i in range(40) if tree.labels(layer)[i] == node]
            assert tree.members(layer, node).tolist() == members
            mean = [sum(Z[i, k] for i in members) / len(members) for k in range(5)]
            np.testing.assert_allclose(tree.prototypes(layer)[node], mean, rtol=1e-12, atol=1e-15)
            children = sorted({int(tree.labels(layer - 1)[i]) for i in members})
            assert tree.children(layer, node).tolist() == children
            assert all(tree.parents(layer - 1)[child] == node for child in children)
    assert [len(tree.parents(layer)) for layer in range(tree.n_layers)] == [40, *tree.sizes[:-1]]


def test_arrays_are_read_only(tree: ClassHierarchy) -> None:
    arrays = [
        *(tree.labels(layer) for layer in (0, 1, 2)),
        *(tree.prototypes(layer) for layer in (0, 1, 2)),
        tree.parents(0),
        tree.children(1, 0),
        tree.members(2, 0),
    ]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.labels(5), "no layer 5: layers are 0 to 4"),
        (lambda t: t.labels(-1), "no layer -1"),
        (lambda t: t.labels(1.0), "layer is 1.0"),
        (lambda t: t.parents(4), "layer 4 is the top layer"),
        (lambda t: t.children(0, 0), "no children"),
        (lambda t: t.members(1, 20), "layer 1 has no node 20: nodes are 0 to 19"),
        (lambda t: t.members(1, -1), "no node -1"),
        (lambda t: t.select([]), "no classes were selected"),
        (lambda t: t.select([0, 40]), "no class 40"),
        (lambda t: t.select([-1]), "no class -1"),
        (lambda t: t.select([0, 1, 0]), "'kind 0' was given twice"),
        (lambda t: t.select(["kind 7", "kand 8"]), "'kand 8'; did you mean 'kind 8'"),
        (lambda t: t.select("kind 7"), "single word"),
        (lambda t: t.select([True] * 3), r"shape \(3,\) cannot fit 40"),
        (lambda t: t.select([0.0, 1.0]), "indices, names or a boolean mask"),
        (lambda t: t.select_layers([]), "one or more of 1 to 4"),
        (lambda t: t.select_layers([0, 1]), "one or more of 1 to 4"),
        (lambda t: t.named_by("abcde"), "single word 'abcde'"),
        (lambda t: t.named_by(["a"]), "1 attribute names .* 5 numbers"),
    ],
)
def test_what_is_not_there_is_named(tree: ClassHierarchy, call: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call(tree)  # type: ignore[operator]


def test_without_vectors_there_are_no_prototypes() -> None:
    tree = ClassHierarchy([[0, 0, 1]])
    assert not tree.has_semantics
    with pytest.raises(InvalidInput, match="no class vectors"):
        tree.prototypes(1)


@pytest.mark.parametrize(
    ("layers", "options", "message"),
    [
        ([], {}, "layers must hold"),
        ([[]], {}, "layers must hold"),
        ([[0, 0, 2]], {}, "layer 1: no class belongs to node 1"),
        ([[0, 0, -1]], {}, "layer 1: label -1 is out of range"),
        ([[0, 0, 3]], {}, "layer 1: label 3 is out of range"),
        ([[0.0, 0.0, 1.0]], {}, "layer 1: labels have .* type float64"),
        ([[0, 1, 1], [0, 0]], {}, r"layer 2: labels have shape \(2,\)"),
        ([[0, 1, 1], [0, 0, 1]], {}, "layer 1: node 1 has two parents in layer 2, nodes 0 and 1"),
        ([[0, 1, 1]], {"semantics": [[1.0], [2.0]]}, "2 class vectors were given for 3 classes"),
        ([[0, 1, 1]], {"node_names": [["a"]]}, "1 names were given for 2 nodes"),
        ([[0, 1, 1]], {"node_names": [["a", "a"]]}, "node names must differ"),
        ([[0, 1, 1]], {"node_names": []}, "node names of 0 layers were given for 1"),
    ],
)
def test_what_is_no_hierarchy_is_refused(
    layers: list[object], options: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        ClassHierarchy(layers, **options)  # type: ignore[arg-type]


def test_equality_sees_every_part() -> None:
    def build(**changed: object) -> ClassHierarchy:
        parts: dict[str, object] = {
            "layers": [[0, 0, 1], [0, 0, 0]],
            "names": ["a", "b", "c"],
            "semantics": [[1.0], [2.0], [3.0]],
            "node_names": [["x", "y"], ["z"]],
        }
        return ClassHierarchy(**(parts | changed))  # type: ignore[arg-type]

    assert build() == build()
    for changed in (
        {"layers": [[0, 1, 1], [0, 0, 0]]},
        {"layers": [[0, 0, 1]], "node_names": [["x", "y"]]},
        {"names": ["a", "b", "d"]},
        {"semantics": [[1.0], [2.0], [4.0]]},
        {"semantics": None},
        {"node_names": None},
        {"node_names": [["x", "y"], ["w"]]},
    ):
        assert build() != build(**changed)
        assert build(**changed) == build(**changed)
    assert build() != "a hierarchy"


@pytest.mark.parametrize("seed", range(4))
def test_selection_keeps_who_belongs_together(tree: ClassHierarchy, seed: int) -> None:
    chosen = np.random.default_rng(seed).permutation(40)[:13]
    part = tree.select(chosen)
    assert part.names == tuple(f"kind {i}" for i in chosen)
    np.testing.assert_array_equal(part.prototypes(0), tree.prototypes(0)[chosen])
    for layer in range(1, tree.n_layers + 1):
        together = tree.labels(layer)[chosen]
        np.testing.assert_array_equal(
            part.labels(layer)[:, None] == part.labels(layer), together[:, None] == together
        )
    mask = np.isin(np.arange(40), chosen)
    by_mask = tree.select(mask)
    assert by_mask == tree.select(sorted(chosen.tolist()))
    assert by_mask == tree.select([f"kind {i}" for i in sorted(chosen)])
    # The order in which classes are chosen changes no number.
    place = [by_mask.names.index(name) for name in part.names]
    np.testing.assert_array_equal(part.labels(1), by_mask.labels(1)[place])


def test_selecting_everything_changes_nothing(tree: ClassHierarchy) -> None:
    assert tree.select(range(40)) == tree
    unnamed = ClassHierarchy.from_taxonomy([["x"], ["y"]] * 12)
    assert unnamed.select(range(24)) == unnamed


def test_selection_keeps_the_names_of_what_is_left() -> None:
    tree = ClassHierarchy.from_taxonomy(
        {
            "lynx": ["beast", "cat"],
            "wolf": ["beast", "dog"],
            "fox": ["beast", "dog"],
            "wren": ["bird"],
        }
    )
    part = tree.select(["wren", "fox", "lynx"])
    named = [[part.node_names(layer)[i] for i in part.labels(layer)] for layer in (1, 2)]
    assert named == [["bird", "dog", "cat"], ["bird", "beast", "beast"]]


def test_selected_layers(tree: ClassHierarchy) -> None:
    part = tree.select_layers([3, 1])
    assert part.sizes == [20, 5]
    np.testing.assert_array_equal(part.labels(2), tree.labels(3))
    np.testing.assert_array_equal(part.prototypes(2), tree.prototypes(3))


def test_default_names_are_those_of_typical_members(tree: ClassHierarchy) -> None:
    assert tree.node_names(0) == tree.names
    for layer in range(1, tree.n_layers + 1):
        for node, name in enumerate(tree.node_names(layer)):
            members = tree.members(layer, node)
            Z = tree.prototypes(0)[members]
            far = ((Z - Z.mean(axis=0)) ** 2).sum(axis=1).round(9)
            near = sorted(range(len(members)), key=lambda i: (far[i], tree.names[members[i]]))
            first = ", ".join(tree.names[members[i]] for i in near[:3])
            beyond = f" and {len(members) - 3} more" if len(members) > 3 else ""
            assert name in (first, first + beyond)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("by", ["members", "attributes", "taxonomy"])
def test_one_name_means_one_group_of_classes_in_all_of_the_tree(seed: int, by: str) -> None:
    rng = np.random.default_rng(seed)
    Z = rng.integers(0, 3, size=(47, 5)) + 0.01 * rng.normal(size=(47, 5))
    names = [f"kind {i}" for i in range(46)] + ["hoofed, tall"]
    tree = ClassHierarchy.from_semantics(Z, 2, seed, names=names)
    if by == "attributes":
        tree = tree.named_by(["tall", "hoofed", "wet", "loud", "shy"])
    if by == "taxonomy":
        few = rng.integers(0, 4, size=(47, 3)).tolist()
        paths = [[f"kind {i}" if i else None for i in row] for row in few]
        paths = [row if any(row) else ["kind 0"] for row in paths]
        tree = ClassHierarchy.from_taxonomy(paths, names=names)
    bearers: dict[str, set[frozenset[int]]] = {}
    for layer in range(tree.n_layers + 1):
        for node, name in enumerate(tree.node_names(layer)):
            group = frozenset(tree.members(layer, node).tolist())
            bearers.setdefault(name, set()).add(group)
            assert not re.fullmatch(r"\d+\.\d+", name)
    assert max(map(len, bearers.values())) == 1
    if by != "taxonomy":
        groups = [group for found in bearers.values() for group in found if len(group) > 1]
        assert len(groups) == len(set(groups))  # a chain of one child shares its name


def by_hand() -> tuple[NDArray[np.float64], list[str]]:
    # wings, stripes, hooves, constant: two winged, two striped and hooved
    Z = np.array([[1, 0, 0, 5], [0.9, 0.1, 0, 5], [0, 1, 1, 5], [0, 1, 0.8, 5]], dtype=float)
    return Z, ["wings", "stripes", "has_hooves", "mass"]


def test_nodes_are_named_by_their_highest_z_scores() -> None:
    Z, attributes = by_hand()
    tree = ClassHierarchy.from_semantics(Z, 2)
    names = tree.named_by(attributes).node_names(1)
    for node in range(2):
        z = (Z[tree.members(1, node)].mean(axis=0) - Z.mean(axis=0))[:3] / Z.std(axis=0)[:3]
        best = [attributes[i].replace("_", " ") for i in np.argsort(-z) if z[i] > 0][:2]
        assert names[node] == ", ".join(best)
    assert sorted(names) == ["stripes, has hooves", "wings"]
    assert not tree.has_node_names  # a copy was named
    assert tree.named_by(attributes).has_node_names


def test_equal_names_get_a_third_attribute_or_a_number() -> None:
    # Nodes 0 and 1 share a and b (z = 1); c and d (z = 0.28) tell them apart.
    Z = np.array([[9, 8, 0.6, 0.4], [9, 8, 0.4, 0.6], [0, 0, 1, 0], [0, 0, 0, 1]])
    Z = np.repeat(Z, 2, axis=0)
    Z8 = np.repeat([[1, 1], [1, 1], [0, 0], [0, 0]], 2, axis=0)
    tree = ClassHierarchy([[0, 0, 1, 1, 2, 2, 2, 2]], semantics=Z).named_by(["a", "b", "c", "d"])
    assert tree.node_names(1) == ("a, b, c", "a, b, d", "no b")
    same = ClassHierarchy([[0, 1, 2, 3]], semantics=[[1, 1], [1, 1], [0, 0], [0, 0]])
    pairs = same.replace(layers=[[0, 0, 1, 1, 2, 2, 3, 3]], semantics=Z8, names=[*"ABCDEFGH"])
    assert pairs.named_by(["a", "b"]).node_names(1) == ("A, B", "C, D", "E, F", "G, H")
    assert same.named_by(["a", "b"]).node_names(1) == same.names


def test_nodes_that_nothing_sets_apart_are_named_by_their_classes() -> None:
    tree = ClassHierarchy([[0, 0, 1, 1]], semantics=np.full((4, 3), 0.1)).named_by([*"abc"])
    assert tree.node_names(1) == ("class 0, class 1", "class 2, class 3")


def test_what_stands_above_all_members_names_nodes_that_attributes_do_not() -> None:
    tree = ClassHierarchy([[0, 0, 1, 1, 2, 2]], names=[*"ABCDEF"], semantics=np.ones((6, 2)))
    named = tree.named_by(concepts=[["feline", None, "feline"]])
    assert named.node_names(1) == ("A, B", "C, D", "E, F")
    assert tree.named_by(concepts=[["feline", None, "bird"]]).node_names(1) == (
        "feline", "C, D", "bird",
    )  # fmt: skip


def test_repr_says_what_is_there(tree: ClassHierarchy) -> None:
    assert repr(tree) == "ClassHierarchy(40 classes, layers of 20, 10, 5 and 2 superclasses)"


@pytest.mark.parametrize("scale", [1e-11, 1e-6, 1.0, 1e9])
def test_names_by_attributes_do_not_depend_on_their_scale(scale):
    Z = np.array([[1.0, 0.0, 0.1, 3.0], [0.9, 0.1, 0.1, 3.0], [0.0, 1.0, 0.1, 3.0]] * 7)
    Z[1::3, 2] += 1e-17  # 0.1 in the mean of 21 rows is not quite 0.1
    nodes = Z[[0, 1, 2]] * scale
    words = ["has_wings", "hooves", "has_coat::plain", "legs"]
    names = attribute_candidates(nodes, Z * scale, words)
    assert names == [["has wings"], ["has wings"], ["hooves"]]


def test_a_node_above_average_in_nothing_is_named_by_what_it_lacks():
    Z = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    nodes = np.array([[0.4, 0.5], [0.5, 0.5], [0.6, 0.5], [0.3, 0.4]])
    names = attribute_candidates(nodes, Z, ["tail", "wings"])
    assert names == [["no tail"], [], ["tail"], ["no tail"]]


def test_the_defaults_are_two_branches_and_seed_0() -> None:
    # Rows on a circle: which of them k-means groups depends on the seed.
    angles = np.linspace(0, 2 * np.pi, 23, endpoint=False)
    Z = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    plain = ClassHierarchy.from_semantics(Z)
    said = ClassHierarchy.from_semantics(Z, 2, 0, method="kmeans")
    other = ClassHierarchy.from_semantics(Z, 2, 1, method="kmeans")
    layers = range(1, plain.n_layers + 1)
    assert plain.sizes == said.sizes
    assert all((plain.labels(k) == said.labels(k)).all() for k in layers)
    assert any((plain.labels(k) != other.labels(k)).any() for k in layers)
    assert build_hierarchy(load_dataset("critters")).sizes[0] == 60 // 2
