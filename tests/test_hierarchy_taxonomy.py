"""Superclasses from taxonomies: worked by hand, from tables, and on real data."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from zerokin.errors import InvalidInput, MissingFile
from zerokin.hierarchy import ClassHierarchy, read_taxonomy_csv


def named(tree: ClassHierarchy, layer: int) -> list[str]:
    """The name of each class's node."""
    return [tree.node_names(layer)[node] for node in tree.labels(layer)]


def test_unbalanced_paths_are_carried_down() -> None:
    tree = ClassHierarchy.from_taxonomy(
        {
            "lynx": ("mammal", "carnivore", "cat"),
            "puma": ("mammal", "carnivore", "cat"),
            "wolf": ("mammal", "carnivore", "dog"),
            "mole": ("mammal",),
            "vole": ("mammal",),
            "wren": ("bird",),
        }
    )
    assert tree.sizes == [4, 3, 2]
    others = "mammal: mole, vole"
    assert named(tree, 1) == ["cat", "cat", "dog", others, others, "bird"]
    assert named(tree, 2) == ["carnivore"] * 3 + [others, others, "bird"]
    assert named(tree, 3) == ["mammal"] * 5 + ["bird"]


@pytest.mark.parametrize("gap", ["", None, "  "])
def test_missing_levels_stay_in_the_node_above(gap: str | None) -> None:
    tree = ClassHierarchy.from_taxonomy(
        [
            ("O1", "F1", "G1"),
            ("O1", "F1", "G1"),
            ("O1", gap, "G2"),
            ("O1", gap, "G2"),
            ("O1", "F2", gap),
            ("O2", "F3", "G3"),
        ]
    )
    # Families group as genera do, so that layer is left out.
    assert tree.sizes == [4, 2]
    assert named(tree, 1) == ["G1", "G1", "G2", "G2", "F2", "G3"]
    assert named(tree, 2) == ["O1"] * 5 + ["O2"]


def test_a_gap_below_joins_what_is_known_to_belong_together() -> None:
    # At the family level only the order of a and b is known: they stay together there.
    tree = ClassHierarchy.from_taxonomy(
        {
            "a": ("O1", None, "G1"),
            "b": ("O1", None, "G2"),
            "c": ("O1", "F1", "G3"),
            "d": ("O1", "F1", "G3"),
            "e": ("O2", "F2", "G4"),
            "f": ("O2", "F2", "G4"),
        }
    )
    assert named(tree, 1) == ["G1", "G2", "G3", "G3", "G4", "G4"]
    assert named(tree, 2) == ["O1: a, b", "O1: a, b", "F1", "F1", "F2", "F2"]
    assert named(tree, 3) == ["O1"] * 4 + ["O2"] * 2


def test_classes_without_a_top_level_are_not_thrown_together() -> None:
    tree = ClassHierarchy.from_taxonomy(
        {
            "a": (None, "F1"),
            "b": (None, "F1"),
            "c": (None, "F2"),
            "d": ("O1", "F3"),
            "e": ("O1", "F4"),
            "f": ("O1", "F4"),
            "g": ("F1", "F5"),  # an order that is called like a family
        }
    )
    top = tree.labels(tree.n_layers)
    assert len(set(top.tolist())) == 4
    assert top[0] == top[1] != top[2]
    assert top[3] == top[4] == top[5]
    assert len(set(tree.node_names(tree.n_layers))) == 4


def test_equal_names_under_different_parents_stay_apart() -> None:
    tree = ClassHierarchy.from_taxonomy(
        {
            "hedge accentor": ("Passeriformes", "Prunellidae", "Prunella"),
            "alpine accentor": ("Passeriformes", "Prunellidae", "Prunella"),
            "self-heal": ("Lamiales", "Lamiaceae", "Prunella"),
            "cut-leaved self-heal": ("Lamiales", "Lamiaceae", "Prunella"),
            "mint": ("Lamiales", "Lamiaceae", "Mentha"),
        }
    )
    assert tree.sizes == [3, 2]
    assert named(tree, 1) == ["Prunella (Prunellidae)"] * 2 + ["Prunella (Lamiaceae)"] * 2 + [
        "Mentha"
    ]
    # Orders and families group alike: the more specific names stay.
    assert set(tree.node_names(2)) == {"Prunellidae", "Lamiaceae"}


