"""`zerokin demo`: invented animals that were never shown are named, from nothing, in minutes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from zerokin.data import Dataset, load_dataset
from zerokin.data.critters import picture_sheet
from zerokin.evaluation import per_class_top1
from zerokin.features.attribute_cnn import train_attribute_cnn
from zerokin.files import replacing
from zerokin.hierarchy import ClassHierarchy, tree_text
from zerokin.hierarchy.of_dataset import build_hierarchy, draw_all
from zerokin.progress import track
from zerokin.recognition import nearest_prototype

EPOCHS = 24
RIDGE = 100.0
SHOWN = 24


def run_demo(folder: Path, *, seed: int = 0, epochs: int = EPOCHS) -> list[dict[str, object]]:
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
    list of dict
        A row per method, as written to ``results.json``.
    """
    screen = Console(highlight=False)
    critters = load_dataset("critters")
    screen.print(
        f"[bold]Critters[/]: {len(critters.seen)} species with pictures to learn from, "
        f"{len(critters.unseen)} without (*), known by {critters.semantics.shape[1]} attributes"
    )
    tree = build_hierarchy(critters)
    _show_hierarchy(screen, tree, critters, folder)

    pictures = _draw(critters)
    rows: list[dict[str, object]] = [_chance(critters)]
    for name, estimate in (("raw pixels, ridge", _ridge), ("small CNN", _network)):
        started = time.perf_counter()
        projected, prototypes = estimate(critters, pictures, seed=seed, epochs=epochs)
        seconds = time.perf_counter() - started
        rows.append(_measure(name, critters, projected, prototypes) | {"seconds": round(seconds)})
    named = nearest_prototype(projected[critters.split.test_unseen], prototypes, critters.unseen)
    _draw_answers(critters, pictures, named, folder / "unseen.png")
    with replacing(folder / "results.json") as temporary:
        temporary.write_text(json.dumps(rows, indent=2) + "\n")
    _show_results(screen, rows)
    screen.print(f"answers on unseen species: {folder / 'unseen.png'}")
    return rows


def _show_hierarchy(screen: Console, tree: ClassHierarchy, critters: Dataset, folder: Path) -> None:
    screen.print(tree_text(tree, critters.split.unseen))
    written = [path.name for path in draw_all(tree, critters.split.unseen, folder)]
    screen.print(f"hierarchy drawn in {folder}: {', '.join(written)}")


def _draw(critters: Dataset) -> NDArray[np.uint8]:
    indices = track(range(len(critters)), "drawing pictures", total=len(critters))
    return np.stack([critters.pictures.array(index) for index in indices])


def _ridge(
    critters: Dataset,
    pictures: NDArray[np.uint8],
    *,
    seed: int,
    epochs: int,  # noqa: ARG001
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Estimate semantics from small raw pictures by ridge regression."""
    from PIL import Image

    small = np.stack(
        [np.asarray(Image.fromarray(picture).resize((24, 24))) for picture in pictures]
    )
    pixels = small.reshape(len(small), -1) / 255.0
    train = critters.split.train
    pixels = pixels - pixels[train].mean(axis=0)
    prototypes = critters.semantics - critters.semantics[critters.seen].mean(axis=0)
    targets = prototypes[critters.training_labels()]
    gram = pixels[train].T @ pixels[train] + RIDGE * np.eye(pixels.shape[1])
    return pixels @ np.linalg.solve(gram, pixels[train].T @ targets), prototypes


def _network(
    critters: Dataset, pictures: NDArray[np.uint8], *, seed: int, epochs: int
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Estimate semantics by a small network trained on the seen species."""
    train = critters.split.train
    targets = critters.semantics[critters.training_labels()]
    network = train_attribute_cnn(pictures[train], targets, epochs=epochs, seed=seed, quiet=False)
    return network.semantics(pictures), critters.semantics - network.mean


def _chance(critters: Dataset) -> dict[str, object]:
    return {
        "method": "chance",
        "unseen": 100 / len(critters.unseen),
        "seen": 100 / len(critters.seen),
    }


def _measure(
    name: str,
    critters: Dataset,
    projected: NDArray[np.floating],
    prototypes: NDArray[np.floating],
) -> dict[str, object]:
    """Return per-class top-1: unseen species among unseen ones, seen species among seen ones."""
    row: dict[str, object] = {"method": name}
    parts = (
        ("unseen", critters.split.test_unseen, critters.unseen),
        ("seen", critters.split.test_seen, critters.seen),
    )
    for part, samples, candidates in parts:
        named = nearest_prototype(projected[samples], prototypes, candidates)
        row[part] = per_class_top1(critters.evaluation_labels(samples), named)
    return row


def _show_results(screen: Console, rows: list[dict[str, object]]) -> None:
    table = Table(title="per-class top-1, %")
    table.add_column("method")
    table.add_column("unseen species", justify="right")
    table.add_column("new pictures of seen species", justify="right")
    for row in rows:
        table.add_row(str(row["method"]), f"{row['unseen']:.1f}", f"{row['seen']:.1f}")
    screen.print(table)


def _draw_answers(
    critters: Dataset, pictures: NDArray[np.uint8], named: NDArray[np.int64], path: Path
) -> None:
    """Draw some pictures of unseen species with the name given to each."""
    samples = critters.split.test_unseen
    chosen = np.linspace(0, len(samples) - 1, SHOWN).astype(int)
    truth = critters.evaluation_labels(samples)
    right = named == truth
    captions = [
        critters.classes.names[named[i]]
        if right[i]
        else f"{critters.classes.names[named[i]]}? {critters.classes.names[truth[i]]}"
        for i in chosen.tolist()
    ]
    sheet = picture_sheet(pictures[samples[chosen]], captions, highlighted=~right[chosen])
    with replacing(path) as temporary:
        sheet.save(temporary)
