"""The few-shot ablation: one network for validation and test, with and without superclasses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

import zerokin
from zerokin.benchmark.ablation import run_ablation
from zerokin.benchmark.ablation.config import parse_config
from zerokin.benchmark.few_shot.comparison import find_few_shot_methods
from zerokin.benchmark.few_shot.evaluation import EpisodePlan, FewShotEvaluation
from zerokin.errors import InvalidInput
from zerokin.features.feature_learner import FeatureLearner
from zerokin.report.few_shot import few_shot_ablation_lines

SIDE, PER_CLASS = 16, 20
PARTS = {"train": 8, "val": 6, "test": 6}
CONFIG = {
    "setting": "few-shot",
    "shots": [1, 3],
    "episodes": 7,
    "cache_size": SIDE,
    "defaults": {
        "backbone": "conv4",
        "weights": None,
        "options": {"width": 4},
        "image_size": SIDE,
        "recipe": {"epochs": 1, "batch_size": 16, "image_size": SIDE},
    },
    "networks": {
        "labels": {"mode": "classes"},
        "wordnet": {"mode": "superclass-heads", "grouping": "taxonomy"},
    },
    "rows": [
        {"name": "shots", "networks": ["labels"], "method": "ours-shots"},
        {"name": "superclasses", "networks": ["wordnet"], "method": "ours-taxonomy"},
        {"name": "no shots", "networks": ["labels"], "method": "zero-shot-taxonomy"},
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twenty classes in mini-ImageNet's layout, each of one color that is its vector."""
    folder = tmp_path_factory.mktemp("mini")
    rng = np.random.default_rng(0)
    sheet, vectors = ["wnid,split,name,wordnet_path"], ["wnid,red,green,blue"]
    number = 0
    for part, classes in PARTS.items():
        for _ in range(classes):
            number += 1
            wnid, color = f"n{number:08d}", rng.uniform(0.1, 1, 3).round(2)
            kin = ("n90000001:warm", "n90000002:cold")[int(color[0] < color[2])]
            sheet.append(f"{wnid},{part},c{number},{wnid}:c{number} > {kin} > n90000000:color")
            vectors.append(",".join([wnid, *map(str, color)]))
            (folder / part / wnid).mkdir(parents=True)
            for k in range(PER_CLASS):
                noisy = color * 255 + rng.normal(0, 9, (SIDE, SIDE, 3))
                square = Image.fromarray(noisy.clip(0, 255).astype(np.uint8))
                square.save(folder / part / wnid / f"{k}.png")
    (folder / "classes.csv").write_text("\n".join(sheet) + "\n")
    (folder / "word_vectors.csv").write_text("\n".join(vectors) + "\n")
    return f"mini-imagenet={folder}"


def run(data, folder, **options):
    config = parse_config(CONFIG)
    return list(run_ablation(data, config, folder, device="cpu", tune=False, quiet=True, **options))


def test_rows_are_what_the_evaluation_says_of_the_networks_features(folder, tmp_path, monkeypatch):
    trained_on = []
    fit = FeatureLearner.fit

    def watched(self, dataset, **options):
        trained_on.append(set(dataset.evaluation_labels(dataset.split.train).tolist()))
        return fit(self, dataset, **options)

    monkeypatch.setattr(FeatureLearner, "fit", watched)
    rows = run(folder, tmp_path)
    assert trained_on == [set(range(8))] * 2  # once a network, on the training classes alone
    measured = [(row["method"], row["setting"], row["metrics"].get("shots")) for row in rows]
    assert measured == [
        ("shots", "few-shot", 1),
        ("shots", "few-shot", 3),
        ("no shots", "pure", None),
        ("superclasses", "few-shot", 1),
        ("superclasses", "few-shot", 3),
    ]
    features = np.load(tmp_path / "wordnet-base-0.npy").astype(np.float32)
    dataset = zerokin.load_dataset(folder).with_inputs(features)
    method = find_few_shot_methods(["ours-taxonomy"])[0]
    method.stages = ([{}],)
    plan = EpisodePlan(shots=3, episodes=7)
    expected = FewShotEvaluation(dataset, plan, quiet=True).run(method)[0]
    assert rows[-1]["metrics"] == expected.metrics
    table = few_shot_ablation_lines(rows)
    test = ["5-way 1-shot", "5-way 3-shot", "zero-shot hit@1", "hit@5"]
    assert table.headings[1:] == ["validation, 1-shot", "validation, 3-shot", *test]
    assert table.lines[-1][2] == f"{expected.selection['validation']:.1f}"
    assert [line[0] for line in table.lines] == ["shots", "no shots", "superclasses"]


