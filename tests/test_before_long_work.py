"""What would fail in the end is said at the beginning, before anything is trained or measured."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import yaml
from PIL import Image

from builders import write_xlsa17_folder
from own_images import write_critter_folder
from zerokin.benchmark.ablation import run_ablation
from zerokin.benchmark.ablation.config import parse_config
from zerokin.cli import main
from zerokin.errors import InvalidInput
from zerokin.features.feature_learner import FeatureLearner
from zerokin.files import CannotWrite, refuse_unwritable

NETWORK = {"backbone": "conv4", "weights": None, "mode": "classes", "image_size": 16, "recipe": {}}
CONFIG = {
    "cache_size": 16,
    "networks": {"labels": NETWORK},
    "rows": [{"name": "labels", "networks": ["labels"], "method": "projection"}],
}


@pytest.fixture
def zerokin(monkeypatch, capsys):
    """Run a command in which nothing may be trained; return exit status and errors."""

    def work(*_, **__):
        raise AssertionError("it has begun to work")

    for place in (
        "zerokin.recognizer.fit_recognizer",
        "zerokin.benchmark.comparison.measure",
        "zerokin.benchmark.few_shot.comparison.measure_few_shot",
    ):
        monkeypatch.setattr(place, work)
    monkeypatch.setattr(FeatureLearner, "fit", work)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["zerokin", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr().err

    return run


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    return write_critter_folder(tmp_path_factory.mktemp("own") / "animals", n_seen=6, n_images=2)


@pytest.mark.parametrize(
    ("out", "line"),
    [
        ("/proc/zerokin/model", "cannot write /proc/zerokin/model"),
        ("{here}/file/model", "Not a directory"),
        ("{here}/file", "is a file: choose a folder"),
        ("{here}/other", "holds something else than a bundle"),
        (".", "no name of its own"),
    ],
)
def test_fit_looks_at_its_output_before_it_works(zerokin, animals, tmp_path, out, line):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "note.txt").write_bytes(b"mine")
    before = sorted(tmp_path.rglob("*"))
    status, said = zerokin("fit", f"folder={animals}", "--out", out.format(here=tmp_path))
    assert (status, said.count("\n")) == (2, 1), said
    assert line in said
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("place", ["file/model", "other"])
def test_fit_of_features_looks_at_its_output_before_it_works(zerokin, tmp_path, place):
    write_xlsa17_folder(tmp_path / "data")
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "note.txt").write_bytes(b"mine")
    status, said = zerokin("fit", f"xlsa17={tmp_path / 'data'}", "--out", tmp_path / place)
    assert (status, said.count("\n")) == (2, 1), said
    assert "Not a directory" in said or "something else than a bundle" in said


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "--json", "{out}.json"),
        ("compare", "--out", "{out}.csv"),
        ("candidates", "--out", "{out}.png"),
        ("evaluate", "--setting", "few-shot", "--tried", "{out}.csv"),
        ("train", "--out", "{out}"),
    ],
)
def test_other_commands_look_at_their_output_before_they_work(zerokin, tmp_path, command):
    (tmp_path / "file").write_bytes(b"")
    name, *options = (word.format(out=tmp_path / "file" / "x") for word in command)
    status, said = zerokin(name, "critters", *options)
    assert (status, said.count("\n")) == (2, 1), said
    assert "Not a directory" in said


def test_a_place_that_can_be_written_is_left_as_it_was(tmp_path):
    refuse_unwritable(tmp_path / "new" / "deep" / "model")
    refuse_unwritable(tmp_path / "model", inside=True)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CannotWrite, match="no name of its own"):
        refuse_unwritable("/")


def own_images(root, *, test_seen=True, test_unseen=True, taxonomy=False):
    """Write images of ten seen and three unseen classes, each of one color."""
    rng = np.random.default_rng(0)
    lines = [f"name,role,red,green,blue{',family' if taxonomy else ''}"]
    for number in range(13):
        unseen = number > 9
        color = rng.uniform(0.1, 1, 3).round(2)
        kin = ",kin" if taxonomy else ""
        role = "unseen" if unseen else "seen"
        lines.append(f"c{number},{role},{','.join(map(str, color))}{kin}")
        places = [root / f"c{number}", root / "test" / f"c{number}"]
        if not (test_unseen if unseen else test_seen):
            places = places[:0] if unseen else places[:1]
        for place in places:
            place.mkdir(parents=True)
            for k in range(2):
                pixels = np.full((16, 16, 3), color * 255, np.uint8)
                Image.fromarray(pixels).save(place / f"{k}.png")
    (root / "classes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"folder={root}"


def test_an_ablation_that_cannot_be_measured_trains_nothing(zerokin, tmp_path):
    data = own_images(tmp_path / "own", test_unseen=False)
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(CONFIG), encoding="utf-8")
    status, said = zerokin("ablation", file, data, "--out", tmp_path / "out", "--device", "cpu")
    assert (status, said.count("\n")) == (2, 1), said
    assert "split has no test samples of unseen classes: the pure setting needs some" in said
    assert not (tmp_path / "out").exists()
    # What folds say needs no test samples.
    with pytest.raises(AssertionError, match="begun to work"):
        list(run_ablation(data, parse_config(CONFIG), tmp_path / "o", validation_only=True))


def test_a_row_by_taxonomy_needs_one_before_anything_is_trained(zerokin, tmp_path):
    row = {"name": "by taxonomy", "networks": ["labels"], "method": "ours-taxonomy"}
    config = parse_config({**CONFIG, "rows": [row]})
    data = own_images(tmp_path / "own")
    with pytest.raises(InvalidInput, match="row 'by taxonomy': ours-taxonomy needs a taxonomy"):
        list(run_ablation(data, config, tmp_path / "out", quiet=True))
    data = own_images(tmp_path / "with", taxonomy=True)
    with pytest.raises(AssertionError, match="begun to work"):
        list(run_ablation(data, config, tmp_path / "out", quiet=True))
