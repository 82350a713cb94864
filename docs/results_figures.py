"""The figures of ``results.md`` that show numbers, drawn from the records.

    python docs/results_figures.py [FOLDER]

draws Figure 3 (accuracy over t) and Figure 5 (ablation on Critters, and on CUB's ready features)
into ``docs/images``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from zerokin.benchmark.records import Record, read_records
from zerokin.report.bars import ablation_panels, draw_bars
from zerokin.report.branching_figure import branching_curves, draw_branching

ROOT = Path(__file__).parents[1]
BRANCHING = ("cub-branching", "cub-branching-paper")
DEMO = "critters-demo-"
LINKS = (
    "cub-links",
    "cub-links-paper",
    "cub-links-taxonomy",
    "cub-links-parts",
    "cub-links-distances",
    "cub-links-ours",
)


def draw(records: dict[str, Record], folder: Path) -> list[Path]:
    """Draw what the records hold, and return the images."""
    rows = [row for name in BRANCHING if name in records for row in records[name].rows]
    curves, flat = branching_curves(rows)
    draw_branching(curves, folder / "figure-3.png", flat=flat)
    seeds = [one for name, one in records.items() if name.startswith(DEMO)]
    draw_bars(
        ablation_panels([row for one in seeds for row in one.rows]),
        folder / "figure-5.png",
        title=f"Critters, ablation, {len(seeds)} seeds",
    )
    drawn = [folder / "figure-3.png", folder / "figure-5.png"]
    # A row that two runs hold counts once: seeds are not drawn twice.
    links = list(
        {
            (row["method"], row["setting"], row["seed"]): row
            for name in LINKS
            if name in records
            for row in records[name].rows
        }.values()
    )
    if links:
        title = "CUB, heads on ready features of an untouched EfficientNet-Lite0: no CNN is trained"
        draw_bars(ablation_panels(links), folder / "figure-5-cub.png", title=title)
        drawn.append(folder / "figure-5-cub.png")
    return drawn


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    for path in draw(read_records(ROOT / "results"), given):
        print(f"wrote {path}")
