"""The few-shot setting: one method as sweep and estimator, an honest choice, rows and command."""

from __future__ import annotations

import csv
import io
import json
import sys

import numpy as np
import pytest
from rich.console import Console

from builders import write_xlsa17_folder
from few_shot_data import clustered_dataset
from zerokin import FewShotClassifier, ZeroShotClassifier
from zerokin.benchmark.few_shot import EpisodePlan, FewShotEvaluation, draw_episodes
from zerokin.benchmark.few_shot.batches import episode_predictions
from zerokin.benchmark.few_shot.comparison import find_few_shot_methods
from zerokin.benchmark.few_shot.ours import DEFAULTS, OursFewShot
from zerokin.cli import main
from zerokin.errors import ZerokinError, ZerokinWarning
from zerokin.report.few_shot import few_shot_lines, few_shot_table
from zerokin.selection.method import TrainingData

DATASET = clustered_dataset()
PLAN = EpisodePlan(way=5, shots=2, queries=6, episodes=20, validation_episodes=15)


class QuickOurs(OursFewShot):
    stages = (
        [{"feature_scaling": "unit", "kappa": k} for k in (0.0, 1.0)],
        [{"inference": "flat"}, {"inference": "residual", "kappa": 4.0}],
    )


def estimator(params):
    chosen = dict(params)
    names = ("kappa", "semantic_prototypes", "variance_exponent", "base_weight", "base_neighbors")
    own = {name: chosen.pop(name) for name in names}
    return FewShotClassifier(ZeroShotClassifier(**chosen), **own)


TRIALS = [
    DEFAULTS,
    DEFAULTS | {"kappa": 0.0},
    DEFAULTS | {"kappa": 0.0, "base_weight": 1.0, "base_neighbors": 1},
    DEFAULTS | {"kappa": 2.0, "base_weight": 0.5, "base_neighbors": 3},
    DEFAULTS | {"feature_scaling": "unit", "base_weight": 4.0, "base_neighbors": 99},
    DEFAULTS | {"kappa": 8.0, "inference": "flat"},
    DEFAULTS | {"hub_weight": 0.4},
    DEFAULTS | {"hub_weight": 1.3, "hub_neighbors": 2, "base_weight": 1.5, "base_neighbors": 3},
    DEFAULTS | {"hub_weight": 0.2, "kappa": 0.0},
    DEFAULTS | {"feature_scaling": "center-unit", "alpha": 0.9},
    DEFAULTS | {"semantic_prototypes": "network", "feature_scaling": "unit"},
    DEFAULTS | {"semantic_prototypes": "average", "variance_exponent": 0.7, "base_weight": 1.0},
    DEFAULTS | {"variance_exponent": 1.0, "inference": "flat", "hub_weight": 0.3},
    DEFAULTS | {"feature_scaling": "power-whiten3-unit", "grouping": "kmeans", "branching": 3},
]


@pytest.mark.parametrize("shots", [1, 3])
def test_sweep_in_batches_equals_the_estimator_in_a_plain_loop(shots):
    split = DATASET.split
    F = DATASET.features.astype(np.float64)
    labels = DATASET.evaluation_labels(split.test_unseen)
    episodes = draw_episodes(labels, shots=shots, queries=5, episodes=8)
    base, pool = F[split.train], F[split.test_unseen]
    data = TrainingData(base, DATASET.training_labels(), DATASET.semantics)
    names = DATASET.classes.names
    for params, scorer in zip(TRIALS, OursFewShot().scorers(data, pool, TRIALS), strict=True):
        scores = scorer(episodes)
        named = episode_predictions(scorer, episodes, d_f=F.shape[1])
        for t, (classes, shown, asked) in enumerate(
            zip(episodes.classes, episodes.shots, episodes.queries, strict=True)
        ):
            model = estimator(params).fit(
                base,
                DATASET.training_labels(),
                semantics=DATASET.classes,
                shots=pool[shown.ravel()],
                shot_labels=np.repeat(classes, shots),
            )
            queries = pool[asked.ravel()]
            np.testing.assert_allclose(
                scores[t], model.decision_function(queries)[:, classes], atol=1e-9
            )
            assert list(model.predict(queries)) == [names[c] for c in classes[named[t]]]


@pytest.mark.parametrize("method", [*find_few_shot_methods(["all"])[:-1], QuickOurs()])
def test_test_classes_have_no_say_in_what_is_chosen(method):
    """Other features and semantics of test classes lead to the very same choice."""
    rng = np.random.default_rng(0)
    features = DATASET.features.copy()
    features[DATASET.split.test_unseen] = rng.normal(size=(140, 24))
    other = DATASET.with_inputs(features)
    chosen = [FewShotEvaluation(d, PLAN, quiet=True).run(method)[1] for d in (DATASET, other)]
    assert [t.params for t in chosen[0].trials] == [t.params for t in chosen[1].trials]
    assert [t.unseen for t in chosen[0].trials] == [t.unseen for t in chosen[1].trials]
    assert chosen[0].best.unseen == max(t.unseen for t in chosen[0].trials)