def configured(rows, **episodes):
    """Return rows of the configuration of mini-ImageNet on small networks of its modes."""
    path = Path(__file__).parents[1] / "configs" / "mini-imagenet" / "few-shot.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    small = {"backbone": "conv4", "options": {"width": 4}, "tta_crops": 0}
    quick = {"epochs": 1, "batch_size": 16, "initial_image_size": None}
    networks = {}
    for name, plan in content["networks"].items():
        recipe = {**plan.get("recipe", {}), **quick}
        if "episode_way" in recipe:
            recipe |= episodes
        # What is like another has its backbone.
        networks[name] = {**plan, **({} if "like" in plan else small), "recipe": recipe}
    defaults = content["defaults"] | {"image_size": SIDE}
    defaults["recipe"] |= {"image_size": SIDE}
    content |= {"networks": networks, "defaults": defaults, "shots": [2], "episodes": 7}
    return parse_config({**content, "cache_size": SIDE}).only(rows)


def test_configured_rows_on_episodes_and_the_lstm_chain_run(folder, tmp_path):
    rows = ["*episodes: prototypical", "*CNN-RNN: shots"]
    config = configured(rows, episode_way=5, episode_shots=2, episode_queries=3)
    modes = {
        name: config.network(name).settings["mode"] for row in config.rows for name in row.networks
    }
    assert modes == {
        **dict.fromkeys(("simple-cnn-rnn", "wrn-cnn-rnn"), "cnn-rnn"),
        **dict.fromkeys(
            ("simple-episodes", "simple-episodes-1-shot", "resnet12-episodes"), "prototypical"
        ),
    }
    measured = run_ablation(folder, config, tmp_path, device="cpu", tune=False, quiet=True)
    found = {row["method"]: row["metrics"]["top1"] for row in measured}
    assert set(found) == {row.name for row in config.rows}
    assert all(20 < accuracy <= 100 for accuracy in found.values())  # of five colors


def test_episodes_that_cannot_be_drawn_are_refused_before_any_training(folder, tmp_path):
    rows = ["Simple, class labels: shots", "Simple, episodes: prototypical"]
    with pytest.raises(InvalidInput, match="episodes of 9 classes are more than the 8"):
        next(run_ablation(folder, configured(rows, episode_way=9), tmp_path, device="cpu"))
    assert not list(tmp_path.iterdir())


def test_a_network_of_episodes_teaches_nobody():
    networks = {
        "episodes": {"mode": "prototypical", "recipe": {"episode_way": 3}},
        "taught": {"mode": "classes", "teacher": "episodes", "recipe": {"distillation": 0.5}},
    }
    with pytest.raises(InvalidInput, match="network taught: teacher episodes learns from episodes"):
        parse_config({**CONFIG, "networks": networks, "rows": []})


def test_validation_says_nothing_of_test_classes(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(FewShotEvaluation, "run", None)
    rows = run(folder, tmp_path, validation_only=True)
    assert {row["setting"] for row in rows} == {"validation"}
    assert all(0 <= row["metrics"]["top1"] <= 100 for row in rows)


def test_a_taxonomy_is_used_where_asked_for_and_missed_where_there_is_none(folder):
    rng = np.random.default_rng(0)
    dataset = zerokin.load_dataset(folder)
    dataset = dataset.with_inputs(rng.normal(size=(len(dataset), 5)).astype(np.float32))
    evaluation = FewShotEvaluation(dataset, EpisodePlan(episodes=5), quiet=True)
    data, pool = evaluation.test.data, evaluation.test.pool
    method = find_few_shot_methods(["ours-taxonomy"])[0]
    params = [
        {**method.defaults, "kappa": 8.0},
        {**method.defaults, "kappa": 8.0, "grouping": "kmeans"},
    ]
    scores = [scorer(evaluation.test.episodes) for scorer in method.scorers(data, pool, params)]
    assert not np.allclose(*scores)
    bare = FewShotEvaluation(
        dataset.with_classes(replace(dataset.classes, taxonomy=None)),
        EpisodePlan(episodes=5),
        quiet=True,
    )
    with pytest.raises(InvalidInput, match="knows no taxonomy"):
        bare.run(method)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"setting": "few-shots"},
            "setting must be one of zero-shot, few-shot: got 'few-shots'; did you mean 'few-shot'",
        ),
        ({"shots": [0]}, r"shots\[0\] must be a whole number from 1: got 0"),
        ({"episodes": 0}, "episodes must be a whole number from 1"),
        (
            {"rows": [{"name": "x", "networks": ["labels"], "method": "our-shots"}]},
            "row 'x': method must be one of .*: got 'our-shots'; did you mean 'ours-shots'",
        ),
        ({"setting": "zero-shot"}, "method must be one of plain, .*: got 'ours-shots'"),
    ],
)
def test_wrong_configurations(change, line):
    with pytest.raises(InvalidInput, match=line):
        parse_config({**CONFIG, **change})


