"""Bundles without a network: fitted, asked and changed as those of images are."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from builders import write_xlsa17_folder
from feature_bundles import dataset, fitted, rows
from own_images import SMALL, write_critter_folder
from own_images import fitted as fitted_to_images
from zerokin import ClassHierarchy, ZeroShotClassifier, load_dataset
from zerokin.classifiers import serialization
from zerokin.cli import main
from zerokin.data.array_features import ArrayFeatures
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.features.training import Recipe
from zerokin.recognizer import ImageAnswer, Recognizer, UnreadableImage, fit_recognizer
from zerokin.selection.fitting import choose_parameters

FORMER = Path(__file__).parent / "data" / "features-1"


@pytest.fixture
def zerokin(monkeypatch, capsys):
    """Run a command in this process; return exit status, output and errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["zerokin", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
            status = 0
        except SystemExit as ended:
            status = ended.code or 0
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


@pytest.fixture
def data(tmp_path):
    folder = write_xlsa17_folder(tmp_path / "made", n_classes=13, n_unseen=3, d_f=9)
    return f"xlsa17={folder}"


@pytest.fixture
def bundle(tmp_path):
    fitted().save(tmp_path / "bundle")
    return tmp_path / "bundle"


def test_the_classifier_is_that_of_the_choice_on_the_same_features():
    data = dataset()
    chosen = choose_parameters(data, tune=False, quiet=True)
    train = data.split.train
    alone = ZeroShotClassifier(**chosen.params).fit(
        data.features[train], data.training_labels(), semantics=data.classes
    )
    names, scores = alone.predict_top_k(rows(7), 4, "all")
    answers = fitted().recognize(rows(7), k=4)
    assert [[one.name for one in answer.ranked] for answer in answers] == names.tolist()
    assert np.allclose([[one.score for one in answer.ranked] for answer in answers], scores)
    assert fitted().metrics["test"]["unseen_among_all"] > 40  # of 6 among 32 classes
    assert fitted().takes == "features"


def test_answers_have_probabilities_risks_and_superclasses():
    plain, leaning = (fitted().recognize(rows(1), unseen_bias=bias)[0] for bias in (0.0, 9.0))
    whole = fitted().recognize(rows(1), k=99)[0]
    assert sum(one.probability for one in whole.ranked) == pytest.approx(1)
    assert plain.ranked == whole.ranked[:5]
    assert not any(one.seen for one in leaning.ranked)
    steps = [step.probability for step in plain.superclasses]
    assert steps == sorted(steps, reverse=True)
    careful = fitted().recognize(rows(40), max_risk=0.2)
    assert all(one.selective.risk is None or one.selective.risk <= 0.2 for one in careful)
    assert {one.selective.layer for one in careful} != {0}
    odd = 50 * np.random.default_rng(3).normal(size=(40, 24))
    rejected = [sum(a.out_of_distribution for a in fitted().recognize(F)) for F in (rows(40), odd)]
    assert rejected[0] < rejected[1]


def test_rows_come_as_arrays_lists_or_files_and_company_changes_nothing(tmp_path):
    np.save(tmp_path / "rows.npy", rows(7))
    names = [f"{letter}.jpg" for letter in "abcdefg"]
    expected = fitted().recognize(rows(7))
    assert fitted().recognize(rows(7).tolist()) == fitted().recognize(rows(7).astype(float))
    assert fitted().recognize(ArrayFeatures(tmp_path / "rows.npy")) == expected
    named = fitted().recognize(ArrayFeatures(tmp_path / "rows.npy", names))
    assert [answer.image for answer in named] == names
    assert [answer.image for answer in expected] == list("1234567")
    assert [answer.ranked for answer in named] == [answer.ranked for answer in expected]
    assert fitted().recognize(rows(7)[4])[0].ranked == expected[4].ranked
    by_two = list(fitted().recognize_stream(rows(7), batch_size=2))
    assert by_two == expected
    half = fitted().recognize(rows(7).astype(np.float16))
    assert [one.name for one in half] == [one.name for one in expected]


def test_a_row_that_cannot_be_used_stops_none_of_the_others():
    given = rows(6).astype(np.float64)
    given[1, 3], given[2, 0], given[4] = np.nan, -np.inf, 1e200
    answers = list(fitted().recognize_stream(given, batch_size=4))
    assert [isinstance(one, ImageAnswer) for one in answers] == [
        True, False, False, True, False, True,
    ]  # fmt: skip
    assert "sample 2 holds NaN or infinity" in answers[1].error
    assert "sample 5 cannot be scored" in answers[4].error
    assert all("\n" not in one.error for one in answers if isinstance(one, UnreadableImage))
    with pytest.raises(InvalidInput, match="sample 2 holds NaN"):
        fitted().recognize(given)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("garden.jpg", r"features \(n, 24\), since this recognizer has no network"),
        (["a.jpg", "b.jpg"], "has no network to read images with"),
        (np.zeros((4, 4, 3), np.uint8), r"got shape \(4, 4, 3\)"),
        (np.zeros((2, 23)), "have 23 features, but this recognizer takes 24"),
        (np.array([[object()] * 24]), "must be features"),
        (np.zeros((1, 24), complex), "must be features"),
        (np.array([["1"] * 24]), "must be features"),
    ],
)
def test_other_things_than_features_are_refused_in_one_line(given, line):
    with pytest.raises(InvalidInput, match=line) as caught:
        fitted().recognize(given)
    assert "\n" not in str(caught.value)


