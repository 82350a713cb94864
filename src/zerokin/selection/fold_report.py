"""What a choice reaches on its folds: S, U and H of each, and the classes never named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from zerokin.compute.processes import current
from zerokin.metrics.half_width import half_width95
from zerokin.selection.method import Method
from zerokin.selection.staged_search import Trial

if TYPE_CHECKING:
    from zerokin.selection.class_fold_search import ClassFold


@dataclass(frozen=True)
class FoldReport:
    """Accuracies of every fold at the seen penalty that was chosen, all classes competing.

    Parameters
    ----------
    seen, unseen, harmonic_mean
        Per-class accuracy on classes that the fold trained on (S), on those it held out (U), and H.
    never_named
        Classes that had samples on some fold, and were named on none, not even wrongly.
    """

    seen: Sequence[float]
    unseen: Sequence[float]
    harmonic_mean: Sequence[float]
    never_named: Sequence[str]

    def as_metrics(self) -> dict[str, Any]:
        """Return means, half-widths of their 95 % t-intervals over folds, and classes, as data."""
        figures = {
            "seen_among_all": self.seen,
            "unseen_among_all": self.unseen,
            "harmonic_mean": self.harmonic_mean,
        }
        return {
            **{name: mean(values) for name, values in figures.items()},
            "half_widths": {
                name: round(half_width95(values), 2) for name, values in figures.items()
            },
            "never_named": list(self.never_named),
        }


def report_on_folds(method: Method, folds: Sequence[ClassFold], best: Trial) -> FoldReport:
    """Fit the best trial on every fold once more, and look at its answers."""
    accuracies, asked, named = [], set[str](), set[str]()
    for fold in folds:
        split = fold.dataset.split
        scorer = next(iter(method.fit_many(fold.training, [best.params])))
        scores = [scorer(held_out.features) for held_out in (fold.seen, fold.unseen)]
        truths = [fold.seen.truth, fold.unseen.truth]
        curve = fold.curve(scores[0], scores[1], split.unseen)
        accuracies.append(curve.at(best.seen_penalty))
        answers = np.concatenate(scores) - best.seen_penalty * ~split.unseen
        names = fold.dataset.classes.names
        asked.update(names[label] for label in np.unique(np.concatenate(truths)))
        named.update(names[label] for label in current().union(answers.argmax(axis=1)))
    seen, unseen, harmonic = zip(*accuracies, strict=True)
    return FoldReport(seen, unseen, harmonic, sorted(asked - named))
