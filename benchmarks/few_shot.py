"""Seconds of a whole few-shot test on ready features, beside easyfsl on the same episodes.

    pip install 'zerokin[benchmark]'
    python benchmarks/few_shot.py

Both are given 12,000 features of length 640 and the positions of shots and queries of 600 episodes
(5-way 5-shot, 15 queries), and name every query by the nearest mean of shots. easyfsl's
`PrototypicalNetworks` has the identity as its backbone and takes one episode at a time, as its
evaluation does. The predictions of both are compared with a plain loop in NumPy.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from easyfsl.methods import PrototypicalNetworks

from zerokin.benchmark.few_shot import Episodes, draw_episodes
from zerokin.benchmark.few_shot.batches import episode_predictions
from zerokin.benchmark.few_shot.peer_method import FewShotPeerMethod
from zerokin.benchmark.few_shot.peers import PEERS
from zerokin.files import replacing
from zerokin.selection.method import TrainingData

TARGET = 0.5


def clustered(n_classes: int, per_class: int, d_f: int) -> tuple[np.ndarray, np.ndarray]:
    """Features around class centers, far enough apart for some queries to be right."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(n_classes), per_class)
    centers = rng.normal(size=(n_classes, d_f))
    noise = 8 * rng.normal(size=(len(labels), d_f))
    return (centers[labels] + noise).astype(np.float32), labels


def batched(F: np.ndarray, labels: np.ndarray, episodes: Episodes) -> np.ndarray:
    data = TrainingData(F[:2], labels[:2], np.empty((2, 0)))  # nothing is learned from base classes
    method = FewShotPeerMethod(PEERS["prototypical"])
    scorer = next(method.scorers(data, F, [{"feature_scaling": "none"}]))
    return episode_predictions(scorer, episodes, d_f=F.shape[1])


def easyfsl_loop(
    F: torch.Tensor, shots: torch.Tensor, queries: torch.Tensor, threads: int
) -> np.ndarray:
    torch.set_num_threads(threads)
    model = PrototypicalNetworks(torch.nn.Identity())
    named = []
    with torch.no_grad():
        for shown, asked in zip(shots, queries, strict=True):
            own = torch.arange(shown.shape[0]).repeat_interleave(shown.shape[1])
            model.process_support_set(F[shown.flatten()], own)
            named.append(model(F[asked.flatten()]).argmax(dim=1))
    return torch.stack(named).numpy()


def plain_loop(F: np.ndarray, episodes: Episodes) -> np.ndarray:
    """One query at a time, in double precision."""
    named = np.empty((len(episodes), episodes.queries[0].size), dtype=np.int64)
    for t, (shown, asked) in enumerate(zip(episodes.shots, episodes.queries, strict=True)):
        means = np.array([F[samples].astype(np.float64).mean(axis=0) for samples in shown])
        for m, sample in enumerate(asked.ravel()):
            named[t, m] = np.argmin(((F[sample] - means) ** 2).sum(axis=1))
    return named


def seconds(work: Callable[[], np.ndarray], repeats: int, clock: str) -> tuple[float, np.ndarray]:
    """Return the best time of some runs, after one to warm up, and the result."""
    now = time.process_time if clock == "cpu" else time.perf_counter
    result = work()
    taken = []
    for _ in range(repeats):
        start = now()
        work()
        taken.append(now() - start)
    return min(taken), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--episodes", type=int, default=600)
    parser.add_argument("--repeats", type=int, default=5, help="take the best of so many runs")
    parser.add_argument("--clock", default="wall", choices=["wall", "cpu"])
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    arguments = parser.parse_args()
    F, labels = clustered(20, 600, 640)
    episodes = draw_episodes(labels, way=5, shots=5, queries=15, episodes=arguments.episodes)
    tensors = [torch.from_numpy(values) for values in (F, episodes.shots, episodes.queries)]
    timing = (arguments.repeats, arguments.clock)
    ours, named = seconds(lambda: batched(F, labels, episodes), *timing)
    # On a busy machine two threads that wait for each other may be slower than one.
    runs = {n: seconds(lambda n=n: easyfsl_loop(*tensors, n), *timing) for n in (1, 2)}
    threads = min(runs, key=lambda n: runs[n][0])
    theirs, easyfsl_named = runs[threads]
    expected = plain_loop(F, episodes)
    result = {
        "episodes": arguments.episodes,
        "zerokin_s": ours,
        "easyfsl_s": theirs,
        "easyfsl_threads": threads,
        "ratio": ours / theirs,
        "target": TARGET,
        "accuracy": float(100 * np.mean(expected == episodes.truth)),
        "zerokin_equals_loop": bool(np.array_equal(named, expected)),
        "easyfsl_equals_loop": bool(np.array_equal(easyfsl_named, expected)),
    }
    times = ", ".join(f"{1e3 * runs[n][0]:.0f} ms on {n} threads" for n in runs)
    print(f"zerokin {1e3 * ours:.0f} ms; easyfsl {times} ({arguments.clock} time)")
    verdict = "pass" if result["ratio"] <= TARGET else "miss"
    print(f"ratio {result['ratio']:.2f}, target {TARGET}: {verdict}")
    print(
        f"predictions as a plain loop's: zerokin {result['zerokin_equals_loop']}, "
        f"easyfsl {result['easyfsl_equals_loop']}; accuracy {result['accuracy']:.2f} %"
    )
    if arguments.json:
        with replacing(arguments.json) as temporary:
            temporary.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
