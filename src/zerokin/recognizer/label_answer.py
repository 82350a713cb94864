"""What is said of one image that may show several things, as plain data that JSON can hold."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.multi_label.multi_label_classifier import MultiLabelZeroShotClassifier
from zerokin.classifiers.ranking import ranked
from zerokin.classifiers.zero_shot_classifier import Candidates
from zerokin.parameters import Integer, Optional, check_arguments

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class FoundLabel:
    """A class that an image shows.

    Parameters
    ----------
    label
        The class.
    role
        ``"seen"`` or ``"unseen"``.
    probability
        That the image shows it.
    region
        Which region matches it best, counted row by row from 0.
    box
        Where that region lies: left, top, right and bottom, 0 to 1 of the image; None where regions
        are those of a feature file.
    """

    label: str
    role: str
    probability: float
    region: int
    box: Box | None = None


@dataclass(frozen=True)
class LabelAnswer:
    """Everything that an image shows, likeliest first.

    Parameters
    ----------
    image
        What the image is called.
    labels
        Those that are given; none if it is sure of nothing.
    """

    image: str
    labels: tuple[FoundLabel, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON; without boxes where there are none."""
        labels = []
        for one in self.labels:
            plain = asdict(one)
            if one.box is None:
                del plain["box"]
            else:
                plain["box"] = [round(side, 4) for side in one.box]
            labels.append(plain)
        return {"image": self.image, "labels": labels}


def find_labels(
    model: MultiLabelZeroShotClassifier,
    X: NDArray[Any],
    *,
    candidates: Candidates = "all",
    k: int | None = None,
    grid: int | None = None,
) -> list[tuple[FoundLabel, ...]]:
    """Return the labels of every image, likeliest first.

    Parameters
    ----------
    model
        Fitted.
    X
        (n, R, d_f) features of regions.
    candidates
        As for `MultiLabelZeroShotClassifier.predict`.
    k
        How many labels an image is given; None for those from the threshold on.
    grid
        Regions are a grid of so many a side, from which boxes follow; None for no boxes.
    """
    check_arguments({"k": Optional(Integer(1))}, k=k)
    chosen = model._candidates(candidates)
    p, where, given = model.predict_proba(X), model.locate(X), model.predict(X, candidates)
    seen = set(model.seen_.tolist())
    order = chosen[ranked(p[:, chosen], len(chosen))[0]]
    found = []
    for row, best in enumerate(order.tolist()):
        kept = best[:k] if k is not None else [at for at in best if given[row, at]]
        found.append(
            tuple(
                FoundLabel(
                    str(model.classes_[at]),
                    "seen" if at in seen else "unseen",
                    round(float(p[row, at]), 4),
                    int(where[row, at]),
                    None if grid is None else cell_box(int(where[row, at]), grid),
                )
                for at in kept
            )
        )
    return found


def cell_box(region: int, grid: int) -> Box:
    """Return where a cell of a grid lies: left, top, right and bottom, 0 to 1.

    Examples
    --------
    >>> cell_box(6, 4)
    (0.5, 0.25, 0.75, 0.5)
    """
    row, column = divmod(int(np.clip(region, 0, grid * grid - 1)), grid)
    return column / grid, row / grid, (column + 1) / grid, (row + 1) / grid
