"""Staged search: each stage of a search space starts from the best trial of the one before it.

Zero-shot methods are tried on class folds, few-shot methods on episodes: both go through here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from zerokin.compute.threads import limited_threads, useful_threads
from zerokin.progress import counting
from zerokin.selection.method import Params, Stage

Fold = TypeVar("Fold")
Goal = Literal["pure", "generalized"]
Key = tuple[tuple[str, Any], ...]


class SearchSpace(Protocol):
    """A method's name, its default hyper-parameters and its stages of changes."""

    name: str
    defaults: Params
    stages: Sequence[Stage]


@dataclass
class Trial:
    """One setting of the hyper-parameters and what it reached on every validation fold.

    ``weights`` are of the folds, all alike where there are none. A trial that was ``abandoned`` was
    too far behind to be tried on all of them.
    """

    params: dict[str, Any]
    unseen: list[float] = field(default_factory=list)
    harmonic: list[NDArray[np.float64]] = field(default_factory=list)
    seen_penalties: NDArray[np.float64] | None = None
    weights: list[float] = field(default_factory=list)
    abandoned: bool = False

    def score(self, goal: Goal) -> float:
        """Return the mean over folds of unseen accuracy, or of the best common harmonic mean."""
        return float(np.average(self.fold_scores(goal), weights=self.weights or None))

    def fold_scores(self, goal: Goal) -> NDArray[np.float64]:
        """Return what every fold reaches; harmonic means at the penalty that is best for all."""
        if goal == "pure":
            return np.array(self.unseen)
        harmonic = np.array(self.harmonic)
        return np.asarray(harmonic[:, harmonic.mean(axis=0).argmax()], dtype=np.float64)

    @property
    def seen_penalty(self) -> float:
        """The one seen penalty at which the mean harmonic mean over folds is best."""
        assert self.seen_penalties is not None
        return float(self.seen_penalties[np.mean(self.harmonic, axis=0).argmax()])


@dataclass(frozen=True)
class Selection:
    """What was chosen for a goal, and everything that was tried."""

    goal: Goal
    best: Trial
    trials: Sequence[Trial]
    seconds: float
    n_compared: int
    """different settings that the choice compared, with those that were remembered"""


def search_stages(
    space: SearchSpace,
    folds: Sequence[Fold],
    measure: Callable[[Fold, Sequence[Trial]], Iterable[Trial]],
    *,
    goal: Goal,
    tried: dict[Key, Trial],
    title: str,
    cautious: bool = False,
    race_margin: float | None = None,
    quiet: bool = False,
) -> Selection:
    """Go through the stages of a search space, keeping the best trial of each.

    Parameters
    ----------
    space
        Defaults, and for each stage the changes to try on top of the best so far.
    folds
        What trials are measured on.
    measure
        Notes in each of the trials what it reaches on a fold, yielding them as they are done.
    goal
        What is best.
    tried
        Trials by `trial_key`: those that are there already are not measured again, and those that
        are measured are added.
    title
        What the progress bar says.
    cautious
        Leave what a stage starts from only for what is better by more than a standard error.
    race_margin
        Points behind the best on the folds so far at which a trial is abandoned, if any: see
        `abandon_losers`.
    quiet
        Show no progress.
    """
    started = time.perf_counter()
    before, compared = set(tried), set[Key]()
    best = dict(space.defaults)
    total = sum(len(stage) + cautious for stage in space.stages)
    with counting(title, total=total, quiet=quiet) as advance:
        for stage in space.stages:
            wanted = [{**best, **change} for change in stage]
            if cautious:
                wanted.insert(0, best)
            new = {trial_key(params): Trial(dict(params)) for params in wanted}
            new = {key: trial for key, trial in new.items() if key not in tried}
            trials = list(new.values())
            advance(len(wanted) - len(trials))  # remembered
            threads = useful_threads() if trials else 1
            for left, fold in zip(range(len(folds), 0, -1), folds if trials else (), strict=False):
                if race_margin is not None and left < len(folds):
                    n_before = len(trials)
                    trials = abandon_losers(trials, race_margin)
                    advance((n_before - len(trials)) * left / len(folds))
                with limited_threads(threads):
                    for _ in measure(fold, trials):
                        advance(1 / len(folds))
            tried.update(new)
            compared |= {trial_key(params) for params in wanted}
            candidates = [tried[trial_key(params)] for params in wanted]
            candidates = [trial for trial in candidates if not trial.abandoned]
            found = max(candidates, key=lambda trial: trial.score(goal))
            if cautious and not is_clearly_better(found, candidates[0], goal):
                found = candidates[0]
            best = found.params
    used = [trial for key, trial in tried.items() if key not in before] or [*tried.values()]
    seconds = time.perf_counter() - started
    return Selection(goal, tried[trial_key(best)], used, seconds, len(compared))


def abandon_losers(trials: Sequence[Trial], margin: float) -> list[Trial]:
    """Return the trials that may still win, and mark all others as abandoned.

    A race (Maron & Moore, NIPS 1994): after a fold, trials go on that are at most ``margin`` points
    behind the best, in accuracy on unseen classes or in the harmonic mean.
    """
    ahead = set[int]()
    goals: tuple[Goal, ...] = ("pure", "generalized")
    for goal in goals:
        scores = [trial.score(goal) for trial in trials]
        ahead |= {at for at, score in enumerate(scores) if score >= max(scores) - margin}
    for at, trial in enumerate(trials):
        trial.abandoned = at not in ahead
    return [trial for trial in trials if not trial.abandoned]


def is_clearly_better(trial: Trial, start: Trial, goal: Goal) -> bool:
    """Tell whether a trial beats another by more than one standard error over folds.

    The one-standard-error rule (Breiman et al., Classification and Regression Trees, 1984) on
    differences: both were tried on the same folds, and what makes a fold hard cancels out.
    """
    gains = trial.fold_scores(goal) - start.fold_scores(goal)
    if len(gains) < 2:
        return bool(gains.mean() > 0)
    return bool(gains.mean() > gains.std(ddof=1) / len(gains) ** 0.5)


def trial_key(params: Mapping[str, Any]) -> Key:
    """Return what a trial is remembered by: the same for the same hyper-parameters in any order."""
    return tuple(sorted(params.items()))
