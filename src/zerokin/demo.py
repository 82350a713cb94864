"""`zerokin demo`: invented animals that were never shown are named, from nothing, in minutes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console
from rich.table import Table

from zerokin.data import Dataset, load_dataset
from zerokin.data.critters.sheet import picture_sheet
from zerokin.evaluation.metrics import per_class_top1
from zerokin.features.attribute_cnn import AttributeCNN, train_attribute_cnn
from zerokin.features.normaliser import unit_length
from zerokin.files import replacing
from zerokin.hierarchy import ClassHierarchy, tree_text
from zerokin.hierarchy.of_dataset import build_hierarchy, draw_all
from zerokin.progress import track
from zerokin.recognition import ZeroShotClassifier, cosine_scores

EPOCHS = 10
RIDGE = 100.0
SHOWN = 24
ENLARGED = 2

Scores = NDArray[np.floating]


@dataclass(frozen=True)
class DemoRow:
    """Per-class top-1 of a method: unseen species among unseen ones, seen among seen ones."""

    method: str
    unseen: float
    seen: float
    seconds: float


def run_demo(folder: Path, *, seed: int = 0, epochs: int = EPOCHS) -> list[DemoRow]:
    """Draw Critters, group its classes, train a small network, and name the unseen classes.

    Parameters
    ----------
    folder
        Where the pictures and ``results.json`` go.
    seed
        Seed of the training.
    epochs
        Length of the training.

    Returns
    -------
    list of DemoRow
        A row per method, as written to ``results.json``.
    """
    screen = Console(highlight=False)
    critters = load_dataset("critters")
    screen.print(
        f"[bold]Critters[/]: {len(critters.seen)} species with pictures to learn from, "
        f"{len(critters.unseen)} without (*), known by {critters.semantics.shape[1]} attributes"
    )
    tree = build_hierarchy(critters, "agglomerative", branching=3)
    _show_hierarchy(screen, tree, critters, folder)

    indices = track(range(len(critters)), "drawing pictures", total=len(critters))
    pictures = np.stack([critters.pictures.array(index) for index in indices])
    rows = [DemoRow("chance", 100 / len(critters.unseen), 100 / len(critters.seen), 0.0)]
    rows.append(_measure("raw pixels", critters, lambda: _ridge_scores(critters, pictures)))
    started = time.perf_counter()
    network = _train(critters, pictures, seed=seed, epochs=epochs)
    trained = time.perf_counter() - started
    rows.append(
        _measure("small CNN", critters, lambda: _network_scores(critters, network, pictures))
    )
    features = unit_length(network(pictures))
    model = _fit(critters, tree, features)
    rows.append(
        _measure("small CNN + zerokin", critters, lambda: model.decision_function(features))
    )
    _draw_answers(critters, pictures, model, features, folder / "unseen.png")
    with replacing(folder / "results.json") as temporary:
        temporary.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    _show_results(screen, rows)
    screen.print(f"the network took {trained:.0f} s; answers are drawn in {folder / 'unseen.png'}")
    return rows


def _show_hierarchy(screen: Console, tree: ClassHierarchy, critters: Dataset, folder: Path) -> None:
    screen.print(tree_text(tree, critters.split.unseen))
    written = [path.name for path in draw_all(tree, critters.split.unseen, folder)]
    screen.print(f"hierarchy drawn in {folder}: {', '.join(written)}")


def _ridge_scores(critters: Dataset, pictures: NDArray[np.uint8]) -> Scores:
    """Estimate semantics from small raw pictures by ridge regression."""
    blocks = pictures[:, ::2, ::2].reshape(len(pictures), -1) / 255.0
    train = critters.split.train
    pixels = blocks - blocks[train].mean(axis=0)
    prototypes = critters.semantics - critters.semantics[critters.seen].mean(axis=0)
    targets = prototypes[critters.training_labels()]
    gram = pixels[train].T @ pixels[train] + RIDGE * np.eye(pixels.shape[1])
    return cosine_scores(pixels @ np.linalg.solve(gram, pixels[train].T @ targets), prototypes)


def _train(
    critters: Dataset, pictures: NDArray[np.uint8], *, seed: int, epochs: int
) -> AttributeCNN:
    targets = critters.semantics[critters.training_labels()]
    return train_attribute_cnn(
        pictures[critters.split.train], targets, epochs=epochs, seed=seed, quiet=False
    )


def _network_scores(
    critters: Dataset, network: AttributeCNN, pictures: NDArray[np.uint8]
) -> Scores:
    """Compare the network's estimates of semantics with those of the classes."""
    return cosine_scores(network.semantics(pictures), critters.semantics - network.mean)


def _fit(
    critters: Dataset, tree: ClassHierarchy, features: NDArray[np.floating]
) -> ZeroShotClassifier:
    """Fit the classifier, at its defaults, to the network's features of seen species."""
    train = critters.split.train
    return ZeroShotClassifier().fit(
        features[train],
        critters.training_labels(),
        semantics=critters.semantics,
        hierarchy=tree,
    )


def _measure(name: str, critters: Dataset, score: Callable[[], Scores]) -> DemoRow:
    started = time.perf_counter()
    scores = score()

    def accuracy(samples: NDArray[np.int64], candidates: NDArray[np.int64]) -> float:
        named = candidates[scores[np.ix_(samples, candidates)].argmax(axis=1)]
        return per_class_top1(critters.evaluation_labels(samples), named)

    unseen = accuracy(critters.split.test_unseen, critters.unseen)
    seen = accuracy(critters.split.test_seen, critters.seen)
    return DemoRow(name, unseen, seen, round(time.perf_counter() - started, 1))


def _show_results(screen: Console, rows: list[DemoRow]) -> None:
    table = Table(title="per-class top-1, %")
    table.add_column("method")
    table.add_column("unseen species", justify="right")
    table.add_column("new pictures of seen species", justify="right")
    for row in rows:
        table.add_row(row.method, f"{row.unseen:.1f}", f"{row.seen:.1f}")
    screen.print(table)


def _draw_answers(
    critters: Dataset,
    pictures: NDArray[np.uint8],
    model: ZeroShotClassifier,
    features: NDArray[np.floating],
    path: Path,
) -> None:
    """Draw some pictures of unseen species with the name given to each."""
    samples = critters.split.test_unseen
    chosen = samples[np.linspace(0, len(samples) - 1, SHOWN).astype(int)]
    named = model.predict(features[chosen])
    truth = critters.evaluation_labels(chosen)
    names = critters.classes.names
    sheet = picture_sheet(
        [_enlarged(picture) for picture in pictures[chosen]],
        [names[answer] for answer in named.tolist()],
        highlight=(named != truth).tolist(),
        legend=("named rightly", "wrongly"),
    )
    with replacing(path) as temporary:
        sheet.save(temporary)


def _enlarged(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    side = ENLARGED * len(picture)
    return np.asarray(Image.fromarray(picture).resize((side, side), Image.Resampling.BICUBIC))
