"""All targets by name, opened, with whatever they import lazily in memory already."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from .data_targets import DATA_TARGETS
from .model_targets import MODEL_TARGETS
from .targets import OpenTarget, Target, open_targets

TARGETS: Mapping[str, Target] = {target.name: target for target in (*DATA_TARGETS, *MODEL_TARGETS)}


def warmed_up(folder: Path, names: list[str] | None = None) -> Mapping[str, OpenTarget]:
    """Open targets and read their own inputs, all of which must be accepted."""
    chosen = list(TARGETS.values()) if names is None else [TARGETS[name] for name in names]
    absent = [target for target in chosen if find_spec(target.needs) is None]
    for target in absent:
        print(f"{target.name:14} left out: {target.needs} is not installed")
    chosen = [target for target in chosen if target not in absent]
    opened = open_targets(chosen, folder)
    for target in opened.values():
        for seed in target.seeds:
            target.run(seed)
    return opened
