"""`zerokin demo`: invented animals that were never shown are named, from nothing, in minutes."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console
from rich.table import Table

from zerokin.benchmark.candidates import draw_samples, rank_candidates
from zerokin.classifiers import ZeroShotClassifier
from zerokin.commands.candidates import drawn_note
from zerokin.compute.machine import available_cores
from zerokin.critters.sheet import image_sheet
from zerokin.data import Dataset, load_dataset
from zerokin.data.decoding import decode_squares
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.input.augmentation import Augmentation
from zerokin.features.input.sources import ResidentSource
from zerokin.features.network_settings import Mode
from zerokin.features.training import Recipe
from zerokin.files import replacing
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.from_dataset import build_hierarchy
from zerokin.metrics.accuracy import per_class_top1
from zerokin.progress import track
from zerokin.report import tree_text
from zerokin.report.bars import ablation_panels, draw_bars
from zerokin.report.candidates_figure import draw_candidates
from zerokin.report.comparison import as_json
from zerokin.report.draw_hierarchy import draw_all
from zerokin.report.feature_planes import draw_feature_planes

EPOCHS = 10
SIDE = 64
SHOWN = 24
ENLARGED = 2
EXAMPLES = 5
CANDIDATES = 5

CLASS_LEVEL: dict[str, Any] = {"inference": "flat", "hub_weight": 0.0}
"""The paper's baseline: nearest projected semantics, no superclasses."""


@dataclass(frozen=True)
class DemoRow:
    """Per-class top-1 of a method: unseen species among unseen ones, seen among seen ones."""

    method: str
    unseen: float
    seen: float
    seconds: float
    features_sha256: str = ""

    def as_dict(self, critters: Dataset, seed: int) -> dict[str, Any]:
        """Return it as ``zerokin evaluate --json`` writes rows; nothing is chosen for it."""
        return {
            "dataset": critters.name,
            "setting": "pure",
            "method": self.method,
            "features": "array",
            "features_sha256": self.features_sha256,
            "split": critters.split.version,
            "seed": seed,
            "selection": {"on": "nothing: all settings are fixed"},
            "metrics": {"per_class_top1": self.unseen, "seen_per_class_top1": self.seen},
            "seconds": {"all": self.seconds},
        }


def run_demo(
    folder: Path, *, seed: int = 0, epochs: int = EPOCHS, report: Path | None = None
) -> list[DemoRow]:
    """Draw Critters, group its classes, train small networks, and name the unseen classes.

    The rows are the paper's ablation: features that learned nothing, class labels, or classes and
    superclasses, under class-level projection; then the whole method, and its end-to-end form.

    Parameters
    ----------
    folder
        Where the images and ``results.json`` go.
    seed
        Seed of the training.
    epochs
        Length of the training.
    report
        Where to write the rows as ``zerokin evaluate --json`` does; nowhere by default.

    Returns
    -------
    list of DemoRow
        A row per method, as written to ``results.json``.
    """
    screen = Console(highlight=False)
    critters = load_dataset("critters")
    screen.print(
        f"[bold]Critters[/]: {len(critters.seen)} species with images to learn from, "
        f"{len(critters.unseen)} without (*), known by {critters.semantics.shape[1]} attributes"
    )
    tree = build_hierarchy(critters, "agglomerative", branching=3)
    _show_hierarchy(screen, tree, critters, folder)
    pixels = decode_squares(critters.images, SIDE)
    drawn = draw_samples(critters.split, EXAMPLES, seed)

    rows = [DemoRow("chance", 100 / len(critters.unseen), 100 / len(critters.seen), 0.0)]

    def add(
        name: str, features: NDArray[np.float32], training: float, **params: Any
    ) -> ZeroShotClassifier:
        started = time.perf_counter()
        model = _fit(critters, tree, features, **params)
        unseen, seen = _accuracies(critters, model.decision_function(features))
        seconds = round(training + time.perf_counter() - started, 1)
        read = hashlib.sha256(np.ascontiguousarray(features).tobytes()).hexdigest()
        rows.append(DemoRow(name, unseen, seen, seconds, read))
        screen.print(f"{name}: {unseen:.1f} % of the images of unseen species named rightly")
        return model

    untouched, seconds = _features(critters, tree, pixels, "classes", 0, seed, SIDE)
    add("untrained network", untouched, seconds, **CLASS_LEVEL)
    trained = _side_by_side(critters, tree, pixels, epochs, seed)
    plain, seconds = trained["classes"]
    add("class labels", plain, seconds, **CLASS_LEVEL)
    ours, seconds = trained["cnn-rnn"]
    add("CNN-RNN features", ours, seconds, **CLASS_LEVEL)
    add("CNN-RNN, full model", ours, seconds)
    joint, seconds = trained["end-to-end"]
    model = add("end to end, full model", joint, seconds)

    _draw_answers(critters, pixels, model, joint, folder / "unseen.png")
    _draw_candidates(critters, drawn, model, joint, seed, folder / "candidates.png")
    networks = {"untrained network": untouched, "class labels": plain}
    _draw_features(
        critters, networks | {"CNN-RNN": ours, "end to end": joint}, folder / "features.png"
    )
    measured = [row.as_dict(critters, seed) for row in rows if row.features_sha256]
    draw_bars(ablation_panels(measured), folder / "ablation.png", title="Critters, ablation")
    with replacing(folder / "results.json") as temporary:
        text = json.dumps([asdict(row) for row in rows], indent=1) + "\n"
        temporary.write_text(text, encoding="utf-8")
    if report is not None:
        with replacing(report) as temporary:
            temporary.write_text(as_json(measured), encoding="utf-8")
    _show_results(screen, rows)
    screen.print(
        f"answers are drawn in {folder / 'unseen.png'}, candidates, features and this table in "
        "candidates.png, features.png and ablation.png beside it"
    )
    return rows


