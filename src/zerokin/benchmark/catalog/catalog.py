"""The catalog as a whole: entries and runs by name, read from the packaged files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from zerokin.benchmark.catalog.entry import Entry
from zerokin.benchmark.catalog.run import Run
from zerokin.errors import InvalidInput, did_you_mean, shown

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Catalog:
    """Entries and runs by name.

    Parameters
    ----------
    entries
        Tables and figures.
    runs
        What makes them.
    """

    entries: dict[str, Entry]
    runs: dict[str, Run]

    def runs_for(self, name: str) -> list[Run]:
        """Return the runs of an entry, or the one run of that name; nothing else is known.

        Examples
        --------
        >>> [run.name for run in load_catalog().runs_for("figure-4")]
        ['cub-hierarchy']
        >>> load_catalog().runs_for("tabel-3")
        Traceback (most recent call last):
        zerokin.errors.InvalidInput: unknown table or figure 'tabel-3'; did you mean 'table-3'?...
        """
        if name in self.runs:
            return [self.runs[name]]
        if name not in self.entries:
            hint = did_you_mean(name, [*self.entries, *self.runs]) or ":"
            raise InvalidInput(
                f"unknown table or figure {shown(name)}{hint} zerokin reproduce --list names all"
            )
        return [self.runs[one] for one in self.entries[name].runs]


@cache
def load_catalog() -> Catalog:
    """Read the catalog that is packaged with zerokin.

    Examples
    --------
    >>> load_catalog().entries["table-3"].reported[-1].values
    ('72.2', '65.8', '62.9', '28.6')
    """
    entries = [Entry.model_validate(one) for one in _yaml("entries.yaml")]
    runs = [Run.model_validate(one) for one in _yaml("runs.yaml")]
    return Catalog({one.name: one for one in entries}, {one.name: one for one in runs})


def _yaml(name: str) -> Any:
    import yaml

    return yaml.safe_load((HERE / name).read_text(encoding="utf-8"))