def test_base_classes_are_the_training_classes_unless_asked_otherwise():
    seen = {
        base: np.unique(FewShotEvaluation(DATASET, PLAN, base=base).test.data.labels)
        for base in ("training", "seen")
    }
    assert list(seen["training"]) == list(range(12))
    assert list(seen["seen"]) == list(range(18))
    evaluation = FewShotEvaluation(DATASET, PLAN)
    validation = evaluation.validation[0]
    assert list(np.unique(validation.data.labels)) == list(range(12))
    assert set(validation.episodes.classes.ravel()) == set(range(12, 18))
    assert set(evaluation.test.episodes.classes.ravel()) == set(range(18, 25))


def test_row_says_what_was_measured_and_how_it_was_chosen():
    row, selection = FewShotEvaluation(DATASET, PLAN, random_state=3, quiet=True).run(QuickOurs())
    again, _ = FewShotEvaluation(DATASET, PLAN, random_state=3, quiet=True).run(QuickOurs())
    assert row.metrics == again.metrics
    assert (row.setting, row.method, row.seed, row.split) == ("few-shot", "ours", 3, "made up")
    assert row.metrics.keys() == {"top1", "ci95", "shots", "way"}
    assert (row.metrics["shots"], row.metrics["way"]) == (2, 5)
    assert row.selection["on"] == "15 5-way episodes of each of 1 folds (public)"
    assert row.selection["base"] == "training classes"
    assert row.selection["tried"] == len(selection.trials)
    assert row.selection["validation"] == round(selection.best.score("pure"), 2)


def test_without_superclasses_no_kin_moves_a_prototype(monkeypatch):
    monkeypatch.setattr("zerokin.classifiers.stages.superclass_kernel", None)
    monkeypatch.setattr("zerokin.classifiers.stages.semantic_kernel", None)
    method = find_few_shot_methods(["ours-flat"])[0]
    plan = EpisodePlan(shots=1, queries=3, episodes=4, validation_episodes=4)
    row, selection = FewShotEvaluation(DATASET, plan, quiet=True).run(method)
    assert row.method == "ours-flat"
    assert {trial.params["inference"] for trial in selection.trials} == {"flat"}
    assert {trial.params["kappa"] > 0 for trial in selection.trials} == {True, False}
    with pytest.raises(TypeError):
        FewShotEvaluation(DATASET, plan, quiet=True).run(OursFewShot())


def test_the_first_stage_leaves_out_no_setting_without_superclasses():
    flat = find_few_shot_methods(["ours-flat"])[0]
    without = [{**flat.defaults, **change} for change in flat.stages[0]]
    tried = [{**DEFAULTS, **change} for change in OursFewShot().stages[0]]
    assert [params for params in without if params not in tried] == []
    assert len(tried) == 2 * len(without)


def test_pruning_is_refused_on_episodes():
    task = FewShotEvaluation(DATASET, PLAN, quiet=True).validation[0]
    params = {**DEFAULTS, "inference": "paper"}
    with pytest.raises(ZerokinError, match="not measured on episodes"):
        next(iter(OursFewShot().scorers(task.data, task.pool, [params])))


def test_all_classes_at_once_are_measured_by_hits_too():
    plan = EpisodePlan(way=7, shots=1, queries=4, episodes=9, validation_episodes=5)
    evaluation = FewShotEvaluation(DATASET, plan, quiet=True)
    row, _ = evaluation.run(find_few_shot_methods(["prototypical"])[0])
    assert evaluation.validation[0].episodes.way == 6  # there are no more validation classes
    assert row.metrics["top1"] < row.metrics["hit5"] <= 100


def test_without_semantics_ours_says_so_and_uses_shots_alone():
    from zerokin.data import ClassTable

    bare = DATASET.with_classes(ClassTable(DATASET.classes.names))
    with pytest.warns(ZerokinWarning, match="no class semantics: shots alone are used"):
        evaluation = FewShotEvaluation(bare, PLAN, quiet=True)
    row, _ = evaluation.run(QuickOurs())
    data = evaluation.test.data
    with_z = TrainingData(data.features, data.labels, DATASET.semantics)
    params = DEFAULTS | {"feature_scaling": "unit", "kappa": 0.0}
    scorer = next(OursFewShot().scorers(with_z, evaluation.test.pool, [params]))
    named = episode_predictions(scorer, evaluation.test.episodes, d_f=24)
    assert row.metrics["top1"] == pytest.approx(
        100 * np.mean(named == evaluation.test.episodes.truth)
    )


