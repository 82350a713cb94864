"""How well do settings of few-shot learning serve classes that had no say in their choice.

    python benchmarks/choosing.py mini-imagenet=DIR few-shot/resnet12-base-0.npy --shots 1

reads features that `zerokin ablation configs/mini-imagenet/few-shot.yaml` left.

The validation classes fall into halves at random. Each half chooses the settings of ours, of its
variants, and of ours as it chose before (with kin first, and normalization before lending); the
mean accuracy is told on the half that chose and on the other one. No test class is looked at.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

import numpy as np

import zerokin
from zerokin.benchmark.few_shot import EpisodePlan, Episodes, FewShotEvaluation, draw_episodes
from zerokin.benchmark.few_shot.batches import episode_accuracies
from zerokin.benchmark.few_shot.comparison import find_few_shot_methods
from zerokin.benchmark.few_shot.method import FewShotMethod
from zerokin.benchmark.few_shot.ours import FIRST, KAPPAS, LENDING, STAGES, OursFewShot
from zerokin.benchmark.few_shot.selection import Task, choose_on_episodes
from zerokin.selection.method import product_of

EPISODES = 150


class OneAfterTheOther(OursFewShot):
    """Ours as it chose before."""

    name = "ours, one after the other"
    stages = (
        product_of(**FIRST, kappa=KAPPAS[::2]),
        *STAGES[1:3],
        product_of(**{k: v for k, v in LENDING.items() if k != "feature_scaling"}, kappa=KAPPAS),
    )


def halves(task: Task, labels: np.ndarray, shots: int, splits: int) -> Iterator[tuple[Task, Task]]:
    """Yield pairs of tasks over halves of the classes, either way round."""
    classes = np.unique(labels)
    rng = np.random.default_rng(0)
    for seed in range(splits):
        mixed = rng.permutation(classes)
        middle = len(mixed) // 2
        pair = []
        for half in (mixed[:middle], mixed[middle:]):
            own = np.flatnonzero(np.isin(labels, half))
            drawn = draw_episodes(labels[own], shots=shots, episodes=EPISODES, random_state=seed)
            episodes = Episodes(drawn.classes, own[drawn.shots], own[drawn.queries])
            pair.append(Task(task.data, task.pool, episodes))
        yield pair[0], pair[1]
        yield pair[1], pair[0]


def both_accuracies(method: FewShotMethod, chooses: Task, judges: Task) -> tuple[float, float]:
    """Return the accuracy of what a half chooses, on itself and on the other half."""
    best = choose_on_episodes(method, [chooses], quiet=True).best
    scorer = next(iter(method.scorers(judges.data, judges.pool, [best.params])))
    found = episode_accuracies(scorer, judges.episodes, d_f=judges.pool.shape[1])
    return best.score("pure"), float(found.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("features", help="what an ablation left, NETWORK-base-SEED.npy")
    parser.add_argument("--semantics")
    parser.add_argument("--shots", type=int, default=1)
    parser.add_argument("--splits", type=int, default=4)
    arguments = parser.parse_args()
    given = {"features": arguments.features, "semantics": arguments.semantics}
    dataset = zerokin.load_dataset(arguments.data, **given)
    task = FewShotEvaluation(dataset, EpisodePlan(shots=arguments.shots), quiet=True).validation[0]
    fold = dataset.fold(1, test_seen=0.0)
    labels = fold.evaluation_labels(fold.split.test_unseen)
    methods = [OneAfterTheOther(), *find_few_shot_methods(["ours", "ours-flat", "ours-shots"])]
    for method in methods:
        pairs = halves(task, labels, arguments.shots, arguments.splits)
        own, other = np.array([both_accuracies(method, *pair) for pair in pairs]).mean(axis=0)
        told = {"method": method.name, "shots": arguments.shots, "halves": 2 * arguments.splits}
        print(json.dumps({**told, "own": round(own, 2), "other": round(other, 2)}), flush=True)


if __name__ == "__main__":
    main()
