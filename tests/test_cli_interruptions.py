"""An interruption says how to go on, wherever the same command would."""

from __future__ import annotations

import sys

import pytest

from zerokin.cli import main
from zerokin.data.native_writer import partial_file

CONFIG = """
networks: {a: {backbone: conv4, weights: null, mode: classes}}
rows: [{name: class labels, networks: [a], method: projection}]
"""


@pytest.fixture
def stopped(monkeypatch, capsys):
    """Run a command that is interrupted in a function, once that has kept something or not."""

    def run(where, kept, *arguments):
        def interrupted(*_, **__):
            if kept is not None:
                kept.mkdir(parents=True)
            raise KeyboardInterrupt

        monkeypatch.setattr(where, interrupted)
        monkeypatch.setattr(sys, "argv", ["zerokin", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 130
        return capsys.readouterr().err.splitlines()[-1]

    return run


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("command", ["ablation", "train", "extract"])
def test_it_is_said_where_something_was_kept(tmp_path, monkeypatch, stopped, command, keeps):
    monkeypatch.setattr("zerokin.features.extractor.open_extractor", lambda *_, **__: None)
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    out = tmp_path / "out"
    where, kept, arguments = {
        "ablation": (
            "zerokin.benchmark.ablation.feature_cache.Readings.fold",
            out,
            ["ablation", config, "critters", "--out", out],
        ),
        "train": (
            "zerokin.features.feature_learner.FeatureLearner.fit",
            out / "training",
            ["train", "critters", "--out", out],
        ),
        "extract": (
            "zerokin.features.extraction.extract_features",
            partial_file(out.with_suffix(".safetensors")),
            ["extract", "critters", "--out", out.with_suffix(".safetensors")],
        ),
    }[command]
    line = stopped(where, kept if keeps else None, *arguments)
    tail = f"; the same command goes on from {kept}" if keeps else ""
    assert line == f"zerokin: interrupted{tail}"
