"""configs/mini-imagenet/easy.yaml: what it claims of EASY, and that its rows can be measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

import zerokin
from zerokin.benchmark.ablation import run_ablation
from zerokin.benchmark.ablation.config import parse_config, read_config
from zerokin.benchmark.few_shot import EpisodePlan, FewShotEvaluation
from zerokin.benchmark.few_shot.comparison import find_few_shot_methods
from zerokin.errors import InvalidInput
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.scaler import unit_length

FILE = Path(__file__).parents[1] / "configs" / "mini-imagenet" / "easy.yaml"
SIDE = 17
PARTS = {"train": 7, "val": 5, "test": 6}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Classes of one color each in mini-ImageNet's layout."""
    folder = tmp_path_factory.mktemp("mini")
    rng = np.random.default_rng(2)
    sheet, vectors = ["wnid,split,name,wordnet_path"], ["wnid,red,green,blue"]
    for number, part in enumerate(part for part, n in PARTS.items() for _ in range(n)):
        wnid, color = f"n{number:08d}", rng.uniform(0.1, 1, 3).round(2)
        kin = ("n90000001:warm", "n90000002:cold")[int(color[0] < color[2])]
        sheet.append(f"{wnid},{part},c{number},{wnid}:c{number} > {kin} > n90000000:color")
        vectors.append(",".join([wnid, *map(str, color)]))
        (folder / part / wnid).mkdir(parents=True)
        for k in range(18):
            noisy = color * 255 + rng.normal(0, 30, (SIDE, SIDE, 3))
            square = Image.fromarray(noisy.clip(0, 255).astype(np.uint8))
            square.save(folder / part / wnid / f"{k}.png")
    (folder / "classes.csv").write_text("\n".join(sheet) + "\n")
    (folder / "word_vectors.csv").write_text("\n".join(vectors) + "\n")
    return f"mini-imagenet={folder}"


def small():
    """The same networks and rows on a backbone of four channels, trained for one epoch."""
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    defaults = {**content["defaults"], "backbone": "conv4", "options": {"width": 4}}
    quick = {"epochs": 1, "batch_size": 32, "restart_epochs": None, "image_size": SIDE}
    defaults |= {"image_size": SIDE, "tta_crops": 3}
    defaults["recipe"] = {**defaults["recipe"], **quick, "compiled": False}
    content |= {"defaults": defaults, "cache_size": SIDE, "episodes": 9, "shots": [2]}
    return parse_config(content)


def test_networks_are_trained_and_read_as_easy_has_them():
    config = read_config(FILE)
    assert {name for row in config.rows for name in row.all_networks} == {
        plan.name for plan in config.networks
    }
    for plan in config.networks:
        recipe = plan.learner(0, None).recipe
        assert (recipe.epochs, recipe.batch_size, recipe.lr) == (500, 128, 0.1)
        assert (recipe.restart_epochs, recipe.restart_decay, recipe.warmup) == (100, 0.9, 0)
        assert (recipe.manifold_mixup, recipe.rotation_weight) == (2.0, 0.5)
        assert (recipe.weight_decay, recipe.momentum) == (5e-4, 0.9)
        assert (recipe.optimizer, recipe.schedule) == ("sgd", "cosine")
        assert recipe.augmentation.area == (0.08, 1.0)
        read = plan.learner(0, None).settings
        assert (read.tta_crops, read.tta_flip) == (30 * (plan.name != "easy-1-whole"), False)
    seeds = [config.network(f"easy-{n}").learner(1, None).recipe.seed for n in (1, 2, 3)]
    assert seeds == [1, 1001, 2001]
    assert config.network("easy-1-whole").trained_as == "easy-1"
    assert {config.network(f"easy-{n}").trained_as for n in (1, 2, 3)} == {None}
    assert config.network("easy-45-2").settings["options"] == {"width": 45}


def test_rows_with_shots_by_crops_and_networks_side_by_side(folder, tmp_path):
    names = ["one network: EASY", "one network, whole images*", "three networks: EASY"]
    config = small().only([*names, "three networks: SemFew"])
    options = {"device": "cpu", "tune": False, "quiet": True}
    rows = {row["method"]: row for row in run_ablation(folder, config, tmp_path, **options)}
    assert set(rows) == {row.name for row in config.rows}
    read = {
        name: np.load(tmp_path / f"{name}-base-0.npy").astype(np.float32)
        for name in ("easy-1", "easy-2", "easy-3", "easy-1-whole")
    }
    for one, other in (("easy-1", "easy-2"), ("easy-2", "easy-3"), ("easy-1", "easy-1-whole")):
        assert not np.allclose(read[one], read[other], atol=1e-3)
    dataset, plan = zerokin.load_dataset(folder), EpisodePlan(shots=2, episodes=9)
    method = find_few_shot_methods(["easy"])[0]
    method.stages = ([{}],)
    for name, queries, shots in (
        ("one network, whole images, shots by crops: EASY", "easy-1-whole", "easy-1"),
        ("one network: EASY", "easy-1", None),
    ):
        shown = None if shots is None else dataset.with_inputs(read[shots])
        evaluation = FewShotEvaluation(
            dataset.with_inputs(read[queries]), plan, shot_features=shown, quiet=True
        )
        assert rows[name]["metrics"] == evaluation.run(method)[0].metrics
    beside = np.concatenate([unit_length(read[f"easy-{n}"]) for n in (1, 2, 3)], axis=1)
    evaluation = FewShotEvaluation(dataset.with_inputs(beside), plan, quiet=True)
    assert rows["three networks: EASY"]["metrics"] == evaluation.run(method)[0].metrics


