"""Several processes on one machine find what one finds; where one is killed, all end and say so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

import shared_fits
from builders import write_xlsa17_folder, xlsa17_variables
from zerokin import load_dataset
from zerokin.compute.processes import ALONE
from zerokin.data import write_shards
from zerokin.recognizer import Recognizer

HERE = Path(__file__).parent
SEEDS = 2
SECONDS = 240


def environment():
    paths = [str(HERE), str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}


def start_together(count, *command, said):
    """Start processes by torchrun, on this machine alone."""
    launch = ["-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1"]
    with said.open("w") as file:
        return subprocess.Popen(
            [sys.executable, *launch, f"--nproc_per_node={count}", *map(str, command)],
            env=environment(),
            stdout=file,
            stderr=subprocess.STDOUT,
        )


def end_of(started, *, seconds=SECONDS):
    try:
        return started.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        started.terminate()  # torchrun ends what it started: a process that waits, waits for ever
        started.wait(timeout=60)
        raise


def run_together(count, *command, said):
    ended = end_of(start_together(count, *command, said=said))
    return ended, said.read_text()


@pytest.fixture(scope="module", params=[2, 4])
def shared(request, tmp_path_factory):
    root = tmp_path_factory.mktemp(f"shared{request.param}")
    for seed in range(SEEDS):
        F, *_ = shared_fits.drawn("shards, a budget", seed)
        write_shards(root / f"shards-{seed}", [F], rows=67, dtype="float64")
        write_shards(root / f"samples-{seed}", [shared_fits.samples(seed)[0]], rows=53)
    script = (HERE / "shared_fits.py", root, SEEDS)
    ended, said = run_together(request.param, *script, said=root / "said.txt")
    assert ended == 0, said[-3000:]
    return root, request.param


@pytest.mark.parametrize("name", shared_fits.SCENARIOS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_several_processes_find_what_one_finds(shared, name, seed):
    root, count = shared
    there = np.load(root / f"{name}-{seed}-{count}.npz")
    alone = shared_fits.project(ALONE, name, seed, root)
    single = name == "single precision"
    np.testing.assert_array_equal(there["predicted"], alone["predicted"])
    np.testing.assert_allclose(there["graph"], alone["graph"], atol=1e-11)
    for what in ("W", "E"):
        np.testing.assert_allclose(there[what], alone[what], atol=5e-4 if single else 1e-8)
    np.testing.assert_allclose(
        there["objective"], alone["objective"], rtol=1e-4 if single else 1e-9
    )
    assert there["total"] == pytest.approx(alone["total"], rel=1e-12)


@pytest.mark.parametrize("name", shared_fits.CLASSIFIERS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_several_processes_classify_as_one_does(shared, name, seed):
    root, count = shared
    there = np.load(root / f"{name}-{seed}-{count}.npz")
    alone = shared_fits.classify(ALONE, name, seed, root)
    np.testing.assert_array_equal(there["seen"], alone["seen"])
    np.testing.assert_array_equal(there["named"], alone["named"])
    assert there["penalty"] == pytest.approx(alone["penalty"], abs=1e-4)
    np.testing.assert_allclose(there["scores"], alone["scores"], atol=1e-3)


def clustered_folder(folder, *, seed=0):
    """An xlsa17 folder whose classes can be told apart, in float32."""
    rng = np.random.default_rng(seed)
    features, splits = xlsa17_variables(n_classes=24, per_class=13, n_unseen=5, d_z=11, d_f=37)
    labels = features["labels"][:, 0] - 1
    F = (splits["att"].T @ rng.normal(size=(11, 37)))[labels] + 0.4 * rng.normal(
        size=(len(labels), 37)
    )
    features["features"] = F.T.astype(np.float32)
    return write_xlsa17_folder(folder, features, splits)


def zerokin(*words):
    return ("-m", "zerokin", *words)


def workers_of(started):
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text()
    return [int(pid) for pid in children.split()]


def assert_same_answers(one, other, data):
    first, second = Recognizer.load(one), Recognizer.load(other)
    features = load_dataset(f"xlsa17={data}").features
    scores, others = (model.classifier.decision_function(features) for model in (first, second))
    assert np.array_equal(scores.argmax(axis=1), others.argmax(axis=1))
    np.testing.assert_allclose(scores, others, atol=1e-4)
    ours, theirs = first.classifier.get_params(), second.classifier.get_params()
    assert ours.pop("seen_penalty") == pytest.approx(theirs.pop("seen_penalty"), abs=1e-4)
    assert ours == theirs
    assert first.metrics["validation"]["tried"] == second.metrics["validation"]["tried"]


def test_a_job_that_lost_a_process_ends_and_goes_on_where_it_was(tmp_path):
    data = clustered_folder(tmp_path / "data")
    command = zerokin("fit", f"xlsa17={data}", "--out")
    alone = [sys.executable, *map(str, command), tmp_path / "alone"]
    subprocess.run(alone, env=environment(), check=True, capture_output=True)
    started = start_together(2, *command, tmp_path / "model", said=tmp_path / "said.txt")
    trials = tmp_path / "model.training" / "trials"
    deadline = time.monotonic() + SECONDS
    while len(list(trials.glob("*.json"))) < 9 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(workers_of(started)[1], signal.SIGKILL)
    assert end_of(started, seconds=30) != 0
    said = (tmp_path / "said.txt").read_text()
    lines = [line for line in said.splitlines() if line.startswith("zerokin: ")]
    assert len(lines) == 1
    assert "another of the 2 processes has ended" in lines[0]
    assert "the same command again" in lines[0]
    assert not (tmp_path / "model").exists()
    kept = {path.name: path.stat().st_mtime_ns for path in trials.glob("*.json")}
    assert len(kept) >= 9
    resumed = start_together(2, *command, tmp_path / "model", said=tmp_path / "said.txt")
    still = {}
    while resumed.poll() is None:
        for path in trials.glob("*.json"):
            with suppress(FileNotFoundError):
                still[path.name] = path.stat().st_mtime_ns
        time.sleep(0.05)
    assert end_of(resumed) == 0, (tmp_path / "said.txt").read_text()[-3000:]
    assert kept.items() <= still.items()  # none of them was measured again
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "alone",
        "data",
        "model",
        "said.txt",
    ]
    assert_same_answers(tmp_path / "alone", tmp_path / "model", data)


BAD = """
import os, sys
from zerokin.cli import main
sys.argv = ["zerokin", "fit", sys.argv[1 + int(os.environ["RANK"])], "--out", sys.argv[3]]
main()
"""


def refusal(tmp_path, *words):
    """Return the one line in which a job of two processes is refused, and what is left."""
    script = tmp_path / "job.py"
    script.write_text(BAD)
    ended, said = run_together(2, script, *words, said=tmp_path / "said.txt")
    assert ended != 0
    lines = [line for line in said.splitlines() if line.startswith("zerokin: ")]
    assert len(lines) == 1, said
    assert not [path for path in tmp_path.iterdir() if "model" in path.name and any(path.iterdir())]
    return lines[0]


def test_processes_that_see_different_data_are_refused_in_one_line(tmp_path):
    one, other = (clustered_folder(tmp_path / f"data{k}", seed=k) for k in (0, 1))
    line = refusal(tmp_path, f"xlsa17={one}", f"xlsa17={other}", tmp_path / "model")
    assert "process 1 of 2 was given other data than process 0 (hash " in line
    assert line.endswith("give all processes the same")


def test_data_that_one_process_lacks_is_refused_in_one_line(tmp_path):
    one = clustered_folder(tmp_path / "data")
    line = refusal(tmp_path, f"xlsa17={one}", f"xlsa17={tmp_path / 'gone'}", tmp_path / "model")
    assert "no xlsa17 folder at " in line


def test_commands_for_one_process_refuse_several(tmp_path):
    command = zerokin("compare", "critters")
    ended, said = run_together(2, *command, said=tmp_path / "said.txt")
    assert ended != 0
    lines = [line for line in said.splitlines() if line.startswith("zerokin: ")]
    assert lines == ["zerokin: zerokin compare works in one process: start it without torchrun"]


SIDE = 16
ABLATION = {
    "seeds": [0],
    "cache_size": SIDE,
    "defaults": {
        "backbone": "conv4",
        "weights": None,
        "options": {"width": 4},
        "image_size": SIDE,
        "branching": 2,
        "recipe": {"epochs": 2, "batch_size": 8, "image_size": SIDE, "precision": "float32"},
    },
    "networks": {"labels": {"mode": "classes"}},
    "rows": [
        {"name": "class labels", "networks": ["labels"], "method": "projection"},
        {"name": "whole", "networks": ["labels"], "method": "ours"},
        {"name": "flat", "networks": ["labels"], "method": "plain"},
    ],
}


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Ten seen and three unseen classes, each of one color that is its semantics."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    lines = ["name,role,red,green,blue"]
    for number in range(13):
        color = rng.uniform(0.1, 1, 3).round(2)
        lines.append(f"c{number},{'unseen' if number > 9 else 'seen'},{','.join(map(str, color))}")
        for place in ("", "test/"):
            (folder / place / f"c{number}").mkdir(parents=True)
            for k in range(4):
                noisy = color * 255 + rng.normal(0, 9, (SIDE, SIDE, 3))
                square = Image.fromarray(noisy.clip(0, 255).astype(np.uint8))
                square.save(folder / place / f"c{number}" / f"{k}.png")
    (folder / "classes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def in_one(*words):
    command = [sys.executable, *map(str, zerokin(*words))]
    subprocess.run(command, env=environment(), check=True, capture_output=True)


def test_several_processes_extract_the_same_file(images, tmp_path):
    words = ("extract", images, "--batch", 5, "--image-size", 64, "--out")
    in_one(*words, tmp_path / "one.safetensors")
    for count in (2, 3):
        target = tmp_path / f"of{count}.safetensors"
        ended, said = run_together(count, *zerokin(*words, target), said=tmp_path / "said.txt")
        assert ended == 0, said[-3000:]
        assert target.read_bytes() == (tmp_path / "one.safetensors").read_bytes()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"one.safetensors", "of2.safetensors", "of3.safetensors", "said.txt"}


def test_a_part_that_was_read_is_not_read_again(images, tmp_path):
    words = ("extract", images, "--batch", 5, "--image-size", 64, "--out")
    in_one(*words, tmp_path / "one.safetensors")
    target = tmp_path / "two.safetensors"
    script = tmp_path / "dies.py"
    script.write_text(
        "import os, signal, sys\n"
        "from zerokin.cli import main\n"
        "from zerokin.compute import processes\n"
        "if os.environ['RANK'] == '1':\n"
        "    processes._Joined.wait = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.argv[0] = 'zerokin'\n"
        "main()\n"
    )
    arguments = (script, *words, target)
    ended, said = run_together(2, *arguments, said=tmp_path / "said.txt")
    assert ended != 0
    assert "another of the 2 processes has ended" in said
    part = tmp_path / ".two.1-of-2.safetensors"
    assert part.exists()
    assert not target.exists()
    inode, before = part.stat().st_ino, part.stat().st_mtime_ns
    script.write_text(
        "import os, sys\n"
        "from pathlib import Path\n"
        "from zerokin.cli import main\n"
        "from zerokin.features import shared_extraction\n"
        f"part = Path({str(part)!r})\n"
        "join = shared_extraction._join\n"
        "def joining(*arguments):\n"
        f"    assert (part.stat().st_ino, part.stat().st_mtime_ns) == {(inode, before)}\n"
        "    join(*arguments)\n"
        "shared_extraction._join = joining\n"
        "sys.argv[0] = 'zerokin'\n"
        "main()\n"
    )
    ended, said = run_together(2, *arguments, said=tmp_path / "said.txt")
    assert ended == 0, said[-3000:]
    assert target.read_bytes() == (tmp_path / "one.safetensors").read_bytes()
    assert not part.exists()


def test_several_processes_measure_an_ablation(images, tmp_path):
    config = tmp_path / "ablation.yaml"
    config.write_text(yaml.safe_dump(ABLATION), encoding="utf-8")
    words = ("ablation", config, images, "--no-tune", "--out")
    in_one(*words, tmp_path / "one")
    ended, said = run_together(2, *zerokin(*words, tmp_path / "two"), said=tmp_path / "said.txt")
    assert ended == 0, said[-3000:]
    one, two = (
        json.loads((tmp_path / name / "ablation.json").read_text()) for name in ("one", "two")
    )
    assert [row["method"] for row in one] == [row["method"] for row in two]
    assert len(one) == 6
    for alone, shared in zip(one, two, strict=True):
        # Training sums gradients in another order: features differ by rounding, and accuracies
        # of these few images hardly ever.
        assert alone["metrics"] == pytest.approx(shared["metrics"], abs=15)
    first, second = (np.load(tmp_path / name / "labels-seed-0.npy") for name in ("one", "two"))
    np.testing.assert_allclose(first, second, atol=2e-2)


REFUSALS = {
    "features of another width": "process 1 of 2 was given other features than process 0",
    "other prototypes": "process 1 of 2 was given other semantics than process 0",
    "other classes": "process 1 of 2 was given other semantics than process 0",
    "a budget too small": "memory_budget is 1,048,576 bytes, but 83 samples of 13 features need",
    "another device": "several processes share a fit on device='cpu' alone",
    "a graph of its own": "several processes find the neighbors: leave out laplacian",
    "an approximate search": "give search='exact' to several",
    "a shard missing": "lacks 1 of 3 shards",
    "a shard of another width": "has 6 columns, but ",
}


def test_what_cannot_be_shared_is_refused_alike_in_all_processes(tmp_path):
    for name in ("lacking", "uneven"):
        write_shards(tmp_path / name, [np.ones((9, 5))], rows=3)
    (tmp_path / "lacking" / "features-00001-of-00003.npy").unlink()
    np.save(tmp_path / "uneven" / "features-00002-of-00003.npy", np.ones((3, 6)))
    ended, said = run_together(2, HERE / "shared_refusals.py", tmp_path, said=tmp_path / "said.txt")
    assert ended == 0, said[-3000:]
    one, other = (json.loads((tmp_path / f"said{rank}.json").read_text()) for rank in (0, 1))
    assert one == other
    assert one.keys() == REFUSALS.keys()
    for name, words in REFUSALS.items():
        assert words in one[name]
        assert "\n" not in one[name]


def test_a_part_without_space_is_refused_in_one_line(images, tmp_path):
    script = tmp_path / "full.py"
    script.write_text(
        "import os, resource, sys\n"
        "from zerokin.cli import main\n"
        "if os.environ['RANK'] == '1':\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "sys.argv[0] = 'zerokin'\n"
        "main()\n"
    )
    target = tmp_path / "full.safetensors"
    words = (script, "extract", images, "--batch", 5, "--image-size", 64, "--out", target)
    ended, said = run_together(2, *words, said=tmp_path / "said.txt")
    assert ended != 0
    lines = [line for line in said.splitlines() if line.startswith("zerokin: ")]
    assert len(lines) == 1, said
    assert "cannot write " in lines[0]
    assert "File too large" in lines[0]
    assert not target.exists()
