"""Settings, texts, tables and data sets: what else is public, with what is right to come of it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

import zerokin
from api_inputs import ANY, REFUSED, SAME, Given, count, labels, matrix, parameter, share, texts
from api_kinds import all_of, optional, without_table
from api_problem import CALIBRATION, NAMES, NEW, SEEN, SHOTS, C, X, Y, Z
from api_targets import Target, finite, named
from zerokin.app.limits import Limits
from zerokin.benchmark.few_shot import Episodes
from zerokin.classifiers import FewShotClassifier, ZeroShotClassifier
from zerokin.critters import find, portrait, render
from zerokin.data import ClassTable, Dataset, Provenance, Split
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.input import Augmentation, center_view, open_source, resize_to_square
from zerokin.features.network_settings import NetworkSettings
from zerokin.features.training import Recipe
from zerokin.hierarchy import parse_wordnet_path, read_taxonomy_csv
from zerokin.recognizer.answering import Question
from zerokin.recognizer.confidence import ConfidenceModel
from zerokin.recognizer.confidence.novelty import NoveltyRule
from zerokin.recognizer.confidence.overall_risk import OverallRisk
from zerokin.recognizer.confidence.risk_map import RiskMap
from zerokin.semantics import (
    class_texts,
    train_skipgram,
    vector_table,
    word_vectors,
    write_vector_table,
)

HERE = Path(tempfile.mkdtemp(prefix="zerokin-api-"))
TABLE, TAXONOMY, WORDS = HERE / "vectors.csv", HERE / "taxonomy.csv", HERE / "words.vec"
TABLE.write_text("name,a,b\n" + "".join(f"{name},1,{i}\n" for i, name in enumerate(NAMES)))
TAXONOMY.write_text("name,order\n" + "".join(f"{name},{i % 2}\n" for i, name in enumerate(NAMES)))
WORDS.write_text("3 2\nkind 1 0\na 0 3\nb 5 5\n")
CORPUS = [["kind", "a", "likes", "kind", "b"]] * 6
IMAGE = Image.new("RGB", (9, 7), "red")
PIXELS = np.random.default_rng(0).integers(0, 255, size=(2, 8, 8, 3), dtype=np.uint8)
BATCH = torch.from_numpy(PIXELS).permute(0, 3, 1, 2)


def plain(value: Any) -> bool:
    """Tell whether JSON can hold a result, so that it can be saved."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def anything(result: Any) -> bool:
    del result
    return True


def every_field(kind: Any, **fixed: Any) -> dict[str, Any]:
    made = kind(**fixed)
    return {entry.name: (parameter, getattr(made, entry.name)) for entry in fields(kind)}