def test_data_with_several_folds_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="Critters has 3 validation folds"):
        run("critters", tmp_path)


def with_semantics_of(semantics, **changed):
    row = {"name": "shots", "networks": ["labels"], "semantics": semantics, **changed}
    return parse_config({**CONFIG, "rows": [row]})


def test_a_row_may_have_semantics_of_its_own(folder, tmp_path):
    config = with_semantics_of("own+taxonomy")
    options = {"device": "cpu", "tune": False, "quiet": True}
    rows = list(run_ablation(folder, config, tmp_path, **options))
    assert {row["semantics"] for row in rows} == {"own+taxonomy"}
    features = np.load(tmp_path / "labels-base-0.npy").astype(np.float32)
    dataset = zerokin.load_dataset(folder, semantics="own+taxonomy").with_inputs(features)
    method = find_few_shot_methods(["ours"])[0]
    method.stages = ([{}],)
    plan = EpisodePlan(shots=3, episodes=7)
    expected = FewShotEvaluation(dataset, plan, quiet=True).run(method)[0]
    assert rows[-1]["metrics"] == expected.metrics
    plain = list(run_ablation(folder, with_semantics_of(None), tmp_path, **options))
    assert "semantics" not in plain[0]


def test_rows_are_measured_again_where_their_semantics_hold_something_else(folder, tmp_path):
    names = zerokin.load_dataset(folder).classes.names
    file = tmp_path / "words.txt"
    config = with_semantics_of(f"word-vectors={file}", method="ours")
    found = []
    for seed in (0, 0, 1):
        numbers = np.random.default_rng(seed).normal(size=(len(names), 3))
        file.write_text(
            "".join(f"{n} {' '.join(map(str, v))}\n" for n, v in zip(names, numbers, strict=True))
        )
        out = tmp_path / "out"
        list(run_ablation(folder, config, out, device="cpu", tune=False, quiet=True))
        found.append(sorted(path.name for path in (out / "measured").iterdir()))
    assert found[0] == found[1]
    assert len(found[2]) == len(found[0]) + 1


def test_semantics_that_are_missing_are_said_before_anything_is_trained(folder, tmp_path):
    config = with_semantics_of("taxnomy")
    with pytest.raises(InvalidInput, match="did you mean 'taxonomy'"):
        list(run_ablation(folder, config, tmp_path, device="cpu", quiet=True))
    assert list(tmp_path.iterdir()) == []


def test_episodes_that_cannot_be_drawn_are_said_before_anything_is_trained(folder, tmp_path):
    config = parse_config({**CONFIG, "shots": [1, 99]})
    with pytest.raises(InvalidInput, match="99 shots and 15 queries need 114 samples of a class"):
        list(run_ablation(folder, config, tmp_path, device="cpu", quiet=True))
    assert list(tmp_path.iterdir()) == []


def test_semantics_of_rows_that_make_no_sense_are_refused():
    with pytest.raises(
        InvalidInput, match=r"rows\[0\]\.semantics must be a text such as 'taxonomy': got 3"
    ):
        with_semantics_of(3)
    row = {"name": "own", "networks": ["labels"], "method": "network", "semantics": "taxonomy"}
    with pytest.raises(InvalidInput, match="own scores are of the semantics"):
        parse_config({**CONFIG, "setting": "zero-shot", "rows": [row]})


@pytest.mark.parametrize("selection", [None, "chosen", {}, {"validation": "a"}])
def test_a_choice_that_tells_nothing_has_no_column(selection):
    metrics = {"top1": 61.24, "ci95": 0.81, "shots": 1, "way": 5}
    rows = [{"method": "x", "metrics": metrics, "selection": selection}]
    assert few_shot_ablation_lines(rows).headings == ["method", "5-way 1-shot"]
