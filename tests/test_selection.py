"""The search: its stages, what it remembers, what it measures on a fold, and what it offers."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from few_shot_data import clustered_dataset
from zerokin import ClassFoldSearch, ClassHierarchy, ZeroShotClassifier
from zerokin.data import Dataset
from zerokin.data.splits import draw_folds
from zerokin.errors import InvalidInput
from zerokin.features.scaler import unit_length
from zerokin.metrics.seen_unseen_curve import SeenUnseenCurve
from zerokin.parameters import check_parameters
from zerokin.projection import ProjectionLearner
from zerokin.selection import staged_search
from zerokin.selection.fitting import choose_parameters, with_taxonomy_of
from zerokin.selection.method import Method, TrainingData, product_of
from zerokin.selection.paper_space import STAGES as PAPER_STAGES
from zerokin.selection.staged_search import Trial, search_stages, trial_key
from zerokin.selection.zero_shot_space import (
    BY_TAXONOMY,
    DEFAULTS,
    STAGES,
    Ours,
    OursByTaxonomy,
    fit_trial,
)

DATASET = clustered_dataset(n_train=9, n_validation=5, n_test=4, per_class=9)
ROWS = Path(__file__).parents[1] / "docs" / "recognition.md"


def three_folds(dataset=DATASET):
    """Return the data set with folds drawn of its seen classes."""
    split = dataset.split
    folds = draw_folds(dataset.classes.names, split.unseen)
    return Dataset(
        name="made",
        classes=dataset.classes,
        inputs=dataset.features,
        labels=dataset.evaluation_labels(np.arange(len(dataset))),
        splits={"drawn": replace(split, folds=folds, folds_version="drawn")},
        provenance=dataset.provenance,
    )


@pytest.fixture
def shown(monkeypatch):
    """What progress bars were asked to show: title, total, whether to be quiet, what is done."""
    bars = []

    @contextmanager
    def counting(title, *, total, quiet):
        bars.append([title, total, quiet, 0.0])

        def advance(done):
            bars[-1][-1] += done

        yield advance

    monkeypatch.setattr(staged_search, "counting", counting)
    return bars


# The stages


class Space:
    name, defaults = "made", {"a": 0, "b": 0, "c": 9}
    stages = (
        [{"a": 1}, {"a": 2}, {"a": 3}],
        [{"b": 5}, {"b": 0}, {"a": 1, "b": 6}],
        [{"b": 0}],
    )


def test_trials_far_behind_on_the_first_fold_are_not_tried_on_the_others(shown):
    """Behind in both accuracies, that is; and however good their one fold was."""
    first = {1: (60.0, 40.0), 2: (50.0, 43.5), 3: (56.9, 40.0), 4: (57.1, 20.0)}
    later = {1: (40.0, 30.0), 2: (30.0, 35.0), 3: (99.0, 99.0), 4: (41.0, 10.0)}
    measured, tried = [], {}

    class Race(Space):
        stages = ([{"a": a} for a in first],)

    def measure(fold, trials):
        for trial in trials:
            pure, harmonic = (first if fold == 1 else later)[trial.params["a"]]
            trial.unseen.append(pure)
            trial.harmonic.append(np.array([harmonic, 0.0]))
            trial.seen_penalties = np.array([0.1, 0.2])
            measured.append((fold, trial.params["a"]))
            yield trial

    def best(goal):
        given = {"goal": goal, "tried": tried, "title": goal, "race_margin": 3.0}
        return search_stages(Race, [1, 2, 3], measure, **given).best.params["a"]

    assert best("pure") == 1
    assert measured == [
        (1, 1),
        (1, 2),
        (1, 3),
        (1, 4),
        *[(f, a) for f in (2, 3) for a in (1, 2, 4)],
    ]
    assert shown == [["pure", 4, False, pytest.approx(4)]]
    assert best("generalized") == 2
    assert len(measured) == 10


def reached(params, fold):
    """Accuracy, and harmonic means at three penalties: other parameters are best at each."""
    a, b = params["a"], params["b"]
    pure = 10 * fold - (a - 2) ** 2 - (b - 5) ** 2
    return pure, np.array([a + b, 2 * a - b, -5.0]) + fold


def test_each_stage_starts_from_the_best_of_the_one_before_it(shown):
    measured, tried = [], {}

    def measure(fold, trials):
        for trial in trials:
            pure, harmonic = reached(trial.params, fold)
            trial.unseen.append(pure)
            trial.harmonic.append(harmonic)
            trial.seen_penalties = np.array([0.1, 0.2, 0.3])
            measured.append((fold, *trial.params.values()))
            yield trial

    def search(goal):
        return search_stages(Space, [1, 2], measure, goal=goal, tried=tried, title=goal, quiet=True)

    found = search("pure")
    assert measured == [
        *[(fold, a, 0, 9) for fold in (1, 2) for a in (1, 2, 3)],
        # What the first stage tried is not measured again, nor what the second did.
        *[(fold, a, b, 9) for fold in (1, 2) for a, b in ((2, 5), (1, 6))],
    ]
    # The last stage leaves no choice but one that is worse than the best of all.
    assert found.best.params == {"a": 2, "b": 0, "c": 9}
    assert found.goal == "pure"
    assert [list(trial.params.values())[:2] for trial in found.trials] == [
        [1, 0], [2, 0], [3, 0], [2, 5], [1, 6]
    ]  # fmt: skip
    assert found.best.score("pure") == 15 - 25
    assert 0 <= found.seconds < 60
    # One bar for all stages: what is remembered counts as done.
    assert shown == [["pure", 7, True, pytest.approx(7)]]

    # For the other goal a = 3 is best, so that b is tried beside it; the rest is remembered.
    del measured[:]
    found = search("generalized")
    assert measured == [(fold, 3, 5, 9) for fold in (1, 2)]
    assert [trial.params for trial in found.trials] == [{"a": 3, "b": 5, "c": 9}]
    assert (found.best.params["a"], found.best.params["b"]) == (3, 0)
    # A third time nothing is new, and what was tried before is all there is.
    again = search("generalized")
    assert len(measured) == 2
    assert [trial.params for trial in again.trials] == [t.params for t in tried.values()]
    assert tried[trial_key({"c": 9, "b": 5, "a": 3})].unseen == [9 - 0, 19 - 0]


def test_progress_is_shown_unless_asked_otherwise(shown):
    def measure(fold, trials):
        for trial in trials:
            trial.unseen.append(1.0)
            yield trial

    search_stages(Space, [1], measure, goal="pure", tried={}, title="made")
    assert shown[0] == ["made", 7, False, pytest.approx(7)]
    ClassFoldSearch(Ours(), [[{}]], goal="pure").fit(DATASET)
    choose_quickly(DATASET)
    choose_parameters(DATASET, tune=False)
    choose_parameters(DATASET, tune=False, quiet=True)
    assert [quiet for _, _, quiet, _ in shown[-4:]] == [False, False, False, True]


def choose_quickly(data, **options):
    stages = Ours.stages
    Ours.stages = ([{"gamma": 1.0}],)
    try:
        return choose_parameters(data, **options)
    finally:
        Ours.stages = stages


def test_a_trial_is_scored_by_means_over_folds():
    trial = Trial({}, unseen=[10.0, 40.0], seen_penalties=np.array([0.5, 0.7, 0.9]))
    trial.harmonic = [np.array([1.0, 8.0, 9.0]), np.array([7.0, 6.0, 1.0])]
    assert trial.score("pure") == 25
    assert trial.score("generalized") == trial.score("generalized") == 7  # where both do well
    assert trial.seen_penalty == 0.7


# What is measured


def accuracy(model, data, samples, candidates):
    named = model.predict(data.finite_features(samples), candidates)
    truth = data.evaluation_labels(samples)
    return 100 * np.mean([np.mean(named[truth == c] == c) for c in np.unique(truth)])


def curve(model, fold):
    seen, unseen = fold.split.test_seen, fold.split.test_unseen
    return SeenUnseenCurve.from_scores(
        model.decision_function(fold.finite_features(seen)),
        fold.evaluation_labels(seen),
        model.decision_function(fold.finite_features(unseen)),
        fold.evaluation_labels(unseen),
        fold.split.unseen,
    )


@pytest.mark.parametrize("seed", [0, 4])
def test_a_search_measures_what_the_estimator_reaches_on_each_fold(seed):
    data = three_folds()
    space = [product_of(gamma=[0.5, 5.0]), product_of(hub_weight=[0.0, 0.4])]
    start = ZeroShotClassifier(feature_scaling="center-unit", random_state=77, seen_penalty=3.0)
    search = ClassFoldSearch(start, space, random_state=seed, quiet=True).fit(data)
    folds = [data.fold(number, seed=seed) for number in (1, 2, 3)]
    assert len(search.trials_) == 3 or len(search.trials_) == 4
    for trial in search.trials_:
        assert "random_state" not in trial.params
        assert "seen_penalty" not in trial.params
        models = [
            ZeroShotClassifier(**trial.params, seen_penalty=0.0, random_state=seed).fit(
                fold.finite_features(fold.split.train),
                fold.training_labels(),
                semantics=fold.semantics,
            )
            for fold in folds
        ]
        pairs = list(zip(models, folds, strict=True))
        expected = [accuracy(m, f, f.split.test_unseen, "unseen") for m, f in pairs]
        np.testing.assert_allclose(trial.unseen, expected)
        # Calibrations spread over all gaps of the first fold, and count for all folds.
        curves = [curve(m, f) for m, f in pairs]
        penalties = curves[0].quantiles(201)
        np.testing.assert_allclose(trial.seen_penalties, penalties, atol=1e-12)
        expected = [one.harmonic_means(penalties) for one in curves]
        np.testing.assert_allclose(trial.harmonic, expected)
    best = max(search.trials_, key=lambda trial: trial.score("generalized"))
    assert search.best_params_ == best.params
    assert search.best_score_ == best.score("generalized")
    assert search.best_seen_penalty_ == best.seen_penalty
    given = ClassFoldSearch(start, space, folds=folds, random_state=seed, quiet=True).fit(data)
    assert given.best_params_ == search.best_params_
    assert given.best_score_ == search.best_score_
    other = ClassFoldSearch(start, space, folds=folds[:1], random_state=seed, quiet=True).fit(data)
    assert [len(trial.unseen) for trial in other.trials_] == [1] * len(other.trials_)


def test_a_second_goal_tries_only_what_the_first_did_not():
    search = ClassFoldSearch(Ours(), [product_of(gamma=[1.0, 9.0])], quiet=True).prepare(DATASET)
    first = search.choose("pure")
    assert search.choose("generalized").trials == first.trials
    assert len(search.tried) == 2
    assert search.prepare(DATASET).tried == {}
    again = ClassFoldSearch(search.method, quiet=True).fit(DATASET)
    assert [t.params for t in again.trials_] == [t.params for t in first.trials]
    for name, wrong in (("dataset", 3), ("goal", None)):
        with pytest.raises(InvalidInput, match=name):
            ClassFoldSearch(Ours(), goal="pure" if name == "dataset" else wrong).fit(
                wrong if name == "dataset" else DATASET
            )


# What a method is given


def test_training_data_are_the_features_labels_and_semantics_of_the_samples():
    data = DATASET.with_classes(
        replace(DATASET.classes, taxonomy=tuple(("x",) for _ in DATASET.classes.names))
    )
    chosen = data.split.train[::3]
    made = TrainingData.from_dataset(data, chosen, 5)
    np.testing.assert_array_equal(made.features, data.finite_features(chosen))
    np.testing.assert_array_equal(made.labels, data.evaluation_labels(chosen))
    np.testing.assert_array_equal(made.semantics, data.semantics)
    assert (made.random_state, made.taxonomy) == (5, data.classes.taxonomy)
    assert TrainingData(made.features, made.labels, made.semantics).random_state == 0
    used = made.training_set
    assert used is made.training_set
    assert used.names.tolist() == list(range(len(data.classes)))
    assert used.features is made.features
    scaled = made.scale_features("center-unit")
    assert made.scale_features("center-unit") is scaled
    centered = made.features - made.features.mean(axis=0)
    np.testing.assert_allclose(scaled.features, unit_length(centered), atol=1e-6)
    new = np.asarray(data.features[:4], dtype=np.float64)
    found = made.scale_samples(scaled.normalizer, new)
    np.testing.assert_allclose(found, unit_length(new - made.features.mean(axis=0)), atol=1e-6)
    assert made.scale_samples(scaled.normalizer, new) is found


def test_classes_without_vectors_have_semantics_of_width_zero_where_none_are_needed():
    bare = DATASET.with_classes(replace(DATASET.classes, vectors=None))
    made = TrainingData.from_dataset(bare, bare.split.train, 0, needs_semantics=False)
    assert made.semantics.shape == (len(bare.classes), 0)
    with pytest.raises(InvalidInput):
        TrainingData.from_dataset(bare, bare.split.train, 0)
    kept = TrainingData.from_dataset(DATASET, DATASET.split.train, 0, needs_semantics=False)
    np.testing.assert_array_equal(kept.semantics, DATASET.semantics)


# What is offered


def test_defaults_are_those_of_the_estimators():
    params = ZeroShotClassifier().get_params()
    assert {name: params.pop(name) for name in DEFAULTS} == DEFAULTS
    learner = ProjectionLearner().get_params()
    for name in ("n_neighbors", "max_iter", "tol"):
        assert params.pop(name) == learner[name]
    # Documented: three superclasses survive, seen classes' penalty is estimated, and seeds are 0.
    expected = {"top_k": 3, "seen_penalty": "auto", "random_state": 0, "device": "cpu"}
    assert params == {**expected, "distance": "cosine", "memory_budget": None}


def test_every_stage_offers_what_is_there_already_and_nothing_out_of_range():
    for method in (Ours(), OursByTaxonomy()):
        for stage in method.stages:
            assert any(
                all(method.defaults[name] == value for name, value in change.items())
                for change in stage
            ), stage
            for change in stage:
                given = {k: v for k, v in {**method.defaults, **change}.items() if v != "taxonomy"}
                check_parameters(ZeroShotClassifier(**given))
    assert {**BY_TAXONOMY, "grouping": DEFAULTS["grouping"]} == DEFAULTS
    by_taxonomy = OursByTaxonomy.stages
    assert (*by_taxonomy[:2], *by_taxonomy[3:]) == (*STAGES[:2], *STAGES[3:])
    assert [change["layer_decay"] for change in by_taxonomy[2]] == sorted(
        {change["layer_decay"] for change in STAGES[2]}
    )


@pytest.mark.parametrize(
    ("stages", "heading", "count"), [(STAGES, "stage", 5), (PAPER_STAGES, "stage of `paper`", 3)]
)
def test_the_stages_are_those_of_the_documentation(stages, heading, count):
    """Row by row: how many trials, and all values that are tried."""
    lines = ROWS.read_text(encoding="utf-8").splitlines()
    start = lines.index(f"| {heading} | trials | what is tried |") + 2
    assert len(stages) == count
    for stage, line in zip(stages, lines[start : start + count], strict=True):
        _, _, trials, tried, _ = (cell.strip() for cell in line.split("|"))
        assert int(trials) == len(stage)
        assert len({trial_key(change) for change in stage}) == len(stage)
        offered = {}
        for change in stage:
            for name, value in change.items():
                offered.setdefault(name, set()).add(str(value).removesuffix(".0"))
        listed = re.findall(r"`(\w+)` ([^`]+)", tried)
        words = {name: set(re.split(r"[,;]? (?:or |with )?|;", text)) for name, text in listed}
        assert {name: found - {""} - {"with"} for name, found in words.items()} == offered


def test_a_trial_by_taxonomy_takes_its_superclasses():
    paths = tuple((f"group {k % 4}",) for k in range(len(DATASET.classes)))
    data = TrainingData(
        DATASET.finite_features(DATASET.split.train),
        DATASET.training_labels(),
        DATASET.semantics,
        taxonomy=paths,
    )
    model = fit_trial(data, BY_TAXONOMY)
    again = fit_trial(data, BY_TAXONOMY | {"hub_weight": 0.0})
    assert again.hierarchy_ is model.hierarchy_  # made once
    tree = ClassHierarchy.from_taxonomy(paths)
    np.testing.assert_array_equal(model.hierarchy_.labels(1), tree.labels(1))
    expected = ZeroShotClassifier(**{k: v for k, v in BY_TAXONOMY.items() if k != "grouping"}).fit(
        data.features, data.labels, semantics=data.semantics, hierarchy=tree
    )
    np.testing.assert_allclose(model.prototypes_, expected.prototypes_, atol=1e-10)
    with pytest.raises(InvalidInput, match="this data knows no taxonomy of its classes"):
        fit_trial(replace(data, taxonomy=None), BY_TAXONOMY)
    with pytest.raises(InvalidInput, match="alpha must be"):
        fit_trial(data, DEFAULTS | {"alpha": 2.0})


def test_trials_draw_with_the_seed_of_the_data():
    rng = np.random.default_rng(9)
    Z = unit_length(rng.normal(size=(40, 3)))
    labels = np.repeat(np.arange(30), 3)
    features = rng.normal(size=(90, 6))
    params = DEFAULTS | {"grouping": "kmeans", "branching": 5}
    trees = []
    for seed in range(6):
        model = fit_trial(TrainingData(features, labels, Z, seed), params)
        expected = ZeroShotClassifier(**params, random_state=seed).fit(
            features, labels, semantics=Z
        )
        np.testing.assert_array_equal(model.hierarchy_.labels(1), expected.hierarchy_.labels(1))
        trees.append(model.hierarchy_.labels(1).tolist())
    assert any(tree != trees[0] for tree in trees)


def test_a_method_keeps_what_two_trials_share_and_starts_from_an_estimator():
    method = Ours.starting_from(ZeroShotClassifier(gamma=0.7, top_k=5, random_state=4))
    assert isinstance(method, Method)
    assert (method.defaults["gamma"], method.defaults["top_k"]) == (0.7, 5)
    assert not {"random_state", "seen_penalty"} & set(method.defaults)
    assert Ours.starting_from(None).defaults == DEFAULTS
    data = TrainingData(
        DATASET.finite_features(DATASET.split.train), DATASET.training_labels(), DATASET.semantics
    )
    data.memo.max_bytes = 0
    list(method.fit_many(data, [DEFAULTS | {"gamma": gamma} for gamma in (1.0, 2.0, 3.0, 4.0)]))
    kept = len(data.memo)
    list(method.fit_many(data, [DEFAULTS | {"gamma": gamma} for gamma in (5.0, 6.0, 7.0)]))
    assert len(data.memo) == kept  # of two trials, however many there are


# What production code chooses


def test_chosen_parameters_and_penalty_are_those_of_the_search():
    data = three_folds()
    chosen = choose_quickly(data, random_state=2, quiet=True)
    search = ClassFoldSearch(Ours(), [[{"gamma": 1.0}]], random_state=2, quiet=True).fit(data)
    expected = {**DEFAULTS, "gamma": 1.0, "seen_penalty": search.best_seen_penalty_}
    assert chosen.params == expected
    (trial,) = search.trials_
    assert chosen.metrics["unseen_among_unseen"] == trial.score("pure")
    assert chosen.metrics["harmonic_mean"] == trial.score("generalized")
    assert (chosen.metrics["folds"], chosen.metrics["tried"]) == ("3 (drawn)", 1)
    assert not chosen.by_taxonomy


def test_without_tuning_the_penalty_alone_is_chosen():
    data = three_folds()
    chosen = choose_parameters(data, tune=False, random_state=2, quiet=True)
    search = ClassFoldSearch(Ours(), [[{}]], random_state=2, quiet=True).fit(data)
    assert chosen.metrics["tried"] == 1
    assert chosen.params == {**DEFAULTS, "seen_penalty": search.best_seen_penalty_}


def test_a_taxonomy_must_group_the_classes_of_every_fold_too():
    """Groups of two with a test class in each: in a fold every class is alone."""
    place = np.arange(len(DATASET.classes))
    with_test = tuple((f"group {k - 14 if k >= 14 else k}",) for k in place)
    data = DATASET.with_classes(replace(DATASET.classes, taxonomy=with_test))
    assert not choose_parameters(data, tune=False, taxonomy_only=True, quiet=True).by_taxonomy
    grouped = tuple((f"group {k % 5}",) for k in place)
    data = DATASET.with_classes(replace(DATASET.classes, taxonomy=grouped))
    assert choose_parameters(data, tune=False, taxonomy_only=True, quiet=True).by_taxonomy


def test_a_hierarchy_of_other_classes_is_no_taxonomy_of_the_data():
    with pytest.raises(InvalidInput, match="the hierarchy has 2 classes, but the data set 18"):
        with_taxonomy_of(DATASET, ClassHierarchy([[0, 1]]))
    tree = ClassHierarchy([np.arange(18) // 3, np.arange(18) // 9])
    paths = with_taxonomy_of(DATASET, tree).classes.taxonomy
    assert paths == tuple((str(k // 9), str(k // 3)) for k in range(18))  # from the top down
