"""Images of an ablation: what they are made from, and that they are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from zerokin.errors import InvalidInput
from zerokin.report.bars import ablation_panels, draw_bars
from zerokin.report.feature_planes import draw_feature_planes

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
