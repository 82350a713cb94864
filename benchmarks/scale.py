"""Time and peak memory of projection learning from ten thousand to millions of samples.

Features are drawn with the statistics of ILSVRC features. 1,000 classes hang in a tree, and a
class's latent vector is the sum of a normal one for each of its nodes. Means are maps of the latent
vector with a spectrum that decays, with a part of their own. Samples lie around them in 64
directions of variance 1/j, beside noise in all directions. A threshold and a ReLU leave about a
third of the values positive; columns are scaled by a log-normal factor, rows to unit length. Class
semantics are another map of the latent vector, with noise of their own, so that they tell of
features as word vectors do: something, and not all. 800 classes are seen, 200 unseen.

Each size runs in a process of its own, on shards on the disk, within a memory budget: FᵀF and its
eigenvectors, the graph, and ``ProjectionLearner`` for the classes and every layer that halves them.
Printed are seconds (wall and processor), the peak resident size of the process, the recall of the
graph, the accuracy on samples of unseen classes, and exponents of time in N.

    python benchmarks/scale.py --sizes 10000 20000 40000
    python benchmarks/scale.py --sizes 40000 --search exact approximate --semantic-noise 1
    python benchmarks/scale.py --sizes 218000 --memory-budget 8GiB --json scale.json
    python benchmarks/scale.py --classes 1360 5000 21000       # hierarchy, kernels, add_class
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from zerokin.data.sharded_features import ShardedFeatures, write_shards
from zerokin.files import replacing

Result = TypeVar("Result")
CLASSES, SEEN, D_F, D_Z, LATENT, NOISE = 1000, 800, 1024, 1000, 64, 0.3
SETTINGS: dict[str, Any] = {"alpha": 0.5, "beta": 0.5, "epsilon": 0.1, "gamma": 1.0}


class Generator:
    """Classes with semantics, and samples of them, as described above; all by one seed."""

    def __init__(
        self, *, classes: int = CLASSES, d_f: int = D_F, d_z: int = D_Z, noise: float = NOISE
    ) -> None:
        rng = np.random.default_rng(0)
        latent = self._latent(classes, rng)
        own = rng.standard_normal((classes, d_z))
        Z = latent @ rng.standard_normal((LATENT, d_z)) / np.sqrt(LATENT) + noise * own
        self.Z = np.maximum(Z, 0)
        spectrum = np.arange(1, LATENT + 1) ** -0.25
        spectrum /= np.sqrt(np.mean(spectrum**2))
        means = (latent * spectrum) @ rng.standard_normal((LATENT, d_f)) / np.sqrt(LATENT)
        self.means = (means + 0.3 * rng.standard_normal((classes, d_f))).astype(np.float32)
        variance = 1 / np.arange(1, LATENT + 1)
        weight = np.sqrt(variance * LATENT / variance.sum())[:, None]
        within = weight * rng.standard_normal((LATENT, d_f)) / np.sqrt(LATENT)
        self.within = within.astype(np.float32)
        self.scale = np.exp(0.5 * rng.standard_normal(d_f)).astype(np.float32)

    @staticmethod
    def _latent(classes: int, rng: np.random.Generator) -> np.ndarray:
        total, size, layers = np.zeros((classes, LATENT)), classes, 0
        while size:
            node = np.arange(classes) * size // classes
            total += rng.standard_normal((size, LATENT))[node]
            size, layers = size // 4, layers + 1
        result: np.ndarray = total / np.sqrt(layers)
        return result

    def samples(self, labels: np.ndarray, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        F = self.means[labels] - np.float32(0.5)
        F += rng.standard_normal((len(labels), LATENT), dtype=np.float32) @ self.within
        F += np.float32(0.3) * rng.standard_normal(F.shape, dtype=np.float32)
        np.maximum(F, 0, out=F)
        F *= self.scale
        result: np.ndarray = F / np.linalg.norm(F, axis=1, keepdims=True)
        return result

    def blocks(self, labels: np.ndarray, seed: int) -> Iterator[np.ndarray]:
        for start in range(0, len(labels), 4096):
            yield self.samples(labels[start : start + 4096], seed + start)


def drawn_labels(n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(SEEN, size=n)


def seen_classes() -> np.ndarray:
    """Classes that are seen, the others spread over the tree; in the order of the tree."""
    return np.sort(np.random.default_rng(2).choice(CLASSES, SEEN, replace=False))


class Clock:
    """Wall and processor seconds of stages by name."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    def __call__(self, name: str, work: Callable[[], Result]) -> Result:
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - wall
        self.cpu[name] = self.cpu.get(name, 0.0) + time.process_time() - cpu
        print(f"{name}: {self.wall[name]:.1f} s", file=sys.stderr, flush=True)
        return result


