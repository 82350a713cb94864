"""The report as a page: what it shows, that names stay text, and what it refuses."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from zerokin.data import load_dataset
from zerokin.errors import InvalidInput, MissingFile
from zerokin.report.page import html_page
from zerokin.report.results_file import read_results


def row(method="ours", setting="pure", seed=0, **metrics):
    return {
        "dataset": "birds",
        "setting": setting,
        "method": method,
        "seed": seed,
        "features_sha256": "abc123",
        "selection": {"alpha": 0.95, "on": "3 folds"},
        "metrics": metrics,
    }


class Tables(HTMLParser):
    """The cells of all tables, row by row, and every attribute that could fetch something."""

    def __init__(self):
        super().__init__()
        self.rows, self.fetched, self.cell, self.tags = [], [], False, []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.fetched += [v for k, v in attributes if k in ("src", "href", "action", "data")]
        if tag == "tr":
            self.rows.append([])
        if tag == "strong":  # the best figure of a column
            return
        self.cell = tag in ("th", "td")
        if self.cell:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.cell = self.cell and tag not in ("th", "td")

    def handle_data(self, text):
        if self.cell:
            self.rows[-1][-1] += text


def read(page):
    tables = Tables()
    tables.feed(page)
    return tables


def test_tables_hold_means_over_seeds_and_every_row_says_how_it_was_chosen():
    rows = [row(per_class_top1=60.0), row(seed=1, per_class_top1=62.0)]
    rows.append(row("shots", "few-shot", top1=55.0, ci95=0.7, shots=1, way=5))
    page = html_page(rows)
    assert read(page).rows == [
        ["method", "pure"],
        ["ours", "61.0 ± 12.7"],
        ["method", "5-way 1-shot"],
        ["shots", "55.0 ± 0.7"],
    ]
    assert page.count("<details>") == 3
    assert page.count("abc123") == 3
    assert page.count("<svg") == 2


def test_generalized_few_shot_results_have_a_table_of_their_own():
    both = {"unseen": 40.0, "seen": 60.0, "harmonic_mean": 48.0, "ci95": 0.5, "shots": 5}
    page = html_page([row("ours", "generalized-few-shot", **both)])
    assert read(page).rows[1] == ["ours", "40.0", "60.0", "48.0 ± 0.5"]


def test_a_row_that_lacks_a_tables_figure_leaves_its_cell_empty():
    rows = [row("a", per_class_top1=60.0), row("b", top1=50.0)]
    assert read(html_page(rows)).rows[1:] == [["a", "60.0"], ["b", ""]]


def test_names_are_text_and_nothing_is_fetched():
    name = "<script>alert(1)</script> & <img src=x>"
    found = read(html_page([row(name, per_class_top1=60.0)]))
    assert found.rows[1][0] == name
    assert "script" not in found.tags
    assert "img" not in found.tags
    assert all(where.startswith("#") for where in found.fetched)


def test_data_are_shown_with_their_superclasses():
    critters = load_dataset("critters")
    page = html_page([row(per_class_top1=60.0)], critters)
    assert re.search(r"<dt>unseen classes</dt><dd>15</dd>", page)
    assert critters.provenance.sha256 in page
    assert "Superclasses: taxonomy" in page


def test_rows_without_a_known_column_are_told_without_a_table():
    page = html_page([row(setting="of my own", mine=3.0)])
    assert "<table" not in page
    assert "mine 3" in page


def test_results_are_read_one_file_after_the_other(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps([row(name, per_class_top1=1.0)]))
    read_rows = read_results([tmp_path / "b.json", tmp_path / "a.json"])
    assert [one["method"] for one in read_rows] == ["b", "a"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("{", "is not JSON"),
        ("{}", "holds no list of results"),
        ("[]", "holds no list of results"),
        ("[3]", "row 1: 3 is no result"),
        (json.dumps([row(top1=1.0), {**row(top1=1.0), "method": 4}]), "row 2: method is 4"),
        (json.dumps([row()]), "row 1: it has no metrics"),
        (json.dumps([row(top1="x")]), "row 1: top1 is 'x', no number"),
        (json.dumps([row(top1=float("nan"))]), "row 1: top1 is nan, no number"),
        (json.dumps([row(top1=10**400)]), "row 1: top1 is 1000.*, no number"),
        (json.dumps([row(shots=1)]), "row 1: it has shots, but no top1"),
    ],
)
def test_what_is_no_result_is_refused_by_file_and_row(tmp_path, content, line):
    path = tmp_path / "rows.json"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=line) as refusal:
        read_results([path])
    assert "rows.json" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingFile, match=r"no results at .*absent\.json: zerokin evaluate"):
        read_results([tmp_path / "absent.json"])
