"""What a recognizer says of images, against the parts it is made of and formulas in NumPy."""

from __future__ import annotations

import io
import json
from base64 import b64decode

import numpy as np
import pytest
from PIL import Image

import zerokin
from own_images import critters, fitted, images_of, plain, write_critter_folder
from zerokin.errors import InvalidInput
from zerokin.recognizer import UnreadableImage
from zerokin.recognizer.confidence import ANYTHING, NONE_OF_THESE, predict_selectively
from zerokin.recognizer.confidence.novelty import typicality


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_critter_folder(tmp_path_factory.mktemp("own") / "animals")


@pytest.fixture(scope="module")
def recognizer(folder):
    return fitted(folder)


@pytest.fixture(scope="module")
def files(folder):
    return sorted((folder / "test").glob("*/*.png"))


def features_of(recognizer, files):
    squares = [np.asarray(Image.open(file).convert("RGB")) for file in files]
    return recognizer.learner.transform(np.stack(squares))


def test_ranks_and_scores_are_the_classifiers(recognizer, files):
    given = recognizer.recognize(files, k=4)
    names, scores = recognizer.classifier.predict_top_k(
        features_of(recognizer, files), 4, candidates="all"
    )
    assert [[one.name for one in a.ranked] for a in given] == names.tolist()
    assert np.allclose([[one.score for one in a.ranked] for a in given], scores, atol=1e-6)
    assert [a.image for a in given] == [str(file) for file in files]


def test_probabilities_are_a_softmax_and_sum_up_the_superclasses(recognizer, files):
    calibration = recognizer.calibrations["all"]
    scores = recognizer.classifier.decision_function(features_of(recognizer, files))
    odds = np.exp(scores / calibration.temperature)
    shares = odds / odds.sum(axis=1, keepdims=True)
    tree, names = recognizer.hierarchy, list(recognizer.classes.names)
    for row, given in enumerate(recognizer.recognize(files, k=99)):
        assert len(given.ranked) == len(names)
        for one in given.ranked:
            assert one.probability == pytest.approx(shares[row, names.index(one.name)], abs=1e-4)
        best = names.index(given.best.name)
        assert [step.layer for step in given.superclasses] == [*range(tree.n_layers, 0, -1)]
        for step in given.superclasses:
            node = tree.labels(step.layer)[best]
            below = tree.members(step.layer, int(node))
            assert step.name == tree.node_names(step.layer)[node]
            assert step.probability == pytest.approx(shares[row, below].sum(), abs=1e-4)


@pytest.mark.parametrize("kind", ["all", "unseen"])
@pytest.mark.parametrize("max_risk", [0.0, 0.3, 0.6, 1.0])
def test_hedged_answers_are_those_of_the_classifier_and_its_calibration(
    recognizer, files, kind, max_risk
):
    given = recognizer.recognize(files, candidates=kind, max_risk=max_risk)
    calibration, tree = recognizer.calibrations[kind], recognizer.hierarchy
    scores = recognizer.classifier.decision_function(features_of(recognizer, files))
    chosen = np.flatnonzero(~recognizer.seen) if kind == "unseen" else np.arange(len(tree.names))
    expected = predict_selectively(scores[:, chosen], tree, chosen, calibration, max_risk)
    novel = calibration.novelty.rejects(typicality(scores)).tolist()
    assert [a.out_of_distribution for a in given] == novel
    names = [tree.names, *(tree.node_names(1 + at) for at in range(tree.n_layers)), (ANYTHING,)]
    for row, answer in enumerate(given):
        layer, node = int(expected.layer[row]), int(expected.node[row])
        assert answer.name == (NONE_OF_THESE if novel[row] else names[layer][node])
        assert answer.selective.layer == (None if novel[row] else layer)


