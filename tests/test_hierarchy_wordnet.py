"""Paths from WordNet: as text, from a small file in WordNet's layout, and from the real one."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from zerokin.data.classes import ClassTable
from zerokin.errors import InvalidInput, MissingFile
from zerokin.hierarchy import ClassHierarchy, parse_wordnet_path, wordnet_paths
from zerokin.hierarchy.from_dataset import readable_names

LICENSE = "  1 This file stands in for WordNet's noun file.  \n"


def write_nouns(
    folder: Path, synsets: dict[str, tuple[list[str], list[tuple[str, str]]]]
) -> dict[str, str]:
    """Write data.noun: word lists and pointers (symbol, synset) by key; return key -> wnid."""

    def line(offsets: dict[str, int], key: str) -> str:
        words, pointers = synsets[key]
        lemmas = " ".join(f"{word} 0" for word in words)
        links = "".join(f" {symbol} {offsets[to]:08d} n 0000" for symbol, to in pointers)
        return (
            f"{offsets[key]:08d} 05 n {len(words):02x} {lemmas} {len(pointers):03d}{links} "
            f"| a gloss with @ 00000001 n 0000 in it  \n"
        )

    # Every offset has eight digits, so the lengths are known before the offsets are.
    offsets = dict.fromkeys(synsets, 0)
    at = len(LICENSE)
    for key in synsets:
        offsets[key], at = at, at + len(line(dict.fromkeys(synsets, 0), key))
    text = LICENSE + "".join(line(offsets, key) for key in synsets)
    (folder / "data.noun").write_text(text, encoding="utf-8")
    return {key: f"n{offset:08d}" for key, offset in offsets.items()}


@pytest.fixture
def nouns(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    wnids = write_nouns(
        tmp_path,
        {
            "entity": (["entity"], [("~", "animal")]),
            "animal": (["animal", "beast"], [("@", "entity"), ("~", "cat")]),
            "pet": (["pet"], [("@", "entity")]),
            # eleven words, so that their number reads 0b in hexadecimal
            "cat": (
                [f"cat_{i}" for i in range(11)],
                [("#m", "pet"), ("@", "animal"), ("@", "pet")],
            ),
            "Felix": (["Felix_the_Cat"], [("@i", "cat")]),
            "ring one": (["ring"], [("@", "ring two")]),
            "ring two": (["ring"], [("@", "ring one")]),
        },
    )
    return tmp_path, wnids


def test_paths_follow_the_first_hypernym(nouns: tuple[Path, dict[str, str]]) -> None:
    folder, wnid = nouns
    above = (f"entity#{wnid['entity']}", f"animal#{wnid['animal']}")
    assert wordnet_paths([wnid["Felix"], wnid["cat"], wnid["entity"]], folder) == {
        wnid["Felix"]: (*above, f"cat 0#{wnid['cat']}"),
        wnid["cat"]: above,
        wnid["entity"]: (),
    }


def test_a_circle_is_noticed(nouns: tuple[Path, dict[str, str]]) -> None:
    folder, wnid = nouns
    with pytest.raises(InvalidInput, match=r"data\.noun: .* run in a circle"):
        wordnet_paths([wnid["ring one"]], folder)


@pytest.mark.parametrize("bad", ["02084071", "n123", "v02084071", "n0208407x", "", 5])
def test_what_is_no_wnid_is_refused(nouns: tuple[Path, dict[str, str]], bad: object) -> None:
    with pytest.raises(InvalidInput, match=f"{bad!r} is not a WordNet noun"):
        wordnet_paths([bad], nouns[0])  # type: ignore[list-item]


@pytest.mark.parametrize("offset", [0, 1, 99_999_999])
def test_offsets_between_synsets_are_refused(
    nouns: tuple[Path, dict[str, str]], offset: int
) -> None:
    with pytest.raises(InvalidInput, match=f"has no synset n{offset:08d}"):
        wordnet_paths([f"n{offset:08d}"], nouns[0])


def test_a_missing_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFile, match=r"data\.noun: install WordNet"):
        wordnet_paths(["n02084071"], tmp_path / "nowhere")


@pytest.mark.parametrize(
    "line",
    [
        "00000000 05 n zz cat 0 000 | gloss\n",
        "00000000 05 n 01 cat 0 002 @ 00000001 n 0000 | gloss\n",
        "00000000 05 n 09 cat 0 000 | gloss\n",
        "00000000 05 n 01 cat 0 001 @ one n 0000 | gloss\n",
        "00000000 05\n",
    ],
)
def test_damaged_lines_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "data.noun").write_text(line)
    with pytest.raises(InvalidInput, match="the line of synset n00000000 is damaged"):
        wordnet_paths(["n00000000"], tmp_path)


def test_path_text_is_read_from_class_to_root() -> None:
    text = "n02121620:cat > n02120997:feline > n00015388:animal"
    assert parse_wordnet_path(text) == ("animal#n00015388", "feline#n02120997")


@pytest.mark.parametrize(
    "text",
    ["", "cat", "n02121620:cat", "cat > animal", "n1:cat > n2:animal", "n02121620: > n00015388:x"],
)
def test_unusable_path_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="WordNet path"):
        parse_wordnet_path(text)


def test_nodes_with_one_name_stay_apart_by_wnid_and_read_well() -> None:
    tree = ClassHierarchy.from_taxonomy(
        [
            ("thing#n00000001", "crane#n00000002"),
            ("thing#n00000001", "crane#n00000002"),
            ("thing#n00000001", "crane#n00000003"),
            ("thing#n00000001", "tool#n00000004"),
        ]
    )
    names = [tree.node_names(1)[i] for i in tree.labels(1)]
    assert names[0] == names[1] != names[2]
    assert names[0].startswith("thing#n00000001 > crane#n00000002")
    assert names[3] == "tool"


def test_real_wordnet_gives_the_paths_of_mini_imagenet(real_data: Path) -> None:
    database = Path("/usr/share/wordnet")
    if not (database / "data.noun").exists():
        pytest.skip(f"no WordNet at {database}: install wordnet-base")
    with (real_data / "mini-imagenet" / "classes.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expected = {row["wnid"]: parse_wordnet_path(row["wordnet_path"]) for row in rows}
    assert wordnet_paths(list(expected), database) == expected


def test_clusters_are_named_by_wordnet_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = {key: [("@", above)] for key, above in [
        ("animal", "entity"), ("feline", "animal"), ("bird", "animal"),
        ("lynx", "feline"), ("puma", "feline"), ("wren", "bird"), ("heron", "bird"),
        ("sofa", "entity"), ("lamp", "entity"),
    ]}  # fmt: skip
    wnids = write_nouns(
        tmp_path, {"entity": (["entity"], [])} | {k: ([k], p) for k, p in up.items()}
    )
    names = ("lynx", "puma", "wren", "heron", "sofa", "lamp")
    vectors = np.array([[0, 0], [0, 1], [9, 0], [9, 1], [40, 0], [40, 1.0]])
    tree = ClassHierarchy([[0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1]], names=names, semantics=vectors)
    classes = ClassTable(names, vectors, wnids=tuple(wnids[name] for name in names))
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    named = readable_names(tree, classes)
    # Nothing but the root stands above sofa and lamp.
    assert named.node_names(1) == ("feline", "bird", "lamp, sofa")
    assert named.node_names(2) == ("animal", "lamp, sofa")
    assert readable_names(named, classes) is named
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path / "none"))
    assert readable_names(tree, classes).node_names(1) == (
        "lynx, puma",
        "heron, wren",
        "lamp, sofa",
    )
    (tmp_path / "data.noun").write_text("another version\n", encoding="utf-8")
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    assert readable_names(tree, classes).node_names(1)[0] == "lynx, puma"
