"""The ablation: its configuration, what folds may see, and going on where it stopped."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest
import yaml
from PIL import Image
from scipy.linalg import solve_sylvester

import zerokin
from builders import cub_entries, write_tar, write_xlsa17_folder
from zerokin.benchmark.ablation import run_ablation, zero_shot
from zerokin.benchmark.ablation.config import parse_config, read_config
from zerokin.benchmark.ablation.feature_cache import Readings, joined_readings
from zerokin.benchmark.ablation.methods import method_for
from zerokin.cli import main
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.training.run import TrainingRun
from zerokin.selection.method import TrainingData

SIDE = 16
CONFIG = {
    "seeds": [0, 1],
    "cache_size": SIDE,
    "defaults": {
        "backbone": "conv4",
        "weights": None,
        "options": {"width": 4},
        "image_size": SIDE,
        "branching": 2,
        "recipe": {"epochs": 1, "batch_size": 8, "image_size": SIDE},
    },
    "networks": {"labels": {"mode": "classes"}, "whole": {"mode": "end-to-end"}},
    "rows": [
        {"name": "class labels", "networks": ["labels"], "method": "projection"},
        {"name": "its own scores", "networks": ["whole"], "method": "network"},
    ],
}


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Ten seen and three unseen classes, each of one color that is its semantics."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    lines = ["name,role,red,green,blue"]
    for number in range(13):
        color = rng.uniform(0.1, 1, 3).round(2)
        lines.append(f"c{number},{'unseen' if number > 9 else 'seen'},{','.join(map(str, color))}")
        for place in ("", "test/"):
            (folder / place / f"c{number}").mkdir(parents=True)
            for k in range(4):
                noisy = color * 255 + rng.normal(0, 9, (SIDE, SIDE, 3))
                square = Image.fromarray(noisy.clip(0, 255).astype(np.uint8))
                square.save(folder / place / f"c{number}" / f"{k}.png")
    (folder / "classes.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_every_row_is_measured_for_every_seed_and_nothing_is_trained_twice(
    images, tmp_path, monkeypatch
):
    data, config = f"folder={images}", parse_config(CONFIG)
    rows = list(run_ablation(data, config, tmp_path, device="cpu", quiet=True))
    measured = [(row["method"], row["setting"], row["seed"]) for row in rows]
    assert measured == [
        (name, setting, seed)
        for name in ("class labels", "its own scores")
        for seed in (0, 1)
        for setting in ("pure", "generalized")
    ]
    assert all("validation fold" not in row["split"] for row in rows)

    def refuse(*arguments, **options):
        raise AssertionError("trained again")

    monkeypatch.setattr(FeatureLearner, "fit", refuse)
    again = list(run_ablation(data, config, tmp_path, device="cpu", quiet=True))
    assert [row["metrics"] for row in again] == [row["metrics"] for row in rows]
    changed = {
        **CONFIG,
        "networks": {**CONFIG["networks"], "labels": {"mode": "classes", "image_size": 8}},
    }
    with pytest.raises(AssertionError, match="trained again"):
        list(run_ablation(data, parse_config(changed), tmp_path, device="cpu", quiet=True))


def test_rows_that_were_measured_before_a_stop_are_not_measured_again(
    images, tmp_path, monkeypatch
):
    measured = []
    measure = zero_shot.measure

    def noted(data, split, config, row, files, **options):
        if row.name in measured:
            raise KeyboardInterrupt
        measured.append(row.name)
        return measure(data, split, config, row, files, **options)

    def run(**options):
        settings = {"device": "cpu", "tune": False, "quiet": True, **options}
        return list(run_ablation(f"folder={images}", parse_config(CONFIG), tmp_path, **settings))

    monkeypatch.setattr(zero_shot, "measure", noted)
    measured += ["its own scores"]
    with pytest.raises(KeyboardInterrupt):
        run()
    measured[:] = ["class labels"]  # would stop if it were measured again
    rows = run()
    assert measured == ["class labels", "its own scores"]
    assert [row["method"] for row in rows] == ["class labels"] * 4 + ["its own scores"] * 4
    assert run() == rows
    for changed in ({"tune": True}, {"validation_only": True}):
        measured.clear()
        assert run(**changed) != rows
        assert measured == ["class labels", "its own scores"]


def test_files_that_were_damaged_are_made_again(images, tmp_path):
    def run():
        plan, options = parse_config({**CONFIG, "seeds": [0]}), {"tune": False, "quiet": True}
        rows = run_ablation(f"folder={images}", plan, tmp_path, device="cpu", **options)
        return [(row["method"], row["metrics"]) for row in rows]

    rows = run()

    def cut(path, size):
        path.write_bytes(path.read_bytes()[:size])

    for file in (tmp_path / "measured").iterdir():
        cut(file, 50)
    assert run() == rows
    read = np.load(tmp_path / "labels-seed-0.npy")
    for part, suffix, size in (("fold-1", "json", 0), ("seed-0", "npy", 90), ("fold-2", "npy", 0)):
        cut(tmp_path / f"labels-{part}.{suffix}", size)
    cut(tmp_path / "labels-fold-3.npy", 300)
    assert run() == rows
    np.testing.assert_array_equal(np.load(tmp_path / "labels-seed-0.npy"), read)


@pytest.mark.parametrize("what", ["semantics", "image"])
def test_features_of_other_data_are_refused(images, tmp_path, what):
    plan = parse_config({**CONFIG, "seeds": [0], "rows": CONFIG["rows"][:1]})
    options = {"device": "cpu", "tune": False, "validation_only": True, "quiet": True}
    changed = tmp_path / "changed"
    shutil.copytree(images, changed)
    list(run_ablation(f"folder={changed}", plan, tmp_path / "out", **options))
    if what == "semantics":
        table = changed / "classes.csv"
        table.write_text(table.read_text().replace("c0,seen,", "c0,seen,0"))
    else:
        shutil.copyfile(changed / "c1" / "0.png", changed / "c0" / "0.png")
    with pytest.raises(InvalidInput, match=r"labels-fold-1\.npy is of other data"):
        list(run_ablation(f"folder={changed}", plan, tmp_path / "out", **options))


def test_networks_are_trained_in_their_order_and_rows_measured_once_all_of_theirs_are(
    images, tmp_path, monkeypatch
):
    trained = []
    fold = Readings.fold

    def noted(self, plan, number, seed):
        trained.append(plan.name)
        return fold(self, plan, number, seed)

    monkeypatch.setattr(Readings, "fold", noted)
    networks = {name: {"mode": "classes", "recipe": {"epochs": 0}} for name in "abcd"}
    rows = [
        {"name": names, "networks": list(names), "method": "projection"}
        for names in ("ca", "b", "a")
    ]
    config = parse_config({**CONFIG, "seeds": [0], "networks": networks, "rows": rows})
    results = run_ablation(
        f"folder={images}", config, tmp_path, device="cpu", tune=False, quiet=True
    )
    measured = [(row["method"], "".join(dict.fromkeys(trained))) for row in results]
    # d has no row; two settings each
    assert measured[::2] == [("a", "a"), ("b", "ab"), ("ca", "abc")]


def test_validation_trains_no_network_on_all_classes_and_touches_no_test_sample(
    images, tmp_path, monkeypatch
):
    def refuse(*arguments):
        raise AssertionError("trained on all classes")

    monkeypatch.setattr(Readings, "final", refuse)
    config = parse_config(CONFIG)
    rows = list(
        run_ablation(
            f"folder={images}",
            config,
            tmp_path,
            device="cpu",
            validation_only=True,
            tune=False,
            quiet=True,
        )
    )
    assert [row["setting"] for row in rows] == ["validation"] * 2
    for row in rows:
        folds = [row["metrics"][f"fold {number}"] for number in (1, 2, 3)]
        assert row["metrics"]["per_class_top1"] == pytest.approx(np.mean(folds))


def test_a_folds_network_has_nothing_of_test_samples_nor_of_validation_classes(
    images, tmp_path, monkeypatch
):
    dataset = zerokin.load_dataset(f"folder={images}")
    shown = []
    fit = FeatureLearner.fit

    def watched(self, given, **options):
        shown.append(given)
        return fit(self, given, **options)

    monkeypatch.setattr(FeatureLearner, "fit", watched)
    plan = parse_config(CONFIG).network("labels")
    read = np.load(Readings(dataset, SIDE, tmp_path, quiet=True).fold(plan, 1, seed=0))
    outside = np.r_[dataset.split.test_seen, dataset.split.test_unseen]
    assert not read[outside].any()
    assert read[dataset.split.train].any(axis=1).all()
    trained = dataset.evaluation_labels(shown[0].split.train)
    assert not dataset.split.folds[0][trained].any()
    assert not dataset.split.unseen[trained].any()


def test_features_of_several_networks_stand_side_by_side_at_unit_length(tmp_path):
    first, second = np.array([[3.0, 4.0], [0, 0]]), np.array([[0.0, 2.0, 0], [1, 0, 0]])
    np.save(tmp_path / "a.npy", first)
    np.save(tmp_path / "b.npy", second)
    part = ("seed", 0)
    joined = joined_readings([{part: tmp_path / "a.npy"}, {part: tmp_path / "b.npy"}], part)
    np.testing.assert_allclose(joined, [[0.6, 0.8, 0, 1, 0], [0, 0, 1, 0, 0]], atol=1e-7)
    assert np.array_equal(joined_readings([{part: tmp_path / "a.npy"}], part), first)


@pytest.mark.parametrize("centered", [False, True])
def test_a_networks_own_scores_are_cosines_of_its_last_columns(centered):
    rng = np.random.default_rng(1)
    Z, F = rng.uniform(size=(5, 3)), rng.normal(size=(6, 7))
    data = TrainingData(F, np.array([0, 1, 2, 0, 1, 2]), Z)
    method = method_for("network", centered=centered)
    (scores,) = method.fit_many(data, [method.defaults])
    shifted = Z - Z[:3].mean(axis=0) if centered else Z
    unit = shifted / np.linalg.norm(shifted, axis=1, keepdims=True)
    np.testing.assert_allclose(scores(F), F[:, 4:] @ unit.T)


def test_the_plain_row_is_the_papers_projection_of_centered_unit_features():
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(4), 6)
    Z, F = rng.uniform(size=(6, 3)), rng.normal(size=(24, 5)) + 3
    method = method_for("plain", centered=True)
    params = {**method.defaults, "alpha": 0.8, "gamma": 0.1}
    (scores,) = method.fit_many(TrainingData(F, labels, Z), [params])

    def unit(rows):
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    X, E = unit(F - F.mean(axis=0)), Z[labels]
    W = solve_sylvester(0.2 * X.T @ X + 0.1 * np.eye(5), 0.8 * E.T @ E, X.T @ E)
    new = rng.normal(size=(7, 5)) + 3
    expected = unit(new - F.mean(axis=0)) @ unit(Z @ W.T).T
    np.testing.assert_allclose(scores(new), expected, atol=1e-7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"row": []}, "unknown entry 'row'; did you mean 'rows'?"),
        ({"rows": []}, "no rows"),
        (
            {"rows": [{"name": "x", "networks": ["lables"]}]},
            "no network 'lables'; did you mean 'labels'",
        ),
        (
            {"rows": [{"name": "x", "networks": ["labels"], "method": "sae"}]},
            "row 'x': method must be one of .*: got 'sae'",
        ),
        ({"seeds": [-1]}, r"seeds\[0\] must be a whole number from 0: got -1"),
        (
            {"networks": {"a": {"mode": "clases"}}},
            "network a: mode must be one of .*: got 'clases'; did you mean 'classes'",
        ),
        (
            {"networks": {"a": {"modes": "x"}}},
            "unknown entry 'modes'; did you mean 'mode'",
        ),
        (
            {"networks": {"a": {"recipe": {"epoch": 1}}}},
            "unknown entry 'recipe.epoch'; did you mean 'epochs'",
        ),
        ({"networks": {"a": {"recipes": {}}}}, "'recipes'; did you mean 'recipe'"),
        ({"networks": {"a": {"techer": "b"}}}, "'techer'; did you mean 'teacher'"),
        ({"networks": ["a"]}, "networks must be names with values"),
    ],
)
def test_what_is_wrong_in_a_configuration_is_named(change, message):
    with pytest.raises(InvalidInput, match=message.replace("?", r"\?")):
        parse_config({**CONFIG, **change})


def test_a_file_that_is_no_yaml_is_named(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text("rows: [")
    with pytest.raises(InvalidInput, match=r"bad\.yaml is not YAML"):
        read_config(file)
    file.write_text(yaml.safe_dump({**CONFIG, "seeds": []}))
    with pytest.raises(InvalidInput, match=r"bad\.yaml: seeds must be"):
        read_config(file)


def test_the_shipped_configuration_is_valid(request):
    pytest.importorskip("timm")
    config = read_config(request.config.rootpath / "configs" / "cub-ablation.yaml")
    assert config.seeds == (0, 1, 2)


def test_a_network_like_another_is_trained_once_and_read_again(images, tmp_path):
    networks = {
        "whole": {"mode": "end-to-end"},
        "half": {"like": "whole", "start_interpolation": 0.5},
        "larger": {"like": "half", "image_size": 24},
        "longer": {"like": "whole", "recipe": {"epochs": 2}},
    }
    rows = [{"name": name, "networks": [name], "method": "network"} for name in networks]
    config = parse_config({**CONFIG, "seeds": [0], "networks": networks, "rows": rows})
    assert [plan.trained_as for plan in config.networks] == [None, "whole", "whole", None]
    assert config.network("larger").settings["start_interpolation"] == 0.5
    assert config.network("longer").recipe["batch_size"] == 8
    results = list(run_ablation(f"folder={images}", config, tmp_path, device="cpu", quiet=True))
    assert [row["method"] for row in results[::2]] == [*networks]
    parts = ("fold-1", "fold-2", "fold-3", "seed-0")
    trained = {path.parent.name for path in tmp_path.glob("*/checkpoint.safetensors")}
    assert trained == {f"{n}-{p}" for n in ("whole", "longer") for p in parts}
    read = {name: np.load(tmp_path / f"{name}-seed-0.npy") for name in networks}
    assert len({features.tobytes() for features in read.values()}) == 4


@pytest.mark.parametrize(
    ("like", "said"),
    [
        ("whol", "network half: like names no network before it: 'whol'; did you mean 'whole'"),
        ("late", "network half: like names no network before it: 'late'"),
        (["whole"], "network half: like names no network before it"),
    ],
)
def test_like_must_name_a_network_before(like, said):
    networks = {"whole": {}, "half": {"like": like}, "late": {}}
    with pytest.raises(InvalidInput, match=re.escape(said)):
        parse_config({**CONFIG, "networks": networks})


GENERATIONS = {
    "first": {"mode": "classes"},
    "second": {"like": "first", "teacher": "first", "recipe": {"distillation": 0.5}},
    "wider": {"like": "second", "tta_crops": 2},
    "third": {"like": "second", "teacher": "second"},
}


def generation(name, **changed):
    row = {"name": "x", "networks": [name], "method": "projection"}
    networks = {**GENERATIONS, **changed}
    return parse_config({**CONFIG, "networks": networks, "rows": [row]}).network(name)


def test_a_network_like_one_with_a_teacher_has_the_same_teacher():
    first, second, wider, third = map(generation, GENERATIONS)
    assert (first.teacher, second.teacher, wider.teacher, third.teacher) == (
        None,
        first,
        first,
        second,
    )
    assert (wider.trained_as, third.trained_as) == ("second", None)
    alone = {"like": "second", "teacher": None, "recipe": {"distillation": 0.0}}
    freed = generation("freed", freed=alone)
    assert freed.teacher is None
    assert freed.trained_as is None


@pytest.fixture
def readings(images, tmp_path):
    dataset = zerokin.load_dataset(f"folder={images}")
    return Readings(dataset, SIDE, tmp_path, device="cpu", quiet=True)


@pytest.mark.parametrize(
    ("made", "part", "seed", "fold"),
    [
        (lambda readings, plan: readings.fold(plan, 2, seed=0), "fold-2", 0, 2),
        (lambda readings, plan: readings.final(plan, 1), "seed-1", 1, None),
        (lambda readings, plan: readings.base(plan, 0), "base-0", 0, 1),
    ],
)
def test_a_teacher_is_trained_on_the_very_part_that_its_student_learns_from(
    readings, monkeypatch, made, part, seed, fold
):
    fits, fit = [], FeatureLearner.fit

    def watched(self, given, **options):
        fits.append((given, options["folder"].name))
        return fit(self, given, **options)

    monkeypatch.setattr(FeatureLearner, "fit", watched)
    plan = generation("third")
    path = made(readings, plan)
    assert [name for _, name in fits] == [f"{n}-{part}" for n in ("first", "second", "third")]
    shown = fits[0][0]
    assert all(given is shown for given, _ in fits)
    split = readings.dataset.split
    trained = readings.dataset.evaluation_labels(shown.split.train)
    assert not split.unseen[trained].any()
    assert fold is None or not split.folds[fold - 1][trained].any()
    taught_by = None  # the same by hand, without any folder
    for taught in (plan.teacher.teacher, plan.teacher, plan):
        learner = taught.learner(seed, "cpu")
        taught_by = fit(learner, shown, source=readings.source, teacher=taught_by)
    used = shown.split.train
    expected = taught_by.transform(readings.source.select(used))
    assert np.array_equal(np.load(path)[used], expected.astype(np.float16))


def test_a_finished_teacher_is_not_trained_again_and_one_of_another_recipe_is_refused(
    readings, monkeypatch
):
    readings.final(generation("second"), 0)
    monkeypatch.setattr(TrainingRun, "epoch", None)  # whatever would train now fails
    readings.final(generation("second"), 0)
    readings.final(generation("wider"), 0)
    monkeypatch.undo()
    other = generation("second", first={"mode": "classes", "recipe": {"lr": 0.1}})
    with pytest.raises(InvalidInput, match=r"first-seed-0.*is of another training \(lr"):
        readings.final(other, 0)


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (
            {"teacher": "frist", "recipe": {"distillation": 0.5}},
            "network taught: teacher names no network before it: 'frist'; did you mean 'first'?",
        ),
        (
            {"teacher": "taught", "recipe": {"distillation": 0.5}},
            "network taught: teacher names no network before it: 'taught'",
        ),
        ({"teacher": ["first"]}, "network taught: teacher names no network before it: ['first']"),
        ({"teacher": "first"}, "network taught: there is a teacher, but distillation is 0"),
        (
            {"recipe": {"distillation": 0.5}},
            "network taught: distillation 0.5 needs a teacher: name a network before it",
        ),
    ],
)
def test_a_teacher_must_be_a_network_before_and_have_a_share(network, said):
    with pytest.raises(InvalidInput, match=re.escape(said)):
        parse_config({**CONFIG, "networks": {"first": {}, "taught": network}})


def test_a_row_of_several_networks_may_be_the_only_one(images, tmp_path, monkeypatch, capsys):
    row = {"name": "both", "networks": ["labels", "whole"], "method": "projection"}
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({**CONFIG, "seeds": [0], "rows": [*CONFIG["rows"], row]}))
    words = ["ablation", str(file), f"folder={images}", "--row", "both", "--no-tune"]
    monkeypatch.setattr("sys.argv", ["zerokin", *words, "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code in (None, 0), capsys.readouterr().err
    assert (tmp_path / "out" / "ablation.png").exists()
    assert not (tmp_path / "out" / "features.png").exists()


def test_some_rows_alone():
    config = parse_config(CONFIG)
    assert [row.name for row in config.only(["its own scores"]).rows] == ["its own scores"]
    with pytest.raises(InvalidInput, match="no row 'class label'; did you mean 'class labels'"):
        config.only(["class label"])
    every = [row.name for row in config.rows]
    assert [row.name for row in config.only(["*"]).rows] == every
    begun = [name for name in every if name.startswith("its")]
    assert [row.name for row in config.only(["its*"]).rows] == begun
    with pytest.raises(InvalidInput, match=r"no row 'nothing\*'"):
        config.only(["its*", "nothing*"])


@pytest.mark.parametrize("command", ["train", "ablation"])
def test_commands_whose_time_is_up_end_well_and_go_on(
    images, tmp_path, monkeypatch, capsys, command
):
    config, out = tmp_path / "config.yaml", tmp_path / "out"
    network = {**CONFIG["defaults"], "mode": "classes", "cache_size": SIDE}
    network["recipe"] = {**network["recipe"], "epochs": 2}
    plan = {
        "train": network,
        "ablation": {**CONFIG, "seeds": [0], "defaults": {**network, "cache_size": None}},
    }[command]
    config.write_text(yaml.safe_dump(plan))
    data, options = f"folder={images}", ["--device", "cpu", "--compact"]
    choice = ["--validation", "--no-tune", "--row", "class labels"]
    arguments, kept = {
        "train": ([data, "--config", config, "--out", out, *options], out / "training"),
        "ablation": ([config, data, "--out", out, *options, *choice], out),
    }[command]

    def called(*more):
        monkeypatch.setattr("sys.argv", ["zerokin", command, *map(str, arguments), *more])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        assert not code
        return capsys.readouterr()

    # As if the time were up after the first epoch.
    monkeypatch.setattr(
        TrainingRun,
        "out_of_time",
        lambda self, until: until is not None and len(self.progress.epochs) > 0,
    )
    said = called("--stop-after", "30").err.splitlines()[-1]
    further = f"the same command goes on from {kept}"
    assert said == f"zerokin: stopped after 1.0 of 2 epochs: {further}"
    found = called().out
    assert (f"wrote {out / 'model'}" if command == "train" else "class labels, ") in found
    logs = list(out.rglob("log.jsonl"))
    assert [log.read_text().count('"epoch": ') for log in logs] == [2] * len(logs)
    assert logs


@pytest.fixture
def cub(tmp_path):
    """Nine classes of images whose standard split has no test images of seen classes."""
    folder = write_xlsa17_folder(tmp_path / "cub", n_classes=9)
    (folder / "res7.mat").unlink()
    write_tar(folder / "images-0.tar", cub_entries(9))
    lines = ["name,proposed,standard"]
    for number in range(1, 10):
        proposed, standard = ("unseen" if one else "seen" for one in (number > 7, number < 3))
        lines.append(f"class{number},{proposed},{standard}")
    (folder / "classes.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_a_split_without_seen_test_images_is_measured_on_unseen_classes_alone(
    cub, tmp_path, monkeypatch, capsys
):
    file, out = tmp_path / "config.yaml", tmp_path / "out"
    file.write_text(yaml.safe_dump({**CONFIG, "seeds": [0]}))
    words = ["ablation", file, f"cub={cub}", "--split", "standard", "--out", out]
    monkeypatch.setattr("sys.argv", ["zerokin", *map(str, [*words, "--device", "cpu"])])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert not ended.value.code, said.err
    assert "no test samples of seen classes: the generalized setting is not measured" in said.err
    rows = json.loads((out / "ablation.json").read_text())
    assert [row["setting"] for row in rows] == ["standard", "standard"]
    dataset = zerokin.load_dataset(f"cub={cub}", split="standard")
    unseen = dataset.split.test_unseen
    read = np.load(out / "labels-seed-0.npy")
    data = TrainingData.from_dataset(dataset.with_inputs(read), dataset.split.train, 0)
    chosen = {
        k: v for k, v in rows[0]["selection"].items() if k not in ("on", "tried", "validation")
    }
    (scorer,) = method_for("projection", centered=False).fit_many(data, [chosen])
    named = dataset.unseen[scorer(read[unseen])[:, dataset.unseen].argmax(axis=1)]
    right = 100 * np.mean(named == dataset.evaluation_labels(unseen))
    assert rows[0]["metrics"]["top1"] == pytest.approx(right)
    table = (out / "ablation.md").read_text().splitlines()
    assert [cell.strip() for cell in table[0].strip("|").split("|")] == [
        "method",
        "tried",
        "folds, pure",
        "standard",
    ]
    assert (out / "ablation.png").exists()


def test_what_a_split_cannot_measure_is_said_before_anything_is_trained(
    images, tmp_path, monkeypatch
):
    """A pure split without test images of seen classes: pure is measured, generalized is not."""
    folder = tmp_path / "images"
    shutil.copytree(images, folder)
    for number in range(10):
        shutil.rmtree(folder / "test" / f"c{number}")

    class FirstTraining(Exception):
        pass

    def stop(*_):
        raise FirstTraining

    monkeypatch.setattr(Readings, "fold", stop)
    data, config = f"folder={folder}", parse_config({**CONFIG, "seeds": [0]})
    said = "no test samples of seen classes: the generalized setting is not measured"
    with pytest.warns(ZerokinWarning, match=said), pytest.raises(FirstTraining):
        list(run_ablation(data, config, tmp_path / "out", device="cpu", quiet=True))
    assert zero_shot.measured_settings(zerokin.load_dataset(data)) == ("pure",)
    assert zero_shot.measured_settings(zerokin.load_dataset(f"folder={images}")) == (
        "pure",
        "generalized",
    )
