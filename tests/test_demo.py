"""The demo does its whole job, with a training too short to be good."""

from __future__ import annotations

import json

import numpy as np

from zerokin.commands import demo
from zerokin.data import Dataset, Split, load_dataset
from zerokin.data.images import ArrayImages


def every(step: int) -> Dataset:
    """Return Critters with one image out of a few: drawing all takes longer than learning."""
    critters = load_dataset("critters")
    kept = np.arange(0, len(critters), step)
    split = critters.split
    parts = {name: np.flatnonzero(np.isin(kept, rows)) for name, rows in split.parts.items()}
    return Dataset(
        name=critters.name,
        classes=critters.classes,
        inputs=ArrayImages(np.stack([critters.images.array(i) for i in kept])),
        labels=critters.evaluation_labels(kept),
        splits={"pure": Split(version="every few", unseen=split.unseen, **parts)},
        provenance=critters.provenance,
    )


def test_demo_draws_groups_trains_and_names(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "load_dataset", lambda _: every(4))
    monkeypatch.setattr(demo, "SIDE", 32)
    rows = demo.run_demo(tmp_path / "out", epochs=4)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "hierarchy.json",
        "tree.png",
        "sunburst.png",
        "tsne.png",
        "unseen.png",
        "candidates.png",
        "features.png",
        "ablation.png",
        "results.json",
    }
    saved = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [row["method"] for row in saved] == [row.method for row in rows]
    assert [row.method for row in rows] == [
        "chance",
        "untrained network",
        "class labels",
        "CNN-RNN features",
        "CNN-RNN, full model",
        "end to end, full model",
    ]
    chance, untrained, labels, *_ = rows
    assert chance.unseen == 100 / 15
    # Random filters see something, but do not solve it; an epoch of class labels teaches more.
    assert 1.5 * chance.unseen < untrained.unseen < 40
    assert labels.seen > untrained.seen