def path(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield places of files."""
    del rng
    yield Given("text", str(value), SAME)
    wrong = (HERE / "absent", HERE, "", 3, None, [], b"\xff", "a\0b", np.nan, True, {}, "x" * 5000)
    yield from all_of(wrong, REFUSED)


def word(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield names of which only some exist."""
    del value, rng
    wrong = ("no such", "", 3, None, [], {}, 1.5, True, b"x", np.nan, "a\nb", "\0", ["name"])
    yield from all_of(wrong, REFUSED)


def added(name: Any, vector: Any) -> Any:
    model = ZeroShotClassifier().fit(X, Y, semantics=dict(zip(NAMES, Z, strict=True)))
    return model.add_class(name, vector).decision_function(NEW)


def reshot(shots: Any, shot_labels: Any) -> Any:
    model = FewShotClassifier().fit(X, Y, semantics=Z)
    model.set_shots(shots, shot_labels)
    return model, *model.predict_top_k(NEW, 2), model.decision_function(NEW)


def vector(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield vectors of one class."""
    del rng
    yield from all_of((value.tolist(), tuple(value), 3 * value, value.astype(np.float32)), SAME)
    wrong = (value[:-1], 0 * value, value * np.nan, value + 1j, value[None], "word", None, 3, [],
             list("abcde"), value.astype(str), [1, [2]], value.astype("M8[s]"))  # fmt: skip
    yield from all_of(wrong, REFUSED)
    yield from all_of((value * 1e300, value * 1e-300, -value, value > 0), ANY)


def new_name(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield names of one more class."""
    del value, rng
    yield from all_of((NAMES[0], 3, 1.5, None, "", " ", b"x", ["a"], True, np.nan, ()), REFUSED)


def free_texts(value: list[str], rng: np.random.Generator) -> Iterator[Given]:
    """Yield lists of names of any length."""
    for given in texts(value, rng):
        words = isinstance(given.value, list) and all(
            isinstance(name, str) and name.strip() for name in given.value
        )
        yield given._replace(expected=ANY) if words else given


def levels(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield columns of a table."""
    yield from (given for given in optional(word)(value, rng) if given.value != ["name"])


def small_count(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield numbers of things of which a million would take hours."""
    yield from (given for given in count(value, rng) if given.expected != ANY)


def indices(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield positions of training samples."""
    del rng
    yield from all_of((value.tolist(), value.astype(np.int16)), SAME)
    wrong = (value + 0.5, value - 99, value + 10**6, value[:, None], 3, "word", [None], value + 1j,
             ["a"], [[1], [1, 2]], [2**70], DATA.split.test_unseen[:1], {}, print)  # fmt: skip
    yield from all_of(wrong, REFUSED)
    yield from all_of(([], value + 99, None), ANY)


def features(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield features of a data set, which holds them as they are and checks them in use."""
    for given in matrix(value, rng):
        held = given.expected == SAME or given.label in (
            "NaN",
            "infinity",
            "minus infinity",
            "all NaN",
            "None",
            "no columns",
        )
        yield given._replace(expected=ANY) if held else given


def class_choice(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield names of some of the classes."""
    for given in texts(value, rng):
        known = isinstance(given.value, list) and set(map(str, given.value)) <= set(value)
        yield given._replace(expected=ANY) if known else given


def dataset(names: Any, vectors: Any, features: Any, labels: Any, unseen: Any, train: Any) -> Any:
    empty = np.empty(0, dtype=np.int64)
    split = Split("drawn", unseen, train, empty, empty)
    made = Dataset(
        name="drawn",
        classes=ClassTable(names, vectors),
        inputs=features,
        labels=labels,
        splits={"pure": split},
        provenance=Provenance("drawn", "drawn"),
    )
    return made.semantics, made.training_labels()


DATA = zerokin.load_dataset("critters")


def targets() -> list[Target]:
    """Return everything that is called."""
    recorded = {"right": plain}
    return [
        Target("Recipe", lambda **p: Recipe(**p).as_dict(), every_field(Recipe), **recorded),
        Target(
            "Augmentation",
            lambda **p: asdict(Augmentation(**p)),
            every_field(Augmentation),
            **recorded,
        ),
        Target(
            "NetworkSettings",
            lambda **p: asdict(NetworkSettings(**p)),
            every_field(NetworkSettings),
            **recorded,
        ),
        Target(
            "FeatureLearner",
            lambda **p: asdict(FeatureLearner(**p).settings),
            {
                **{
                    n: (parameter, v)
                    for n, v in {
                        "backbone": "conv4",
                        "mode": "classes",
                        "recipe": None,
                        "device": None,
                        "branching": 3,
                        "tta_crops": 0,
                        "weights": None,
                        "hidden": 8,
                    }.items()
                }
            },
            **recorded,
        ),
        Target("Limits", lambda **p: Limits(**p).waiting, every_field(Limits), finite),
        Target(
            "Question",
            lambda **p: Question(**p).k,
            {"k": (count, 3), "max_risk": (optional(share), 0.5), "unseen_bias": (parameter, 0.0)},
            finite,
        ),
        Target(
            "ConfidenceModel",
            lambda **p: ConfidenceModel(**p).to_dict(),
            {f.name: (parameter, getattr(CALIBRATION, f.name)) for f in fields(ConfidenceModel)},
            **recorded,
        ),
        Target(
            "ConfidenceModel.from_dict",
            lambda data: ConfidenceModel.from_dict(data).to_dict(),
            {"data": (parameter, CALIBRATION.to_dict())},
            **recorded,
        ),
        Target(
            "ConfidenceModel.each_risk", CALIBRATION.each_risk, {"overall": (share, 0.1)}, finite
        ),
        Target(
            "NoveltyRule",
            lambda **p: asdict(NoveltyRule(**p)),
            every_field(NoveltyRule, threshold=0.1, share=0.1),
            **recorded,
        ),
        Target(
            "RiskMap",
            lambda **p: asdict(RiskMap(**p)),
            every_field(RiskMap, probability=(0.5,), risk=(0.5,)),
            **recorded,
        ),
        Target(
            "OverallRisk",
            lambda **p: asdict(OverallRisk(**p)),
            every_field(OverallRisk, each=(0.5,), overall=(0.5,)),
            **recorded,
        ),
        Target(
            "ZeroShotClassifier.add_class",
            added,
            {"name": (new_name, "kind new"), "vector": (vector, Z[0] + 0.1)},
            finite,
        ),
        Target(
            "FewShotClassifier.set_shots",
            reshot,
            {"shots": (matrix, SHOTS), "shot_labels": (without_table, np.arange(SEEN, C))},
            named,
        ),
        Target(
            "class_texts",
            class_texts,
            {
                "names": (free_texts, NAMES),
                "descriptions": (parameter, {NAMES[0]: "red"}),
                "template": (word, "a {name}"),
            },
            anything,
        ),
        Target(
            "word_vectors",
            word_vectors,
            {
                "names": (free_texts, ["kind a", "b"]),
                "path": (path, WORDS),
                "missing": (word, "error"),
                "instead": (parameter, {"b": "a"}),
            },
            finite,
        ),
        Target(
            "vector_table", vector_table, {"path": (path, TABLE), "key": (word, "name")}, finite
        ),
        Target(
            "write_vector_table",
            lambda keys, vectors, key: (
                write_vector_table(HERE / "w.csv", keys, vectors, key=key),
                vector_table(HERE / "w.csv", key=key),
            )[1],
            {"keys": (texts, NAMES), "vectors": (matrix, Z), "key": (parameter, "name")},
            finite,
        ),
        Target(
            "train_skipgram",
            lambda **p: train_skipgram(path=HERE / "s.vec", quiet=True, **p).name,
            {
                "dimension": (small_count, 2),
                "window": (small_count, 2),
                "negative": (small_count, 1),
                "epochs": (small_count, 1),
                "min_count": (small_count, 1),
                "seed": (parameter, 0),
                "class_names": (optional(free_texts), ["kind a", "kind b"]),
                "corpus": (parameter, CORPUS),
            },
            anything,
        ),
        Target(
            "parse_wordnet_path",
            parse_wordnet_path,
            {"text": (word, "n02121620:cat > n00015388:animal")},
            anything,
        ),
        Target(
            "read_taxonomy_csv",
            read_taxonomy_csv,
            {"path": (path, TAXONOMY), "key": (word, "name"), "levels": (levels, ["order"])},
            anything,
        ),
        Target(
            "load_dataset",
            lambda **p: zerokin.load_dataset(**p).name,
            {
                "spec": (word, "critters"),
                "split": (optional(word), "pure"),
                "features": (optional(word), None),
                "semantics": (optional(word), "own"),
            },
            anything,
        ),
        Target(
            "Dataset",
            dataset,
            {
                "names": (texts, NAMES),
                "vectors": (optional(matrix), Z),
                "features": (features, X),
                "labels": (labels, Y),
                "unseen": (parameter, np.arange(C) >= SEEN),
                "train": (parameter, np.arange(len(Y))),
            },
            finite,
        ),
        Target(
            "Dataset.fold",
            lambda **p: DATA.fold(**p).split.train,
            {"number": (count, 1), "test_seen": (share, 0.2), "seed": (parameter, 0)},
            finite,
        ),
        Target(
            "Dataset.training_labels",
            DATA.training_labels,
            {"indices": (indices, DATA.split.train[:3])},
            finite,
        ),
        Target(
            "Dataset.with_split",
            lambda name: DATA.with_split(name).name,
            {"name": (word, "pure")},
            anything,
        ),
        Target(
            "ClassTable.index",
            DATA.classes.index,
            {"names": (class_choice, list(DATA.classes.names[:3]))},
            finite,
        ),
        Target(
            "find", lambda name: find(name).name, {"name": (word, DATA.classes.names[0])}, anything
        ),
        Target(
            "render",
            lambda **p: render(find(DATA.classes.names[0]), **p),
            {"index": (parameter, 1), "seed": (parameter, 0), "size": (parameter, 16)},
            finite,
        ),
        Target(
            "portrait",
            lambda **p: portrait(find(DATA.classes.names[0]), **p),
            {"seed": (parameter, 0), "size": (parameter, 16)},
            finite,
        ),
        Target(
            "Episodes",
            lambda **p: Episodes(**p).truth,
            {
                "classes": (parameter, [[7, 9]]),
                "shots": (parameter, [[[0], [1]]]),
                "queries": (parameter, [[[2, 3], [4, 5]]]),
            },
            finite,
        ),
        Target(
            "resize_to_square",
            resize_to_square,
            {"image": (parameter, IMAGE), "side": (count, 5), "resize_mode": (word, "whole")},
            finite,
        ),
        Target(
            "center_view",
            lambda **p: center_view(BATCH, **p).numpy(),
            {"side": (count, 4), "zoom": (parameter, 1.0)},
            finite,
        ),
        Target(
            "open_source",
            lambda **p: open_source(quiet=True, **p).batch(torch.tensor([0])).numpy(),
            {
                "images": (parameter, PIXELS),
                "side": (count, 4),
                "resize_mode": (word, "whole"),
                "workers": (optional(count), 1),
            },
            finite,
        ),
    ]
