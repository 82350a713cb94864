"""The catalog: the paper's tables as printed, and commands that the command line knows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer.main
from pydantic import ValidationError

from zerokin.benchmark.catalog import Entry, load_catalog
from zerokin.benchmark.catalog.run import placeholders
from zerokin.cli import app
from zerokin.commands.recorded_command import parse_command
from zerokin.errors import InvalidInput

CATALOG = load_catalog()
ENTRIES = CATALOG.entries.values()
PAPER = Path(__file__).parents[2] / "shared" / "paper.tex"
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
LABELS = {
    "table-1": "dataset",
    "table-2": "res_st",
    "table-3": "res_pu",
    "table-4": "res_gz",
    "table-5": "ha_ab_imnet",
    "table-6": "ha_ab_cub",
    "table-7": "fsl",
}


def test_every_table_and_results_figure_of_the_paper_is_there():
    names = [entry.name for entry in ENTRIES]
    assert [name for name in names if name.startswith("table")] == list(LABELS)
    assert [name for name in names if name.startswith("figure")] == [
        f"figure-{number}" for number in range(3, 8)
    ]


def test_names_are_of_one_thing_and_every_run_serves_an_entry():
    assert not set(CATALOG.entries) & set(CATALOG.runs)
    used = {run for entry in ENTRIES for run in entry.runs}
    assert used == set(CATALOG.runs)
    assert all(entry.runs or entry.needs for entry in ENTRIES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_columns_are_about_data_that_a_run_reads(entry):
    read = {CATALOG.runs[name].data for name in entry.runs}
    assert {column.data for column in entry.columns if column.data} <= read


@pytest.mark.parametrize("run", CATALOG.runs.values(), ids=lambda run: run.name)
def test_the_command_line_parses_the_command_of_a_run(run):
    words = shlex.split(run.command)
    assert placeholders(run.command) == ([run.data] if run.data else [])
    assert "{out}" in run.command
    if words[0] == "zerokin":
        parse_command(words, typer.main.get_command(app))
    else:
        assert words[0] == "python"
        assert (Path(__file__).parents[1] / words[1]).exists()


def test_a_mistyped_option_of_a_command_is_noticed():
    with pytest.raises(Exception, match="--metods"):
        parse_command(shlex.split("zerokin compare x --metods a"), typer.main.get_command(app))


@pytest.mark.parametrize("run", [run for run in CATALOG.runs.values() if run.trained])
def test_trained_networks_have_seeds_or_a_spread_to_be_judged_by(run):
    assert run.spread is not None or "ablation" in run.command


@pytest.mark.parametrize(("name", "nearest"), [("tabel-3", "table-3"), ("cub-feature", "cub-fe")])
def test_an_unknown_name_is_told_the_nearest(name, nearest):
    with pytest.raises(InvalidInput, match=f"did you mean '{nearest}"):
        CATALOG.runs_for(name)


def test_a_reported_line_has_a_value_for_every_column():
    with pytest.raises(ValidationError, match="2 values"):
        Entry.model_validate(
            {
                "name": "x",
                "title": "x",
                "paper": "x",
                "reported": [{"model": "m", "values": ["1", "2"]}],
            }
        )


def test_methods_are_shown_alone_of_runs_of_the_entry():
    with pytest.raises(ValidationError, match="only: other is no run of x"):
        Entry(name="x", title="x", paper="x", runs=("one",), only={"other": ("paper",)})


@pytest.mark.parametrize(("name", "label"), LABELS.items())
def test_reported_numbers_stand_in_the_papers_table_in_that_order(name, label):
    """Every line, and no other: digits of a line of LaTeX, without citations."""
    if not PAPER.exists():
        pytest.skip(f"no paper at {PAPER}")
    text = PAPER.read_text(encoding="utf-8")
    table = text[text.index(f"\\label{{{label}}}") :]
    table = table[: table.index("\\end{tabular}")]
    printed = []
    for line in table.split("\\\\"):
        plain = re.sub(r"\\(noalign|citep|cline)\{[^}]*\}*|\\(hline|textbf|bf|pm)", "", line)
        cells = [one for one in plain.split("&")[1:] if not re.search(r"[A-Za-z]{2}", one)]
        numbers = NUMBER.findall(" ".join(cells))
        if len(numbers) > 1:
            printed.append(numbers)
    reported = CATALOG.entries[name].reported
    assert [NUMBER.findall(" ".join(filter(None, one.values))) for one in reported] == printed
