"""Agreement of a run with its record: rows that are equal, or within the recorded spread."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from zerokin.benchmark.records import Record
from zerokin.benchmark.spread import half_width95

TOLERANCE = 1e-6
"""By which metrics of the same features may differ."""

FRACTIONS = ("ausuc",)
"""Metrics from 0 to 1, where all others are percentages."""

Rows = Sequence[Mapping[str, Any]]
Key = tuple[Hashable, ...]


@dataclass(frozen=True)
class Agreement:
    """How many rows of a record a run repeated, and a line for each that it did not."""

    agreeing: int
    total: int
    differences: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether every row agrees, and none is there that the record lacks."""
        return not self.differences


def compare_rows(record: Record, rows: Rows) -> Agreement:
    """Compare rows of a run with those of its record.

    Rows of ready features must have the same metrics. Where networks were trained, means over
    seeds may differ by the recorded spread: the 95 % t-interval over seeds, the 95 % interval over
    episodes, or what the record declares for one seed, whichever is largest.
    """
    kept, found = _by_key(record.rows, record.trained), _by_key(rows, record.trained)
    lines: list[str] = []
    agreeing = 0
    for key, recorded in kept.items():
        here = found.pop(key, None)
        if here is None:
            lines.append(f"{_named(recorded[0])}: recorded, but not measured here")
            continue
        differing = list(_differences(record, recorded, here))
        lines += [f"{_named(recorded[0])}: {one}" for one in differing]
        agreeing += not differing
    lines += [f"{_named(here[0])}: measured here, but not recorded" for here in found.values()]
    return Agreement(agreeing, len(kept), tuple(lines))


def _by_key(rows: Rows, trained: bool) -> dict[Key, list[Mapping[str, Any]]]:
    """Return rows by what was measured; seeds of trained networks stand together."""
    found: dict[Key, list[Mapping[str, Any]]] = {}
    for row in rows:
        metrics = row["metrics"]
        # The data set's name may be that of a user's folder: its files are told by their hashes.
        about = [row.get(name) for name in ("setting", "method", "split")]
        key = (*about, metrics.get("way"), metrics.get("shots"), None if trained else row["seed"])
        found.setdefault(key, []).append(row)
    return found


def _differences(record: Record, recorded: Rows, here: Rows) -> Iterator[str]:
    if len(recorded) != len(here):
        yield f"{len(recorded)} seeds recorded, {len(here)} here"
    for metric in recorded[0]["metrics"]:
        if record.trained and metric == "ci95":
            continue  # the spread itself, by which others are judged
        before = [row["metrics"][metric] for row in recorded]
        now = [row["metrics"][metric] for row in here if metric in row["metrics"]]
        if not now:
            yield f"{metric} is recorded, but not measured here"
            continue
        allowed = _spread(record, recorded, metric, before) if record.trained else 0.0
        if abs(mean(before) - mean(now)) > allowed + TOLERANCE:
            within = f" (spread {allowed:.4g})" if record.trained else ""
            yield f"{metric} {mean(before):.6g} recorded, {mean(now):.6g} here{within}"


def _spread(record: Record, rows: Rows, metric: str, values: Sequence[float]) -> float:
    if metric in ("shots", "way"):
        return 0.0
    episodes = [row["metrics"].get("ci95", 0.0) for row in rows]
    spread = max(mean(episodes), record.spread or 0.0)
    allowed: float = spread / 100 if metric in FRACTIONS else spread
    return max(half_width95(values), allowed)


def _named(row: Mapping[str, Any]) -> str:
    """Return how a row is called in a line."""
    metrics = row["metrics"]
    shots = f", {metrics['shots']}-shot" if "shots" in metrics else ""
    return f"{row['method']}, {row['setting']}{shots}, seed {row['seed']}"
