"""No input destroys a bundle: it is refused in a line, or the bundle opens and answers after it."""

from __future__ import annotations

import csv
import shutil
from dataclasses import replace

import numpy as np
import pytest

from own_images import fitted, plain, write_critter_folder
from served import zerokin
from zerokin import FewShotClassifier, ZeroShotClassifier
from zerokin.app.service import Service
from zerokin.class_names import LONGEST_NAME, LONGEST_TEXT, checked_text
from zerokin.classifiers import serialization as classifiers
from zerokin.errors import InvalidInput
from zerokin.hierarchy.taxonomy_csv import read_taxonomy_csv
from zerokin.recognizer import Recognizer
from zerokin.recognizer import serialization as saved
from zerokin.recognizer.atomic_bundle import read_pointer, undo_generation, write_generation

BAD_NAMES = {
    "carriage return": "okapi\r",
    "inner carriage return": "oka\rpi",
    "line feed": "oka\npi",
    "NUL": "okapi\0",
    "escape": "\x1b[31mokapi",
    "half a character": "okapi\ud800",
    "next line": "oka\x85pi",
    "long": "o" * (LONGEST_NAME + 1),
    "longer than CSV readers take": "o" * (csv.field_size_limit() + 1),
    "blank": " \t ",
}
BAD_TEXTS = {
    "NUL": "a giraffe\0",
    "escape": "\x1b[31mred",
    "half a character": "red \udc00",
    "long": "o" * (LONGEST_TEXT + 1),
    "longer than CSV readers take": "o" * (csv.field_size_limit() + 1),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A bundle whose classes are told apart by descriptions, and images."""
    root = tmp_path_factory.mktemp("kept")
    images = write_critter_folder(root / "animals", n_seen=5, n_unseen=2, n_images=2, n_test=1)
    whole = fitted(images)
    told = replace(
        whole.classes,
        semantics_source="sentences (minilm)",
        text_encoder="minilm",
        attribute_names=None,
        descriptions=tuple(f"{name}, as it is\nknown" for name in whole.classes.names),
    )
    described = Recognizer(whole.learner, whole.classifier, told)
    described.save(root / "bundle")
    return root / "bundle", sorted((images / "test").glob("*/*.png"))[:2]


@pytest.fixture
def bundle(kept, tmp_path):
    return shutil.copytree(kept[0], tmp_path / "bundle")


@pytest.fixture
def encoded(monkeypatch):
    """Texts become vectors without an encoder."""

    def vectors(texts, _):
        return np.array([[1.0 + len(text) % 7, *range(1, 80)] for text in texts])

    monkeypatch.setattr("zerokin.semantics.sentence_vectors", vectors)


def answers(folder, images):
    return plain(Recognizer.load(folder).recognize(images, k=99))


@pytest.mark.parametrize("kind", BAD_NAMES)
def test_a_bad_name_is_refused_everywhere_and_changes_nothing(kept, bundle, kind):
    name, before = BAD_NAMES[kind], answers(bundle, kept[1])
    recognizer = Recognizer.load(bundle)
    vector = np.arange(1.0, 81)
    service = Service(bundle)
    try:
        for add in (
            lambda: recognizer.add_class(name, vector=vector),
            lambda: recognizer.classifier.add_class(name, vector),
            lambda: service.add_class(name, vector=vector.tolist()),
        ):
            with pytest.raises(InvalidInput) as caught:
                add()
            assert "\n" not in str(caught.value)
            assert len(str(caught.value)) < 400
    finally:
        service.close()
    recognizer.save(bundle)
    assert answers(bundle, kept[1]) == before


def test_blanks_around_a_name_are_left_out(bundle):
    recognizer = Recognizer.load(bundle)
    recognizer.add_class("\t okapi \u3000", vector=np.ones(80)).save(bundle)
    assert Recognizer.load(bundle).classes.names[-1] == "okapi"


@pytest.mark.parametrize("kind", BAD_TEXTS)
def test_a_bad_text_is_refused_and_changes_nothing(kept, bundle, kind, encoded):
    before = answers(bundle, kept[1])
    recognizer = Recognizer.load(bundle)
    with pytest.raises(InvalidInput, match=r"class 'okapi': .*text") as caught:
        recognizer.add_class("okapi", text=BAD_TEXTS[kind])
    assert "\n" not in str(caught.value)
    recognizer.save(bundle)
    assert answers(bundle, kept[1]) == before


def test_lines_of_a_text_end_in_line_feeds_and_come_back(bundle, encoded):
    recognizer = Recognizer.load(bundle)
    recognizer.add_class("okapi", text='a giraffe\'s kin,\r\n"striped",\rshy\tindeed\n')
    recognizer.add_class("longest", text="o" * LONGEST_TEXT)
    recognizer.save(bundle)
    told = Recognizer.load(bundle).classes.descriptions
    assert told[-2] == 'a giraffe\'s kin,\n"striped",\nshy\tindeed\n'
    assert told[-1] == "o" * LONGEST_TEXT
    with pytest.raises(InvalidInput, match="must be words"):
        checked_text(7, of="okapi")


def test_the_command_line_refuses_what_the_rest_refuses(kept, bundle):
    before = answers(bundle, kept[1])
    np.save(bundle.parent / "v.npy", np.ones(80))
    for name in ("okapi\r", "o" * 100_000):
        ran = zerokin("add-class", bundle, name, "--vector", bundle.parent / "v.npy")
        assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr
    assert answers(bundle, kept[1]) == before


def test_estimators_refuse_names_that_no_file_keeps(tmp_path):
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(9, 5)), rng.normal(size=(4, 3))
    for names in (["a", "b", "c", "d\0"], ["a", "b", "c\r", "d"], ["a", "b", "c", "d" * 201]):
        y = np.repeat(names[:3], 3)
        table = dict(zip(names, Z, strict=True))
        for fit in (
            lambda y=y, table=table: ZeroShotClassifier().fit(X, y, semantics=table),
            lambda y=y, table=table: FewShotClassifier().fit(X, y, semantics=table),
        ):
            with pytest.raises(InvalidInput, match=r"control character|at most 200"):
                fit()
    y = np.repeat(["a", "b", "c"], 3)
    few = FewShotClassifier().fit(X, y)
    with pytest.raises(InvalidInput, match="control character"):
        few.set_shots(X[:2], ["new\r", "new\r"])


def test_a_table_of_a_taxonomy_names_the_row_of_a_bad_name(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('name,order\nlynx,cats\n"li\ron",cats\n', encoding="utf-8", newline="")
    with pytest.raises(InvalidInput, match=r"t\.csv, row 3: the name .*control character"):
        read_taxonomy_csv(path, levels=("order",))


@pytest.mark.parametrize(
    ("break_it", "line"),
    [
        (lambda root: (root / "classes.csv").write_bytes(b"name,role"), "bundle's classes"),
        (lambda root: (root / "classifier" / "config.json").write_bytes(b"{"), "not JSON"),
        (lambda root: (root / "answers.json").unlink(), "answers.json is missing"),
        (lambda root: (root / "network" / "network.safetensors").write_bytes(b""), "network"),
    ],
)
def test_what_does_not_read_back_never_takes_the_place_of_what_does(
    kept, bundle, monkeypatch, break_it, line
):
    before, fill = answers(bundle, kept[1]), saved.fill
    pointer = read_pointer(bundle)
    recognizer = Recognizer.load(bundle).add_class("okapi", vector=np.ones(80))

    def fill_badly(recognizer, root, *, former=None):
        fill(recognizer, root)
        break_it(root)

    monkeypatch.setattr(saved, "fill", fill_badly)
    with pytest.raises(InvalidInput, match=f"does not read back.*{line}.*nothing is changed"):
        recognizer.save(bundle)
    assert read_pointer(bundle) == pointer
    assert answers(bundle, kept[1]) == before
    assert len(list(bundle.iterdir())) == 3


def test_answers_that_are_other_or_no_numbers_do_not_pass(kept, bundle, monkeypatch):
    before = answers(bundle, kept[1])
    recognizer = Recognizer.load(bundle).add_class("okapi", vector=np.ones(80))
    write = classifiers._numbers

    def numbers(model):
        return {**write(model), "prototypes": model.prototypes_ * 1.001}

    monkeypatch.setattr(classifiers, "_numbers", numbers)
    with pytest.raises(InvalidInput, match="its scores differ"):
        recognizer.save(bundle)
    monkeypatch.undo()
    recognizer.classifier._offsets[-1] = np.nan
    with pytest.raises(InvalidInput, match="not finite"):
        recognizer.save(bundle)
    assert answers(bundle, kept[1]) == before


def test_undo_goes_back_and_again_forth(kept, bundle):
    old = answers(bundle, kept[1])
    with pytest.raises(InvalidInput, match="nothing to undo"):
        Recognizer.undo(bundle)
    Recognizer.load(bundle).add_class("okapi", vector=np.ones(80)).save(bundle)
    new = answers(bundle, kept[1])
    assert old != new
    back = Recognizer.undo(bundle)
    assert plain(back.recognize(kept[1], k=99)) == old == answers(bundle, kept[1])
    Recognizer.undo(bundle)
    assert answers(bundle, kept[1]) == new
    # What was undone is what the next change takes the place of.
    back = Recognizer.undo(bundle)
    back.add_class("zebra", vector=np.ones(80)).save(bundle)
    assert Recognizer.load(bundle).classes.names[-1] == "zebra"
    Recognizer.undo(bundle)
    assert answers(bundle, kept[1]) == old
    assert len(list(bundle.iterdir())) == 4


def test_undo_refuses_a_former_generation_that_is_damaged(kept, bundle):
    Recognizer.load(bundle).add_class("okapi", vector=np.ones(80)).save(bundle)
    new = answers(bundle, kept[1])
    former = bundle / read_pointer(bundle).former.generation
    (former / "classes.csv").write_text("name,role\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="changed or damaged"):
        Recognizer.undo(bundle)
    assert answers(bundle, kept[1]) == new


def test_a_save_that_changes_nothing_leaves_something_to_undo(kept, bundle):
    old = answers(bundle, kept[1])
    recognizer = Recognizer.load(bundle).add_class("okapi", vector=np.ones(80))
    recognizer.save(bundle)
    recognizer.save(bundle)
    Recognizer.load(bundle).save(bundle)
    Recognizer.undo(bundle)
    assert answers(bundle, kept[1]) == old


def test_a_change_by_somebody_who_has_not_seen_an_undo_is_refused(bundle):
    recognizer = Recognizer.load(bundle).add_class("okapi", vector=np.ones(80))
    recognizer.save(bundle)
    Recognizer.undo(bundle)
    with pytest.raises(InvalidInput, match="changed by somebody else"):
        recognizer.add_class("zebra", vector=np.ones(80)).save(bundle)


def test_undo_from_the_command_line(bundle):
    np.save(bundle.parent / "v.npy", np.ones(80))
    count = len(Recognizer.load(bundle).classes)
    assert (
        zerokin("add-class", bundle, "okapi", "--vector", bundle.parent / "v.npy").returncode == 0
    )
    for known in (count, count + 1):
        ran = zerokin("undo", bundle)
        assert (ran.returncode, ran.stdout.split()[1:4]) == (0, ["knows", str(known), "classes,"])
    ran = zerokin("undo", bundle.parent / "none")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "no bundle in" in ran.stderr


def test_a_failed_check_of_the_former_generation_undoes_nothing(tmp_path):
    folder = tmp_path / "bundle"
    for word in ("old", "new"):
        write_generation(
            folder, lambda root, word=word: (root / "w.txt").write_bytes(word.encode())
        )
    pointer = read_pointer(folder)

    def fail(root):
        raise InvalidInput("cannot be read")

    with pytest.raises(InvalidInput, match="cannot be read"):
        undo_generation(folder, fail)
    assert read_pointer(folder) == pointer
