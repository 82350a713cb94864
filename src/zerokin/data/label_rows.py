"""Labels of samples as a sparse matrix (N, C): made of lists, counted, divided by rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.data.splits import Indices
from zerokin.errors import InvalidInput, did_you_mean, shown

Positions = Sequence[int] | NDArray[np.int64]


def label_matrix_of(
    lists: Iterable[Sequence[str]], names: Sequence[str], called: Sequence[str] | None = None
) -> Any:
    """Return sparse labels (N, C) of lists of names; what cannot be is refused by its sample.

    Parameters
    ----------
    lists
        The labels of each sample: at least one, none twice.
    names
        Of the C classes.
    called
        What samples are called in messages; by default their number, from 0.

    Examples
    --------
    >>> label_matrix_of([["puma"], ["wolf", "lynx"]], ["lynx", "puma", "wolf"]).toarray()
    array([[False,  True, False],
           [ True, False,  True]])
    >>> label_matrix_of([["puma", "puma"]], ["puma"])
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: sample 0 has the label 'puma' twice: keep one
    """
    place = {name: at for at, name in enumerate(names)}
    flat: list[int] = []
    ends = [0]
    for number, given in enumerate(lists):
        wrong = label_problem(given, place)
        if wrong is not None:
            sample = f"sample {number}" if called is None else called[number]
            raise InvalidInput(f"{sample} {wrong}")
        flat += [place[name] for name in given]
        ends.append(len(flat))
    return sparse_labels(flat, ends, len(names))


def sparse_labels(flat: Positions, ends: Positions, n_classes: int) -> Any:
    """Return sparse labels (N, C): ``flat[ends[i] : ends[i + 1]]`` are the classes of sample i."""
    from scipy.sparse import csr_array

    ones = np.ones(len(flat), dtype=np.bool_)
    shape = (len(ends) - 1, n_classes)
    return csr_array(
        (ones, np.array(flat, dtype=np.int64), np.array(ends, dtype=np.int64)), shape=shape
    )


def label_problem(given: object, known: Mapping[str, int]) -> str | None:
    """Return what is wrong with the labels of one sample, to stand behind its name."""
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        return f"must have a list of labels: got {shown(given)}"
    if not len(given):
        return "has no label: give it one, or leave it out"
    for name in given:
        if name not in known:
            hint = did_you_mean(name, [str(one) for one in known])
            return f"has the label {shown(name)}, which is no class{hint}"
    if len(set(given)) < len(given):
        twice = next(name for at, name in enumerate(given) if name in given[:at])
        return f"has the label {shown(twice)} twice: keep one"
    return None


def count_labels(labels: Any) -> NDArray[np.int64]:
    """Return how many samples have each label."""
    return np.bincount(labels.indices, minlength=labels.shape[1])


def rows_alone(labels: Any, rows: Indices) -> Any:
    """Return labels (N, C) in which the other rows have none."""
    from scipy.sparse import csr_array

    kept = np.zeros(labels.shape[0], dtype=bool)
    kept[rows] = True
    marked = labels.tocoo()
    chosen = kept[marked.row]
    return csr_array(
        (marked.data[chosen], (marked.row[chosen], marked.col[chosen])), shape=labels.shape
    )


def hold_out_rows(
    labels: Any, rows: Indices, *, fraction: float, seed: int
) -> tuple[Indices, Indices]:
    """Split rows of sparse labels (N, C) into (kept, held out), so that no class is lost.

    Rows are drawn; those that hold a class which no other row would keep go back.
    """
    shuffled = np.random.default_rng(seed).permutation(rows)
    n = int(fraction * len(rows))
    held, kept = shuffled[:n], shuffled[n:]
    lost = (count_labels(labels[kept]) == 0) & (count_labels(labels[rows]) > 0)
    back = labels[held][:, lost].sum(axis=1) > 0
    return np.sort(np.concatenate([kept, held[back]])), np.sort(held[~back])