def test_networks_of_shots_that_do_not_fit():
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    row = {"name": "a", "networks": ["easy-1", "easy-2"], "method": "easy"}
    for more, line in (
        ({"shot_networks": ["easy-1"]}, "shot_networks names 1 networks for 2: name one for each"),
        ({"shot_networks": ["easy-1", "easy-9"]}, "no network 'easy-9'"),
        (
            {"shot_networks": ["easy-1", "easy-2"], "method": "zero-shot"},
            "shot_networks is for few-shot methods: leave it out",
        ),
    ):
        with pytest.raises(InvalidInput, match=line):
            parse_config({**content, "rows": [{**row, **more}]})
    networks = {"one": {"seed_offset": -1}}
    with pytest.raises(
        InvalidInput, match="network one: seed_offset must be a whole number from 0"
    ):
        parse_config({**content, "networks": networks, "rows": [row]})


def test_networks_that_have_not_seen_what_is_held_out_of_base_classes(
    folder, tmp_path, monkeypatch
):
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    quick = {"epochs": 1, "batch_size": 32, "image_size": SIDE}
    defaults = {"backbone": "conv4", "weights": None, "options": {"width": 4}, "mode": "classes"}
    networks = {"one": {}, "crops": {"like": "one", "tta_crops": 2, "tta_crop_seed": 1}}
    row = {"name": "a", "networks": ["one"], "shot_networks": ["crops"], "method": "ours-shots"}
    content |= {
        "defaults": {**defaults, "image_size": SIDE, "recipe": quick},
        "networks": networks,
        "rows": [{**row, "choose_on": "both"}, {**row, "name": "b"}],
        "base_fold_networks": True,
        "cache_size": SIDE,
        "episodes": 5,
        "shots": [1],
    }
    trained_on = []
    fit = FeatureLearner.fit

    def watched(self, dataset, **options):
        names = dataset.classes.names
        labels = np.unique(dataset.evaluation_labels(dataset.split.train))
        trained_on.append({names[label] for label in labels})
        return fit(self, dataset, **options)

    monkeypatch.setattr(FeatureLearner, "fit", watched)
    config = parse_config(content)
    options = {"device": "cpu", "tune": False, "quiet": True}
    rows = {r["method"]: r for r in run_ablation(folder, config, tmp_path, **options)}
    base = {f"c{number}" for number in range(PARTS["train"])}
    # Crops only read another way what was trained before: trainings are loaded, not made anew.
    parts = [names for names in trained_on if names != base]
    assert {len(names) for names in parts} == {5}
    held = [base - names for names in parts[:3]]
    assert len(set.union(*held)) == sum(map(len, held)) == 6
    assert rows["a"]["selection"]["on"].endswith(
        "(of base classes, by networks that have not seen them)"
    )
    assert rows["b"]["selection"]["on"].endswith("folds (public)")
    dataset = zerokin.load_dataset(folder)
    whole, crops = (
        [np.load(tmp_path / f"{name}-base-0-fold-{n}.npy").astype(np.float32) for n in (1, 2, 3)]
        for name in ("one", "crops")
    )
    found = FewShotEvaluation(
        dataset.with_inputs(np.load(tmp_path / "one-base-0.npy").astype(np.float32)),
        EpisodePlan(shots=1, episodes=5),
        choose_on="both",
        shot_features=dataset.with_inputs(
            np.load(tmp_path / "crops-base-0.npy").astype(np.float32)
        ),
        fold_features=list(zip(whole, crops, strict=True)),
        quiet=True,
    )
    for task, own, shown in zip(found.held_out_base, whole, crops, strict=True):
        half = len(task.pool) // 2
        assert all((own == row).all(axis=1).any() for row in task.pool[:half:9])
        assert all((shown == row).all(axis=1).any() for row in task.pool[half::9])
    method = find_few_shot_methods(["ours-shots"])[0]
    method.stages = ([{}],)
    assert rows["a"]["selection"]["validation"] == found.run(method)[0].selection["validation"]
    del content["rows"][0]
    with pytest.raises(InvalidInput, match="base_fold_networks is for rows with choose_on base or"):
        parse_config(content)
