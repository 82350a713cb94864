"""How well do features tell validation classes apart by shots alone? In seconds, without a choice.

``python benchmarks/few_shot_validation.py mini-imagenet=DIR few-shot/NETWORK-base-0.npy ...``
prints the accuracy of SimpleShot (features less the mean of the base classes, of unit length,
nearest mean of the shots) on 5-way episodes of the validation classes, for every file and, of
several, for all of them side by side. Test classes have no part in it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from zerokin import load_dataset
from zerokin.benchmark.few_shot.batches import episode_accuracies
from zerokin.benchmark.few_shot.comparison import find_few_shot_methods
from zerokin.benchmark.few_shot.episodes import mean_with_ci95
from zerokin.benchmark.few_shot.evaluation import EpisodePlan, FewShotEvaluation
from zerokin.features.scaler import unit_length


def validation_accuracy(
    dataset: Any, *, shots: int, episodes: int, method: str = "simple-shot", seed: int = 0
) -> tuple[float, float]:
    """Return the mean accuracy over episodes of the validation classes, and its 95 % interval."""
    plan = EpisodePlan(shots=shots, episodes=1, validation_episodes=episodes)
    task = FewShotEvaluation(dataset, plan, random_state=seed, quiet=True).validation[0]
    chosen = find_few_shot_methods([method])[0]
    scorer = next(iter(chosen.scorers(task.data, task.pool, [chosen.defaults])))
    return mean_with_ci95(episode_accuracies(scorer, task.episodes, d_f=task.pool.shape[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", help="mini-imagenet=DIR")
    parser.add_argument("features", type=Path, nargs="+", help=".npy, a row for every image")
    parser.add_argument("--shots", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--method", default="simple-shot")
    arguments = parser.parse_args()
    whole = load_dataset(arguments.data)
    read = {path.stem: np.load(path).astype(np.float32) for path in arguments.features}
    if len(read) > 1:
        read["all side by side"] = np.concatenate([unit_length(F) for F in read.values()], axis=1)
    for name, features in read.items():
        dataset = whole.with_inputs(features)
        answer: dict[str, object] = {"features": name, "episodes": arguments.episodes}
        for shots in arguments.shots:
            mean, ci95 = validation_accuracy(
                dataset, shots=shots, episodes=arguments.episodes, method=arguments.method
            )
            answer[f"{shots}-shot"] = f"{mean:.2f} ± {ci95:.2f}"
        print(json.dumps(answer, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