@pytest.mark.parametrize(
    ("plan", "line"),
    [
        (EpisodePlan(way=8), "made, test classes: 8-way episodes need 8 classes, but there are 7"),
        (
            EpisodePlan(shots=9),
            "made, test classes: 9 shots and 15 queries need 24 samples of a cl",
        ),
    ],
)
def test_plans_that_the_data_cannot_fill(plan, line):
    with pytest.raises(ZerokinError, match=line):
        FewShotEvaluation(DATASET, plan)


def test_a_plan_without_shots_is_none():
    with pytest.raises(ZerokinError, match="shots must be a whole number from 1: got 0"):
        EpisodePlan(shots=0)


def test_features_that_are_no_numbers_are_named_by_sample():
    features = DATASET.features.copy()
    sample = DATASET.split.test_unseen[5]
    features[sample, 3] = np.nan
    with pytest.raises(ZerokinError, match=f"features of sample {sample + 1} of .* hold NaN"):
        FewShotEvaluation(DATASET.with_inputs(features), PLAN)


def test_table_has_a_column_for_every_task():
    rows = [
        {"method": name, "metrics": {"top1": top1, "ci95": 0.5, "shots": shots, "way": 5}}
        for name, shots, top1 in [("a", 1, 50.0), ("a", 5, 70.0), ("b", 5, 71.26)]
    ]
    assert few_shot_lines(rows) == (
        ["method", "5-way 1-shot", "5-way 5-shot"],
        [["a", "50.0 ± 0.5", "70.0 ± 0.5"], ["b", "", "71.3 ± 0.5"]],
    )


def test_a_narrow_table_loses_no_figure():
    metrics = {"unseen": 31.25, "seen": 69.61, "harmonic_mean": 43.13, "ci95": 0.55, "shots": 1}
    rows = [{"method": "logistic-regression", "metrics": {**metrics, "shots": n}} for n in (1, 5)]
    screen = Console(width=50, file=io.StringIO())
    screen.print(few_shot_table(rows, "narrow"))
    shown = screen.file.getvalue()
    assert max(map(len, shown.splitlines())) <= 50
    assert "…" not in shown
    cells = [line.split("│")[1:-1] for line in shown.splitlines() if "│" in line]
    whole = ["".join("".join(column).split()) for column in zip(*cells, strict=True)]
    assert whole == ["logistic-regression", *["31.2", "69.6", "43.1±0.6"] * 2]


@pytest.fixture
def zerokin(monkeypatch, capsys):
    """Run the command line in this process; return its exit status and what it printed."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["zerokin", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    return run


def test_command_line(tmp_path, zerokin):
    folder = write_xlsa17_folder(tmp_path / "made", n_classes=16, n_unseen=4, per_class=8)
    few = ["evaluate", f"xlsa17={folder}", "--setting", "few-shot"]
    small = ["--way", 3, "--queries", 3, "--episodes", 12, "--shots", "1,2"]
    report, tried = tmp_path / "rows.json", tmp_path / "tried.csv"
    methods = "nearest-neighbor,simple-shot,logistic-regression"
    status, shown, _ = zerokin(
        *few, *small, "--method", methods, "--json", report, "--tried", tried
    )
    assert status == 0
    rows = json.loads(report.read_text())
    assert [(row["method"], row["metrics"]["shots"]) for row in rows] == [
        (name, shots) for shots in (1, 2) for name in methods.split(",")
    ]
    assert rows[0].keys() >= {"dataset", "features", "features_sha256", "split", "seconds"}
    assert "3-way 1-shot" in shown
    # Nothing is broken where nobody knows the width.
    for row in rows:
        assert f"{row['method']}, seed 0: top1 " in shown
        assert (
            f"ci95 {row['metrics']['ci95']:.4g}, shots {row['metrics']['shots']}, way 3\n" in shown
        )
    with tried.open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == sum(row["selection"]["tried"] for row in rows)
    for arguments, line in (
        ([*few, "--way", 9], "9-way episodes need 9 classes"),
        ([*few, "--way", 3], "need 16 samples of a class, but class 'class1"),
        ([*few, "--method", "simpleshot"], "did you mean 'simple-shot'?"),
        ([*few, "--shots", "0"], "shots must be at least 1"),
        ([*few, "--shots", "one"], "not whole numbers"),
        ([*few, "--base", "none"], "base must be one of training, seen: got 'none'"),
        ([*few, "--setting", "pure"], "stands alone"),
        (["compare", *few[1:]], "evaluate --setting few-shot"),
    ):
        status, _, said = zerokin(*arguments)
        assert status == 2, said
        assert said.count("\n") == 1, said
        assert line in said