def test_a_recognizer_of_images_says_that_it_takes_no_features(tmp_path):
    folder = write_critter_folder(tmp_path / "few", n_seen=3, n_unseen=1, n_images=2, n_test=1)
    of_images = fitted_to_images(folder)
    assert of_images.takes == "images"
    with pytest.raises(InvalidInput, match="for a recognizer that was fitted on features"):
        of_images.recognize(rows(2))


def test_saved_and_loaded_it_answers_alike_and_needs_no_torch(bundle):
    again = Recognizer.load(bundle)
    assert again.learner is None
    assert again.recognize(rows(5), max_risk=0.3) == fitted().recognize(rows(5), max_risk=0.3)
    root = next(bundle.glob("v-*"))
    assert not (root / "network").exists()
    assert json.loads((root / "about.json").read_text(encoding="utf-8"))["has_network"] is False
    card = (root / "README.md").read_text(encoding="utf-8")
    assert "holds no network: it takes features, 24 numbers for a sample" in card
    assert "zerokin predict THIS_FOLDER features.npy" in card
    code = (
        "import sys; from zerokin.recognizer import Recognizer; "
        f"r = Recognizer.load({str(bundle)!r}); r.recognize([0.5] * 24); "
        "r.save(sys.argv[1]); print('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(bundle.parent / "copy")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_classes_are_added_removed_and_undone(bundle, zerokin):
    before = Recognizer.load(bundle).recognize(rows(3))
    np.save(bundle.parent / "v.npy", dataset().classes.vectors[-1])
    assert zerokin("add-class", bundle, "newt", "--vector", bundle.parent / "v.npy")[0] == 0
    grown = Recognizer.load(bundle)
    assert grown.classes.names[-1] == "newt"
    # Its vector is that of the class beside it, so that both score alike.
    position = dict(zip(grown.classes.names, grown.classifier.prototypes_, strict=True))
    assert np.allclose(position["newt"], position[dataset().classes.names[-1]])
    assert zerokin("undo", bundle)[0] == 0
    assert Recognizer.load(bundle).recognize(rows(3)) == before
    assert zerokin("undo", bundle)[0] == 0
    assert zerokin("remove-class", bundle, "newt")[0] == 0
    assert Recognizer.load(bundle).recognize(rows(3)) == before
    status, _, said = zerokin("remove-class", bundle, dataset().classes.names[0])
    assert (status, said.count("\n")) == (2, 1)
    assert "was seen in training, so it cannot be forgotten" in said


def test_a_features_bundle_that_lost_or_gained_its_network_does_not_pass(bundle, monkeypatch):
    from zerokin.recognizer import serialization as bundles

    recognizer, fill = Recognizer.load(bundle), bundles.fill

    def forget(recognizer, root, *, former=None):
        fill(recognizer, root, former=former)
        about = root / "about.json"
        about.write_text(about.read_text().replace('"has_network": false', '"has_network": true'))

    monkeypatch.setattr(bundles, "fill", forget)
    with pytest.raises(InvalidInput, match="does not read back"):
        recognizer.save(bundle)
    assert Recognizer.load(bundle).takes == "features"


def test_a_hierarchy_may_be_given_and_is_said_to_be():
    tree = ClassHierarchy.from_semantics(dataset().semantics, 3, names=dataset().classes.names)
    by_given = fit_recognizer(dataset(), hierarchy=tree, tune=False, calibrated=False, quiet=True)
    assert by_given.hierarchy.sizes == tree.sizes
    said = by_given.about["training"]["superclasses of the classifier"]
    assert said == f"{' > '.join(map(str, reversed(tree.sizes)))} (as given)"
    assert by_given.about["training"]["network"] == "none: features were given"


def test_features_that_are_not_finite_are_refused_before_the_fit():
    broken = np.array(dataset().features)
    broken[dataset().split.train[2], 5] = np.nan
    with pytest.raises(InvalidInput, match="hold NaN or infinity"):
        fit_recognizer(dataset().with_inputs(broken), tune=False, quiet=True)


@pytest.mark.parametrize("given", [True, False])
def test_superclasses_that_network_and_classifier_do_not_share_are_both_said(tmp_path, given):
    folder = write_critter_folder(tmp_path / "own", n_seen=7, n_unseen=3, n_images=2, n_test=1)
    recipe = Recipe(epochs=1, image_size=32)
    learner = {**SMALL, "mode": "superclass-heads", "branching": 3, "recipe": recipe}
    classes = load_dataset(f"folder={folder}").classes
    tree = ClassHierarchy.from_semantics(classes.semantics, 2, names=classes.names)
    options = {"finetune": True, "fold_networks": False, "calibrated": False}
    one = fitted_to_images(folder, learner=learner, hierarchy=tree if given else None, **options)
    said = one.about["training"]
    if given:
        assert said["superclasses of the classifier"] == "2 > 5 (as given)"
        assert "superclasses that the network learned" not in said
        return
    assert said["superclasses of the classifier"] == "2 > 5 (agglomerative, branching 2)"
    assert said["superclasses that the network learned"] == "3 (kmeans, branching 3)"
    one.save(tmp_path / "bundle")
    root = next((tmp_path / "bundle").glob("v-*"))
    for file in ("README.md", "about.json"):
        text = (root / file).read_text(encoding="utf-8")
        assert "2 &gt; 5 (agglo" in text or "2 > 5 (agglo" in text
        assert "3 (kmeans, branching 3)" in text
    # A learner that was fitted before does not tell where its superclasses came from.
    again = fitted_to_images(folder, learner=one.learner, calibrated=False)
    assert again.about["training"]["superclasses that the network learned"] == "3 (others)"


def test_fit_and_predict_from_files(data, tmp_path, zerokin):
    model = tmp_path / "model"
    status, printed, error = zerokin("fit", data, "--no-tune", "--out", model)
    assert status == 0, error
    assert "10 seen and 3 unseen classes" in printed
    assert "test features: unseen among unseen" in printed
    known = Recognizer.load(model)
    inputs = load_dataset(data).inputs
    expected = known.recognize(inputs, k=2, max_risk=0.3)
    status, printed, _ = zerokin("predict", model, data, "--json", "-k", 2, "--max-risk", 0.3)
    assert status == 0
    assert [json.loads(line) for line in printed.splitlines()] == [
        answer.to_dict() for answer in expected
    ]
    status, printed, _ = zerokin("predict", model, data, "--csv", "-k", 2, "--candidates", "unseen")
    cells = list(csv.reader(io.StringIO(printed)))
    assert len(cells) == 1 + len(inputs)
    assert cells[1][0] == inputs.names[0]
    answer = known.recognize(inputs, k=2, candidates="unseen")[0]
    assert cells[1][1] == cells[1][3] == answer.name
    assert float(cells[1][4]) == answer.best.probability
    status, printed, _ = zerokin("predict", model, data)
    assert len(printed.splitlines()) == 1 + len(inputs)
    np.save(tmp_path / "rows.npy", np.asarray(inputs.open())[:3])
    status, printed, _ = zerokin("predict", model, tmp_path / "rows.npy", "--json")
    ranked = [json.loads(line)["ranked"][0]["name"] for line in printed.splitlines()]
    assert ranked == [answer.best.name for answer in expected[:3]]
    broken = np.asarray(inputs.open())[:3].copy()
    broken[1] = np.nan
    np.save(tmp_path / "rows.npy", broken)
    status, printed, error = zerokin("predict", model, tmp_path / "rows.npy", "--csv")
    assert (status, error.count("\n"), len(printed.splitlines())) == (1, 1, 4)
    assert "sample 2 holds NaN" in error


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["{model}", "a.npy", "b.npy"], "one file or DATA at a time"),
        (["{model}", "no.npy"], "no NumPy file at no.npy"),
        (["{model}", "critters"], "not features"),
        (["{model}", "garden.jpg"], "unknown data"),
        (["{model}", "{here}/narrow.npy"], "have 2 features, but this recognizer takes 24"),
        (["{model}", "{here}/empty.npy"], "no features"),
        (["{here}", "{here}/narrow.npy"], "no bundle"),
    ],
)
def test_predict_says_what_is_wrong_in_one_line(bundle, zerokin, tmp_path, arguments, line):
    np.save(tmp_path / "narrow.npy", np.zeros((3, 2)))
    np.save(tmp_path / "empty.npy", np.zeros((0, 24)))
    words = [word.format(model=bundle, here=tmp_path) for word in arguments]
    status, _, error = zerokin("predict", *words)
    assert (status, error.count("\n")) == (2, 1), error
    assert line in error


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--fine-tune"], "--fine-tune is for images"),
        (["--config", "x.yaml"], "add --fine-tune"),
    ],
)
def test_fit_refuses_what_is_for_images(data, zerokin, tmp_path, options, line):
    status, _, error = zerokin("fit", data, "--out", tmp_path / "model", *options)
    assert (status, error.count("\n")) == (2, 1), error
    assert line in error
    assert not (tmp_path / "model").exists()