def test_something_else_is_none_of_these(recognizer):
    odd = [np.full((40, 40, 3), [255, 0, 255], np.uint8)]
    threshold = recognizer.calibrations["all"].novelty.threshold
    scores = recognizer.classifier.decision_function(recognizer.learner.transform(odd[0][None]))
    outlying = threshold is not None and scores.max() - scores.mean() / 2 < threshold
    assert recognizer.recognize(odd)[0].out_of_distribution == outlying


def test_images_may_be_paths_images_arrays_or_images(recognizer, folder, files):
    images = [Image.open(file) for file in files]
    arrays = [np.asarray(image.convert("RGB")) for image in images]
    dataset = zerokin.load_dataset(f"folder={folder}")
    expected = plain(recognizer.recognize(files))
    for given in (map(str, files), images, arrays, np.stack(arrays)):
        assert plain(recognizer.recognize(given)) == expected
    assert plain(recognizer.recognize(files[0])) == plain(recognizer.recognize(images[0]))
    assert len(recognizer.recognize(dataset.images)) == len(dataset)
    assert recognizer.recognize([]) == []


def test_unreadable_images_are_named_and_the_others_answered(recognizer, tmp_path, files):
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(files[0].read_bytes()[:60])
    missing = tmp_path / "missing.png"
    given = list(recognizer.recognize_stream([files[0], broken, files[1], missing], batch_size=3))
    assert [isinstance(one, UnreadableImage) for one in given] == [False, True, False, True]
    assert "broken.jpg cannot be decoded" in given[1].error
    assert given[3].to_dict() == {
        "image": str(missing),
        "picture": str(missing),
        "error": f"cannot read image {missing}: No such file or directory",
    }
    assert plain([given[0], given[2]]) == plain(recognizer.recognize(files[:2]))
    with pytest.raises(InvalidInput, match=r"broken\.jpg cannot be decoded"):
        recognizer.recognize([files[0], broken])


def test_a_stream_reads_no_further_than_its_batch(recognizer, files):
    asked = []

    def endless():
        while True:
            asked.append(None)
            yield files[0]

    answers = recognizer.recognize_stream(endless(), batch_size=4)
    for _ in range(5):
        next(answers)
    assert len(asked) == 8


def test_bias_moves_answers_between_seen_and_unseen(recognizer, files):
    towards = recognizer.recognize(files, unseen_bias=9.0)
    away = recognizer.recognize(files, unseen_bias=-9.0)
    assert not any(a.best.seen for a in towards)
    assert all(a.best.seen for a in away)
    unseen = recognizer.recognize(files, candidates="unseen")
    assert [a.best.name for a in towards] == [a.best.name for a in unseen]


def test_candidates_and_numbers_are_checked_before_any_image(recognizer):
    for options, line in [
        ({"candidates": ["willow prancett"]}, "did you mean 'willow prancet'"),
        ({"candidates": "unsen"}, "did you mean 'unseen'"),
        ({"candidates": []}, "leaves no class"),
        ({"k": 0}, "k must be a whole number from 1"),
        ({"max_risk": 2}, "max_risk must be a number from 0 to 1"),
        ({"unseen_bias": float("nan")}, "unseen_bias must be a number from -100 to 100"),
    ]:
        with pytest.raises(InvalidInput, match=line):
            recognizer.recognize_stream(["nowhere.jpg"], **options)
    with pytest.raises(InvalidInput, match="image 1 is a int"):
        recognizer.recognize([3])
    with pytest.raises(InvalidInput, match="not int"):
        recognizer.recognize(3)
    with pytest.raises(InvalidInput, match=r"image 1 must be uint8 of shape"):
        recognizer.recognize([np.zeros((4, 4), np.uint8)])


