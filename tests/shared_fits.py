"""Fit with others and write what came out: run by test_processes.py under torchrun, and alone."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from zerokin.classifiers import ZeroShotClassifier
from zerokin.compute import joined
from zerokin.data import ShardedFeatures
from zerokin.projection import FeatureSpectrum, ProjectionLearner, neighbor_graph

SCENARIOS = {
    "in memory": {},
    "single precision": {"dtype": "float32"},
    "no graph": {"epsilon": 0.0},
    "fixed semantics": {"learn_semantics": False},
    "shards, a budget": {"shards": True, "memory_budget": "1GiB"},
    "fewer samples than features": {"samples": 29},
    "semantics of every sample": {"each": True},
}


def drawn(name, seed):
    rng = np.random.default_rng([seed, *name.encode()])
    settings = dict(SCENARIOS[name])
    n, d_f = settings.pop("samples", int(rng.integers(150, 500))), int(rng.integers(33, 60))
    classes, d_z = int(rng.integers(5, 20)), int(rng.integers(6, 50))
    labels = np.sort(rng.integers(classes, size=n))
    prototypes = rng.normal(size=(classes, d_z))
    F = prototypes[labels] @ rng.normal(size=(d_z, d_f)) + 2 * rng.normal(size=(n, d_f))
    F[rng.integers(n, size=n // 20)] = F[0]
    F[rng.integers(n, size=n // 50)] = 0
    cuts = np.sort(rng.integers(1, n, size=3))
    return F, prototypes, labels, cuts, settings


def own_rows(processes, n, cuts):
    """Return an uneven share: that of the cuts where there are as many processes."""
    if processes.size != len(cuts) + 1:
        return processes.share(n)
    ends = [0, *cuts.tolist(), n]
    return slice(*ends[processes.rank : processes.rank + 2])


def project(processes, name, seed, folder):
    F, prototypes, labels, cuts, settings = drawn(name, seed)
    rows = own_rows(processes, len(F), np.unique(cuts))
    own = F[rows]
    if settings.pop("shards", False):
        own = ShardedFeatures(folder / f"shards-{seed}").rows(rows)
    given = {"E": prototypes, "labels": labels[rows]}
    if settings.pop("each", False):
        given = {"E": prototypes[labels[rows]]}
    learner = ProjectionLearner(0.4, 0.6, settings.pop("epsilon", 0.3), max_iter=4, tol=0.0)
    learner.set_params(**settings).fit(own, **given)
    graph = neighbor_graph(F[rows], 7, weights="heat").toarray()
    return {
        "W": learner.W_,
        "E": processes.gather(learner.E_),
        "objective": learner.objective_,
        "graph": processes.gather(graph),
        "predicted": processes.gather(nearest(learner, F[rows], prototypes)),
        "total": np.array(FeatureSpectrum(F[rows]).total),
    }


CLASSIFIERS = {
    "the penalty by itself": {},
    "learned semantics": {"beta": 0.1, "epsilon": 0.03, "feature_scaling": "center-unit"},
    "the paper's": {"inference": "paper", "seen_penalty": 0.3, "feature_scaling": "power-unit"},
    "a memory budget": {"memory_budget": "1GiB", "shards": True},
}


def samples(seed):
    """Samples of classes that can be told apart, in the order of their classes."""
    rng = np.random.default_rng([seed, 3])
    classes, d_z, d_f = int(rng.integers(14, 30)), int(rng.integers(6, 20)), 31
    Z, y = rng.uniform(size=(classes, d_z)), np.sort(rng.integers(classes - 4, size=407))
    X = np.maximum(Z[y] @ rng.normal(size=(d_z, d_f)) + 0.4 * rng.normal(size=(407, d_f)), 0)
    return X.astype(np.float32), y, Z, int(rng.integers(90, 330))


def classify(processes, name, seed, folder):
    X, y, Z, cut = samples(seed)
    rows = own_rows(processes, len(X), np.array([cut]))
    settings = dict(CLASSIFIERS[name])
    own = X[rows]
    if settings.pop("shards", False):
        own = ShardedFeatures(folder / f"samples-{seed}").rows(rows)
    model = ZeroShotClassifier(**settings, random_state=seed).fit(own, y[rows], semantics=Z)
    return {
        "seen": model.seen_,
        "penalty": np.array(model.seen_penalty_),
        "scores": processes.gather(model.decision_function(X[rows])),
        "named": processes.gather(model.predict(X[rows], candidates="all")),
    }


def nearest(learner, F, prototypes):
    distance = np.linalg.norm(F[:, None] - learner.project_semantics(prototypes), axis=2)
    return distance.argmin(axis=1)


def main():
    folder, seeds = Path(sys.argv[1]), range(int(sys.argv[2]))
    with joined() as processes:
        for name in SCENARIOS:
            for seed in seeds:
                found = project(processes, name, seed, folder)
                if processes.leads:
                    np.savez(folder / f"{name}-{seed}-{processes.size}.npz", **found)
        for name in CLASSIFIERS:
            for seed in seeds:
                found = classify(processes, name, seed, folder)
                if processes.leads:
                    np.savez(folder / f"{name}-{seed}-{processes.size}.npz", **found)


if __name__ == "__main__":
    main()