def test_fit_over_a_bundle_that_knows_more_is_refused(data, zerokin, bundle):
    status, _, error = zerokin("fit", data, "--no-tune", "--out", bundle)
    assert (status, error.count("\n")) == (2, 1), error
    assert "also knows" in error
    assert zerokin("fit", data, "--no-tune", "--out", bundle, "--replace", "--by", "kmeans")[0] == 0
    assert Recognizer.load(bundle).classifier.n_features_in_ == 9
    assert zerokin("undo", bundle)[0] == 0
    assert Recognizer.load(bundle).classifier.n_features_in_ == 24


def test_a_classifier_of_an_earlier_version_answers_as_it_did(zerokin, tmp_path):
    expected = json.loads(FORMER.with_suffix(".json").read_text(encoding="utf-8"))
    with pytest.warns(ZerokinWarning, match=r"ZeroShotClassifier.load\(.*\).save"):
        old = Recognizer.load(FORMER)
    answers = old.recognize(expected["features"], k=12)
    assert [[one.name for one in answer.ranked] for answer in answers] == expected["names"]
    assert np.allclose(
        [[one.score for one in answer.ranked] for answer in answers], expected["scores"]
    )
    assert answers[0].best.probability is None
    with pytest.raises(InvalidInput, match="max_risk needs calibrated answers"):
        old.recognize(expected["features"], max_risk=0.2)
    data = f"xlsa17={write_xlsa17_folder(tmp_path / 'made', n_classes=12, n_unseen=3)}"
    status, printed, error = zerokin("predict", FORMER, data, "--json")
    assert status == 0, error
    assert len(printed.splitlines()) == 60


