"""Tables of the catalog in Markdown: recorded rows, what is not measured, what others reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from zerokin.benchmark.catalog import Catalog, Column, Entry, Run
from zerokin.benchmark.records import Record
from zerokin.benchmark.spread import MEANING, mean_with_spread
from zerokin.report.tables import Lines, in_markdown

Records = Mapping[str, Record]
Rows = Sequence[Mapping[str, Any]]

NOT_MEASURED = "not measured"
DRAWN = "drawn on demand: it has no numbers to record"
REPORTED = "reported in the paper"
BEST_KNOWN = "reported by its authors"


def state(run: Run, records: Records) -> str:
    """Return whether a run is recorded, and otherwise what it needs.

    Examples
    --------
    >>> state(Run(name="x", title="x", command="zerokin demo", needs="a GPU"), {})
    'not measured: needs a GPU'
    """
    if run.name in records:
        return f"recorded {records[run.name].date}"
    if not run.recordable:
        return f"{DRAWN}; needs {run.needs}"
    return f"{NOT_MEASURED}: needs {run.needs}"


def entry_state(entry: Entry, catalog: Catalog, records: Records) -> list[tuple[str, str]]:
    """Return the name and the state of every run of an entry; what is missing where none is."""
    if not entry.runs:
        return [("", f"{NOT_MEASURED}: needs {entry.needs}")]
    return [(name, state(catalog.runs[name], records)) for name in entry.runs]


def overview(catalog: Catalog, records: Records) -> str:
    """Return all tables and figures with their state, in Markdown."""
    lines = []
    for entry in catalog.entries.values():
        about = [f"`{entry.name}`", entry.paper]
        for run, said in entry_state(entry, catalog, records):
            lines.append([*about, f"`{run}`" if run else "", said])
            about = ["", ""]
    table = in_markdown(Lines(["name", "in the paper", "run", "state"], lines))
    return table.replace("---:", "---")


def entry_section(
    entry: Entry, catalog: Catalog, records: Records, *, reported: bool = True
) -> str:
    """Return an entry with its title, the command that makes ours, and its table or state."""
    runs = [catalog.runs[name] for name in entry.runs]
    data = dict.fromkeys(run.data for run in runs if run.name in records or not run.recordable)
    folders = "".join(f" {name}=DIR" for name in data if name)
    about = f"{entry.title}.\n\n"
    if data:
        about += f"    zerokin reproduce {entry.name}{folders}\n\n"
    if entry.columns:
        return about + entry_table(entry, catalog, records, reported=reported)
    states = entry_state(entry, catalog, records)
    return about + "".join(f"- {f'`{run}`: ' if run else ''}{said}\n" for run, said in states)


def entry_table(entry: Entry, catalog: Catalog, records: Records, *, reported: bool = True) -> str:
    """Return an entry as a table in Markdown: ours, then what others reported, with sources.

    Parameters
    ----------
    entry
        The table.
    catalog
        Its runs.
    records
        Records by the names of runs.
    reported
        Whether lines of others are shown, too.
    """
    lines = [*_own_lines(entry, catalog, records)]
    if reported:
        for source, others in ((REPORTED, entry.reported), (BEST_KNOWN, entry.best_known)):
            lines += [[one.model, *(value or "" for value in one.values), source] for one in others]
    headings = ["", *(column.heading for column in entry.columns), "source"]
    table = in_markdown(Lines(headings, lines))
    said = list(_captions(entry, records))
    return table + (f"\n{' '.join(said)}\n" if said else "")


def _own_lines(entry: Entry, catalog: Catalog, records: Records) -> Iterator[list[str]]:
    runs = [catalog.runs[name] for name in entry.runs]
    recorded = [run for run in runs if run.name in records]
    # Said in every line unless it is the same of all, as the title then says.
    featured = bool(entry.reported) or len({run.features for run in runs}) > 1
    if entry.together and recorded:
        pooled = [row for run in recorded for row in records[run.name].rows]
        yield from _lines(entry, recorded[0], pooled, _source(recorded), featured)
    elif not entry.together:
        for run in recorded:
            shown = entry.only.get(run.name)
            rows = [row for row in records[run.name].rows if not shown or row["method"] in shown]
            yield from _lines(entry, run, rows, _source([run]), featured)
    for run in runs:
        if run.name not in records and run.recordable:
            cells = [NOT_MEASURED if _is_about(column, run) else "" for column in entry.columns]
            yield [run.title, *cells, f"needs {run.needs}"]


def _lines(entry: Entry, run: Run, rows: Rows, source: str, featured: bool) -> Iterator[list[str]]:
    """Return a line per method, or one for the whole run."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(run.title if entry.by_run else str(row["method"]), []).append(row)
    read = f" ({run.features})" if run.features and featured else ""
    for name, group in groups.items():
        cells = [_cell(column, group) if _is_about(column, run) else "" for column in entry.columns]
        if any(cells):
            yield [f"**{name}**{read}", *cells, source]


def _is_about(column: Column, run: Run) -> bool:
    return column.data is None or column.data == run.data


def _cell(column: Column, rows: Rows) -> str:
    found = [
        row["metrics"]
        for row in rows
        if row["setting"] == column.setting
        and column.metric in row["metrics"]
        and (column.shots is None or row["metrics"].get("shots") == column.shots)
        and (not column.methods or row["method"] in column.methods)
    ]
    values = [metrics[column.metric] for metrics in found]
    intervals = [metrics["ci95"] for metrics in found if "ci95" in metrics]
    if values and column.shots is not None and intervals:
        # Over several seeds both are means: the spread over episodes is the larger.
        return f"{mean(values):.{column.digits}f} ± {mean(intervals):.1f}"
    if values and not column.digits:
        return f"{mean(values):,.0f}"
    return mean_with_spread(values, digits=column.digits)


def _source(runs: Sequence[Run]) -> str:
    return f"recorded: {', '.join(f'`{run.name}`' for run in runs)}"


def _captions(entry: Entry, records: Records) -> Iterator[str]:
    """Return what ± means where seeds stand behind it, or that there is one seed alone."""
    used = [records[name] for name in entry.runs if name in records]
    seeds = sum(len(one.seeds) for one in used) if entry.together else 0
    if any(column.shots or column.setting in ("data", "validation") for column in entry.columns):
        return
    if seeds > 1 or any(len(one.seeds) > 1 for one in used):
        yield f"{MEANING[0].upper()}{MEANING[1:]}; without ±, one seed."
    elif used:
        yield "One seed: the spread over seeds is not measured."
