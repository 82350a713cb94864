"""Classes that are added by examples: as `FewShotClassifier` knows them, and kept in bundles."""

from __future__ import annotations

import shutil
import sys

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file, save_file

from feature_bundles import dataset, fitted, rows
from own_images import critters, images_of, write_critter_folder
from own_images import fitted as fitted_images
from zerokin import FewShotClassifier, Recognizer, ZeroShotClassifier
from zerokin.classifiers.few_shot.class_by_example import with_shots
from zerokin.cli import main
from zerokin.errors import InvalidInput

NAMES, Z = dataset().classes.names, dataset().classes.vectors
F, LABELS = (
    np.asarray(dataset().features, dtype=np.float64),
    dataset().evaluation_labels(np.arange(len(dataset()))),
)
TRAIN = dataset().split.train
NEW = [int(position) for position in dataset().unseen[:4]]


def samples_of(position):
    return F[position == LABELS]


def zero_shot(**parameters):
    return ZeroShotClassifier(**parameters)


def base_recognizer(position, **parameters):
    """A recognizer that was fitted without one of the unseen classes."""
    kept = np.delete(np.arange(len(NAMES)), position)
    classes = dataset().classes.select(kept)
    labels = np.searchsorted(kept, LABELS[TRAIN])
    model = zero_shot(**parameters).fit(F[TRAIN], labels, semantics=classes)
    return Recognizer(None, model, classes)


def few_shot(recognizer, name, shots, vector, kappa=1.0):
    """`FewShotClassifier` fitted anew on the same samples, under the same superclasses."""
    tree = recognizer.hierarchy
    table = dict(zip(tree.names, recognizer.classes.vectors, strict=True))
    if vector is None:
        del table[name]
        tree = tree.select([one for one in tree.names if one != name])
    model = FewShotClassifier(zero_shot(**recognizer.classifier.get_params()), kappa=kappa)
    names = np.array(NAMES)[LABELS[TRAIN]]
    return model.fit(
        F[TRAIN], names, semantics=table, shots=shots, shot_labels=[name] * len(shots),
        hierarchy=tree,
    )  # fmt: skip


@pytest.fixture
def bundle(tmp_path):
    fitted().save(tmp_path / "bundle")
    return tmp_path / "bundle"


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command in this process; return exit status, output and errors."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["zerokin", *map(str, words)])
        capsys.readouterr()
        status = 0
        try:
            main()
        except SystemExit as ended:
            status = ended.code or 0
        return status, *capsys.readouterr()

    return run


@pytest.mark.filterwarnings("ignore:support classes without semantics")
@pytest.mark.parametrize("inference", ["residual", "flat"])
@pytest.mark.parametrize("known_by", ["shots", "both"])
@pytest.mark.parametrize(("n_shots", "kappa"), [(1, None), (3, None), (3, 2.5)])
def test_the_prototype_and_the_answers_are_those_of_the_few_shot_classifier(
    inference, known_by, n_shots, kappa
):
    position = NEW[n_shots - 1]
    own = samples_of(position)
    vector = Z[position] if known_by == "both" else None
    recognizer = base_recognizer(position, inference=inference, hub_weight=0.4, seen_penalty=0.01)
    recognizer.add_class(NAMES[position], vector=vector, features=own[:n_shots], kappa=kappa)
    one = 1.0 if kappa is None else kappa
    expected = few_shot(recognizer, NAMES[position], own[:n_shots], vector, one)
    at = expected.classes_.tolist().index(NAMES[position])
    np.testing.assert_allclose(
        recognizer.classifier.prototypes_[-1], expected.prototypes_[at], atol=1e-9
    )
    # Base classes rest on their samples there and on semantics here: the new one scores alike.
    scores = expected.decision_function(own[n_shots:])[:, at]
    given = recognizer.classifier.decision_function(own[n_shots:])[:, -1]
    np.testing.assert_allclose(given, scores, atol=1e-9)


