"""Learning the calibration on folds, saving it, and answering with it."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from feature_bundles import fit_answers, recognizer_of
from zerokin.classifiers import ZeroShotClassifier
from zerokin.data import ClassTable, Dataset, Provenance, Split
from zerokin.data.splits import draw_folds, hold_out
from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.recognizer.confidence import NONE_OF_THESE
from zerokin.recognizer.confidence.confidence_model import ConfidenceModel
from zerokin.recognizer.confidence.fitting import AnswerFitter
from zerokin.recognizer.confidence.risk_coverage import risk_coverage

PARAMS = {"feature_scaling": "center-unit", "gamma": 0.1, "seen_penalty": 0.02}


def made_dataset(seed=0, noise=1.0, scramble_test=False):
    """30 classes in 6 groups, 6 of them unseen, whose features follow their semantics."""
    rng = np.random.default_rng(seed)
    groups = rng.normal(size=(6, 10))
    Z = np.repeat(groups, 5, axis=0) + 0.6 * rng.normal(size=(30, 10))
    unseen = np.arange(30) % 5 == 4
    labels = np.repeat(np.arange(30), 24)
    F = Z[labels] @ rng.normal(size=(10, 24)) + 3 * noise * rng.normal(size=(720, 24))
    names = tuple(f"kind {k:02d}" for k in range(30))
    seen_samples = np.flatnonzero(~unseen[labels])
    train, test_seen = hold_out(seen_samples, labels, fraction=0.25, seed=0)
    test_unseen = np.flatnonzero(unseen[labels])
    if scramble_test:
        F[np.r_[test_seen, test_unseen]] = 100 * rng.normal(size=(24 * 30 - len(train), 24))
    split = Split("made", unseen, train, test_seen, test_unseen, draw_folds(names, unseen), "drawn")
    return Dataset(
        name="made",
        classes=ClassTable(names, Z),
        inputs=F,
        labels=labels,
        splits={"made": split},
        provenance=Provenance("made", "made", ()),
    )


@pytest.fixture(scope="module")
def dataset():
    return made_dataset()


@pytest.fixture(scope="module")
def fitters(dataset):
    return {
        kind: AnswerFitter(dataset, PARAMS, candidates=kind, quiet=True, reject=0.05)
        for kind in ("unseen", "all")
    }


@pytest.fixture(scope="module")
def model(dataset):
    return ZeroShotClassifier(**PARAMS).fit(
        dataset.features[dataset.split.train], dataset.training_labels(), semantics=dataset.classes
    )


def test_nothing_of_the_test_images_is_looked_at(fitters):
    scrambled = fit_answers(
        made_dataset(scramble_test=True), PARAMS, candidates="all", quiet=True, reject=0.05
    )
    assert scrambled == fitters["all"].calibration()


def test_folds_hold_validation_classes_and_held_out_samples_only(dataset, fitters):
    split = dataset.split
    for kind, fitter in fitters.items():
        for fold, mask in zip(fitter.folds, split.folds, strict=True):
            assert set(fold.samples) <= set(split.train)
            assert (fold.scored.truth == dataset.evaluation_labels(fold.samples)).all()
            assert set(fold.validation) == set(np.flatnonzero(mask))
            if kind == "unseen":
                assert set(fold.scored.candidates) == set(fold.validation)
            else:
                assert set(fold.scored.candidates) == set(dataset.seen)
                unseen = np.isin(fold.scored.truth, fold.validation)
                assert fold.scored.weights[unseen].sum() == pytest.approx(0.5)


def test_what_is_left_out_shares_no_image_and_no_class(fitters):
    for fitter in fitters.values():
        for fold in fitter.folds:
            for other in fitter.folds:
                if other is fold:
                    continue
                rest = other.without(fold)
                assert not np.isin(rest.truth, fold.validation).any()
                kept = ~np.isin(other.samples, fold.samples)
                kept &= ~np.isin(other.scored.truth, fold.validation)
                assert len(rest) == kept.sum() > 0


@pytest.mark.parametrize("kind", ["unseen", "all"])
def test_risks_hold_on_folds_left_out(fitters, kind):
    fitter = fitters[kind]
    for max_risk in (0.1, 0.2, 0.4):
        wrong = []
        for fold, calibration in fitter.left_out():
            coverage, _, risk = risk_coverage(fold.scored, fitter.hierarchy, calibration).at(
                max_risk
            )
            wrong.append(coverage * risk)
        assert np.mean(wrong) <= max_risk


def test_known_images_are_rejected_about_as_often_as_asked(dataset, fitters, model):
    from zerokin.recognizer.confidence.novelty import typicality

    rule = fitters["all"].calibration().novelty
    typical = np.concatenate([fold.typical for fold in fitters["all"].folds])
    weights = np.concatenate([fold.typical_weights for fold in fitters["all"].folds])
    assert weights @ rule.rejects(typical) / weights.sum() <= 0.05
    test = dataset.features[dataset.split.test_seen]
    assert rule.rejects(typicality(model.decision_function(test))).mean() < 0.15


def test_answers_follow_the_classifier(dataset, fitters, model):
    X = dataset.features[dataset.split.test_unseen][:60]
    for kind, fitter in fitters.items():
        known = recognizer_of(model, fitter.calibration())
        given = known.recognize(X, candidates=kind, max_risk=1.0)
        best = model.predict(X, candidates=kind).tolist()
        assert [a.best.name for a in given] == best
        assert [a.name for a in given] == [
            NONE_OF_THESE if a.out_of_distribution else name
            for a, name in zip(given, best, strict=True)
        ]
        careful = known.recognize(X, candidates=kind, max_risk=0.1)
        for cautious, bold in zip(
            (a.selective for a in careful), (a.selective for a in given), strict=True
        ):
            assert (cautious.layer is None) == (bold.layer is None)
            if cautious.layer is not None:
                assert cautious.risk <= 0.1
                assert cautious.layer >= bold.layer


def test_noise_is_none_of_these(dataset, fitters, model):
    far = 50 * np.random.default_rng(5).normal(size=(200, 24))
    recognizer = recognizer_of(model, fitters["all"].calibration())
    near = dataset.features[dataset.split.test_seen]
    rejected, known = (
        [a.name == NONE_OF_THESE for a in recognizer.recognize(X, max_risk=0.1)]
        for X in (far, near)
    )
    assert np.mean(rejected) > 3 * np.mean(known)


def test_a_few_classes_may_be_candidates(dataset, fitters, model):
    X = dataset.features[dataset.split.test_unseen][:20]
    names = ["kind 04", "kind 09"]
    known = recognizer_of(model, fitters["unseen"].calibration())
    given = known.recognize(X, candidates=names, max_risk=1.0)
    assert {a.best.name for a in given} <= set(names)


def test_the_default_hierarchy_is_the_classifiers(fitters, model):
    assert fitters["all"].hierarchy.n_layers == model.hierarchy_.n_layers
    for layer in range(1, model.hierarchy_.n_layers + 1):
        assert (fitters["all"].hierarchy.labels(layer) == model.hierarchy_.labels(layer)).all()


def test_another_hierarchy_names_the_answers(dataset):
    tree = ClassHierarchy(
        [np.repeat(np.arange(6), 5)],
        names=dataset.classes.names,
        node_names=[[f"group {k}" for k in range(6)]],
    )
    calibration = fit_answers(dataset, PARAMS, hierarchy=tree, quiet=True)
    assert len(calibration.risk_maps) == 2
    train = dataset.split.train
    grouped = ZeroShotClassifier(**PARAMS).fit(
        dataset.features[train],
        dataset.training_labels(),
        semantics=dataset.classes,
        hierarchy=tree,
    )
    X = dataset.features[dataset.split.test_unseen]
    # One unseen class a group: the group says no less than the class, so it is never named.
    known = recognizer_of(grouped, calibration)
    given = known.recognize(X, candidates="unseen", max_risk=0.2)
    assert {a.superclasses[0].name for a in given} <= {f"group {k}" for k in range(6)}
    assert not any(a.name.startswith("group") for a in given)


def test_calibrations_come_back_from_json(fitters):
    calibration = fitters["all"].calibration()
    data = json.loads(json.dumps(calibration.to_dict()))
    assert ConfidenceModel.from_dict(data) == calibration


def changed(data, path, value):
    data = copy.deepcopy(data)
    *most, last = path
    place = data
    for key in most:
        place = place[key]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], "other", "format"),
        (["version"], 2, "version"),
        (["temperature"], 0, "temperature: must be above 0"),
        (["temperature"], "hot", "temperature: 'hot'"),
        (["temperature"], True, "temperature: True"),
        (["temperature"], KeyError, "temperature: is missing"),
        (["temprature"], 1.0, "temprature: is unknown; did you mean 'temperature'"),
        (["candidates"], "seen", "candidates: 'seen'"),
        (["risk_maps"], [], "risk_maps: must be"),
        (["risk_maps", 0], 3, r"risk_maps\[0\]: must be an object"),
        (["risk_maps", 1, "risk", 0], 1.5, r"risk_maps\[1\].risk\[0\]: 1.5"),
        (["risk_maps", 1, "risk", 0], float("nan"), r"risk_maps\[1\].risk\[0\]: nan"),
        (["risk_maps", 1, "risk"], [0.1, 0.2], r"risk_maps\[1\].risk\[1\]: must fall"),
        (["risk_maps", 1, "risk"], [0.1], r"risk_maps\[1\].risk: 1 values"),
        (["risk_maps", 0, "probability"], "0.1", r"risk_maps\[0\].probability: must be a list"),
        (["overall", "each"], [0.5, 0.1], r"overall.each\[1\]: must rise"),
        (["overall", "all"], 1, "overall.all: is unknown"),
        (["novelty", "threshold"], "low", "novelty.threshold: 'low'"),
        (["novelty", "share"], 1.0, "novelty.share: 1.0"),
        (["fitted_on"], "cub", "fitted_on: must be an object"),
    ],
)
def test_a_damaged_calibration_is_refused_by_field(fitters, path, value, message):
    data = changed(fitters["all"].calibration().to_dict(), path, value)
    with pytest.raises(InvalidInput, match=message):
        ConfidenceModel.from_dict(data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": "seen"}, "candidates must be one of unseen, all: got 'seen'"),
        ({"unseen_share": 1.0}, "unseen_share"),
    ],
)
def test_wrong_options_are_refused(dataset, options, message):
    with pytest.raises(InvalidInput, match=message):
        fit_answers(dataset, PARAMS, quiet=True, **options)


def test_pruning_has_no_probabilities(dataset):
    with pytest.raises(InvalidInput, match="inference='paper'"):
        fit_answers(dataset, {"inference": "paper"}, quiet=True)


def test_both_kinds_of_candidates_are_learned_from_one_fit_of_each_fold(dataset, monkeypatch):
    fits, fit = [], ZeroShotClassifier.fit

    def counted(self, *args, **kwargs):
        fits.append(self)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(ZeroShotClassifier, "fit", counted)
    fitter = AnswerFitter(dataset, PARAMS, quiet=True)
    found = {kind: fitter.with_candidates(kind).calibration() for kind in ("unseen", "all")}
    assert len(fits) == len(dataset.split.folds)
    for kind, calibration in found.items():
        alone = fit_answers(dataset, PARAMS, candidates=kind, quiet=True)
        assert calibration.candidates == kind
        assert calibration.temperature == alone.temperature
        assert calibration.fitted_on == alone.fitted_on
