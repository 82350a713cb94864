"""The data set: its two doors for labels, its folds, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import zerokin
from zerokin.data import ClassTable, Dataset, InvalidDataset, Provenance, Split
from zerokin.data.splits import draw_folds, hold_out
from zerokin.errors import UnseenLabels, ZerokinError

SOURCE = Provenance("made", "made")


def dataset(**changes):
    """Six classes of four samples; the last two classes unseen, the last sample of each tests."""
    labels = np.repeat(np.arange(6), 4)
    number = np.tile(np.arange(4), 6)
    unseen = np.array([False] * 4 + [True] * 2)
    folds = (np.array([True, True, False, False, False, False]),)
    fields = {
        "name": "made",
        "classes": ClassTable(tuple("abcdef"), np.eye(6) + 1),
        "inputs": np.arange(24.0)[:, None],
        "labels": labels,
        "splits": {
            "pure": Split(
                version="made",
                unseen=unseen,
                train=np.flatnonzero(~unseen[labels] & (number < 3)),
                test_seen=np.flatnonzero(~unseen[labels] & (number == 3)),
                test_unseen=np.flatnonzero(unseen[labels]),
                folds=folds,
            )
        },
        "provenance": SOURCE,
    }
    return Dataset(**(fields | changes))


def changed_split(**changes):
    split = dataset().split
    fields = ("version", "unseen", "train", "test_seen", "test_unseen", "folds")
    return {"pure": Split(**({name: getattr(split, name) for name in fields} | changes))}


def test_labels_to_fit_on_are_those_of_the_training_samples():
    made = dataset()
    assert made.training_labels().tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert made.evaluation_labels(made.split.test_unseen).tolist() == [4] * 4 + [5] * 4


def test_labels_of_unseen_classes_are_refused_to_whatever_fits():
    made = dataset()
    with pytest.raises(UnseenLabels, match="8 of 8 samples"):
        made.training_labels(made.split.test_unseen)
    with pytest.raises(UnseenLabels, match="1 of 2"):
        made.training_labels(np.array([0, 23]))


def test_a_fold_knows_nothing_of_the_test_classes_and_samples():
    made = dataset()
    fold = made.fold(1, test_seen=1 / 3)
    assert fold.classes.names == ("a", "b", "c", "d")
    assert fold.unseen.tolist() == [0, 1]
    used = np.concatenate(list(fold.split.parts.values()))
    assert set(used) == set(made.split.train)
    # Every label it gives is the parent's, and every sample it does not use has none.
    assert fold.evaluation_labels(used).tolist() == made.training_labels(used).tolist()
    others = np.setdiff1d(np.arange(len(made)), used)
    assert set(fold.evaluation_labels(others)) == {-1}
    with pytest.raises(UnseenLabels):
        fold.training_labels(made.split.test_unseen[:1])
    assert len(fold.split.test_seen) == 2  # a third of the three samples of "c" and of "d"
    with pytest.raises(ZerokinError, match="there is no 2"):
        made.fold(2)


def test_hold_out_takes_the_fraction_of_every_class_and_leaves_one():
    labels = np.repeat([0, 1, 2], [10, 5, 1])
    kept, held = hold_out(np.arange(16), labels, fraction=0.4, seed=3)
    assert np.bincount(labels[held], minlength=3).tolist() == [4, 2, 0]
    assert sorted([*kept, *held]) == list(range(16))
    again = hold_out(np.arange(16), labels, fraction=0.4, seed=3)
    assert np.array_equal(again[1], held)
    _, few = hold_out(np.arange(16), labels, fraction=0.05, seed=3)
    assert np.bincount(labels[few], minlength=3).tolist() == [1, 1, 0]
    assert not len(hold_out(np.arange(16), labels, fraction=0.0, seed=3)[1])
    _, everything = hold_out(np.arange(16), labels, fraction=1.0, seed=3)
    assert np.bincount(labels[everything], minlength=3).tolist() == [9, 4, 0]


def test_drawn_folds_are_disjoint_seen_and_independent_of_order():
    names = [f"n{i}" for i in range(20)]
    unseen = np.arange(20) >= 16
    folds = draw_folds(names, unseen)
    assert [fold.sum() for fold in folds] == [5, 5, 5]
    assert not (np.sum(folds, axis=0) > 1).any()
    assert not (np.any(folds, axis=0) & unseen).any()
    order = np.random.default_rng(0).permutation(20)
    permuted = draw_folds([names[i] for i in order], unseen[order])
    for fold, other in zip(folds, permuted, strict=True):
        assert np.array_equal(fold[order], other)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"labels": np.repeat(np.arange(1, 7), 4)}, "sample 21 has label 7, outside the class"),
        ({"inputs": np.zeros((5, 2))}, "5 features but 24 labels"),
        ({"classes": ClassTable(tuple("abcdea"), np.eye(6))}, "unique, but a occurs"),
        ({"classes": ClassTable(tuple("abcdef"), np.eye(5))}, "shape (5, 5), but there are 6"),
        ({"classes": ClassTable(tuple("abcdef"), np.diag([1, 1, np.nan, 1, 1, 1]))}, "NaN"),
        ({"classes": ClassTable(tuple("abcdef"), np.diag([1, 1, 1, 1, 1, 0]))}, "zeros) for f"),
        (
            {"classes": ClassTable(tuple("abcdef"), np.eye(6), attribute_names=("x",))},
            "6 attribute columns but 1 attribute names",
        ),
        ({"splits": changed_split(train=np.array([0, 99]))}, "split index 99 of train is out"),
        ({"splits": changed_split(train=np.array([0, 23]))}, "overlap: train holds samples of"),
        ({"splits": changed_split(test_unseen=np.array([1]))}, "(a); are labels"),
        ({"splits": changed_split(test_seen=np.array([0]))}, "1 samples are in more than one part"),
        (
            {"splits": changed_split(folds=(np.arange(6) > 2,))},
            "1 holds unseen classes (e, f)",
        ),
        ({"splits": changed_split(train=np.arange(3))}, "without training samples: b, c, d"),
    ],
)
def test_a_data_set_with_a_problem_is_refused_in_one_line(changes, line):
    with pytest.raises(InvalidDataset) as refusal:
        dataset(**changes)
    assert line in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_all_problems_are_collected():
    with pytest.raises(InvalidDataset) as refusal:
        dataset(
            classes=ClassTable(tuple("abcdea"), np.diag([1, 1, 1, 1, 1, np.inf])),
            splits=changed_split(train=np.array([99])),
        )
    assert len(refusal.value.problems) == 3
    assert "(and 2 more: `zerokin check made` lists them)" in str(refusal.value)


def test_semantics_have_unit_rows_and_are_read_only():
    made = dataset()
    expected = (np.eye(6) + 1) / np.sqrt(4 + 5)
    np.testing.assert_allclose(made.semantics, expected, rtol=1e-15)
    with pytest.raises(ValueError, match="read-only"):
        made.semantics[0, 0] = 1
    assert np.array_equal(made.classes.vectors, np.eye(6) + 1)


def test_wrong_kind_of_input_is_named():
    with pytest.raises(ZerokinError, match="made holds features, not images"):
        _ = dataset().images
    with pytest.raises(ZerokinError, match="critters holds images, not features"):
        _ = zerokin.load_dataset("critters").features


@pytest.mark.parametrize(
    ("spec", "options", "line"),
    [
        ("criters", {}, "unknown data 'criters'; did you mean 'critters'?"),
        ("cup=x", {}, "did you mean 'cub'?"),
        ("cub", {}, "lacks its folder: write cub=DIR"),
        ("critters=x", {}, "takes no folder"),
        ("critters", {"split": "pur"}, "no 'pur' split, only pure; did you mean 'pure'?"),
        ("critters", {"features": "x"}, "no feature file at x: zerokin extract"),
        ("critters", {"semantics": "txt=m"}, "unknown semantics 'txt=m'; did you mean 'text'?"),
        ("critters", {"semantics": "text"}, "lacks its"),
        ("cub=/nowhere", {}, "no CUB folder at /nowhere"),
    ],
)
def test_wrong_specs_name_the_remedy(spec, options, line):
    with pytest.raises(ZerokinError) as refusal:
        zerokin.load_dataset(spec, **options)
    assert line in str(refusal.value)
    assert "\n" not in str(refusal.value)