@pytest.mark.parametrize("noise", [1.0, 1.5])
def test_three_examples_serve_at_least_as_well_as_in_the_few_shot_classifier(noise, monkeypatch):
    """Samples of new classes, among all classes and among those not seen in training.

    Noise keeps both from naming them all, so that neither can hide behind 100 %.
    """
    rng = np.random.default_rng(11)
    monkeypatch.setitem(globals(), "F", F + noise * F.std() * rng.normal(size=F.shape))
    hits, n = {"all": [0, 0, 0], "unseen": [0, 0, 0]}, 0
    for position in dataset().unseen.tolist():
        name, own = NAMES[position], samples_of(position)
        before = base_recognizer(position).add_class(name, vector=Z[position])
        recognizer = base_recognizer(position).add_class(name, vector=Z[position], features=own[:3])
        model = few_shot(recognizer, name, own[:3], Z[position])
        unseen = [NAMES[at] for at in dataset().unseen]
        n += len(own) - 3
        for kind, classes in [("all", list(NAMES)), ("unseen", unseen)]:
            for column, one in enumerate((before, recognizer)):
                answers = one.recognize(own[3:], candidates=kind)
                hits[kind][column] += sum(answer.name == name for answer in answers)
            hits[kind][2] += int((model.predict(own[3:], candidates=classes) == name).sum())
    for zero_shot_hits, added, few_shot_hits in hits.values():
        assert n / len(NAMES) < few_shot_hits < n
        assert added >= few_shot_hits
        assert added > zero_shot_hits


def test_examples_may_follow_semantics_also_where_other_classes_came_between():
    position, other = NEW[1], NEW[2]
    own, name = samples_of(position), NAMES[position]
    later, at_once = base_recognizer(position), base_recognizer(position)
    later.add_class(name, vector=Z[position]).add_class("other", vector=Z[other])
    later.add_class(name, features=own[:3])
    at_once.add_class(name, vector=Z[position], features=own[:3])
    at_once.add_class("other", vector=Z[other])
    np.testing.assert_allclose(
        later.classifier.prototypes_, at_once.classifier.prototypes_, atol=1e-12
    )
    np.testing.assert_allclose(
        later.classifier.decision_function(own), at_once.classifier.decision_function(own)
    )


def test_examples_one_after_the_other_are_those_all_at_once():
    position = NEW[0]
    own = samples_of(position)
    one, other, plain = (base_recognizer(position) for _ in range(3))
    one.add_class("newt", vector=Z[position], features=own[:5], kappa=3.0)
    other.add_class("newt", vector=Z[position]).add_class("newt", features=own[0], kappa=3.0)
    other.add_class("newt", features=own[1:4]).add_class("newt", features=own[4:5])
    assert one.shots == other.shots == {"newt": 5}
    np.testing.assert_allclose(one.classifier.prototypes_, other.classifier.prototypes_, atol=1e-12)
    # What was there before is as it was.
    np.testing.assert_array_equal(one.classifier.prototypes_[:-1], plain.classifier.prototypes_)
    assert plain.shots == {}
    ranked = other.recognize(own[6], k=99)[0].ranked
    assert {r.name: r.shots for r in ranked if r.shots} == {"newt": 5}
    assert not next(r for r in ranked if r.name == "newt").seen


def test_shots_alone_take_their_place_beside_kin_and_say_nothing_of_semantics(tmp_path):
    position = NEW[1]
    recognizer = base_recognizer(position).add_class("newt", features=samples_of(position)[:4])
    assert not recognizer.classes.vectors[-1].any()
    model = recognizer.classifier
    read_off = model._shots["newt"].mean @ model._rule.projection
    np.testing.assert_allclose(model.semantics_[-1], read_off / np.linalg.norm(read_off))
    assert len(recognizer.recognize(samples_of(position)[5])[0].kin) == 3
    recognizer.save(tmp_path / "bundle")
    again = Recognizer.load(tmp_path / "bundle")
    assert not again.classes.vectors[-1].any()
    assert again.classifier._shots["newt"].projected is None
    assert again.recognize(rows(9), k=9) == recognizer.recognize(rows(9), k=9)


