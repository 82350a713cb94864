"""Class vectors from definitions and taxonomies, alone and side by side."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import zerokin
from test_hierarchy_wordnet import write_nouns
from zerokin.cli import main
from zerokin.data.class_semantics import with_semantics
from zerokin.data.classes import ClassTable
from zerokin.errors import InvalidInput, MissingFile
from zerokin.recognizer.serialization import read_text_encoder
from zerokin.semantics import taxonomy_vectors, wordnet_definitions


@pytest.fixture(scope="module")
def critters():
    return zerokin.load_dataset("critters")


@pytest.fixture
def wordnet(tmp_path):
    """A folder with three nouns, and their wnids; glosses as WordNet writes them."""
    wnids = write_nouns(
        tmp_path,
        {
            "dog": (["dog", "domestic_dog"], []),
            "cat": (["cat"], []),
            "thing": (["thing"], []),
        },
    )
    path = tmp_path / "data.noun"
    glosses = iter(['a wolf that barks; "the dog barked"', "a small tiger", ""])
    width = len("a gloss with @ 00000001 n 0000 in it  ")
    found = re.sub(
        r"a gloss with @ 00000001 n 0000 in it  ",
        lambda _: next(glosses).ljust(width),
        path.read_text(),
    )
    path.write_text(found)
    return tmp_path, wnids


def test_definitions_come_with_all_words_and_without_examples(wordnet):
    folder, wnids = wordnet
    assert wordnet_definitions([wnids["cat"], wnids["dog"], wnids["thing"]], folder) == [
        "cat: a small tiger",
        "dog, domestic dog: a wolf that barks",
        "thing: ",
    ]
    with pytest.raises(InvalidInput, match="has no synset n00000007"):
        wordnet_definitions(["n00000007"], folder)


def test_wordnet_is_looked_for_where_its_own_programs_do(wordnet, monkeypatch, tmp_path):
    folder, wnids = wordnet
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.setenv("WNHOME", str(tmp_path / "nowhere"))
    with pytest.raises(MissingFile, match=r"nowhere.dict.data\.noun: install WordNet 3\.0"):
        wordnet_definitions([wnids["cat"]])
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    assert wordnet_definitions([wnids["cat"]]) == ["cat: a small tiger"]


def test_shared_superclasses_are_counted_by_the_dot_product():
    rng = np.random.default_rng(0)
    paths = [
        [f"{depth}:{rng.integers(3)}" for depth in range(rng.integers(1, 6))] for _ in range(30)
    ]
    Z = taxonomy_vectors(paths)
    for i, one in enumerate(paths):
        for j, other in enumerate(paths):
            shared = 0
            while shared < min(len(one), len(other)) and one[shared] == other[shared]:
                shared += 1
            assert Z[i] @ Z[j] == shared
    assert (Z.sum(axis=0) > 0).all()
    with pytest.raises(InvalidInput, match="no superclasses"):
        taxonomy_vectors([[], []])


def test_sources_stand_side_by_side_each_of_unit_length(critters):
    found = with_semantics(critters, "own+taxonomy").classes
    own, above = critters.classes.semantics, taxonomy_vectors(critters.classes.taxonomy)
    width = own.shape[1]
    np.testing.assert_allclose(found.vectors[:, :width], own)
    np.testing.assert_allclose(
        found.vectors[:, width:], above / np.linalg.norm(above, axis=1, keepdims=True)
    )
    assert found.semantics_source == "attributes beside taxonomy"
    assert found.attribute_names is None
    assert with_semantics(critters, "taxonomy").classes.semantics_source == "taxonomy"
    alone = with_semantics(critters, "own").classes
    assert alone.attribute_names == critters.classes.attribute_names


def test_a_plus_in_a_files_name_does_not_end_it(critters, tmp_path):
    names = [name.replace(" ", "_") for name in critters.classes.names]
    file = tmp_path / "a+b+text"
    file.write_text("".join(f"{name} {k} 1\n" for k, name in enumerate(names)))
    found = with_semantics(critters, f"word-vectors={file}+taxonomy").classes
    np.testing.assert_allclose(
        found.semantics[:, 0] / found.semantics[:, 1], np.arange(len(names)), atol=1e-9
    )


def test_definitions_are_encoded_by_wnid(critters, wordnet, monkeypatch):
    folder, wnids = wordnet
    texts = []

    def encoded(given, model, *, device):
        texts.extend(given)
        assert (model, device) == ("minilm", "cpu")
        return np.eye(len(given))

    monkeypatch.setattr("zerokin.semantics.sentence_vectors", encoded)
    dogs = (wnids["dog"],) * len(critters.classes)
    named = critters.with_classes(replace(critters.classes, wnids=dogs))
    found = with_semantics(named, f"definitions={folder}").classes
    assert set(texts) == {"dog, domestic dog: a wolf that barks"}
    assert found.descriptions == tuple(texts)
    assert found.semantics_source == "WordNet's definitions (minilm)"
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    joined = with_semantics(named, "own+definitions").classes
    assert joined.descriptions == tuple(texts[: len(dogs)])
    assert joined.wnids == dogs


@pytest.mark.parametrize(
    ("semantics", "message"),
    [
        ("taxnomy", r"unknown semantics 'taxnomy'; did you mean 'taxonomy'\? \(known: word-vec"),
        ("own+taxnomy", r"unknown semantics 'own\+taxnomy'"),
        ("own=3", "unknown semantics 'own=3'"),
        ("text=", "lacks its file, model or folder: text="),
        ("own+text=", "semantics 'text=' lacks its file, model or folder"),
        ("own+taxonomy+own", r"'own\+taxonomy\+own' has own twice: name it once"),
        ("definitions", "no concepts of WordNet .* text=minilm"),
        ("", "unknown semantics ''"),
    ],
)
def test_what_is_no_source_is_refused(critters, semantics, message):
    with pytest.raises(InvalidInput, match=message):
        with_semantics(critters, semantics)


def test_a_table_brings_back_what_a_command_wrote(critters, tmp_path, capsys, monkeypatch):
    file = tmp_path / "vectors.csv"
    words = ["vectors", "critters", "--semantics", "own+taxonomy", "--out", str(file)]
    monkeypatch.setattr("sys.argv", ["zerokin", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "60 classes, " in capsys.readouterr().out
    found = with_semantics(critters, f"table={file}").classes
    expected = with_semantics(critters, "own+taxonomy").classes
    np.testing.assert_allclose(found.semantics, expected.semantics, rtol=0, atol=1e-15)
    # In whatever order, and with classes that nobody asked for.
    head, *lines = file.read_text().splitlines()
    extra = lines[0].replace(critters.classes.names[0], "nobody")
    file.write_text("\n".join([head, extra, *reversed(lines)]) + "\n")
    again = with_semantics(critters, f"table={file}").classes
    assert np.array_equal(again.vectors, found.vectors)
    file.write_text("\n".join([head, *lines[2:]]) + "\n")
    first = critters.classes.names[0]
    with pytest.raises(InvalidInput, match=f"lacks the vectors of 2 of 60 classes: add {first}"):
        with_semantics(critters, f"table={file}")


@pytest.mark.parametrize(
    ("source", "encoder"),
    [
        ("sentences (minilm)", "minilm"),
        ("sentences (a (b))", "a (b)"),
        ("WordNet's definitions (minilm)", "minilm"),
        ("sentences (minilm) beside taxonomy", None),
        ("sentences (minilm) beside WordNet's definitions (minilm)", None),
        ("attributes beside sentences (minilm)", None),
    ],
)
def test_a_text_is_enough_for_a_class_where_texts_alone_made_the_vectors(source, encoder):
    """Bundles of earlier versions have it in words alone."""
    assert read_text_encoder({"semantics_source": source}) == encoder
    assert read_text_encoder({"semantics_source": source, "text_encoder": None}) is None


def test_a_class_that_is_added_leaves_no_wnids_behind():
    table = ClassTable(("dog", "cat"), np.eye(2), wnids=("n00000001", "n00000002"))
    more = table.with_class("okapi", np.ones(2), None)
    assert more.problems() == []
    assert more.select(np.array([2, 0])).names == ("okapi", "dog")


def test_what_classes_lack_is_said(critters):
    bare = critters.with_classes(replace(critters.classes, taxonomy=None, vectors=None))
    with pytest.raises(InvalidInput, match="no taxonomy"):
        with_semantics(bare, "taxonomy")
    with pytest.raises(InvalidInput, match="no vectors of their own"):
        with_semantics(bare, "own+taxonomy")


def test_wnids_are_those_of_mini_imagenets_classes(real_data):
    dataset = zerokin.load_dataset(f"mini-imagenet={real_data / 'mini-imagenet'}")
    found = dict(zip(dataset.classes.names, dataset.classes.wnids, strict=True))
    assert found["house finch"] == "n01532829"
    chosen = dataset.classes.select(np.array([3, 0]))
    assert chosen.wnids == (dataset.classes.wnids[3], dataset.classes.wnids[0])