def peak() -> float:
    """Peak resident size of this process, in GiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def measure(
    folder: Path, budget: str, search: Any, iterations: int, noise: float
) -> dict[str, Any]:
    """Fit all layers to the shards in a folder; meant for a process of its own."""
    from zerokin.projection import FeatureSpectrum, ProjectionLearner

    world, clock, F = Generator(noise=noise), Clock(), ShardedFeatures(folder)
    seen, labels = seen_classes(), drawn_labels(len(F))
    spectrum = clock(
        "factors",
        lambda: FeatureSpectrum(F, memory_budget=budget, neighbor_search=search),
    )
    clock("graph", lambda: spectrum.laplacian(10))
    size, steps, W = CLASSES, [], None
    while size >= 2:
        node = np.arange(CLASSES) * size // CLASSES
        vectors = np.stack([world.Z[node == k].mean(axis=0) for k in range(size)])
        learner = ProjectionLearner(**SETTINGS, max_iter=iterations, memory_budget=budget)

        def fit(learner: Any = learner, vectors: Any = vectors, node: Any = node) -> None:
            learner.fit(spectrum.features, vectors, labels=node[seen][labels], spectrum=spectrum)

        clock(f"layer of {size}", fit)
        steps.append(learner.n_iter_)
        W = learner.W_ if W is None else W
        del learner, fit
        size //= 2
    return {
        "n": len(F),
        "search": search,
        "budget": budget,
        "wall": clock.wall,
        "cpu": clock.cpu,
        "seconds": sum(clock.wall.values()),
        "cpu_seconds": sum(clock.cpu.values()),
        "iterations": steps,
        "peak_gib": peak(),
        "recall": spectrum.graph_recalls[10],
        "unseen_accuracy": unseen_accuracy(world, W),
    }


def unseen_accuracy(world: Generator, W: Any) -> float:
    """Top-1 accuracy in % of 20,000 samples of the unseen classes, among those classes."""
    unseen = np.setdiff1d(np.arange(CLASSES), seen_classes())
    truth = np.random.default_rng(3).integers(len(unseen), size=20_000)
    prototypes = world.Z[unseen] @ W.T
    prototypes /= np.linalg.norm(prototypes, axis=1, keepdims=True)
    scores = np.concatenate(
        [part @ prototypes.T for part in world.blocks(unseen[truth], seed=10**9)]
    )
    return float(100 * np.mean(scores.argmax(axis=1) == truth))


def in_own_process(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, __file__, *map(str, arguments)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return result


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of log time over log N."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def measure_sizes(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for n in arguments.sizes:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            shards = Path(folder, "shards")
            world, seen = Generator(), seen_classes()
            write_shards(shards, world.blocks(seen[drawn_labels(n)], seed=0))
            del world
            for search in arguments.search:
                row = in_own_process(
                    *("--measure", shards, "--memory-budget", arguments.memory_budget),
                    *("--search", search, "--iterations", arguments.iterations),
                    *("--semantic-noise", arguments.semantic_noise),
                )
                rows.append(row)
                print(
                    f"N = {n:,}, {search}: {row['seconds']:.0f} s ({row['cpu_seconds']:.0f} s of "
                    f"processors), graph {row['wall']['graph']:.0f} s, peak {row['peak_gib']:.2f} "
                    f"GiB, recall {row['recall']:.4f}, unseen {row['unseen_accuracy']:.2f} %",
                    flush=True,
                )
    for search in arguments.search:
        mine = [row for row in rows if row["search"] == search]
        if len(mine) > 1:
            sizes = [row["n"] for row in mine]
            for what in ("seconds", "cpu_seconds", "peak_gib"):
                print(
                    f"{search}: {what} ~ N^{exponent(sizes, [row[what] for row in mine]):.2f}, "
                    f"N = {min(sizes):,} to {max(sizes):,}"
                )
    return rows


def measure_classes(classes: int) -> dict[str, Any]:
    """Time the work on classes: hierarchy, kernel and prototypes, a class added."""
    from zerokin.classifiers import ZeroShotClassifier
    from zerokin.hierarchy import ClassHierarchy

    clock, d_z, d_f = Clock(), 300, 256
    world = Generator(classes=classes, d_f=d_f, d_z=d_z)
    clock("k-means", lambda: ClassHierarchy.from_semantics(world.Z, 2))
    tree = clock("Ward", lambda: ClassHierarchy.from_semantics(world.Z, 2, method="agglomerative"))
    seen = np.sort(np.random.default_rng(2).choice(classes, classes * 20 // 21, replace=False))
    labels = np.repeat(seen, 2)
    F = np.concatenate(list(world.blocks(labels, seed=0)))
    model = ZeroShotClassifier(feature_scaling="unit", seen_penalty=0.0)
    clock("fit", lambda: model.fit(F, labels, semantics=world.Z, hierarchy=tree))
    clock("score 1,000 samples", lambda: model.predict(F[:1000], candidates="all"))
    vector = world.Z[:2].mean(axis=0)
    clock("add_class", lambda: model.add_class(classes, vector))
    result = {"classes": classes, "wall": clock.wall, "cpu": clock.cpu, "peak_gib": peak()}
    print(result, file=sys.stderr)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[], help="samples")
    parser.add_argument("--classes", type=int, nargs="+", default=[], help="class counts")
    parser.add_argument("--search", nargs="+", default=["auto"])
    parser.add_argument("--memory-budget", default="8GiB")
    parser.add_argument("--iterations", type=int, default=20, help="most iterations of a layer")
    parser.add_argument(
        "--semantic-noise", type=float, default=NOISE, help="of class vectors: 1 makes them worse"
    )
    parser.add_argument("--folder", type=Path, help="where shards are written meanwhile")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure-classes", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        budget, search = arguments.memory_budget, arguments.search[0]
        rest = (arguments.iterations, arguments.semantic_noise)
        print(json.dumps(measure(arguments.measure, budget, search, *rest)))
        return
    if arguments.measure_classes:
        print(json.dumps(measure_classes(arguments.measure_classes)))
        return
    rows = measure_sizes(arguments)
    for classes in arguments.classes:
        row = in_own_process("--measure-classes", classes)
        rows.append(row)
        times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in row["wall"].items())
        print(f"C = {classes:,}: {times}, peak {row['peak_gib']:.2f} GiB", flush=True)
    if arguments.json:
        content = {"cores": os.cpu_count(), "rows": rows}
        with replacing(arguments.json) as temporary:
            temporary.write_text(json.dumps(content, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
