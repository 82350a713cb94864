"""Hierarchies written to JSON come back exactly, and files that were tampered with do not load."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zerokin.errors import InvalidInput, MissingFile
from zerokin.hierarchy import ClassHierarchy

TREES: dict[str, Callable[[], ClassHierarchy]] = {
    "clusters": lambda: ClassHierarchy.from_semantics(
        np.random.default_rng(0).normal(size=(30, 4)) * [1e-300, 1e-9, 1.0, 1e300], 3
    ),
    "named clusters": lambda: ClassHierarchy.from_semantics(
        np.random.default_rng(0).normal(size=(30, 2)), 3, names=[f'é "{i}"\n' for i in range(30)]
    ).named_by(["a", "b"]),
    "taxonomy": lambda: ClassHierarchy.from_taxonomy(
        {"lynx": ["cat"], "puma": ["cat"], "wolf": ["dog"]}
    ),
    "taxonomy with vectors": lambda: ClassHierarchy.from_taxonomy(
        {"lynx": ["cat"], "puma": ["cat"], "wolf": ["dog"]}, semantics=[[0.1], [1 / 3], [np.pi]]
    ),
}


@pytest.mark.parametrize("which", TREES)
def test_round_trip_is_exact(tmp_path: Path, which: str) -> None:
    tree = TREES[which]()
    tree.save(tmp_path / "deep" / "tree.json")
    back = ClassHierarchy.load(tmp_path / "deep" / "tree.json")
    assert back == tree
    assert repr(back) == repr(tree)
    for layer in range(tree.n_layers + 1):
        assert back.node_names(layer) == tree.node_names(layer)
        if tree.has_semantics:
            assert back.prototypes(layer).tobytes() == tree.prototypes(layer).tobytes()
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["tree.json"]


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    TREES["taxonomy with vectors"]().save(tmp_path / "tree.json")
    assert json.loads((tmp_path / "tree.json").read_text()) == {
        "format": "zerokin-hierarchy",
        "version": 1,
        "names": ["lynx", "puma", "wolf"],
        "layers": [{"labels": [0, 0, 1], "node_names": ["cat", "dog"]}],
        "semantics": [[0.1], [1 / 3], [np.pi]],
    }


def test_a_file_of_the_first_version_loads(tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text(
        '{"format": "zerokin-hierarchy", "version": 1, "names": ["a", "b", "c"],'
        ' "layers": [{"labels": [0, 1, 1], "node_names": null}], "semantics": [[1], [2.5], [-3]]}'
    )
    tree = ClassHierarchy.load(tmp_path / "tree.json")
    assert tree == ClassHierarchy([[0, 1, 1]], names=["a", "b", "c"], semantics=[[1], [2.5], [-3]])


def test_a_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tree.json"
    TREES["taxonomy"]().save(path)
    before = path.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(InvalidInput, match=r"cannot write .*tree\.json: disk full"):
        TREES["clusters"]().save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["tree.json"]


def changed(**fields: Any) -> Callable[[dict[str, Any]], object]:
    return lambda content: content | fields


def layer(**fields: Any) -> Callable[[dict[str, Any]], object]:
    """Change the first of the two layers."""
    return lambda content: (
        content | {"layers": [content["layers"][0] | fields, content["layers"][1]]}
    )


def without(field: str) -> Callable[[dict[str, Any]], object]:
    return lambda content: {key: value for key, value in content.items() if key != field}


NAMES = ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: [], "format: not a saved hierarchy"),
        (lambda _: None, "format: not a saved hierarchy"),
        (changed(format="zerokin-model"), "format: not a saved hierarchy"),
        (without("format"), "format: not a saved hierarchy"),
        (changed(version=3), "version: 3 is newer than 2.*update zerokin"),
        (changed(ranks=["a", "b"]), "ranks: unknown field"),
        (changed(version=2, ranks=["a"]), "ranks: 1 names were given for 2 ranks"),
        (changed(version=2, ranks="a"), "ranks: a list is needed"),
        (changed(version=0), "version: 0"),
        (changed(version="1"), "version: '1'"),
        (changed(version=True), "version: True"),
        (without("version"), "version: None"),
        (without("names"), "names: missing"),
        (without("layers"), "layers: missing"),
        (without("semantics"), "semantics: missing"),
        (changed(extra=1), "extra: unknown field"),
        (changed(names="abcd"), "names: a list is needed"),
        (changed(names=[]), "names: there are no classes"),
        (changed(names=["a", "b", "c", "a"]), "names: class names must differ: 'a'"),
        (changed(names=["a", "b", "c", 4]), "names: the name of class 3 is 4"),
        (changed(names=["a", "b", "c"]), r"layers\[0\]\.labels"),
        (changed(layers={}), "layers: a list is needed"),
        (changed(layers=[]), "layers: a hierarchy needs at least one layer"),
        (changed(layers=[[0, 0, 1, 1]]), r"layers\[0\]: 'labels' and 'node_names' are needed"),
        (changed(layers=[{"labels": [0, 0, 1, 1]}]), r"layers\[0\]: 'labels' and 'node_names'"),
        (layer(color="red"), r"layers\[0\]: 'labels' and 'node_names' are needed, and nothing"),
        (layer(labels=7), r"layers\[0\]\.labels: a list is needed"),
        (layer(labels=[0, 1, 2]), r"layers\[0\]\.labels: 3 labels for 4 classes"),
        (layer(labels=[0, 1, 2, 4]), r"layers\[0\]\.labels\[3\]: 4 is not a node"),
        (layer(labels=[0, 1, 2, -1]), r"layers\[0\]\.labels\[3\]: -1 is not a node"),
        (layer(labels=[0, 1, 2, 2.0]), r"layers\[0\]\.labels\[3\]: 2.0 is not a node"),
        (layer(labels=[0, 1, 2, True]), r"layers\[0\]\.labels\[3\]: True is not a node"),
        (layer(labels=[0, 1, 2, "2"]), r"layers\[0\]\.labels\[3\]: '2' is not a node"),
        (layer(labels=[0, 1, 2, 10**30]), r"layers\[0\]\.labels\[3\]: 10+ is not a node"),
        (layer(labels=[0, 1, 3, 3]), "layers: layer 1: no class belongs to node 2"),
        (layer(labels=[0, 1, 1, 2]), "layers: layer 1: node 1 has two parents in layer 2"),
        (layer(node_names=None), r"layers\[0\]\.node_names: a list is needed"),
        (layer(node_names=["x", "y"]), r"layers\[0\]\.node_names: 2 names were given for 3 nodes"),
        (layer(node_names=["x", "y", "x"]), r"layers\[0\]\.node_names: node names must differ"),
        (layer(node_names=["x", "y", 3]), r"layers\[0\]\.node_names: the name of node 2 is 3"),
        (changed(semantics=5), "semantics: a list is needed"),
        (changed(semantics=[[1.0], [2.0]]), "semantics: 2 vectors for 4 classes"),
        (changed(semantics=[[1.0], [2.0], 3.0, [4.0]]), r"semantics\[2\]: a list is needed"),
        (changed(semantics=[[1], [2], [3, 3], [4]]), r"semantics\[2\]: 2 numbers, but the first"),
        (changed(semantics=[[1], [2], ["3"], [4]]), r"semantics\[2\]\[0\]: '3' is not a number"),
        (changed(semantics=[[1], [2], [None], [4]]), r"semantics\[2\]\[0\]: None is not a number"),
        (changed(semantics=[[1], [2], [True], [4]]), r"semantics\[2\]\[0\]: True is not a number"),
        (changed(semantics=[[1], [2], [10**400], [4]]), "semantics: .* too large"),
        (changed(semantics=[[1e308]] * 4), "semantics: .* too large to average"),
        (changed(semantics=[[]] * 4), r"semantics: .*shape \(4, 0\)"),
    ],
)
def test_whatever_is_wrong_is_named(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    path = tmp_path / "tree.json"
    ClassHierarchy(
        [[0, 1, 2, 2], [0, 0, 1, 1]],
        names=NAMES,
        semantics=[[1.0], [2.0], [3.0], [4.0]],
        node_names=[["x", "y", "z"], ["v", "w"]],
    ).save(path)
    content = json.loads(path.read_text())
    ClassHierarchy.load(path)
    path.write_text(json.dumps(change(content)))
    with pytest.raises(InvalidInput, match=rf"tree\.json: {message}"):
        ClassHierarchy.load(path)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"format": "zerokin-hierarchy", "version": NaN}',
        b'{"format": "zerokin-hierarchy", "version": Infinity}',
        b"\x80\x04\x95",
    ],
)
def test_what_is_not_json_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "tree.json").write_bytes(text)
    with pytest.raises(InvalidInput, match=r"tree\.json: not a JSON file"):
        ClassHierarchy.load(tmp_path / "tree.json")


def test_infinite_numbers_written_with_digits_are_refused(tmp_path: Path) -> None:
    TREES["taxonomy with vectors"]().save(tmp_path / "tree.json")
    text = (tmp_path / "tree.json").read_text().replace("[0.1]", "[1e999]")
    (tmp_path / "tree.json").write_text(text)
    with pytest.raises(InvalidInput, match=r"tree\.json: semantics: .*class 0 holds inf"):
        ClassHierarchy.load(tmp_path / "tree.json")


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFile, match=r"no hierarchy at .*nothing\.json"):
        ClassHierarchy.load(tmp_path / "nothing.json")
    with pytest.raises(InvalidInput, match="cannot be read"):
        ClassHierarchy.load(tmp_path)
