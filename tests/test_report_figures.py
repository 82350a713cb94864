"""Images of an ablation: what they are made from, and that they are drawn."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from builders import write_xlsa17_folder
from zerokin.benchmark.records import read_records
from zerokin.data import load_dataset
from zerokin.errors import InvalidInput
from zerokin.report.bars import ablation_panels, draw_bars
from zerokin.report.branching_figure import branching_curves, draw_branching
from zerokin.report.feature_planes import draw_feature_planes

ROOT = Path(__file__).parents[1]
for folder in ("docs", "benchmarks"):
    sys.path.append(str(ROOT / folder))
import branching  # noqa: E402
import results_figures  # noqa: E402

RNG = np.random.default_rng(0)
LABELS = np.repeat(np.arange(4), 12)
NAMES = ["lynx", "puma $x$", "wolf", "wren"]


def row(method, setting, seed, **metrics):
    return {"method": method, "setting": setting, "seed": seed, "metrics": metrics}


def test_panels_hold_every_seed_by_setting_and_by_shots():
    rows = [
        row("a", "pure", 0, per_class_top1=60.0),
        row("a", "generalized", 0, harmonic_mean=50.0, ausuc=0.4),
        row("a", "pure", 1, per_class_top1=62.0),
        row("b", "pure", 0, per_class_top1=70.0),
        row("b", "few-shot", 0, top1=55.0, shots=5, way=5),
    ]
    pure, harmonic, shots = ablation_panels(rows).values()
    assert pure == {"a": [60.0, 62.0], "b": [70.0]}
    assert harmonic == {"a": [50.0]}
    assert shots == {"b": [55.0]}


def colored_columns(path, color):
    pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
    near = (np.abs(pixels - color).sum(axis=2) < 12).any(axis=0)
    return int(near.sum())


def test_bars_are_as_long_as_their_figures(tmp_path):
    draw_bars({"pure": {"half": [40.0], "whole": [80.0]}}, tmp_path / "bars.png")
    best, other = (
        colored_columns(tmp_path / "bars.png", color) for color in ((213, 94, 0), (0, 114, 178))
    )
    assert best / other == pytest.approx(2, rel=0.03)


def test_a_plane_for_every_network_the_same_bytes_again(tmp_path):
    features = {f"network {k}": RNG.normal(size=(48, 5)) + 9 * LABELS[:, None] for k in range(4)}
    for name in ("one.png", "two.png"):
        draw_feature_planes(features, LABELS, NAMES, tmp_path / name, n_classes=3, per_class=7)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    wide, tall = Image.open(tmp_path / "one.png").size
    draw_feature_planes(dict(list(features.items())[:3]), LABELS, NAMES, tmp_path / "three.png")
    row_of_three = Image.open(tmp_path / "three.png").size
    assert wide < row_of_three[0]  # four stand two by two
    assert tall > row_of_three[1]
    draw_feature_planes({"one": features["network 0"]}, LABELS, NAMES, tmp_path / "small.png")
    assert np.all(np.array(Image.open(tmp_path / "small.png").size) < (wide, tall))


def test_what_cannot_be_drawn(tmp_path):
    with pytest.raises(InvalidInput, match="nothing to draw"):
        draw_bars({}, tmp_path / "bars.png")
    with pytest.raises(InvalidInput, match=r"bars\.pdf: the name must end in \.png or \.svg"):
        draw_bars({"pure": {"a": [1.0]}}, tmp_path / "bars.pdf")
    with pytest.raises(InvalidInput, match="nothing to draw"):
        draw_feature_planes({}, LABELS, NAMES, tmp_path / "planes.png")
    with pytest.raises(InvalidInput, match="n_classes is 11"):
        draw_feature_planes({"a": RNG.normal(size=(48, 5))}, LABELS, NAMES, "x.png", n_classes=11)


def test_curves_over_t_are_those_of_the_record(tmp_path):
    records = read_records(ROOT / "results")
    curves, flat = branching_curves(records["cub-branching"].rows)
    assert flat == records["cub-branching"].rows[0]["metrics"]["t2"]
    assert list(curves["ours, kmeans"]) == [2, 3, 4, 5, 6, 8, 10]
    fell = {name: {t: value - 20 for t, value in curve.items()} for name, curve in curves.items()}
    draw_branching(curves, tmp_path / "one.png")
    draw_branching(curves | {"paper, kmeans": fell["ours, kmeans"]}, tmp_path / "two.svg")
    assert "paper, kmeans" in (tmp_path / "two.svg").read_text(encoding="utf-8")
    assert colored_columns(tmp_path / "one.png", (0, 158, 115)) == 0  # the fourth method's color
    with pytest.raises(InvalidInput, match="nothing to draw"):
        draw_branching({}, tmp_path / "none.png")


def test_the_figures_of_the_page_are_drawn_from_records(tmp_path):
    paths = results_figures.draw(read_records(ROOT / "results"), tmp_path)
    shown = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert all(path.stat().st_size and f"images/{path.name}" in shown for path in paths)


def test_the_paper_at_a_given_t_chooses_all_else(tmp_path):
    at = branching.PaperAt(7)
    assert at.defaults["branching"] == 7
    tried = {name for stage in at.stages for change in stage for name in change}
    assert tried == {"feature_scaling", "alpha", "distance", "beta", "epsilon"}
    folder = write_xlsa17_folder(tmp_path / "made", n_classes=43, n_unseen=7, per_class=5, d_f=11)
    few = ([{"alpha": a, "top_k": 1} for a in (0.3, 0.9)], [{"branching": 2}])
    curve = branching.paper_curve(load_dataset(f"xlsa17={folder}"), few)
    assert list(curve) == [2, 3, 4, 5, 6, 7, 8]
    assert len(set(curve.values())) > 1  # t is what is varied
    assert branching.parse(["x", "--methods", "ours,paper"]).methods == "ours,paper"
    assert branching.methods_of("ours,paper") == ["ours", "paper"]
    with pytest.raises(InvalidInput, match="unknown method 'papr'"):
        branching.methods_of("papr")
