"""How hard is Critters? Raw pixels and a small CNN, on unseen species and on held-out images.

Run: python benchmarks/critters.py --seeds 0 1 2

With --folds: do superclasses make better features? On validation species alone, which choices may
look at; the unseen species take no part.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers import ZeroShotClassifier
from zerokin.commands.demo import CLASS_LEVEL, demo_learner
from zerokin.critters import (
    IMAGES_PER_SPECIES,
    SPECIES,
    attribute_matrix,
    render,
    validation_folds,
)
from zerokin.data import Dataset, load_dataset
from zerokin.data.images import ArrayImages
from zerokin.features.feature_learner import Mode
from zerokin.features.input import open_source
from zerokin.features.input.sources import ImageSource
from zerokin.hierarchy.from_dataset import build_hierarchy
from zerokin.progress import track

Array = NDArray[np.float64]
HELD_OUT = 12
PENALTIES = 10.0 ** np.arange(0, 6)


def per_class_top1(predicted: NDArray[np.intp], true: NDArray[np.intp]) -> float:
    return 100.0 * float(np.mean([(predicted[true == c] == c).mean() for c in np.unique(true)]))


def nearest_class(
    estimates: Array, semantics: Array, classes: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the class of largest cosine among ``classes``, for each estimate."""
    prototypes = semantics[classes]
    prototypes = prototypes / np.linalg.norm(prototypes, axis=1, keepdims=True)
    nearest: NDArray[np.intp] = classes[np.argmax(estimates @ prototypes.T, axis=1)]
    return nearest


