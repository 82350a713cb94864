"""From images to a recognizer: what is learned from what, and what has no say."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from PIL import Image

import zerokin
from feature_bundles import fit_answers
from own_images import SMALL, fitted, plain, write_critter_folder
from zerokin import ZeroShotClassifier
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.training import Recipe
from zerokin.metrics.accuracy import per_class_top1
from zerokin.recognizer import fit_recognizer
from zerokin.recognizer.network_features import FoldFeatures


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_critter_folder(tmp_path_factory.mktemp("own") / "animals")


@pytest.fixture(scope="module")
def recognizer(folder):
    return fitted(folder)


def features_of(recognizer, dataset):
    return recognizer.learner.transform(dataset.images)


def test_the_classifier_is_the_one_that_features_alone_would_give(folder, recognizer):
    dataset = zerokin.load_dataset(f"folder={folder}")
    features = features_of(recognizer, dataset)
    params = recognizer.classifier.get_params()
    train = dataset.split.train
    alone = ZeroShotClassifier(**params).fit(
        features[train], dataset.training_labels(), semantics=dataset.classes
    )
    assert np.allclose(alone.prototypes_, recognizer.classifier.prototypes_)
    assert recognizer.classifier.hierarchy_.sizes == alone.hierarchy_.sizes
    calibration = fit_answers(
        dataset.with_inputs(features), params, candidates="unseen", quiet=True
    )
    assert calibration.temperature == pytest.approx(recognizer.calibrations["unseen"].temperature)
    assert calibration.novelty == recognizer.calibrations["unseen"].novelty


def test_metrics_of_test_images_are_those_of_its_answers(folder, recognizer):
    dataset = zerokin.load_dataset(f"folder={folder}")
    names = np.array(dataset.classes.names)
    split, found = dataset.split, recognizer.metrics["test"]
    for rows, candidates, metric in (
        (split.test_unseen, "unseen", "unseen_among_unseen"),
        (split.test_unseen, "all", "unseen_among_all"),
        (split.test_seen, "all", "seen_among_all"),
    ):
        files = [folder / dataset.images.names[row] for row in rows]
        answers = recognizer.recognize(files, candidates=candidates, k=1)
        named = dataset.classes.index([answer.best.name for answer in answers])
        assert found[metric] == pytest.approx(
            per_class_top1(dataset.evaluation_labels(rows), named)
        ), names
    assert found["harmonic_mean"] <= max(found["seen_among_all"], found["unseen_among_all"])


def test_test_images_have_no_say(folder, recognizer, tmp_path):
    changed = shutil.copytree(folder, tmp_path / "animals")
    for path in (changed / "test").glob("*/*.png"):
        Image.new("RGB", (50, 50), "blue").save(path)
    other = fitted(changed)
    assert other.metrics["test"] != recognizer.metrics["test"]
    assert other.metrics["validation"] == recognizer.metrics["validation"]
    assert other.calibrations == recognizer.calibrations
    assert np.array_equal(other.classifier.prototypes_, recognizer.classifier.prototypes_)


def test_without_test_images_nothing_is_measured(folder, recognizer, tmp_path):
    changed = shutil.copytree(folder, tmp_path / "animals")
    shutil.rmtree(changed / "test")
    other = fitted(changed)
    assert other.metrics["test"] is None
    assert other.calibrations == recognizer.calibrations


def test_few_classes_choose_among_few_settings(folder, recognizer):
    tuned = fitted(folder, tune=True, calibrated=False)
    before, after = recognizer.metrics["validation"], tuned.metrics["validation"]
    assert (before["tried"], after["tried"]) == (1, 32)
    assert before["folds"] == after["folds"]
    assert after["folds"].endswith("(drawn with seed 0)")
    assert set(after["half_widths"]) == {"seen_among_all", "unseen_among_all", "harmonic_mean"}
    assert set(after["never_named"]) <= set(tuned.classes.names)
    assert tuned.calibrations == {}


def test_with_few_classes_it_says_what_it_does_without(tmp_path):
    few = write_critter_folder(tmp_path / "few", n_seen=4, n_unseen=2, n_images=2, n_test=1)
    dataset = zerokin.load_dataset(f"folder={few}")
    with pytest.warns(ZerokinWarning, match="too few seen classes"):
        recognizer = fit_recognizer(dataset, learner=SMALL, quiet=True)
    assert recognizer.calibrations == {}
    answer = recognizer.recognize(next((few / "test").glob("*/*.png")))[0]
    assert answer.best.probability is None
    assert all(step.probability is None for step in answer.superclasses)
    assert not answer.out_of_distribution
    with pytest.raises(InvalidInput, match="max_risk needs calibrated answers"):
        recognizer.recognize([], max_risk=0.1)
    recognizer.save(tmp_path / "bundle")
    assert "no probabilities" in next((tmp_path / "bundle").glob("v-*/README.md")).read_text()


def test_what_is_no_image_or_has_one_class_is_refused(folder):
    dataset = zerokin.load_dataset(f"folder={folder}")
    with pytest.raises(InvalidInput, match="learner and finetune are for images"):
        fit_recognizer(dataset.with_inputs(np.ones((len(dataset), 3))), learner=SMALL)
    with pytest.raises(InvalidInput, match="did you mean 'backbone'"):
        fit_recognizer(dataset, learner={"backbon": "conv4"})


def test_networks_of_folds_never_see_the_folds_classes(folder, monkeypatch, tmp_path):
    dataset = zerokin.load_dataset(f"folder={folder}")
    trained = []
    whole = FeatureLearner.fit

    def watched(self, given, **options):
        trained.append({given.classes.names[label] for label in given.training_labels()})
        return whole(self, given, **options)

    monkeypatch.setattr(FeatureLearner, "fit", watched)
    recognizer = fit_recognizer(
        dataset,
        learner={**SMALL, "mode": "superclass-heads", "recipe": Recipe(epochs=1, image_size=32)},
        finetune=True,
        tune=False,
        folder=tmp_path / "training",
        quiet=True,
    )
    seen = {dataset.classes.names[position] for position in dataset.seen}
    assert trained[0] == seen
    for fold, classes in zip(dataset.split.folds, trained[1:], strict=True):
        assert classes == seen - {dataset.classes.names[i] for i in np.flatnonzero(fold)}
    assert recognizer.about["notes"] == []
    assert len(recognizer.learner.history_) == 1
    again = fit_recognizer(  # goes on from where it ended
        dataset,
        learner={**SMALL, "mode": "superclass-heads", "recipe": Recipe(epochs=1, image_size=32)},
        finetune=True,
        tune=False,
        folder=tmp_path / "training",
        quiet=True,
    )
    files = sorted((folder / "test").glob("*/*.png"))
    assert plain(again.recognize(files)) == plain(recognizer.recognize(files))


def test_folds_get_features_of_their_own(folder):
    dataset = zerokin.load_dataset(f"folder={folder}")
    n = len(dataset)
    parts = [np.full((n, 2), number, np.float32) for number in (1, 2, 3)]
    featured = FoldFeatures(dataset, np.zeros((n, 2), np.float32), parts)
    assert [float(featured.fold(number).features.max()) for number in (1, 2, 3)] == [1, 2, 3]
    assert featured.features.max() == 0
    assert FoldFeatures(dataset, parts[0]).fold(2).features.max() == 1


def test_one_network_for_all_folds_is_said_to_flatter(folder):
    recognizer = fitted(
        folder,
        learner={**SMALL, "mode": "classes", "recipe": Recipe(epochs=1, image_size=32)},
        finetune=True,
        fold_networks=False,
        calibrated=False,
    )
    assert "has seen the validation classes" in recognizer.about["notes"][0]


def test_a_folder_keeps_features_and_gives_the_same_recogniser(folder, recognizer, tmp_path):
    one = fitted(folder, folder=tmp_path)
    kept = tmp_path / "features.safetensors"
    written = kept.stat().st_mtime_ns
    two = fitted(folder, folder=tmp_path)
    assert kept.stat().st_mtime_ns == written
    files = sorted((folder / "test").glob("*/*.png"))
    assert plain(one.recognize(files)) == plain(two.recognize(files))
    assert plain(one.recognize(files)) == plain(recognizer.recognize(files))


def test_a_fitted_network_is_used_as_it_is(folder):
    dataset = zerokin.load_dataset(f"folder={folder}")
    learner = FeatureLearner(**SMALL, recipe=Recipe(seed=7)).prepare(dataset)
    recognizer = fitted(folder, learner=learner)
    assert recognizer.learner.network_ is learner.network_
    assert recognizer.about["notes"] == []


def test_classes_told_in_words_are_encoded_alike_when_fitted_and_when_added(
    folder, tmp_path, monkeypatch
):
    asked = []

    def by_letters(texts, model, **_):
        asked.append(model)
        return np.array([[text.count(letter) for letter in "aeioustrn"] for text in texts], float)

    monkeypatch.setattr("zerokin.semantics.sentence_vectors", by_letters)
    own = shutil.copytree(folder, tmp_path / "own")
    lines = (own / "classes.csv").read_text().splitlines()
    told = ["name,role,description"]
    told += [
        f'{line.split(",")[0]},{line.split(",")[1]},"tart, {line[:4]} s"' for line in lines[1:]
    ]
    (own / "classes.csv").write_text("\n".join(told))
    recognizer = fitted(own)
    recognizer.save(tmp_path / "bundle")
    loaded = zerokin.Recognizer.load(tmp_path / "bundle")
    assert loaded.classes.descriptions == recognizer.classes.descriptions
    assert np.array_equal(loaded.classes.semantics, recognizer.classes.semantics)
    text = loaded.classes.descriptions[-1]
    loaded.add_class("same text", text=text).save(tmp_path / "bundle")
    again = zerokin.Recognizer.load(tmp_path / "bundle")
    assert np.allclose(again.classifier.semantics_[-1], again.classifier.semantics_[-2])
    assert again.classes.descriptions[-1] == text
    assert set(asked) == {"minilm"}
    with pytest.raises(InvalidInput, match="not by attributes: give text"):
        again.add_class("x", attributes={"legs": 1})


def test_a_taxonomy_may_give_the_superclasses_and_classes_still_join(folder, tmp_path):
    dataset = zerokin.load_dataset(f"folder={folder}")
    kinds = [(name.split()[-1],) for name in dataset.classes.names]
    tree = zerokin.ClassHierarchy.from_taxonomy(kinds, names=dataset.classes.names)
    recognizer = fitted(folder, hierarchy=tree)
    answer = recognizer.recognize(next((folder / "test").glob("*/*.png")))[0]
    assert [step.name for step in answer.superclasses] == [answer.best.name.split()[-1]]
    recognizer.add_class("blue prancet", vector=dataset.classes.vectors[-1])
    position = int(recognizer.classes.index("blue prancet")[0])
    assert recognizer.hierarchy.labels(1)[position] == recognizer.hierarchy.labels(1)[-2]
    names = dataset.classes.names
    turned = fitted(folder, hierarchy=tree.select(list(reversed(names))))
    assert turned.hierarchy.names == names
    assert np.array_equal(turned.hierarchy.labels(1), tree.labels(1))
    wrong = zerokin.ClassHierarchy.from_taxonomy(kinds, names=[*names[:-1], "unicorn"])
    with pytest.raises(InvalidInput, match=f"the hierarchy has no class '{names[-1]}'"):
        fitted(folder, hierarchy=wrong)


def test_python_and_the_command_fine_tune_alike():
    from zerokin.recognizer.network_features import FINE_TUNING, own_learner

    recipe = own_learner(None, finetune=True)[0].recipe
    assert {name: getattr(recipe, name) for name in FINE_TUNING} == dict(FINE_TUNING)
    assert own_learner({"recipe": Recipe(lr=0.5)}, finetune=True)[0].recipe.lr == 0.5
