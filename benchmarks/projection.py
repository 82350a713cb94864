"""Time and memory of projection learning, as ratios of runs on the same data and cores.

Three questions, each with the target it is held to:

a. a whole fit (FᵀF factored, every layer of a hierarchy, all iterations) against one fit of a
   semantic auto-encoder (SAE) by the Bartels-Stewart algorithm of SciPy;
b. a second fit with other α, β, ε against the first;
c. the time of a fit when the number of samples doubles, and its peak memory beyond F.

Run ``python benchmarks/projection.py`` (``--json FILE`` to keep the numbers, ``--quick`` for a
small run that only shows that everything works). Two threads on a busy machine mostly wait for each
other: ``--clock cpu`` counts the processor time of one thread instead.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

if __name__ == "__main__":  # before NumPy loads its BLAS
    os.environ.setdefault("OMP_NUM_THREADS", "1" if "cpu" in sys.argv else "2")

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from zerokin.files import replacing
from zerokin.projection import (
    FeatureSpectrum,
    ProjectionLearner,
    neighbor_graph,
    normalized_laplacian,
)

Result = TypeVar("Result")

CLASSES, D_Z = 200, 312
LAYERS = (200, 100, 50, 25, 12, 6, 3)
FIRST: dict[str, Any] = {"alpha": 0.5, "beta": 0.5, "epsilon": 0.1}
SECOND: dict[str, Any] = {"alpha": 0.2, "beta": 0.2, "epsilon": 0.5}


def clustered(n: int, d_f: int, dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw unit features (N, d_f) around class means that follow class semantics, as a CNN's do."""
    rng = np.random.default_rng(0)
    Z = np.abs(rng.standard_normal((CLASSES, D_Z)))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    means = 3 * Z @ rng.standard_normal((D_Z, d_f)) / np.sqrt(D_Z)
    means += 0.5 * rng.standard_normal((CLASSES, d_f))
    labels = np.arange(n) % CLASSES
    rng.shuffle(labels)
    F = np.empty((n, d_f), dtype)
    for start in range(0, n, 2048):
        rows = slice(start, start + 2048)
        part = np.maximum(means[labels[rows]] + rng.standard_normal((len(F[rows]), d_f)), 0)
        F[rows] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return F, Z, labels