def test_equal_names_and_equal_parents_show_the_whole_path() -> None:
    tree = ClassHierarchy.from_taxonomy(
        [("x", "p", "q"), ("x", "p", "q"), ("y", "p", "q"), ("y", "p", "q"), ("y", "r", "s")]
    )
    assert named(tree, 1) == ["x > p > q"] * 2 + ["y > p > q"] * 2 + ["s"]


def test_layers_that_say_nothing_are_dropped() -> None:
    tree = ClassHierarchy.from_taxonomy(
        {
            "a": ("root", "trunk", "left", "LEFT", "species a"),
            "b": ("root", "trunk", "left", "LEFT", "species b"),
            "c": ("root", "trunk", "right", "RIGHT", "species c"),
        }
    )
    assert tree.sizes == [2]
    assert named(tree, 1) == ["LEFT", "LEFT", "RIGHT"]


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([("x",), ("x",)], "the 2 classes into no groups"),
        ([("x",), ("y",)], "the 2 classes into no groups"),
        ([("x", "1"), ("x", "2")], "the 2 classes into no groups"),
        ([("x",), (), ("y",)], "taxonomy of 'class 1' is empty"),
        ([("x",), (None, ""), ("y",)], "taxonomy of 'class 1' is empty"),
        ([("x",), "yz", ("y",)], "taxonomy of 'class 1' is 'yz'"),
        ([("x",), (3,), ("y",)], "taxonomy of 'class 1' holds 3"),
        ([], "the taxonomy is empty"),
        ({}, "the taxonomy is empty"),
    ],
)
def test_unusable_taxonomies_are_refused(paths: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        ClassHierarchy.from_taxonomy(paths)  # type: ignore[arg-type]


def test_names_choose_among_paths_by_name() -> None:
    paths = {"a": ["x"], "b": ["y"], "c": ["x"], "d": ["z"]}
    tree = ClassHierarchy.from_taxonomy(paths, names=["c", "b", "a"])
    assert tree.names == ("c", "b", "a")
    assert named(tree, 1) == ["x", "y", "x"]
    with pytest.raises(InvalidInput, match="no class 'e'"):
        ClassHierarchy.from_taxonomy(paths, names=["a", "e"])
    with pytest.raises(InvalidInput, match="2 class vectors were given for 4 classes"):
        ClassHierarchy.from_taxonomy(paths, semantics=[[1.0], [2.0]])


@pytest.mark.parametrize("with_semantics", [False, True])
def test_order_of_classes_does_not_matter(with_semantics: bool) -> None:
    rng = np.random.default_rng(0)
    names = [f"class {i}" for i in range(30)]
    paths = [(f"o{i % 3}", f"f{i % 6}", f"g{i % 12}") for i in range(30)]
    Z = rng.normal(size=(30, 4)) + 1e5
    order = rng.permutation(30)
    tree = ClassHierarchy.from_taxonomy(paths, names=names, semantics=Z if with_semantics else None)
    moved = ClassHierarchy.from_taxonomy(
        [paths[i] for i in order],
        names=[names[i] for i in order],
        semantics=Z[order] if with_semantics else None,
    )
    assert tree.sizes == [12, 6, 3]
    for layer in (1, 2, 3):
        np.testing.assert_array_equal(tree.labels(layer)[order], moved.labels(layer))
        assert tree.node_names(layer) == moved.node_names(layer)
        if with_semantics:
            assert tree.prototypes(layer).tobytes() == moved.prototypes(layer).tobytes()


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_levels_are_read_from_columns(tmp_path: Path) -> None:
    table = write(
        tmp_path / "t.csv",
        "\ufeffgenus,name,order,family\n"
        "Lynx, lynx ,Carnivora,Felidae\n"
        "\n"
        ',"mole, blind",,Talpidae\n',
    )
    assert read_taxonomy_csv(table) == {
        "lynx": ("Carnivora", "Felidae", "Lynx"),
        "mole, blind": (None, "Talpidae", None),
    }
    assert read_taxonomy_csv(table, key="family", levels=["order"]) == {
        "Felidae": ("Carnivora",),
        "Talpidae": (None,),
    }


def test_paths_are_read_from_one_column(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "name,path\nlynx,animal > cat\nwolf,animal >  > dog\n")
    assert read_taxonomy_csv(table, levels=None) == {
        "lynx": ("animal", "cat"),
        "wolf": ("animal", None, "dog"),
    }
    wordnet = write(tmp_path / "w.csv", "name,wordnet_path\ncat,n00000003:cat > n00000001:animal\n")
    assert read_taxonomy_csv(wordnet, levels=None) == {"cat": ("animal#n00000001",)}


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "is empty"),
        ("name,order,family,genus\n", {}, "no classes"),
        ("name,order,famly,genus\na,b,c,d\n", {}, "no column 'family'; did you mean 'famly'"),
        ("id,order,family,genus\na,b,c,d\n", {}, "no column 'name'"),
        ("name,order\na,b\n", {"levels": None}, "no column 'path'"),
        ("name,order\na,b\n", {"levels": "order"}, "levels is 'order'"),
        ("name,order\na,b\n", {"levels": ()}, r"levels is \(\)"),
        ("name,order\na,b\na,c\n", {"levels": ["order"]}, "row 3: 'a' is also in row 2"),
        ("name,order\na\n", {"levels": ["order"]}, "row 2: 1 cells, but the header has 2"),
        ("name,order\n ,x\n", {"levels": ["order"]}, "row 2: column 'name' is empty"),
        ('name,order\n"a,b\n', {"levels": ["order"]}, "is not a CSV file"),
        ("name,wordnet_path\na,cat > dog\n", {"levels": None}, "row 2: 'cat' in the WordNet path"),
    ],
)
def test_unusable_tables_are_refused(
    tmp_path: Path, text: str, options: dict[str, object], message: str
) -> None:
    table = write(tmp_path / "table.csv", text)
    where = "" if message.startswith("levels is") else r"table\.csv.*"
    with pytest.raises(InvalidInput, match=where + message):
        read_taxonomy_csv(table, **options)  # type: ignore[arg-type]


