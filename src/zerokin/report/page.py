"""The report: one HTML page with tables, figures, and how every number came about."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zerokin._version import __version__
from zerokin.data.dataset import Dataset
from zerokin.errors import MissingExtra
from zerokin.report.bars import ablation_panels, draw_bars
from zerokin.report.class_tables import confusion_tables, per_class_lines
from zerokin.report.comparison import comparison_lines
from zerokin.report.few_shot import few_shot_ablation_lines, few_shot_lines
from zerokin.report.tables import Lines, best_cells
from zerokin.temporaries import scratch_folder

if TYPE_CHECKING:
    from markupsafe import Markup

Row = Mapping[str, Any]
MEANINGS = {
    "U": "accuracy on unseen classes when seen ones compete too, each class counting alike",
    "S": "accuracy on seen classes when unseen ones compete too, each class counting alike",
    "H": "harmonic mean of U and S: high only where both are",
    "AUSUC": "area under the seen-unseen curve, from 0 to 1: S over U for every penalty of seen "
    "classes",
    "pure": "accuracy on unseen classes among themselves, each class counting alike",
    "standard": "accuracy on unseen classes among themselves, on the standard split",
    "folds": "what validation classes, held out of the seen ones, said",
    "tried": "settings of hyper-parameters that a method chose from",
}
"""Of the headings of tables, for their legend."""
TEMPLATE = Path(__file__).with_name("page.html.j2")


def html_page(rows: Sequence[Row], dataset: Dataset | None = None) -> str:
    """Return results as a page that needs no other file and asks no other machine for anything.

    Parameters
    ----------
    rows
        Results, as `read_results` returns them.
    dataset
        What they were measured on, to show its classes and superclasses, too.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise MissingExtra("the report", "report") from error

    template = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        version=__version__,
        sections=[_section(name, rows) for name in dict.fromkeys(row["dataset"] for row in rows)],
        data=None if dataset is None else _data(dataset),
    )


def _section(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    own = [row for row in rows if row["dataset"] == name]
    by_shots = [row for row in own if "shots" in row["metrics"]]
    others = [row for row in own if "shots" not in row["metrics"]]
    generalized = [row for row in by_shots if "harmonic_mean" in row["metrics"]]
    alone = [row for row in by_shots if "harmonic_mean" not in row["metrics"]]
    kinds: list[tuple[str, list[Row], Callable[[Any], Lines]]] = [
        ("zero-shot", others, comparison_lines),
        ("few-shot", alone, few_shot_ablation_lines),
        ("generalized few-shot", generalized, few_shot_lines),
    ]
    found: list[dict[str, Any]] = []
    for heading, part, lines in kinds:
        # A table needs a column that it knows.
        if part and len((table := lines(part)).headings) > 1:
            panels = ablation_panels(part)
            drawn = _svg(lambda path, given=panels: draw_bars(given, path)) if panels else None  # type: ignore[misc]
            best = best_cells(table, beside=("tried",))
            found.append({"heading": heading, "table": table, "best": best, "figure": drawn})
    return {
        "name": name,
        "tables": found,
        "legend": _legend([heading for part in found for heading in part["table"].headings]),
        "classes": _classes([row for row in own if row.get("per_class")]),
        "confusions": confusion_tables([row for row in own if row.get("superclasses")]),
        "rows": [_told(row) for row in own],
    }


def _legend(headings: Sequence[str]) -> dict[str, str]:
    """Return what the headings of tables stand for."""
    words = {word for heading in headings for word in re.split(r"[ ,]+", heading)}
    return {word: meaning for word, meaning in MEANINGS.items() if word in words}


def _classes(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a table of the classes for each setting."""
    found = []
    for setting in dict.fromkeys(row["setting"] for row in rows):
        table = per_class_lines([row for row in rows if row["setting"] == setting])
        found.append({"setting": setting, "table": table, "best": _best_in_lines(table)})
    return found


def _best_in_lines(table: Lines) -> set[tuple[int, int]]:
    """Return line and column of the best figures where several methods stand in a line."""
    best = set()
    for row, line in enumerate(table.lines):
        figures = {column: float(cell) for column, cell in enumerate(line) if column > 1 and cell}
        if len(figures) > 1:
            top = max(figures.values())
            best |= {(row, column) for column, figure in figures.items() if figure == top}
    return best


def _told(row: Row) -> dict[str, Any]:
    """Return what is told of a row: how it was chosen, on what, and what it came to."""
    facts = ("setting", "seed", "split", "features", "features_sha256", "by", "semantics")
    chosen = row.get("selection")
    spent = row.get("seconds")
    return {
        "method": row["method"],
        "facts": {name: row[name] for name in facts if row.get(name) not in (None, "")},
        "metrics": {name: f"{value:.4g}" for name, value in row["metrics"].items()},
        "selection": chosen if isinstance(chosen, Mapping) else {},
        "seconds": spent if isinstance(spent, Mapping) else {},
    }


def _data(dataset: Dataset) -> dict[str, Any]:
    from zerokin.hierarchy.from_dataset import build_hierarchy
    from zerokin.report import draw_sunburst

    split, classes = dataset.split, dataset.classes
    grouping = "kmeans" if classes.taxonomy is None else "taxonomy"
    drawn = None
    if classes.taxonomy is not None or classes.vectors is not None:
        tree = build_hierarchy(dataset, grouping)  # type: ignore[arg-type]
        drawn = _svg(lambda path: draw_sunburst(tree, path, split.unseen))
    return {
        "name": dataset.name,
        "facts": {
            "read as": dataset.provenance.reader,
            "split": split.version,
            "validation folds": f"{len(split.folds)} ({split.folds_version})",
            "seen classes": len(dataset.seen),
            "unseen classes": len(dataset.unseen),
            "training samples": f"{len(split.train):,}",
            "test samples of seen classes": f"{len(split.test_seen):,}",
            "test samples of unseen classes": f"{len(split.test_unseen):,}",
            "semantics": classes.semantics_source,
            "SHA-256 of its files": dataset.provenance.sha256,
        },
        "superclasses": {"kmeans": "clusters of the semantics"}.get(grouping, grouping),
        "figure": drawn,
    }


def _svg(draw: Callable[[Path], None]) -> Markup:
    """Return a drawing as it stands within a page."""
    from markupsafe import Markup

    with scratch_folder() as folder:
        path = folder / "figure.svg"
        draw(path)
        text = path.read_text(encoding="utf-8")
    # Matplotlib escapes names. Declarations before the drawing and its metadata are for files.
    drawing = text[text.index("<svg") :]
    return Markup(re.sub(r"<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL))