def test_a_bundle_keeps_examples_takes_more_and_takes_them_back(bundle):
    position = NEW[2]
    name, own = NAMES[position], samples_of(position)
    before = fitted().recognize(rows(9), k=9)
    recognizer = Recognizer.load(bundle).add_class(name, features=own[:2])
    recognizer.add_class("newt", features=samples_of(NEW[0])[:3]).save(bundle)
    again = Recognizer.load(bundle)
    assert again.shots == {name: 2, "newt": 3}
    assert again.recognize(rows(9), k=9) == recognizer.recognize(rows(9), k=9)
    again.add_class(name, features=own[2:4]).save(bundle)
    at_once = Recognizer.load(bundle.parent / "bundle")
    assert at_once.shots[name] == 4
    expected = with_shots(fitted().classifier, name, own[:4]).prototypes_[position]
    np.testing.assert_allclose(at_once.classifier.prototypes_[position], expected, atol=1e-12)
    assert Recognizer.undo(bundle).shots == {name: 2, "newt": 3}
    back = Recognizer.load(bundle).remove_class("newt")
    assert back.shots == {name: 2}
    back.remove_class(name).add_class(name, vector=Z[position])
    assert back.shots == {}
    card = (next(bundle.glob("v-*")) / "README.md").read_text(encoding="utf-8")
    assert "known by examples" in card
    assert before == fitted().recognize(rows(9), k=9)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"features": [[0.0] * 24]}, "shots: sample 0 is all zero"),
        ({"features": np.ones((2, 23))}, "have 23 features, but this recognizer takes 24"),
        ({"features": [[1.0] * 23 + [np.nan]]}, "sample 1 holds NaN.*: no image was added"),
        ({"features": np.ones((0, 24))}, "there are no features of the class"),
        ({"images": ["a.jpg"]}, "this recognizer takes features"),
        ({"images": ["a.jpg"], "features": np.ones((1, 24))}, "not both"),
        ({"vector": Z[0], "kappa": 2}, "kappa weighs"),
        ({"features": np.ones((1, 24)), "kappa": -1}, "kappa must be a number from 0"),
        ({"features": np.ones((1, 24)), "vector": [1.0]}, "its vector has 1 values"),
        ({"features": np.ones((1, 24)), "name": NAMES[0]}, "was seen in training"),
        ({"features": "garden.jpg", "name": NAMES[0]}, "was seen in training"),
        ({"features": np.ones((1, 24)), "vector": Z[0], "name": NAMES[-1]}, "its shots alone"),
    ],
)
def test_what_cannot_be_added_changes_nothing_and_is_one_line(options, line):
    recognizer = base_recognizer(NEW[0])
    before = recognizer.recognize(rows(2), k=99)
    with pytest.raises(InvalidInput, match=line) as caught:
        recognizer.add_class(**{"name": "newt", **options})
    assert "\n" not in str(caught.value)
    assert recognizer.recognize(rows(2), k=99) == before


def test_euclidean_classifiers_take_no_shots():
    recognizer = base_recognizer(NEW[0], distance="euclidean", feature_scaling="center")
    with pytest.raises(InvalidInput, match="shots are compared by cosine"):
        recognizer.add_class("newt", features=np.ones((1, 24)))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda n: n.update({"shots.positions": np.array([0])}), "different unseen classes"),
        (lambda n: n.update({"shots.positions": np.array([99])}), "different unseen classes"),
        (lambda n: n.update({"shots.counts": np.array([0])}), "counted wrong"),
        (lambda n: n.update({"shots.kappas": np.array([np.inf])}), "does not fit together"),
        (lambda n: n.update({"shots.means": np.ones((1, 3))}), "does not fit together"),
        (lambda n: n.pop("shots.projected"), "shots.projected"),
    ],
)
def test_damaged_shots_are_refused(tmp_path, change, line):
    model = with_shots(fitted().classifier, NAMES[-1], samples_of(len(NAMES) - 1)[:2])
    model.save(tmp_path / "model")
    numbers = load_file(tmp_path / "model" / "numbers.safetensors")
    change(numbers)
    save_file(numbers, tmp_path / "model" / "numbers.safetensors")
    with pytest.raises(InvalidInput, match=f"not a whole classifier.*{line}"):
        ZeroShotClassifier.load(tmp_path / "model")