def _show_hierarchy(screen: Console, tree: ClassHierarchy, critters: Dataset, folder: Path) -> None:
    screen.print(tree_text(tree, critters.split.unseen))
    written = [path.name for path in draw_all(tree, critters.split.unseen, folder)]
    screen.print(f"hierarchy drawn in {folder}: {', '.join(written)}")


def demo_learner(
    mode: Mode, *, seed: int = 0, epochs: int = EPOCHS, side: int = SIDE
) -> FeatureLearner:
    """Return the demo's small network in one of its modes, untrained."""
    recipe = Recipe(
        epochs=epochs,
        batch_size=32,
        optimizer="adamw",
        lr=0.003,
        head_multiplier=1.0,
        weight_decay=0.05,
        warmup=min(2, epochs),
        layer_weight=0.1,
        image_size=side,
        augmentation=Augmentation(area=(0.7, 1.0), brightness=0.1, saturation=0.1),
        seed=seed,
    )
    return FeatureLearner(
        "small",
        mode,
        weights=None,
        recipe=recipe,
        device="cpu",
        image_size=side,
        cache_size=side,
        scale=10.0,
    )


def _side_by_side(
    critters: Dataset, tree: ClassHierarchy, pixels: NDArray[np.uint8], epochs: int, seed: int
) -> dict[Mode, tuple[NDArray[np.float32], float]]:
    """Train a network in every mode, as many at a time as there are cores."""
    from joblib import Parallel, delayed

    modes: list[Mode] = ["classes", "cnn-rnn", "end-to-end"]
    pool = Parallel(n_jobs=min(len(modes), available_cores()), return_as="generator")
    with warnings.catch_warnings():
        # joblib takes the memory that torch keeps for a leak, and starts a process anew.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
        found = pool(
            delayed(_features)(critters, tree, pixels, mode, epochs, seed, SIDE) for mode in modes
        )
        return dict(zip(modes, track(found, "training networks", total=len(modes)), strict=True))


def _features(
    critters: Dataset,
    tree: ClassHierarchy,
    pixels: NDArray[np.uint8],
    mode: Mode,
    epochs: int,
    seed: int,
    side: int,
) -> tuple[NDArray[np.float32], float]:
    """Train a network; return the features of all images, and the seconds it took."""
    started = time.perf_counter()
    source = ResidentSource(torch.from_numpy(np.array(pixels)))
    learner = demo_learner(mode, seed=seed, epochs=epochs, side=side)
    usual = torch.get_num_threads()
    # On one thread, sums are rounded alike whatever the number of cores.
    torch.set_num_threads(1)
    try:
        learner.fit(critters, hierarchy=tree, source=source)
        return learner.transform(source), time.perf_counter() - started
    finally:
        torch.set_num_threads(usual)


