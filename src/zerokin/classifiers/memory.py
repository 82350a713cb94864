"""The memory budget of a classifier's fit: that of projection learning, less what X holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from zerokin.classifiers.stages import TrainingSet
from zerokin.compute.processes import current
from zerokin.projection.memory import Problem, budget_bytes, refuse_below, refuse_no_cpu
from zerokin.projection.rows import bytes_in_memory


def budget_of_fit(data: TrainingSet, params: Mapping[str, Any]) -> int | None:
    """Return the bytes for what is made of the features, None without a bound; refuse too few.

    Parameters
    ----------
    data
        What is learned from.
    params
        Of `ZeroShotClassifier`.
    """
    budget = budget_bytes(params["memory_budget"])
    if budget is None:
        return None
    refuse_no_cpu(params["device"])
    sizes = np.array([[len(data.features), bytes_in_memory(data.features)]])
    samples, held = current().gather(sizes).max(axis=0).tolist()
    n_neighbors = params["n_neighbors"] if params["beta"] and params["epsilon"] else 0
    width, itemsize = data.features.shape[1], data.features.dtype.itemsize
    problem = Problem(samples, width, itemsize, held, n_neighbors)
    refuse_below(problem.least(min(data.semantics.shape), len(data.semantics)), budget, problem)
    return budget - int(held)