def test_a_classifier_of_an_earlier_version_is_only_read(zerokin, tmp_path):
    old = shutil.copytree(FORMER, tmp_path / "old")
    np.save(tmp_path / "v.npy", [0.1, 0.2, 0.3, 0.4])
    made = f"xlsa17={write_xlsa17_folder(tmp_path / 'made', n_classes=12, n_unseen=3)}"
    for command in (
        ("add-class", old, "newt", "--vector", tmp_path / "v.npy"),
        ("remove-class", old, "class12"),
        ("undo", old),
        ("fit", made, "--no-tune", "--out", old),
    ):
        status, _, error = zerokin(*command)
        *warned, line = error.splitlines()
        assert (status, len(warned) <= 1) == (2, True), error
        assert "of an earlier version, which is only read" in line or "no bundle in" in line
    assert sorted(path.name for path in old.iterdir()) == sorted(
        [serialization.CONFIG, serialization.HIERARCHY, serialization.NUMBERS]
    )
    with pytest.warns(ZerokinWarning):
        known = Recognizer.load(old)
    known.save(tmp_path / "bundle")
    features = np.random.default_rng(1).normal(size=(3, 7))
    assert Recognizer.load(tmp_path / "bundle").recognize(features) == known.recognize(features)


def test_a_classifier_whose_classes_are_numbers_is_read_too(tmp_path):
    X = np.random.default_rng(2).normal(size=(12, 5))
    model = ZeroShotClassifier().fit(X, np.repeat([0, 1, 2], 4), semantics=np.eye(4))
    model.save(tmp_path / "numbers")
    answer = Recognizer.load(tmp_path / "numbers").recognize(X[0], k=1)[0]
    assert answer.name == str(model.predict(X[:1], "all")[0])
