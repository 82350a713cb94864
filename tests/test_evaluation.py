"""Selection and settings on a made-up data set."""

from __future__ import annotations

import numpy as np
import pytest

from zerokin.benchmark.settings import Evaluation
from zerokin.data import ClassTable, Dataset, Provenance, Split
from zerokin.data.splits import draw_folds, hold_out
from zerokin.errors import ZerokinError
from zerokin.selection.class_fold_search import ClassFoldSearch
from zerokin.selection.zero_shot_space import Ours

RNG = np.random.default_rng(5)


def made_dataset(seed=0, noise=0.35):
    rng = np.random.default_rng(seed)
    Z = rng.uniform(size=(30, 12))
    labels = np.repeat(np.arange(30), 20)
    features = Z[labels] @ rng.normal(size=(12, 25)) + noise * rng.normal(size=(600, 25))
    names = tuple(f"c{i:02d}" for i in range(30))
    unseen = np.arange(30) >= 22
    train, test_seen = hold_out(np.flatnonzero(~unseen[labels]), labels, fraction=0.25, seed=0)
    split = Split(
        version="made",
        unseen=unseen,
        train=train,
        test_seen=test_seen,
        test_unseen=np.flatnonzero(unseen[labels]),
        folds=draw_folds(names, unseen),
        folds_version="drawn",
    )
    return Dataset(
        name="made",
        classes=ClassTable(names, Z),
        inputs=features,
        labels=labels,
        splits={"pure": split},
        provenance=Provenance("made", "made"),
    )


class Few(Ours):
    stages = (
        [{"feature_scaling": steps} for steps in ("unit", "none")],
        [{"inference": "flat"}, {"inference": "residual"}],
    )


def spoiled(dataset):
    """The same training samples; everything else replaced by noise."""
    features = dataset.features.copy()
    others = np.setdiff1d(np.arange(len(dataset)), dataset.split.train)
    features[others] = RNG.normal(size=(len(others), features.shape[1]))
    vectors = dataset.classes.vectors.copy()
    vectors[dataset.unseen] = RNG.uniform(size=(len(dataset.unseen), vectors.shape[1]))
    table = ClassTable(dataset.classes.names, vectors)
    return dataset.with_inputs(features).with_classes(table)


@pytest.mark.parametrize("goal", ["pure", "generalized"])
def test_nothing_of_the_test_classes_or_samples_reaches_the_selection(goal):
    dataset = made_dataset()
    chosen = ClassFoldSearch(Few(), quiet=True).prepare(dataset).choose(goal)
    other = ClassFoldSearch(Few(), quiet=True).prepare(spoiled(dataset)).choose(goal)
    assert chosen.best.params == other.best.params
    assert chosen.best.seen_penalty == other.best.seen_penalty
    assert [t.unseen for t in chosen.trials] == [t.unseen for t in other.trials]


def test_the_best_trial_is_chosen_and_every_trial_is_kept():
    chosen = ClassFoldSearch(Few(), quiet=True).prepare(made_dataset()).choose("pure")
    assert len(chosen.trials) == 3  # two normalizations, and the second inference of the better
    assert chosen.best.score("pure") == max(t.score("pure") for t in chosen.trials)
    assert all(len(t.unseen) == 3 for t in chosen.trials)


def test_rows_say_how_a_number_was_made():
    evaluation = Evaluation(made_dataset(), Few(), quiet=True)
    pure, _ = evaluation.run("pure")
    assert pure.metrics["per_class_top1"] > 60
    assert pure.metrics["hit5"] >= pure.metrics["top1"]
    row, _ = evaluation.run("generalized")
    seen, unseen = row.metrics["seen"], row.metrics["unseen"]
    assert row.metrics["harmonic_mean"] == pytest.approx(2 * seen * unseen / (seen + unseen))
    assert 0 < row.metrics["ausuc"] < 1
    assert row.selection["on"] == "3 folds (drawn)"
    assert {"feature_scaling", "alpha", "seen_penalty", "validation"} <= row.selection.keys()
    assert row.as_dict()["method"] == "ours"


@pytest.mark.parametrize("where", ["train", "test_seen", "test_unseen"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_no_numbers_are_refused_by_their_sample_before_the_choice(where, value):
    dataset = made_dataset()
    features = dataset.features.copy()
    sample = getattr(dataset.split, where)[3]
    features[sample, 5] = value

    class Untried(Ours):
        def fit_many(self, *_):
            raise AssertionError("the choice had begun")

    evaluation = Evaluation(dataset.with_inputs(features), Untried(), quiet=True)
    with pytest.raises(ZerokinError, match=f"features of sample {sample + 1} of made hold NaN"):
        evaluation.run("generalized")
    if where == "test_seen":
        pure = Evaluation(dataset.with_inputs(features), Few(), quiet=True).run("pure")[0]
        assert pure.metrics["top1"] > 0  # which does not need that sample


def test_without_folds_nothing_is_chosen():
    dataset = made_dataset()
    split = dataset.split
    bare = Split(split.version, split.unseen, split.train, split.test_seen, split.test_unseen)
    without = Dataset(
        name="bare",
        classes=dataset.classes,
        inputs=dataset.features,
        labels=dataset.evaluation_labels(np.arange(len(dataset))),
        splits={"pure": bare},
        provenance=Provenance("bare", "bare"),
    )
    with pytest.raises(ZerokinError, match="no validation folds"):
        ClassFoldSearch(Few()).fit(without)
