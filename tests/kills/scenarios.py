"""Commands that change something on disk, and how to tell what is there before and after."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .children import run_command

TRAINING = ("--backbone", "conv4", "--fine-tune", "--mode", "classes", "--epochs", "1")
QUICK = (*TRAINING, "--image-size", "32", "--no-tune", "--one-network", "--device", "cpu")
SMALL = ("--backbone", "conv4", "--weights", "start.safetensors", "--device", "cpu")
ABLATION = {
    "cache_size": 16,
    "networks": {
        "labels": {
            "backbone": "conv4",
            "weights": None,
            "options": {"width": 4},
            "mode": "classes",
            "image_size": 16,
            "recipe": {"epochs": 2, "batch_size": 8, "image_size": 16},
        }
    },
    "rows": [{"name": "labels", "networks": ["labels"], "method": "projection"}],
}


@dataclass(frozen=True)
class Scenario:
    """A command.

    Parameters
    ----------
    name
        What it is called.
    arguments
        Of zerokin, run in a folder that is a copy of the template.
    state
        What is there now, as something that can be compared: raises if it is damaged.
    again
        What to run after a kill, by whether the change had been made: by default the same.
    several
        States on the way are allowed, too: whatever ``state`` does not raise on.
    """

    name: str
    arguments: tuple[str, ...]
    state: Callable[[Path], object]
    again: tuple[str, ...] | None = None
    several: bool = False


def bundle(work: Path) -> object:
    from zerokin.recognizer import Recognizer

    known = Recognizer.load(work / "model", device="cpu")
    image = work / "picture.png"
    answer = known.recognize([image], k=99)[0].to_dict()
    return known.classes.names, json.dumps({**answer, "picture": "", "image": ""}, sort_keys=True)


def feature_bundle(work: Path) -> object:
    from zerokin.recognizer import Recognizer

    known = Recognizer.load(work / "of-features")
    rows = np.random.default_rng(0).normal(size=(3, known.classifier.n_features_in_))
    answers = [answer.to_dict() for answer in known.recognize(rows, k=99)]
    return known.classes.names, json.dumps(answers, sort_keys=True)


def features(work: Path) -> object:
    from zerokin.data.native_features import NativeFeatures

    file = NativeFeatures(work / "f.safetensors")
    assert len(list(file.names)) == len(file)
    return file.recipe["image_size"], hashlib.sha256(np.array(file.open()[:]).tobytes()).hexdigest()


def xlsa17(work: Path) -> object:
    from zerokin.data import load_dataset

    if not (work / "xlsa17").exists():
        return None
    found = load_dataset(f"xlsa17={work / 'xlsa17'}")
    return hashlib.sha256(np.asarray(found.features[:]).tobytes()).hexdigest()


def rows(file: str) -> Callable[[Path], object]:
    def read(work: Path) -> object:
        path = work / file
        if not path.exists():
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        return [(row["method"], row["setting"], row["metrics"]) for row in found]

    return read


def scenarios(data: str) -> list[Scenario]:
    """Return all commands; ``data`` is a folder of images."""
    vector, replaced = ("--vector", "v.npy"), ("--seed", "3", "--replace")
    small = (*SMALL, "--batch", "8")
    measured = (data, "--features", "g.safetensors")
    by_features = ("fit", data, "--features", "f.safetensors", "--no-tune")
    return [
        Scenario(
            "add-class",
            ("add-class", "model", "nëw one", *vector),
            bundle,
            again=("add-class", "model", "next", *vector),
        ),
        Scenario(
            "remove-class",
            ("remove-class", "model", "extra"),
            bundle,
            again=("remove-class", "model", "more"),
        ),
        Scenario("undo", ("undo", "model"), bundle),
        Scenario("fit", ("fit", data, "--out", "model", *replaced, *QUICK), bundle),
        Scenario("fit features", (*by_features, "--out", "of-features"), feature_bundle),
        Scenario(
            "add-class features",
            ("add-class", "of-features", "nëw one", *vector),
            feature_bundle,
            again=("add-class", "of-features", "next", *vector),
        ),
        Scenario(
            "extract",
            ("extract", data, "--out", "f.safetensors", *small, "--image-size", "24"),
            features,
        ),
        Scenario(
            "extract xlsa17",
            (
                "extract",
                data,
                "--out",
                "xlsa17",
                *small,
                "--image-size",
                "16",
                "--format",
                "xlsa17",
            ),
            xlsa17,
        ),
        Scenario(
            "evaluate",
            ("evaluate", *measured, "--method", "eszsl", "--json", "out.json"),
            rows("out.json"),
        ),
        Scenario(
            "compare",
            ("compare", *measured, "--methods", "ridge,eszsl", "--out", "table.json"),
            rows("table.json"),
            several=True,
        ),
        Scenario(
            "ablation",
            ("ablation", "ablation.yaml", data, "--out", "ablation", "--device", "cpu"),
            rows("ablation/ablation.json"),
            several=True,
        ),
    ]


def write_template(root: Path, animals: Path) -> Path:
    """Make a folder with everything that commands start from."""
    from zerokin.features.networks import create_backbone, save_weights

    work = root / "template"
    work.mkdir()
    data = f"folder={animals}"
    shutil.copy(next((animals / "test").glob("*/*.png")), work / "picture.png")
    np.save(work / "v.npy", np.arange(1.0, 81))
    (work / "ablation.yaml").write_text(json.dumps(ABLATION), encoding="utf-8")
    save_weights(create_backbone("conv4"), work / "start.safetensors")
    extract = ("extract", data, *SMALL, "--batch", "8")
    for arguments in (
        ("fit", data, "--out", "model", *QUICK),
        ("add-class", "model", "more", "--vector", "v.npy"),
        ("add-class", "model", "extra", "--vector", "v.npy"),
        (*extract, "--image-size", "20", "--out", "f.safetensors"),
        (*extract, "--image-size", "16", "--out", "g.safetensors"),
        ("fit", data, "--features", "g.safetensors", "--no-tune", "--out", "of-features"),
    ):
        ended = run_command(arguments, work)
        assert ended.status == 0, work.with_suffix(".log").read_text(encoding="utf-8")
    return work
