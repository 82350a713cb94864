"""Choosing a few-shot method's hyper-parameters on episodes of validation classes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.few_shot.batches import episode_accuracies
from zerokin.benchmark.few_shot.episodes import Episodes
from zerokin.benchmark.few_shot.method import FewShotMethod
from zerokin.progress import track
from zerokin.selection.class_fold_search import Selection, Trial
from zerokin.selection.method import TrainingData


@dataclass(frozen=True, eq=False)
class Task:
    """Base classes to learn from, and episodes over a pool of features of other classes."""

    data: TrainingData
    pool: NDArray[Any]
    episodes: Episodes


def choose_on_episodes(
    method: FewShotMethod, tasks: Sequence[Task], *, quiet: bool = False
) -> Selection:
    """Go through the method's stages, keeping the best mean accuracy over the tasks' episodes.

    Parameters
    ----------
    method
        The method.
    tasks
        One for each validation fold; no test class may be in any.
    quiet
        Show no progress.
    """
    started = time.perf_counter()
    tried: dict[tuple[tuple[str, Any], ...], Trial] = {}
    best = dict(method.defaults)
    for number, stage in enumerate(method.stages, start=1):
        wanted = [{**best, **change} for change in stage]
        new = {_key(params): Trial(dict(params)) for params in wanted if _key(params) not in tried}
        trials = list(new.values())
        if not trials:
            continue
        steps = (step for task in tasks for step in _measure(method, task, trials))
        title = f"{method.name}: choosing, stage {number}"
        for _ in track(steps, title, total=len(trials) * len(tasks), quiet=quiet):
            pass
        tried.update(new)
        candidates = [tried[_key(params)] for params in wanted]
        best = max(candidates, key=lambda trial: trial.score("pure")).params
    seconds = time.perf_counter() - started
    return Selection("pure", tried[_key(best)], list(tried.values()), seconds)


def _measure(method: FewShotMethod, task: Task, trials: Sequence[Trial]) -> Iterator[Trial]:
    scorers = method.scorers(task.data, task.pool, [trial.params for trial in trials])
    for trial, scorer in zip(trials, scorers, strict=True):
        accuracies = episode_accuracies(scorer, task.episodes, d_f=task.pool.shape[1])
        trial.unseen.append(float(np.mean(accuracies)))
        yield trial


def _key(params: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(params.items()))
