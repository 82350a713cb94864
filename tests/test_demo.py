"""The demo does its whole job, with a training too short to be good."""

from __future__ import annotations

import json

from zerokin.demo import run_demo


def test_demo_draws_groups_trains_and_names(tmp_path):
    rows = run_demo(tmp_path / "out", epochs=1)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "hierarchy.json",
        "tree.png",
        "sunburst.png",
        "tsne.png",
        "unseen.png",
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
