"""The pages of results: tables are those of the records, and no number comes from elsewhere."""

from __future__ import annotations

import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import typer.main
from scipy import stats

from recorded_runs import record, row
from zerokin.benchmark.catalog import load_catalog
from zerokin.benchmark.catalog.run import PLACEHOLDER
from zerokin.benchmark.records import read_records
from zerokin.cli import app
from zerokin.commands.recorded_command import parse_command
from zerokin.report.recorded import entry_table

ROOT = Path(__file__).parents[1]
for folder in ("docs", "benchmarks"):
    sys.path.append(str(ROOT / folder))
from results_tables import BLOCK, PAGES, RESULTS, filled, section  # noqa: E402

RECORDS = read_records(RESULTS)
CATALOG = load_catalog()
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
MADE_BY = "python docs/results_tables.py (make results)"


def figures(rows):
    """Give every number that a table may print of rows: means and intervals over seeds, by hand."""
    groups = {}
    for one in rows:
        for metric, value in one["metrics"].items():
            shots = one["metrics"].get("shots")
            groups.setdefault((one["method"], one["setting"], shots, metric), []).append(value)
    for (_, _, _, metric), values in groups.items():
        digits = 3 if metric == "ausuc" else 1
        mean = float(np.mean(values))
        yield f"{mean:.{digits}f}"
        yield f"{mean:,.0f}"
        if len(values) > 1:
            width = stats.sem(values) * stats.t.ppf(0.975, len(values) - 1)
            yield f"{width:.{digits}f}"


def allowed(name):
    """Give every number that records and reported lines of an entry hold."""
    entry = CATALOG.entries[name]
    used = [RECORDS[run].rows for run in entry.runs if run in RECORDS]
    pooled = [[one for rows in used for one in rows]] if entry.together else used
    known = {text for rows in pooled for text in figures(rows)}
    for line in (*entry.reported, *entry.best_known):
        known |= {n for value in line.values for n in NUMBER.findall(value or "")}
    return known


def foreign_numbers(block, known):
    """Give the numbers in the cells of a table, names and sources aside, that nobody measured."""
    for line in block.splitlines():
        if line.startswith("| ") and "---" not in line:
            cells = line.strip("| ").split(" | ")[1:-1]
            if line.startswith("|  |"):
                continue  # headings
            yield from (n for cell in cells for n in NUMBER.findall(cell) if n not in known)


BLOCKS = [
    pytest.param(found[2], found[4], id=f"{path.name}-{found[2]}")
    for path in PAGES
    for found in BLOCK.finditer(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_tables_are_those_of_the_records(path):
    text = path.read_text(encoding="utf-8")
    assert BLOCK.search(text)
    assert filled(text, RECORDS) == text, f"{path.name} is stale: {MADE_BY}"


@pytest.mark.parametrize(("name", "block"), BLOCKS)
def test_no_number_stands_in_a_table_that_no_record_or_report_holds(name, block):
    if name != "overview":
        assert list(foreign_numbers(block, allowed(name))) == []


def test_a_number_that_was_typed_into_a_table_is_found():
    whole = section("cub-features", RECORDS, ours_alone=True)
    first = next(line for line in whole.splitlines() if "| recorded" in line)
    number = NUMBER.findall(first)[0]
    typed = whole.replace(f" {number} ", " 99.7 ", 1)
    assert list(foreign_numbers(typed, allowed("cub-features"))) == ["99.7"]


def test_every_entry_stands_in_the_page_of_results():
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    shown = {found[2] for found in BLOCK.finditer(text)}
    assert shown == {*CATALOG.entries, "overview"}


@pytest.mark.parametrize("kept", RECORDS.values(), ids=lambda kept: kept.name)
def test_a_record_is_of_a_run_and_its_command_can_be_given(kept):
    assert kept.command == CATALOG.runs[kept.name].command
    words = [PLACEHOLDER.sub("x", word) for word in shlex.split(kept.command)]
    if words[0] == "zerokin":
        parse_command(words, typer.main.get_command(app))
    else:
        import_module(Path(words[1]).stem).parse(words[2:])


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.name)
def test_a_record_holds_no_path_of_who_made_it(path):
    # Each begins with a / after a quotation mark or a blank; commands have placeholders instead.
    assert not re.search(r"[\" =](/|~|[A-Z]:\\)", path.read_text(encoding="utf-8"))


def test_rows_without_a_record_say_what_they_need():
    entry = CATALOG.entries["table-6"]
    table = entry_table(entry, CATALOG, {})
    for name in entry.runs:
        run = CATALOG.runs[name]
        assert f"| {run.title} | not measured | not measured | needs {run.needs} |" in table
    assert "| 65.6 | 65.8 | reported in the paper |" in table


def test_seeds_are_printed_with_their_interval_and_the_caption_says_which():
    entry = CATALOG.entries["cub-features"]
    rows = [row(seed=k, per_class_top1=v) for k, v in enumerate((60.0, 61.0, 62.0))]
    kept = {"cub-features-linear": record(rows=rows)}
    table = entry_table(entry, CATALOG, kept)
    assert "| **ridge** | 61.0 ± 2.5 |" in table
    assert "95 % t-interval" in table
    one = entry_table(entry, CATALOG, {"cub-features-linear": record(rows=rows[:1])})
    assert "| **ridge** | 60.0 |" in one
    assert "t-interval" not in one
    assert "One seed" in one


def test_a_table_may_show_some_methods_of_a_record_alone():
    kept = record("cub-paper", [row("paper"), row("paper-flat")])
    for name, shown in (("cub-features", ["paper"]), ("cub-parts", ["paper", "paper-flat"])):
        table = entry_table(CATALOG.entries[name], CATALOG, {kept.name: kept})
        assert re.findall(r"\*\*([a-z-]+)\*\*", table) == shown


def test_shots_are_printed_with_their_interval_over_episodes():
    shots = {"ci95": 0.74, "shots": 5, "way": 5}
    kept = record("mini-imagenet-few-shot", [row("x", setting="few-shot", top1=80.6, **shots)])
    table = entry_table(CATALOG.entries["table-7"], CATALOG, {kept.name: kept})
    assert "| **x** |  | 80.6 ± 0.7 | recorded: `mini-imagenet-few-shot` |" in table


def test_runs_that_are_seeds_of_one_experiment_stand_in_one_line():
    rows = [[row("x", seed=k, per_class_top1=60.0 + k)] for k in range(2)]
    kept = {f"critters-demo-{k}": record(f"critters-demo-{k}", rows[k]) for k in range(2)}
    table = entry_table(CATALOG.entries["critters"], CATALOG, kept)
    assert "| **x** | 60.5 ± 6.4 |" in table
    assert "seed 2 | not measured | not measured |" in table