def layers(Z: np.ndarray, labels: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Prototypes and samples' labels of every layer of a hierarchy that halves."""
    result = []
    for size in LAYERS:
        node = np.arange(CLASSES) * size // CLASSES
        result.append((np.stack([Z[node == k].mean(axis=0) for k in range(size)]), node[labels]))
    return result


def fit_layers(
    F: np.ndarray,
    hierarchy: list[tuple[np.ndarray, np.ndarray]],
    spectrum: FeatureSpectrum,
    laplacian: sp.csr_array,
    **settings: Any,
) -> list[int]:
    iterations = []
    for prototypes, labels in hierarchy:
        learner = ProjectionLearner(**settings)
        learner.fit(F, prototypes, labels=labels, spectrum=spectrum, laplacian=laplacian)
        iterations.append(learner.n_iter_)
    return iterations


def fit_sae(F: np.ndarray, E: np.ndarray, weight: float = 0.2) -> np.ndarray:
    """Solve EᵀE W + λ W FᵀF = (1 + λ) EᵀF, the semantic auto-encoder."""
    product = (1 + weight) * (E.T @ F)
    result: np.ndarray = scipy.linalg.solve_sylvester(E.T @ E, weight * (F.T @ F), product)
    return result


def seconds(work: Callable[[], Result]) -> tuple[float, Result]:
    clock = time.process_time if "cpu" in sys.argv else time.perf_counter
    start = clock()
    result = work()
    return clock() - start, result


def compare_fits(n: int, d_f: int, dtype: str, repeats: int) -> dict[str, float]:
    """Seconds of every part of a first fit, of a second one, and of SAE; the best of some runs."""
    F, Z, labels = clustered(n, d_f, dtype)
    hierarchy = layers(Z, labels)
    E = Z[labels].astype(dtype)
    graph_s, laplacian = seconds(lambda: normalized_laplacian(neighbor_graph(F)))
    runs = []
    for _ in range(repeats):
        spectrum_s, spectrum = seconds(lambda: FeatureSpectrum(F))
        fit = partial(fit_layers, F, hierarchy, spectrum, laplacian)
        first_s, first = seconds(partial(fit, **FIRST))
        second_s, second = seconds(partial(fit, **SECOND))
        sae_s, _ = seconds(lambda: fit_sae(F, E))
        runs.append((spectrum_s, first_s, second_s, sae_s))
        print(f"iterations per layer: {first}, second fit {second}", file=sys.stderr)
    best = [min(values) for values in zip(*runs, strict=True)]
    names = ("graph_s", "spectrum_s", "layers_s", "second_s", "sae_s")
    return dict(zip(names, [graph_s, *best], strict=True))


def linked_within_classes(labels: np.ndarray, k: int = 10) -> sp.csr_array:
    """Link every sample with k of its class: a graph of the usual shape, in linear time."""
    n, rng = len(labels), np.random.default_rng(1)
    order = np.argsort(labels, kind="stable")
    size = n // CLASSES
    place = np.arange(CLASSES * size)
    others = order[place[:, None] // size * size + rng.integers(size, size=(len(place), k))]
    rows = np.repeat(order[place], k)
    directed = sp.csr_array((np.full(rows.size, 0.5), (rows, others.ravel())), shape=(n, n))
    directed.setdiag(0)
    directed.eliminate_zeros()
    return normalized_laplacian(directed.maximum(directed.T))


def measure_size(n: int, d_f: int, dtype: str, repeats: int) -> dict[str, float]:
    """Seconds and peak memory of one fit of all layers; meant for a process of its own."""
    F, Z, labels = clustered(n, d_f, dtype)
    laplacian, hierarchy = linked_within_classes(labels), layers(Z, labels)

    def fit() -> None:
        fit_layers(F, hierarchy, FeatureSpectrum(F), laplacian, max_iter=3, tol=0.0, **FIRST)

    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken = min(seconds(fit)[0] for _ in range(repeats))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"n": n, "seconds": taken, "extra": (peak - before) * unit / F.nbytes}


def measure_growth(sizes: list[int], d_f: int, dtype: str, repeats: int) -> list[dict[str, float]]:
    rows = []
    for n in sizes:
        command = [sys.executable, __file__, "--size", str(n), "--d-f", str(d_f), "--dtype", dtype]
        command += ["--repeats", str(max(1, min(repeats, 60_000 // n)))]
        command += ["--clock", "cpu" if "cpu" in sys.argv else "wall"]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(json.loads(answer.stdout))
        print(f"N = {n:,}: {rows[-1]['seconds']:.2f} s", file=sys.stderr)
    return rows


def table(fits: dict[str, float], growth: list[dict[str, float]]) -> list[dict[str, object]]:
    fit, second = fits["spectrum_s"] + fits["layers_s"], fits["second_s"]
    doublings = [b["seconds"] / a["seconds"] for a, b in pairwise(growth)]
    rows: list[tuple[str, float, float | None]] = [
        ("a  all layers, factoring included / one SAE fit", fit / fits["sae_s"], 0.5),
        (
            "b  second fit / first fit, graph included",
            second / (fits["graph_s"] + fit),
            0.5,
        ),
        ("   second fit / first fit, graph excluded", second / fit, None),
        ("c  time per doubling of N, worst", max(doublings), 2.3),
        ("c  time per doubling of N, mean", float(np.exp(np.mean(np.log(doublings)))), 2.3),
        ("c  peak memory beyond F / size of F, worst", max(row["extra"] for row in growth), 4.0),
    ]
    return [
        {"what": what, "ratio": ratio, "target": target, "pass": target is None or ratio <= target}
        for what, ratio, target in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--dtype", default="float64", choices=["float32", "float64"])
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")
    parser.add_argument("--clock", default="wall", choices=["wall", "cpu"])
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--d-f", type=int, default=512, help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, default=3, help="take the best of so many runs")
    arguments = parser.parse_args()
    dtype = arguments.dtype
    if arguments.size:
        print(json.dumps(measure_size(arguments.size, arguments.d_f, dtype, arguments.repeats)))
        return
    n, d_f, sizes = 20_000, 2048, [10_000 * 2**k for k in range(5)]
    if arguments.quick:
        n, d_f, sizes = 2_000, 256, [2_000, 4_000]
    fits = compare_fits(n, d_f, dtype, arguments.repeats)
    growth = measure_growth(sizes, 512, dtype, arguments.repeats)
    rows = table(fits, growth)
    print(f"N = {n:,}, d_f = {d_f}, {dtype}, seconds:", {k: round(v, 2) for k, v in fits.items()})
    for row in rows:
        target = "" if row["target"] is None else f"target {row['target']:<4}"
        verdict = "" if row["target"] is None else ("pass" if row["pass"] else "miss")
        print(f"{row['what']:<50} {row['ratio']:6.2f}  {target:<11} {verdict}")
    if arguments.json:
        content = {"n": n, "d_f": d_f, "dtype": dtype, "fits": fits, "growth": growth, "rows": rows}
        with replacing(arguments.json) as temporary:
            temporary.write_text(json.dumps(content, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