def test_features_are_added_from_the_command_line(bundle, command, tmp_path):
    np.save(tmp_path / "rows.npy", samples_of(NEW[0])[:3])
    status, printed, error = command(
        "add-class", bundle, "newt", "--features", tmp_path / "rows.npy"
    )
    assert (status, error) == (0, "")
    assert f"knows {len(NAMES) + 1} classes, newt by 3 examples" in printed
    assert command("add-class", bundle, "newt", "--features", tmp_path / "rows.npy")[0] == 0
    assert Recognizer.load(bundle).shots == {"newt": 6}
    assert command("undo", bundle)[0] == 0
    assert Recognizer.load(bundle).shots == {"newt": 3}
    status, printed, error = command("add-class", bundle, "newt", "--images", "a.jpg")
    assert (status, printed, error.count("\n")) == (2, "", 1)
    assert "this recognizer takes features" in error


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    return write_critter_folder(tmp_path_factory.mktemp("own") / "animals")


@pytest.fixture(scope="module")
def image_bundle(animals):
    fitted_images(animals).save(animals.parent / "bundle")
    return animals.parent / "bundle"


def test_images_are_added_from_the_command_line_and_a_broken_one_adds_none(
    image_bundle, command, tmp_path
):
    model = shutil.copytree(image_bundle, tmp_path / "bundle")
    position = int(critters().unseen[5])
    files = []
    for number, image in enumerate(images_of(position, 5)):
        files.append(tmp_path / f"{number}.png")
        image.save(files[-1])
    words = ("add-class", model, "okapi", "--images", *files[:3], "--kappa", 0.5)
    attributes = dict(
        zip(critters().classes.attribute_names, critters().classes.vectors[position], strict=True)
    )
    told = ",".join(f"{name}={value}" for name, value in attributes.items() if value)
    status, printed, error = command(*words, "--attributes", told)
    assert (status, error) == (0, "")
    assert "okapi by 3 examples" in printed
    known = Recognizer.load(model, device="cpu")
    by_python = Recognizer.load(image_bundle, device="cpu")
    by_python.add_class(
        "okapi", images=[Image.open(f) for f in files[:3]], attributes=attributes, kappa=0.5
    )
    np.testing.assert_allclose(
        known.classifier.prototypes_, by_python.classifier.prototypes_, atol=1e-12
    )
    assert [a.name for a in known.recognize(files[:3])] == ["okapi"] * 3
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(files[0].read_bytes()[:70])
    for name in ("okapi", "quagga"):
        before = sorted(path.name for path in model.iterdir())
        status, printed, error = command("add-class", model, name, "--images", files[3], broken)
        assert (status, printed, error.count("\n")) == (2, "", 1)
        assert "broken.jpg cannot be decoded" in error
        assert "no image was added" in error
        assert sorted(path.name for path in model.iterdir()) == before
    folder = tmp_path / "more"
    folder.mkdir()
    shutil.copy(files[3], folder)
    assert command("add-class", model, "okapi", "--images", folder)[0] == 0
    assert Recognizer.load(model, device="cpu").shots == {"okapi": 4}
    for words, line in [
        (("okapi",), "give one of --attributes"),
        (("okapi", files[0]), "images go after --images"),
        (("okapi", "--images", tmp_path / "no.png"), "cannot read image"),
        (("honey mumbler", "--images", files[0]), "was seen in training"),
        (("okapi", "--images", files[0], "--attributes", "legs::four=1"), "its shots alone"),
    ]:
        status, printed, error = command("add-class", model, *words)
        assert (status, printed, error.count("\n")) == (2, "", 1)
        assert line in error
