"""Trials of a search that are kept in files: a search that was interrupted goes on from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from zerokin._version import __version__
from zerokin.compute.processes import current
from zerokin.data.dataset import Dataset
from zerokin.files import replacing
from zerokin.selection.staged_search import Trial

LOOKED_AT = 256
"""Rows of a fold's features by which features that were read anew are told from others."""


class KeptTrials:
    """What trials of a method reach on a fold, a file each; one process of several writes them.

    Parameters
    ----------
    folder
        Where they are kept.
    fold
        The fold: its samples, classes, and some of its features are part of a trial's name.
    method
        Name of the method.
    random_state
        Seed of the search.
    """

    def __init__(self, folder: Path, fold: Dataset, method: str, random_state: int) -> None:
        self.folder = folder
        split, train = fold.split, fold.split.train
        rows = train[np.linspace(0, len(train) - 1, min(LOOKED_AT, len(train))).astype(np.int64)]
        digest = hashlib.sha256(fold.sha256.encode())
        for samples in (train, split.test_seen, split.test_unseen):
            digest.update(np.ascontiguousarray(samples, np.int64).tobytes())
        digest.update(np.ascontiguousarray(fold.features[rows]).tobytes())
        digest.update(fold.classes.semantics.tobytes())
        self._common = [__version__, method, random_state, fold.classes.names, digest.hexdigest()]

    def restore(self, trials: Iterable[Trial]) -> list[Trial]:
        """Fill in what is known of trials, and return the others."""
        trials = list(trials)
        found = [self._read(trial) for trial in trials]
        # What one process lacks, all measure.
        known: Any = np.array([one is not None for one in found])
        known = current().gather(known[None]).all(axis=0)
        for trial, one, is_known in zip(trials, found, known, strict=True):
            if is_known and one is not None:
                trial.unseen.append(one["unseen"])
                trial.harmonic.append(np.array(one["harmonic"]))
                if trial.seen_penalties is None:
                    trial.seen_penalties = np.array(one["seen_penalties"])
        return [trial for trial, is_known in zip(trials, known, strict=True) if not is_known]

    def keep(self, trial: Trial) -> None:
        """Write what a trial has just reached on this fold."""
        if not current().leads:
            return
        assert trial.seen_penalties is not None
        content: dict[str, Any] = {
            "unseen": trial.unseen[-1],
            "harmonic": trial.harmonic[-1].tolist(),
            "seen_penalties": trial.seen_penalties.tolist(),
        }
        with replacing(self._path(trial)) as temporary:
            temporary.write_text(json.dumps(content), encoding="utf-8")

    def _read(self, trial: Trial) -> dict[str, Any] | None:
        try:
            found = json.loads(self._path(trial).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        if trial.seen_penalties is not None and not np.array_equal(
            found["seen_penalties"], trial.seen_penalties
        ):
            return None  # its first fold was measured anew, and has another grid
        known: dict[str, Any] = found
        return known

    def _path(self, trial: Trial) -> Path:
        content = json.dumps([self._common, sorted(trial.params.items())])
        return self.folder / f"{hashlib.sha256(content.encode()).hexdigest()[:20]}.json"
