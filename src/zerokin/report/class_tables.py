"""Tables behind a mean: the accuracy of each class, and which superclasses are confused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from zerokin.errors import shown
from zerokin.report.tables import Lines

Rows = Sequence[Mapping[str, Any]]
ROLES = ("seen", "unseen")


@dataclass(frozen=True)
class ConfusionTable:
    """Confusion matrix of superclasses, a row for each true one.

    Parameters
    ----------
    title
        Which rows of the results it is made of.
    source
        Where the superclasses come from.
    names
        Of all superclasses that occur.
    samples
        (r,) how many samples each row has, over all seeds.
    shares
        (r, r) percent of a row's samples; rows without samples are 0.
    """

    title: str
    source: str
    names: Sequence[str]
    samples: Sequence[int]
    shares: Sequence[Sequence[float]]


def per_class_lines(rows: Rows) -> Lines:
    """Return headings and a line per class, those least often right by the last method first.

    Over several seeds, figures are means.

    Examples
    --------
    >>> told = {"seen": {"zebra": 90.0}, "unseen": {"okapi": 40.0}}
    >>> per_class_lines([{"method": "x", "per_class": told}]).lines
    [['okapi', 'unseen', '40.0'], ['zebra', 'seen', '90.0']]
    """
    methods = list(dict.fromkeys(str(row["method"]) for row in rows))
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        for role in ROLES:
            for name, accuracy in row["per_class"].get(role, {}).items():
                own = found.setdefault((name, role), {})
                own.setdefault(str(row["method"]), []).append(accuracy)

    def last(told: Mapping[str, Sequence[float]]) -> float:
        return mean(told[methods[-1]]) if methods[-1] in told else -1.0

    ordered = sorted(found.items(), key=lambda item: (last(item[1]), item[0]))
    lines = [
        [name, role, *(f"{mean(told[one]):.1f}" if one in told else "" for one in methods)]
        for (name, role), told in ordered
    ]
    return Lines(["class", "role", *methods], lines)


def confusion_tables(rows: Rows) -> list[ConfusionTable]:
    """Return a matrix for each setting and method whose rows tell what they confused.

    Seeds are added up; those whose superclasses are others than the first seed's are left out.
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["setting"], str(row["method"])), []).append(row["superclasses"])
    found = []
    for (setting, method), told in groups.items():
        by, layer = told[0].get("by", ""), told[0].get("layer", "")
        same = [one["counts"] for one in told if (one.get("by"), one.get("layer")) == (by, layer)]
        others = {name for counts in same for row in counts.values() for name in row}
        names = sorted({name for counts in same for name in counts} | others)
        table = [[_total(same, true, other) for other in names] for true in names]
        shares = [[100 * one / (sum(line) or 1) for one in line] for line in table]
        source = {"kmeans": "clusters of the semantics"}.get(by, by)
        totals = [sum(line) for line in table]
        title = f"{method}, {setting}"
        found.append(ConfusionTable(title, f"{source}, layer {layer}", names, totals, shares))
    return found


def _total(counted: Sequence[Mapping[str, Mapping[str, int]]], true: str, other: str) -> int:
    return sum(counts.get(true, {}).get(other, 0) for counts in counted)


def class_problem(row: Mapping[str, Any]) -> str | None:
    """Say what is wrong with what a row tells of its classes, if it tells anything.

    Examples
    --------
    >>> class_problem({}), class_problem({"per_class": {"unseen": {"okapi": "x"}}})
    (None, "per_class of 'okapi' is 'x', no percentage")
    """
    told = row.get("per_class")
    if told is not None:
        if not _is_table(told) or not set(told) <= set(ROLES):
            return f"per_class is {shown(told)}, no accuracies of seen and unseen classes"
        for name, value in (item for own in told.values() for item in own.items()):
            if not _is_number(value, 100):
                return f"per_class of {shown(name)} is {shown(value)}, no percentage"
    told = row.get("superclasses")
    if told is not None:
        if not isinstance(told, Mapping) or not _is_table(told.get("counts")):
            return f"superclasses is {shown(told)}, no counts of superclasses"
        for name, value in (item for own in told["counts"].values() for item in own.items()):
            if not _is_number(value, 1e9) or value != int(value):
                return f"superclasses counts {shown(value)} of {shown(name)}, no whole number"
    return None


def _is_table(told: Any) -> bool:
    return isinstance(told, Mapping) and all(isinstance(one, Mapping) for one in told.values())


def _is_number(value: Any, most: float) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 <= value <= most