def test_answers_are_json_with_examples_of_kin(recognizer, files):
    given = recognizer.recognize(files[:1], max_risk=0.5)[0]
    assert json.loads(json.dumps(given.to_dict())) == given.to_dict()
    assert given.to_dict() == {
        **given.to_dict(examples=True),
        "kin": [{"name": kin.name, "similarity": kin.similarity} for kin in given.kin],
    }
    kin = given.to_dict(examples=True)["kin"]
    seen = set(np.array(recognizer.classes.names)[recognizer.seen])
    assert len(kin) == 3
    assert {one["name"] for one in kin} <= seen
    for one in kin:
        assert len(one["examples"]) == 3
        head, data = one["examples"][0].split(",")
        image = Image.open(io.BytesIO(b64decode(data)))
        assert head == "data:image/jpeg;base64"
        assert image.format == "JPEG"
        assert max(image.size) <= 160


def test_an_added_class_is_told_by_attributes_as_by_its_vector(folder, files):
    dataset, one, other = critters(), fitted(folder), fitted(folder)
    position = int(dataset.unseen[5])
    vector = dataset.classes.vectors[position]
    attributes = dict(zip(dataset.classes.attribute_names, vector.tolist(), strict=True))
    some = {name: value for name, value in attributes.items() if value}
    one.add_class("new one", attributes=some)
    other.add_class("new one", vector=vector)
    images = images_of(position, 3) + [Image.open(file) for file in files]
    assert plain(one.recognize(images)) == plain(other.recognize(images))
    assert one.classes.names[-1] == "new one"
    assert not one.seen[-1]


def test_a_twin_of_an_unseen_class_scores_as_its_twin(folder, files):
    recognizer = fitted(folder)
    twin = recognizer.classes.names[-1]
    recognizer.add_class("twin", vector=recognizer.classes.vectors[-1])
    for given in recognizer.recognize(files, k=99):
        scores = {one.name: one.score for one in given.ranked}
        assert scores["twin"] == pytest.approx(scores[twin], abs=1e-9)


def test_adding_and_removing_leaves_no_trace_and_spares_answers_under_way(folder, files):
    recognizer = fitted(folder)
    before = recognizer.recognize(files, k=99, max_risk=0.4)
    under_way = recognizer.recognize_stream(files, k=99, max_risk=0.4, batch_size=2)
    first = next(under_way)
    recognizer.add_class("new one", vector=np.ones(80)).add_class("next", vector=np.arange(80.0))
    assert plain([first, *under_way]) == plain(before)
    assert len(recognizer.recognize(files, k=99)[0].ranked) == 15
    recognizer.remove_class("new one").remove_class("next")
    assert plain(recognizer.recognize(files, k=99, max_risk=0.4)) == plain(before)


def test_removing_an_unseen_class_leaves_the_scores_of_others(folder, files):
    recognizer = fitted(folder)
    gone = recognizer.classes.names[-2]
    before = recognizer.recognize(files, k=99)
    recognizer.remove_class(gone)
    for old, new in zip(before, recognizer.recognize(files, k=99), strict=True):
        expected = {one.name: one.score for one in old.ranked if one.name != gone}
        assert {one.name: one.score for one in new.ranked} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda r: r.add_class("x"), "give one of vector, attributes and text"),
        (lambda r: r.add_class(" ", vector=np.ones(80)), "a class needs a name"),
        (lambda r: r.add_class("plum mumbler", vector=np.ones(80)), "there is a class"),
        (lambda r: r.add_class("x", vector=np.ones(3)), "has 3 values, but those of the others 80"),
        (lambda r: r.add_class("x", vector=np.zeros(80)), "not all 0"),
        (lambda r: r.add_class("x", attributes={"six legs": 1}), "unknown attribute 'six legs'"),
        (lambda r: r.add_class("x", attributes={"legs::six": "y"}), "'y', not a number"),
        (lambda r: r.add_class("x", text="a beast"), "not by text: give attributes"),
        (lambda r: r.remove_class("plum mumblr"), "did you mean 'plum mumbler'"),
        (lambda r: r.remove_class("honey mumbler"), "was seen in training"),
    ],
)
def test_what_cannot_be_added_or_removed_is_said(recognizer, change, line):
    names = recognizer.classes.names
    with pytest.raises(InvalidInput, match=line):
        change(recognizer)
    assert recognizer.classes.names == names
