"""The tables of results in these pages and the README, written from the records.

    python docs/results_tables.py

puts what ``results/*.json`` and the catalog hold between ``<!-- results: NAME -->`` and
``<!-- end -->``; a test compares the two. NAME is a table or figure of the catalog, with
``, ours alone`` for the lines that are ours, or ``overview`` for the state of all.
"""

from __future__ import annotations

import re
from pathlib import Path

from zerokin.benchmark.catalog import load_catalog
from zerokin.benchmark.records import Record, read_records
from zerokin.errors import InvalidInput
from zerokin.report.recorded import entry_section, overview

ROOT = Path(__file__).parents[1]
PAGES = tuple(ROOT / name for name in ("README.md", "docs/results.md", "docs/multi-label.md"))
RESULTS = ROOT / "results"
BLOCK = re.compile(
    r"(<!-- results: ([a-z0-9-]+)(, ours alone)? -->\n)(.*?)(?=<!-- end -->)", re.DOTALL
)


def section(name: str, records: dict[str, Record], *, ours_alone: bool) -> str:
    """Return what stands between the markers of a name."""
    catalog = load_catalog()
    if name == "overview":
        return overview(catalog, records)
    if name not in catalog.entries:
        raise InvalidInput(f"no table or figure {name!r}: zerokin reproduce --list names all")
    return entry_section(catalog.entries[name], catalog, records, reported=not ours_alone)


def filled(page: str, records: dict[str, Record]) -> str:
    """Return a page with the tables of these records."""
    return BLOCK.sub(
        lambda found: f"{found[1]}{section(found[2], records, ours_alone=bool(found[3]))}\n", page
    )


if __name__ == "__main__":
    known = read_records(RESULTS)
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8"), known), encoding="utf-8")