def _fit(
    critters: Dataset, tree: ClassHierarchy, features: NDArray[np.floating], **params: Any
) -> ZeroShotClassifier:
    """Fit the classifier to the features of seen species, which no penalty sets back."""
    train = critters.split.train
    return ZeroShotClassifier(**params, seen_penalty=0.0).fit(
        features[train],
        critters.training_labels(),
        semantics=critters.semantics,
        hierarchy=tree,
    )


def _accuracies(critters: Dataset, scores: NDArray[np.floating]) -> tuple[float, float]:
    """Return per-class top-1 of unseen species among unseen ones, and of seen among seen ones."""

    def accuracy(samples: NDArray[np.int64], candidates: NDArray[np.int64]) -> float:
        named = candidates[scores[np.ix_(samples, candidates)].argmax(axis=1)]
        return per_class_top1(critters.evaluation_labels(samples), named)

    split = critters.split
    return (
        accuracy(split.test_unseen, critters.unseen),
        accuracy(split.test_seen, critters.seen),
    )


def _show_results(screen: Console, rows: list[DemoRow]) -> None:
    table = Table(title="per-class top-1, %")
    table.add_column("method")
    table.add_column("unseen species", justify="right")
    table.add_column("new images of seen species", justify="right")
    for row in rows:
        table.add_row(row.method, f"{row.unseen:.1f}", f"{row.seen:.1f}")
    screen.print(table)


def _draw_answers(
    critters: Dataset,
    pixels: NDArray[np.uint8],
    model: ZeroShotClassifier,
    features: NDArray[np.floating],
    path: Path,
) -> None:
    """Draw some images of unseen species with the name given to each, and the right one."""
    samples = critters.split.test_unseen
    chosen = samples[np.linspace(0, len(samples) - 1, SHOWN).astype(int)]
    images = pixels[chosen].transpose(0, 2, 3, 1)
    named = model.predict(features[chosen])
    truth = critters.evaluation_labels(chosen)
    names = critters.classes.names
    sheet = image_sheet(
        [_enlarged(image) for image in images],
        answer_captions(names, named, truth),
        highlight=(named != truth).tolist(),
        legend=("named rightly", "wrongly: the name given, and the right one"),
    )
    with replacing(path) as temporary:
        sheet.save(temporary)


def _draw_candidates(
    critters: Dataset,
    samples: NDArray[np.int64],
    model: ZeroShotClassifier,
    features: NDArray[np.floating],
    seed: int,
    path: Path,
) -> None:
    """Draw the best candidates of test images among all species, without a seen penalty."""
    truth = critters.evaluation_labels(samples)
    found = rank_candidates(model.decision_function(features[samples]), truth, CANDIDATES)
    draw_candidates(
        [critters.images.load(number) for number in samples.tolist()],
        found,
        critters.classes.names,
        critters.split.unseen,
        path,
        title=f"Critters: end to end, full model, all {len(critters.classes)} species compete",
        note=f"{drawn_note(seed)} No penalty of seen classes.",
    )


def _draw_features(
    critters: Dataset, features: Mapping[str, NDArray[np.floating]], path: Path
) -> None:
    """Draw what every network makes of images of unseen species (t-SNE)."""
    samples = critters.split.test_unseen
    draw_feature_planes(
        {name: found[samples] for name, found in features.items()},
        critters.evaluation_labels(samples),
        critters.classes.names,
        path,
        title="Critters, images of unseen species (t-SNE of features)",
    )


def answer_captions(
    names: Sequence[str], named: NDArray[np.int64], truth: NDArray[np.int64]
) -> list[str]:
    r"""Return the name given to each image, and below a wrong one what it is.

    Examples
    --------
    >>> answer_captions(["okapi", "zebra"], np.array([0, 1]), np.array([0, 0]))
    ['okapi', 'zebra\nis okapi']
    """
    return [
        names[answer] if answer == right else f"{names[answer]}\nis {names[right]}"
        for answer, right in zip(named.tolist(), truth.tolist(), strict=True)
    ]


def _enlarged(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    side = ENLARGED * len(image)
    return np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.BICUBIC))
