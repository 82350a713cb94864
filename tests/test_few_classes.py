"""Choosing where classes are few: repeated folds, the one-standard-error rule, the auto penalty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from few_shot_data import clustered_dataset
from zerokin import ClassFoldSearch, ClassHierarchy, ZeroShotClassifier
from zerokin.benchmark.peer_method import PeerMethod
from zerokin.benchmark.peers import PEERS
from zerokin.classifiers.auto_penalty import TEST_SEEN, order_of_rows
from zerokin.data.dataset import Dataset
from zerokin.data.splits import draw_folds, hold_out, repeat_folds
from zerokin.errors import InvalidInput
from zerokin.metrics import harmonic_mean
from zerokin.selection.few_classes import HELD_OUT, has_few_classes, validation_folds
from zerokin.selection.staged_search import Trial, is_clearly_better, search_stages
from zerokin.selection.zero_shot_space import DEFAULTS, FEW_CLASSES, FEW_CLASSES_STAGES, Ours

DATA = clustered_dataset(n_train=9, n_validation=5, n_test=4, per_class=9)


def with_folds(version="3 drawn with seed 0"):
    split = DATA.split
    folds = draw_folds(DATA.classes.names, split.unseen)
    return Dataset(
        name="made",
        classes=DATA.classes,
        inputs=DATA.features,
        labels=DATA.evaluation_labels(np.arange(len(DATA))),
        splits={"drawn": replace(split, folds=folds, folds_version=version)},
        provenance=DATA.provenance,
    )


# Repeated folds


@pytest.mark.parametrize(("seen", "size", "held_out"), [(11, None, 30), (20, 4, 33), (7, 9, 1)])
def test_repeated_folds_are_partitions_of_known_size(seen, size, held_out):
    rng = np.random.default_rng(seen)
    names = [f"class {number}" for number in rng.permutation(seen + 3)]
    unseen = np.arange(seen + 3) >= seen
    folds = np.array(repeat_folds(names, unseen, size=size, held_out=held_out, seed=5))
    each = min(size or seen, seen // 3)
    assert (folds.sum(axis=1) == each).all()
    assert not folds[:, unseen].any()
    assert held_out <= folds.sum() < held_out + each * (seen // each)
    partitions = folds.reshape(-1, seen // each, len(names))
    assert partitions.sum(axis=1).max() == 1
    # Partitions differ, and depend on the seed and the classes' names alone.
    order = rng.permutation(len(names))
    again = repeat_folds(
        [names[i] for i in order], unseen[order], size=size, held_out=held_out, seed=5
    )
    np.testing.assert_array_equal(np.array(again), folds[:, order])
    other = repeat_folds(names, unseen, size=size, held_out=held_out, seed=6)
    assert not np.array_equal(folds, other)
    assert len(partitions) == 1 or not np.array_equal(partitions[0], partitions[1])


def test_three_seen_classes_have_no_folds():
    assert repeat_folds(list("abcd"), np.array([False, False, False, True]), held_out=9) == ()


def test_few_classes_are_held_out_again_until_enough_were():
    data = with_folds()
    assert has_few_classes(data)
    folds = validation_folds(data, seed=3)
    unseen = [fold.unseen for fold in folds]
    # Four classes are unseen here, and so they are on each fold.
    assert {len(one) for one in unseen} == {4}
    assert len(folds) * 4 >= HELD_OUT > (len(folds) - len(data.seen) // 4) * 4
    for fold in folds:
        assert set(fold.split.test_unseen) <= set(data.split.train)
        assert not set(fold.split.train) & set(fold.split.test_seen)
    again = validation_folds(data, seed=3)
    assert all(np.array_equal(a.unseen, b.unseen) for a, b in zip(folds, again, strict=True))
    # Not all partitions hold out the same samples of the other classes.
    assert len({tuple(fold.split.test_seen) for fold in folds}) == len(folds)


def test_folds_that_the_data_brings_are_kept():
    data = with_folds("public")
    assert not has_few_classes(data)
    assert [list(fold.unseen) for fold in validation_folds(data, seed=3)] == [
        list(data.fold(number).unseen) for number in (1, 2, 3)
    ]
    search = ClassFoldSearch(quiet=True).prepare(data)
    assert search.method.stages == Ours.stages
    assert not search.method.cautious


# What is tried


def test_few_classes_are_searched_less():
    data = with_folds()
    search = ClassFoldSearch(quiet=True).prepare(data)
    assert search.method.stages == FEW_CLASSES_STAGES
    assert search.method.defaults == {**DEFAULTS, **FEW_CLASSES}
    assert search.method.cautious
    # What somebody asks for is what is tried.
    space = [[{"gamma": 2.0}]]
    own = ClassFoldSearch(ZeroShotClassifier(alpha=0.5), space, quiet=True).prepare(data)
    assert own.method.stages == space
    start = ClassFoldSearch(ZeroShotClassifier(alpha=0.5), quiet=True).prepare(data)
    assert start.method.defaults["alpha"] == 0.5
    assert start.method.defaults["feature_scaling"] == DEFAULTS["feature_scaling"]
    peer = PeerMethod(PEERS["ridge"])
    assert ClassFoldSearch(peer, quiet=True).prepare(data).method.stages == peer.stages


def trial(scores):
    harmonic = [np.array([score, 0.0]) for score in scores]
    return Trial({}, list(scores), harmonic, np.array([0.1, 0.2]))


@pytest.mark.parametrize("goal", ["pure", "generalized"])
def test_the_standard_error_is_that_of_differences(goal):
    start = [10.0, 50.0, 90.0]
    # Gains 1, 2, 3: mean 2 with a standard error of 0.58, whatever the folds' own spread.
    assert is_clearly_better(trial([11.0, 52.0, 93.0]), trial(start), goal)
    # Gains 9, -1, -2: mean 2 with a standard error of 3.5.
    assert not is_clearly_better(trial([19.0, 49.0, 88.0]), trial(start), goal)
    assert not is_clearly_better(trial(start), trial(start), goal)
    assert is_clearly_better(trial([11.0]), trial([10.0]), goal)


def test_a_cautious_search_keeps_what_is_not_clearly_worse():
    class Space:
        name, defaults = "made", {"a": 0, "b": 0}
        stages = ([{"a": 1}, {"a": 2}], [{"b": 1}])

    gains = {(0, 0): [0, 0, 0], (1, 0): [5, 6, 7], (2, 0): [30, -5, -4], (1, 1): [11, 1, 7]}

    def measure(fold, trials):
        for one in trials:
            scores = gains.get((one.params["a"], one.params["b"]), [99] * 3)
            one.unseen.append(50.0 + scores[fold])
            yield one

    def best(cautious):
        found = search_stages(
            Space,
            [0, 1, 2],
            measure,
            goal="pure",
            tried={},
            title="",
            cautious=cautious,
            quiet=True,
        )
        return found.best.params

    # a = 2 is best by one lucky fold, and it alone is asked whether it is clearly better.
    assert best(cautious=True) == {"a": 0, "b": 1}
    assert best(cautious=False) == {"a": 2, "b": 1}


# What is reported


def test_the_report_is_what_the_classifier_reaches_on_every_fold():
    data = with_folds()
    search = ClassFoldSearch(None, [[{}]], random_state=1, quiet=True).prepare(data)
    best = search.choose("generalized").best
    report = search.report(best)
    asked, named = set(), set()
    for number, fold in enumerate(validation_folds(data, seed=1)):
        model = ZeroShotClassifier(**best.params, random_state=1, seen_penalty=best.seen_penalty)
        model.fit(
            fold.finite_features(fold.split.train), fold.training_labels(), semantics=fold.classes
        )
        reached = []
        for samples in (fold.split.test_seen, fold.split.test_unseen):
            answers = model.predict(fold.finite_features(samples), "all")
            truth = np.array(fold.classes.names)[fold.evaluation_labels(samples)]
            reached.append(100 * np.mean([np.mean(answers[truth == c] == c) for c in set(truth)]))
            asked |= set(truth)
            named |= set(answers)
        assert report.seen[number] == pytest.approx(reached[0])
        assert report.unseen[number] == pytest.approx(reached[1])
        assert report.harmonic_mean[number] == pytest.approx(harmonic_mean(*reached))
    assert report.never_named == sorted(asked - named)
    assert np.mean(report.harmonic_mean) == pytest.approx(best.score("generalized"))


# The penalty by itself


def problem(seed, seen=9, unseen=4, per_class=7, noise=1.1):
    rng = np.random.default_rng(seed)
    Z = rng.random((seen + unseen, 6))
    y = np.repeat(np.arange(seen), per_class)
    world = rng.normal(size=(6, 17))
    return Z[y] @ world + noise * rng.normal(size=(len(y), 17)), y, Z


@pytest.mark.parametrize("seed", [0, 1])
def test_the_auto_penalty_is_the_best_on_held_out_classes(seed):
    X, y, Z = problem(seed)
    model = ZeroShotClassifier(feature_scaling="center-unit").fit(X, y, semantics=Z)
    unit = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    ranks = order_of_rows(unit[:9]).argsort()
    samples, outcomes = order_of_rows(X), []
    names = [f"{rank:09d}" for rank in ranks]
    for number, unknown in enumerate(repeat_folds(names, np.zeros(9, bool), held_out=36)):
        known = samples[~unknown[y[samples]]]
        train, held = hold_out(known, y, fraction=TEST_SEEN, seed=number)
        part = ZeroShotClassifier(feature_scaling="center-unit", seen_penalty=0.0)
        part.fit(X[train], y[train], semantics=Z[:9])
        outcomes.append((part, held, np.flatnonzero(unknown[y])))

    def mean_at(penalty):
        means = []
        for part, held, others in outcomes:
            part.seen_penalty = penalty
            sides = []
            for rows in (held, others):
                answers = part.predict(X[rows], "all")
                sides.append(
                    np.mean([np.mean(answers[y[rows] == c] == c) for c in np.unique(y[rows])])
                )
            means.append(harmonic_mean(*sides))
        return np.mean(means)

    best = mean_at(model.seen_penalty_)
    assert best > 1.01 * mean_at(0.0)
    assert all(best >= mean_at(penalty) - 0.005 for penalty in np.linspace(-0.2, 0.8, 41))


def test_an_explicit_penalty_changes_scores_of_seen_classes_alone(tmp_path):
    X, y, Z = problem(2)
    auto = ZeroShotClassifier().fit(X, y, semantics=Z)
    plain = ZeroShotClassifier(seen_penalty=0.0).fit(X, y, semantics=Z)
    assert auto.seen_penalty_ != 0 == plain.seen_penalty_
    lowered = plain.decision_function(X)
    lowered[:, :9] -= auto.seen_penalty_
    np.testing.assert_allclose(auto.decision_function(X), lowered)
    np.testing.assert_array_equal(auto.predict(X, "unseen"), plain.predict(X, "unseen"))
    auto.save(tmp_path / "model")
    again = ZeroShotClassifier.load(tmp_path / "model")
    assert (again.seen_penalty, again.seen_penalty_) == ("auto", auto.seen_penalty_)
    np.testing.assert_array_equal(again.decision_function(X), auto.decision_function(X))


def test_where_nothing_can_be_held_out_the_auto_penalty_is_zero():
    X, y, Z = problem(3)
    few = y < 3
    assert ZeroShotClassifier().fit(X[few], y[few], semantics=Z).seen_penalty_ == 0
    once = np.unique(y, return_index=True)[1]
    assert ZeroShotClassifier().fit(X[once], y[once], semantics=Z).seen_penalty_ == 0
    assert ZeroShotClassifier().fit(X, y).seen_penalty_ == 0
    with pytest.raises(InvalidInput, match="seen_penalty must be"):
        ZeroShotClassifier(seen_penalty="best").fit(X, y, semantics=Z)


def test_superclasses_that_are_given_are_those_of_the_parts():
    X, y, Z = problem(5)
    tree = ClassHierarchy.from_semantics(Z, 3, names=[f"class {c}" for c in range(len(Z))])
    by_order = ZeroShotClassifier().fit(X, y, semantics=Z, hierarchy=tree)
    named = dict(zip((f"class {c}" for c in range(len(Z))), Z, strict=True))
    labels = np.array([f"class {c}" for c in y])
    by_name = ZeroShotClassifier().fit(X, labels, semantics=named, hierarchy=tree)
    assert by_order.seen_penalty_ == pytest.approx(by_name.seen_penalty_) != 0