def test_a_missing_or_binary_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="path must be"):
        read_taxonomy_csv(3)  # type: ignore[arg-type]
    with pytest.raises(MissingFile, match=r"nowhere\.csv"):
        read_taxonomy_csv(tmp_path / "nowhere.csv")
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match=r"b\.csv is not a CSV file in UTF-8"):
        read_taxonomy_csv(tmp_path / "b.csv")
    with pytest.raises(InvalidInput, match="is not a CSV file"):
        read_taxonomy_csv(tmp_path)


def test_birds_have_13_orders_37_families_121_genera(real_data: Path) -> None:
    table = real_data / "cub" / "classes.csv"
    tree = ClassHierarchy.from_taxonomy(read_taxonomy_csv(table))
    assert tree.sizes == [121, 37, 13]
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for layer, level in enumerate(("genus", "family", "order"), start=1):
        assert named(tree, layer) == [row[level] for row in rows]


def test_mini_imagenet_groups_as_wordnet_does(real_data: Path) -> None:
    paths = read_taxonomy_csv(real_data / "mini-imagenet" / "classes.csv", levels=None)
    tree = ClassHierarchy.from_taxonomy(paths)
    assert tree.n_classes == 100
    # Two classes share a node exactly as long as their paths agree from the root down.
    depth = {name: [path[: d + 1] for d in range(len(path))] for name, path in paths.items()}
    deepest = max(map(len, paths.values()))
    partitions = []
    for d in range(deepest):
        keys = [depth[name][min(d, len(paths[name]) - 1)] for name in tree.names]
        partitions.append(
            frozenset(frozenset(i for i, k in enumerate(keys) if k == key) for key in keys)
        )
    expected = {p for p in partitions if 1 < len(p) < 100}
    found = {
        frozenset(frozenset(tree.members(layer, i).tolist()) for i in range(size))
        for layer, size in enumerate(tree.sizes, start=1)
    }
    assert found == expected
    assert set(tree.node_names(tree.n_layers)) == {"physical entity", "abstraction"}
