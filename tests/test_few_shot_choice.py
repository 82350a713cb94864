"""What few-shot methods are chosen on: validation classes, held-out base classes, or both."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from builders import write_xlsa17_folder
from few_shot_data import clustered_dataset
from zerokin.benchmark.ablation.config import parse_config
from zerokin.benchmark.few_shot import EpisodePlan, FewShotEvaluation
from zerokin.benchmark.few_shot.ours import OursFewShot
from zerokin.benchmark.few_shot.selection import choose_on_episodes
from zerokin.cli import main
from zerokin.data import ClassTable
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.selection.staged_search import Trial

DATASET = clustered_dataset(n_train=13, n_validation=5, n_test=6, seed=3)
PLAN = EpisodePlan(way=4, shots=2, queries=6, episodes=11, validation_episodes=9)


class QuickOurs(OursFewShot):
    stages = ([{"kappa": k, "inference": "flat"} for k in (0.0, 1.0, 6.0)],)


def evaluation(dataset=DATASET, **options):
    return FewShotEvaluation(dataset, PLAN, quiet=True, **options)


def test_every_base_class_is_held_out_once_and_learned_from_otherwise():
    tasks = evaluation(choose_on="base").held_out_base
    names = []
    for task in tasks:
        novel, learned = np.unique(task.episodes.classes), np.unique(task.data.labels)
        assert not set(novel) & set(learned)
        # As many as validate, but no more than a third.
        assert len(novel) == 4
        assert len(novel) + len(learned) == 13 == len(task.data.semantics)
        base = DATASET.semantics[:13]
        names += [int(np.abs(base - task.data.semantics[c]).sum(axis=1).argmin()) for c in novel]
    assert len(tasks) == 3
    assert len(set(names)) == len(names) == 12


@pytest.mark.parametrize(("base", "held"), [("training", 13), ("seen", 18)])
def test_held_out_classes_are_those_the_test_learns_from(base, held):
    found = evaluation(base=base, choose_on="base")
    assert {len(task.data.semantics) for task in found.held_out_base} == {held}
    assert set(np.unique(found.test.data.labels)) == set(range(held))


@pytest.mark.parametrize(("choose_on", "first"), [("base", 13), ("both", 18)])
def test_other_classes_have_no_say(choose_on, first):
    """Neither features nor semantics of test classes, nor by base ones those that validate."""
    rng = np.random.default_rng(1)
    features, Z = DATASET.features.copy(), DATASET.semantics.copy()
    others = np.isin(DATASET.evaluation_labels(np.arange(len(DATASET))), np.arange(first, 24))
    features[others] = rng.normal(size=(others.sum(), features.shape[1]))
    Z[first:] = rng.normal(size=Z[first:].shape)
    other = DATASET.with_inputs(features).with_classes(ClassTable(DATASET.classes.names, Z))
    one, two = (
        choose_on_episodes(QuickOurs(), evaluation(d, choose_on=choose_on).choices, quiet=True)
        for d in (DATASET, other)
    )
    assert [trial.unseen for trial in one.trials] == [trial.unseen for trial in two.trials]
    validation = choose_on_episodes(QuickOurs(), evaluation().choices, quiet=True)
    assert [t.unseen for t in one.trials] != [t.unseen for t in validation.trials]


def test_both_kinds_count_alike():
    selections = {
        kind: choose_on_episodes(QuickOurs(), evaluation(choose_on=kind).choices, quiet=True)
        for kind in ("validation", "base", "both")
    }
    assert len(evaluation(choose_on="both").choices) == 4
    for trials in zip(*(found.trials for found in selections.values()), strict=True):
        of_validation, of_base, of_both = (trial.score("pure") for trial in trials)
        assert of_both == pytest.approx((of_validation + of_base) / 2)
    assert Trial({}, unseen=[10.0, 40.0], weights=[2.0, 1.0]).score("pure") == 20.0
    assert Trial({}, unseen=[10.0, 40.0]).score("pure") == 25.0


def test_row_says_what_it_was_chosen_on():
    row, selection = evaluation(choose_on="both").run(QuickOurs())
    said = "9 4-way episodes of each of 1 folds (public) and 9 4-way episodes of each of 3 folds "
    assert row.selection["on"] == f"{said}(of base classes)"
    assert row.selection["validation"] == round(selection.best.score("pure"), 2)
    row, _ = evaluation(choose_on="base").run(QuickOurs())
    assert row.selection["on"] == "9 4-way episodes of each of 3 folds (of base classes)"


def test_choices_that_cannot_be_made():
    with pytest.raises(InvalidInput, match="choose_on must be one of validation, base, both"):
        evaluation(choose_on="test")
    with pytest.raises(
        InvalidInput, match="fold_features are for 3 parts of the base classes: got 1"
    ):
        evaluation(choose_on="base", fold_features=[(DATASET.features, None)])
    few = clustered_dataset(n_train=3, n_validation=4, n_test=4)
    plan = EpisodePlan(way=3, shots=1, queries=3, episodes=2, validation_episodes=2)
    with pytest.raises(ZerokinError, match="has 3 base classes, too few to hold some out"):
        FewShotEvaluation(few, plan, choose_on="base")
    ablation = {
        "setting": "few-shot",
        "networks": {"one": {"mode": "classes"}},
        "rows": [{"name": "a", "networks": ["one"], "method": "ours", "choose_on": "both"}],
    }
    assert parse_config(ablation).rows[0].told["choose_on"] == "both"
    ablation["rows"][0]["method"] = "zero-shot"
    with pytest.raises(InvalidInput, match="choose_on is for few-shot methods: leave it out"):
        parse_config(ablation)


def test_command_line(tmp_path, monkeypatch, capsys):
    folder = write_xlsa17_folder(tmp_path / "made", n_classes=17, n_unseen=4, per_class=8)
    report = tmp_path / "rows.json"
    few = ["evaluate", f"xlsa17={folder}", "--setting", "few-shot", "--method", "prototypical"]
    few += ["--way", "3", "--queries", "3", "--episodes", "7", "--shots", "1"]
    for choice, status in (("both", 0), ("some", 2)):
        arguments = ["zerokin", *few, "--choose-on", choice, "--json", str(report)]
        monkeypatch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == status
    assert "choose_on must be one of validation, base, both" in capsys.readouterr().err
    assert "(of base classes)" in json.loads(report.read_text())[0]["selection"]["on"]
