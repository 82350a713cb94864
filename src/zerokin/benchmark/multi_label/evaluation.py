"""The settings of recognition with several labels, each measured as the field defines it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.benchmark.settings import (
    Row,
    Setting,
    features_name,
    features_sha256,
    refuse_unmeasurable,
)
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.errors import InvalidInput
from zerokin.metrics.multi_label import mean_average_precision, precision_recall_f1_at_k
from zerokin.selection.multi_label.method import LabeledData, MultiLabelMethod
from zerokin.selection.multi_label.search import LabelFoldSearch, held_out_samples, lowered
from zerokin.selection.staged_search import Goal, Selection

AT_K = (3, 5)
LABEL_SETTINGS: tuple[Setting, ...] = ("pure", "generalized")


class LabelEvaluation:
    """Chooses a method's hyper-parameters on validation folds and measures it on the test samples.

    ``"pure"``: mAP over unseen classes, of all test samples; precision, recall and F1 at K among
    unseen classes, of the test samples that have an unseen label. ``"generalized"``: the same over
    all classes, once a penalty of seen classes is taken off.

    Parameters
    ----------
    dataset
        Features with several labels; its active split is measured.
    method
        The method.
    random_state
        Seed.
    quiet
        Show no progress.
    """

    def __init__(
        self,
        dataset: MultiLabelDataset,
        method: MultiLabelMethod,
        *,
        random_state: int = 0,
        quiet: bool = False,
    ) -> None:
        self.dataset, self.method, self.random_state = dataset, method, random_state
        self.search = LabelFoldSearch(method, dataset, random_state=random_state, quiet=quiet)

    def run(self, setting: Setting) -> tuple[Row, Selection]:
        """Choose, fit on all training samples, and measure once."""
        refuse_other_setting(setting)
        refuse_unmeasurable(self.dataset, "pure")
        goal: Goal = "generalized" if setting == "generalized" else "pure"
        chosen = self.search.choose(goal)
        started = time.perf_counter()
        data = LabeledData.from_dataset(self.dataset, self.random_state)
        scorer = next(iter(self.method.fit_many(data, [chosen.best.params])))
        fitted = time.perf_counter()
        regions, truth = held_out_samples(self.dataset)
        penalty = chosen.best.seen_penalty
        row = self._row(setting, chosen)
        row.metrics = label_metrics(
            truth, scorer(regions), self.dataset.split.unseen, setting, penalty
        )
        row.seconds = {
            "selection": round(chosen.seconds, 2),
            "fit": round(fitted - started, 3),
            "test": round(time.perf_counter() - fitted, 3),
        }
        return row, chosen

    def _row(self, setting: Setting, chosen: Selection) -> Row:
        folds = self.search.described_folds.replace(" (", " folds (", 1)
        selection: dict[str, Any] = {"on": folds, "tried": chosen.n_compared}
        selection |= chosen.best.params
        selection["validation"] = round(chosen.best.score(chosen.goal), 2)
        if setting == "generalized":
            selection["seen_penalty"] = chosen.best.seen_penalty
        return Row(
            dataset=self.dataset.name,
            setting=setting,
            method=self.method.name,
            features=features_name(self.dataset),
            features_sha256=features_sha256(self.dataset),
            split=self.dataset.split.version,
            seed=self.random_state,
            selection=selection,
        )


def label_metrics(
    truth: NDArray[np.bool_],
    scores: NDArray[np.float64],
    unseen: NDArray[np.bool_],
    setting: Setting,
    seen_penalty: float,
) -> dict[str, float]:
    """Return what a setting measures, in percent, of labels and scores (n, C)."""
    if setting == "generalized":
        scores = lowered(scores, ~unseen, seen_penalty)
    else:
        truth, scores = truth[:, unseen], scores[:, unseen]
    found = {"mean_average_precision": mean_average_precision(truth, scores)}
    labeled = truth.any(axis=1)
    for k in AT_K:
        measured = precision_recall_f1_at_k(truth[labeled], scores[labeled], k)
        for name, value in measured._asdict().items():
            found[f"{name}_at_{k}"] = value
    return found


def refuse_other_setting(setting: str) -> None:
    """Refuse settings that are of one label a sample."""
    if setting not in LABEL_SETTINGS:
        raise InvalidInput(
            f"the {setting} setting is of one label a sample; several are measured in "
            f"{' and '.join(LABEL_SETTINGS)}"
        )
