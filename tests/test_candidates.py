"""Candidates of single images: drawn blindly, ranked as the classifier ranks, and drawn legibly."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from PIL import Image

from builders import cub_entries, write_tar, write_xlsa17_folder
from zerokin.benchmark.candidates import Candidates, draw_samples, find_candidates, rank_candidates
from zerokin.benchmark.settings import Evaluation
from zerokin.classifiers.pruning import PRUNED
from zerokin.cli import main
from zerokin.data import load_dataset
from zerokin.data.sample_images import load_sample_images
from zerokin.errors import InvalidInput
from zerokin.report.candidates_figure import BOLDER, cut_to, draw_candidates
from zerokin.report.figures import text_width
from zerokin.selection.paper_space import Paper
from zerokin.selection.zero_shot_space import Ours

RNG = np.random.default_rng(3)
BLUE, RED = (0, 114, 178), (194, 24, 7)


class Few(Ours):
    stages = ([{"feature_scaling": steps} for steps in ("unit", "none")],)


@pytest.fixture
def cub(tmp_path):
    """Eleven classes, as images in a tar file and as features that name them."""
    folder = write_xlsa17_folder(tmp_path / "cub", n_classes=11, n_unseen=3, per_class=5, d_f=9)
    entries = cub_entries(11)
    write_tar(folder / "images-0.tar", entries)
    return folder


def test_samples_are_of_both_kinds_and_only_the_seed_decides():
    critters = load_dataset("critters")
    drawn = draw_samples(critters.split, 7, seed=4)
    assert len(np.unique(drawn)) == 14
    assert set(drawn[:7]) <= set(critters.split.test_unseen)
    assert set(drawn[7:]) <= set(critters.split.test_seen)
    np.testing.assert_array_equal(drawn, draw_samples(critters.split, 7, seed=4))
    assert (drawn != draw_samples(critters.split, 7, seed=5)).any()
    with pytest.raises(InvalidInput, match="each must be"):
        draw_samples(critters.split, 0, seed=4)


def test_candidates_are_those_that_the_evaluation_counts(cub):
    """Seen and unseen accuracy of the evaluation, from ranks of 1 alone."""
    dataset = load_dataset(f"xlsa17={cub}")
    split = dataset.split
    row, _ = Evaluation(dataset, Few(), quiet=True).run("generalized")
    for metric, samples in (("seen", split.test_seen), ("unseen", split.test_unseen)):
        found = find_candidates(dataset, Few(), samples, k=4)
        truth = dataset.evaluation_labels(samples)
        right = np.array([one.rank == 1 for one in found])
        mean = 100 * np.mean([right[truth == label].mean() for label in np.unique(truth)])
        assert row.metrics[metric] == pytest.approx(mean)
        assert all((one.rank == 1) == (one.classes[0] == one.truth) for one in found)
        assert all(list(one.scores) == sorted(one.scores, reverse=True) for one in found)
        assert {len(one.classes) for one in found} == {4}


def test_classes_that_superclasses_rule_out_are_no_candidates(cub):
    dataset = load_dataset(f"xlsa17={cub}")
    paper = Paper()
    paper.stages = ([{"branching": 2, "top_k": 1}],)
    samples = dataset.split.test_unseen
    found = find_candidates(dataset, paper, samples, k=11)
    assert max(len(one.classes) for one in found) < 11
    assert all((one.rank is None) == (one.truth not in one.classes) for one in found)
    values = RNG.normal(size=(1, 6))
    values[0, [1, 4]] -= PRUNED
    (one,) = rank_candidates(values, [4], 5, pruned=True)
    assert set(one.classes) == {0, 2, 3, 5}
    assert one.rank is None


def colored(path, color):
    pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
    return int((np.abs(pixels - color).sum(axis=2) < 12).sum())


def test_seen_candidates_are_blue_and_unseen_ones_red(tmp_path):
    images = [Image.new("RGB", (37, 53), "white")] * 2
    names = ["lynx"] * 7
    unseen = np.arange(7) > 3
    for name, classes in (("seen", (0, 1, 2, 3)), ("unseen", (4, 5, 6))):
        found = [Candidates(4, classes, (0.5,) * len(classes), 1)] * 2
        draw_candidates(images, found, names, unseen, tmp_path / f"{name}.png")
    seen, other = tmp_path / "seen.png", tmp_path / "unseen.png"
    assert colored(seen, BLUE) > 2 * colored(other, BLUE)
    assert colored(other, RED) > 1.3 * colored(seen, RED)


def test_a_long_name_is_cut_and_keeps_its_room(tmp_path):
    long = "Greater racket-tailed drongo $of$ the northern hills " * 4
    for bold in (False, True):
        cut = cut_to(long, 1.7, bold=bold)
        assert cut.endswith("…")
        assert 1.5 < text_width(cut, 8.5) * (BOLDER if bold else 1) <= 1.7
    found = [Candidates(0, (0, 1), (1.0, -123456.0), 1)]
    image = Image.new("RGB", (300, 20))
    draw_candidates([image], found, [long, "b"], np.array([True, False]), tmp_path / "long.png")
    drawn = np.asarray(Image.open(tmp_path / "long.png").convert("L"))
    assert (drawn[:, -20:] == 255).all()  # nothing runs over the margin
    with pytest.raises(InvalidInput, match="nothing to draw"):
        draw_candidates([], [], [], np.array([]), tmp_path / "none.png")


def run(*words):
    sys.argv = ["zerokin", "candidates", *map(str, words)]
    try:
        main()
    except SystemExit as ended:
        return ended.code or 0
    return 0


@pytest.fixture
def _arguments(monkeypatch):
    monkeypatch.setattr(sys, "argv", [])


@pytest.mark.usefixtures("_arguments")
def test_the_command_draws_the_images_behind_features(cub, tmp_path, capsys):
    names = sorted(cub_entries(11))
    write_named(cub, [f"/elsewhere/images/{name}" for name in names])
    out = tmp_path / "out.png"
    words = [f"xlsa17={cub}", "--method", "eszsl", "--each", 3, "-k", 4, "--out", out]
    assert run(*words, "--images", f"cub={cub}") == 0
    assert "6 images, 4 candidates of each" in capsys.readouterr().out
    assert Image.open(out).width > 1000
    assert run(*words) == 2
    assert "holds features, not images: name the data that has them" in capsys.readouterr().err
    assert run("critters", "--out", out) == 2
    assert "extract them first" in capsys.readouterr().err
    assert run(*words[:-1], tmp_path / "out.pdf") == 2
    assert "must end in .png or .svg" in capsys.readouterr().err


def write_named(folder, names):
    """Write the features again, of samples that are called so."""
    from builders import cells, xlsa17_variables

    features, splits = xlsa17_variables(n_classes=11, n_unseen=3, per_class=5, d_f=9)
    order = np.argsort([int(name.split("class")[1].split("/")[0]) for name in names], kind="stable")
    position = np.empty(len(names), dtype=int)
    position[order] = np.arange(len(names))
    features["features"] = features["features"][:, position]
    features["labels"] = features["labels"][position]
    number = np.argsort(position) + 1
    for key in ("trainval_loc", "test_seen_loc", "test_unseen_loc"):
        splits[key] = number[splits[key] - 1]
    features["image_files"] = cells(list(names))
    write_xlsa17_folder(folder, features, splits)


def test_images_of_other_samples_are_refused(cub, tmp_path):
    write_named(cub, [f"images/{name}" for name in sorted(cub_entries(11))])
    dataset, source = load_dataset(f"xlsa17={cub}"), load_dataset(f"cub={cub}")
    samples = dataset.split.test_unseen[:4]
    loaded = load_sample_images(dataset, source, samples)
    label = dataset.evaluation_labels(samples)
    for image, name in zip(loaded, label, strict=True):
        number = int(dataset.classes.names[name].removeprefix("class"))
        assert image.getpixel((0, 0))[0] == 10 * number
    write_named(cub, [f"images/{name}" for name in sorted(cub_entries(11))[::-1]])
    with pytest.raises(InvalidInput, match="has other images: sample"):
        load_sample_images(load_dataset(f"xlsa17={cub}"), source, samples)
    with pytest.raises(InvalidInput, match=r"3,600 images, but .* has 55 samples"):
        load_sample_images(dataset, load_dataset("critters"), samples)
