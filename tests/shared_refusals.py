"""Give two processes what cannot be fitted, and write what each says: for test_processes.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from zerokin.classifiers import ZeroShotClassifier
from zerokin.compute import joined
from zerokin.data import ShardedFeatures
from zerokin.errors import InvalidInput
from zerokin.projection import ProjectionLearner, nearest_neighbors


def cases(rank, folder):
    rng = np.random.default_rng(7)
    F, prototypes, labels = rng.normal(size=(83, 13)), rng.normal(size=(5, 4)), np.arange(83) % 5

    def fit(F=F, prototypes=prototypes, laplacian=None, **settings):
        learner = ProjectionLearner(**settings)
        learner.fit(F, prototypes, labels=labels, laplacian=laplacian)

    def classify(vectors):
        ZeroShotClassifier(seen_penalty=0.0).fit(F, labels, semantics=vectors)

    return {
        "features of another width": lambda: fit(F[:, : 13 - rank]),
        "other prototypes": lambda: fit(prototypes=prototypes + rank),
        "other classes": lambda: classify(np.vstack([prototypes, prototypes[:1] + 1 + rank])),
        "a budget too small": lambda: fit(memory_budget="1MiB"),
        "another device": lambda: fit(device="torch:cpu"),
        "a graph of its own": lambda: fit(laplacian=sp.eye_array(83).tocsr()),
        "an approximate search": lambda: nearest_neighbors(F, 3, search="approximate"),
        "a shard missing": lambda: fit(ShardedFeatures(folder / "lacking")),
        "a shard of another width": lambda: fit(ShardedFeatures(folder / "uneven")),
    }


def main():
    folder = Path(sys.argv[1])
    with joined() as processes:
        said = {}
        for name, case in cases(processes.rank, folder).items():
            try:
                case()
            except InvalidInput as error:
                said[name] = str(error)
            processes.wait()
        (folder / f"said{processes.rank}.json").write_text(json.dumps(said))


if __name__ == "__main__":
    main()
