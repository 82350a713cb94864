"""Choosing a few-shot method's hyper-parameters on episodes of validation classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.few_shot.batches import episode_accuracies
from zerokin.benchmark.few_shot.episodes import Episodes
from zerokin.benchmark.few_shot.method import FewShotMethod
from zerokin.selection.method import TrainingData
from zerokin.selection.staged_search import Selection, Trial, search_stages


@dataclass(frozen=True, eq=False)
class Task:
    """Base classes to learn from, and episodes over a pool of features of other classes.

    ``weight`` is how much its accuracy counts among tasks that are chosen on.
    """

    data: TrainingData
    pool: NDArray[Any]
    episodes: Episodes
    weight: float = 1.0


def choose_on_episodes(
    method: FewShotMethod, tasks: Sequence[Task], *, quiet: bool = False
) -> Selection:
    """Go through the method's stages, keeping the best mean accuracy over the tasks' episodes.

    Parameters
    ----------
    method
        The method.
    tasks
        One for each fold of validation classes or of base classes; no test class may be in any.
    quiet
        Show no progress.
    """
    return search_stages(
        method,
        tasks,
        lambda task, trials: _measure(method, task, trials),
        goal="pure",
        tried={},
        title=f"{method.name}: choosing settings",
        quiet=quiet,
    )


def _measure(method: FewShotMethod, task: Task, trials: Sequence[Trial]) -> Iterator[Trial]:
    scorers = method.scorers(task.data, task.pool, [trial.params for trial in trials])
    for trial, scorer in zip(trials, scorers, strict=True):
        accuracies = episode_accuracies(scorer, task.episodes, d_f=task.pool.shape[1])
        trial.unseen.append(float(np.mean(accuracies)))
        trial.weights.append(task.weight)
        yield trial