def pixels(images: NDArray[np.uint8]) -> Array:
    """Return images reduced to 32 x 32 as rows of numbers in 0..1, (N, 3072)."""
    n, side = images.shape[:2]
    blocks = images.reshape(n, side // 2, 2, side // 2, 2, 3)
    rows: Array = blocks.mean(axis=(2, 4)).reshape(n, -1) / 255.0
    return rows


def nearest_images(queries: Array, known: Array) -> NDArray[np.intp]:
    """Return the index of each query's nearest known row."""
    norms = (known**2).sum(axis=1)
    chunks = np.array_split(queries, -(-len(queries) // 256))
    return np.concatenate([np.argmin(norms - 2.0 * chunk @ known.T, axis=1) for chunk in chunks])


def ridge(features: Array, targets: Array, penalty: float) -> Array:
    gram = features.T @ features
    gram[np.diag_indices_from(gram)] += penalty
    weights: Array = np.linalg.solve(gram, features.T @ targets).astype(np.float64)
    return weights


def chosen_penalty(features: Array, labels: NDArray[np.intp], semantics: Array) -> float:
    """Return the ridge penalty that is best on the first fold of validation classes."""
    position = {species.name: i for i, species in enumerate(SPECIES)}
    fold = np.array([position[name] for name in validation_folds()[0]])
    held = np.isin(labels, fold)

    def accuracy(penalty: float) -> float:
        weights = ridge(features[~held], semantics[labels[~held]], penalty)
        return per_class_top1(
            nearest_class(features[held] @ weights, semantics, fold), labels[held]
        )

    return float(max(PENALTIES, key=accuracy))


def compare_on_folds(seeds: list[int], epochs: int) -> None:
    """Print what features of class labels and of the CNN-RNN are worth to validation species."""
    critters = load_dataset("critters")
    source = open_source(critters.images, 64, resident=True)
    modes: tuple[Mode, ...] = ("classes", "cnn-rnn")
    found = np.array(
        [
            [
                fold_accuracy(critters.fold(fold, seed=seed), source, mode, seed, epochs)
                for mode in modes
            ]
            for seed in seeds
            for fold in range(1, len(critters.split.folds) + 1)
        ]
    )
    for name, column in zip(modes, found.T, strict=True):
        print(f"{name}: {_spread(column.tolist())}")
    gain = found[:, 1] - found[:, 0]
    error = gain.std(ddof=1) / len(gain) ** 0.5
    print(f"difference: {gain.mean():+.1f}, standard error {error:.1f}, {len(gain)} pairs")


def fold_accuracy(fold: Dataset, source: ImageSource, mode: Mode, seed: int, epochs: int) -> float:
    """Return per-class top-1 of a fold's validation species under class-level projection."""
    tree = build_hierarchy(fold, "agglomerative", branching=3)
    learner = demo_learner(mode, seed=seed, epochs=epochs)
    learner.fit(fold, hierarchy=tree, source=source)
    train, test = fold.split.train, fold.split.test_unseen
    model = ZeroShotClassifier(**CLASS_LEVEL, seen_penalty=0.0).fit(
        learner.transform(source.select(train)),
        fold.training_labels(),
        semantics=fold.semantics,
        hierarchy=tree,
    )
    named = model.predict(learner.transform(source.select(test)))
    return per_class_top1(named, fold.evaluation_labels(test))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folds", action="store_true", help="compare features on validation folds")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--images-seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()
    if arguments.folds:
        compare_on_folds(arguments.seeds, arguments.epochs)
        return

    started = time.perf_counter()
    jobs = [(species, i) for species in SPECIES for i in range(IMAGES_PER_SPECIES)]
    drawn = track(jobs, "drawing images", total=len(jobs))
    images = np.stack([render(s, i, arguments.images_seed) for s, i in drawn])
    drawing = time.perf_counter() - started
    labels = np.repeat(np.arange(len(SPECIES)), IMAGES_PER_SPECIES)
    number = np.tile(np.arange(IMAGES_PER_SPECIES), len(SPECIES))
    is_unseen = np.array([species.unseen for species in SPECIES])
    seen, unseen = np.flatnonzero(~is_unseen), np.flatnonzero(is_unseen)
    test_unseen = is_unseen[labels]
    test_seen = ~test_unseen & (number >= IMAGES_PER_SPECIES - HELD_OUT)
    train = ~test_unseen & ~test_seen
    raw_semantics = attribute_matrix()
    semantics = raw_semantics - raw_semantics[seen].mean(axis=0)

    rows: list[tuple[str, list[float], list[float], float]] = []
    rows.append(("chance", [100.0 / len(unseen)], [100.0 / len(seen)], 0.0))

    started = time.perf_counter()
    flat = pixels(images)
    flat -= flat[train].mean(axis=0)
    match = labels[train][nearest_images(flat[test_unseen], flat[train])]
    by_kin = per_class_top1(nearest_class(semantics[match], semantics, unseen), labels[test_unseen])
    match = labels[train][nearest_images(flat[test_seen], flat[train])]
    by_self = per_class_top1(match, labels[test_seen])
    rows.append(("pixels, nearest image", [by_kin], [by_self], time.perf_counter() - started))

    started = time.perf_counter()
    penalty = chosen_penalty(flat[train], labels[train], semantics)
    estimates = flat @ ridge(flat[train], semantics[labels[train]], penalty)
    scores = [
        per_class_top1(nearest_class(estimates[rows_], semantics, classes), labels[rows_])
        for rows_, classes in ((test_unseen, unseen), (test_seen, seen))
    ]
    rows.append(("pixels, ridge", [scores[0]], [scores[1]], time.perf_counter() - started))

    started = time.perf_counter()
    on_unseen: list[float] = []
    on_seen: list[float] = []
    critters = load_dataset("critters").with_inputs(ArrayImages(images))
    source = open_source(critters.images, images.shape[1], quiet=True)
    for seed in arguments.seeds:
        learner = demo_learner("end-to-end", seed=seed, epochs=arguments.epochs)
        learner.fit(critters, source=source, quiet=False)
        estimates = learner.transform(source)[:, -semantics.shape[1] :].astype(np.float64)
        for rows_, classes, found in (
            (test_unseen, unseen, on_unseen),
            (test_seen, seen, on_seen),
        ):
            nearest = nearest_class(estimates[rows_], semantics, classes)
            found.append(per_class_top1(nearest, labels[rows_]))
    each = (time.perf_counter() - started) / len(arguments.seeds)
    rows.append((f"small CNN, {arguments.epochs} epochs", on_unseen, on_seen, each))

    print(f"{len(images):,} images drawn in {drawing:.0f} s; ridge penalty {penalty:g}, chosen")
    print(f"on validation classes; CNN seeds {arguments.seeds}; per-class top-1, %\n")
    print(f"| method | unseen ({len(unseen)}-way) | seen, held-out ({len(seen)}-way) | seconds |")
    print("|---|---|---|---|")
    for name, first, second, seconds in rows:
        print(f"| {name} | {_spread(first)} | {_spread(second)} | {seconds:.0f} |")


def _spread(numbers: list[float]) -> str:
    text = f"{np.mean(numbers):.1f}"
    return text if len(numbers) == 1 else f"{text} ({', '.join(f'{n:.1f}' for n in numbers)})"


if __name__ == "__main__":
    main()
