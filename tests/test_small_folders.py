"""The benchmark of small folders: problems without test classes, and means over problems."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import zerokin
from zerokin.errors import InvalidInput

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from small_folders import SEEN, TESTED, VECTORS, Network, Problem, summaries

LENT = {"critters": 45, "cub": 150}


def test_numbers_take_turns_so_that_every_combination_has_as_many_problems():
    period = 2 * len(VECTORS) * len(SEEN) * 2
    drawn = [Problem.numbered(number, LENT, ["a", "b"]) for number in range(3 * period)]
    cells = [(one.network, one.data, one.vectors, one.n_seen) for one in drawn]
    assert len(set(cells)) == period
    assert {cells.count(cell) for cell in set(cells)} == {3}
    for one in drawn:
        assert 4 <= one.n_unseen <= 10
        assert 5 <= one.n_images <= 30
        assert one.n_seen + one.n_unseen <= LENT[one.data]
    # The network is all that differs where there is a single one.
    alone = [Problem.numbered(number, LENT, ["a"]) for number in range(period)]
    assert [(p.n_seen, p.n_unseen, p.n_images) for p in alone] == [
        (p.n_seen, p.n_unseen, p.n_images) for p in drawn[:period]
    ]


@pytest.mark.parametrize("number", [0, 2, 7, 15])
def test_problems_hold_seen_classes_alone_and_each_sample_once(number):
    critters = zerokin.load_dataset("critters")
    rng = np.random.default_rng(number)
    source = critters.with_inputs(rng.normal(size=(len(critters), 7)).astype(np.float32))
    vectors = rng.normal(size=(len(critters.classes), 5))
    problem = Problem.numbered(number, {"critters": len(critters.seen)}, ["any"])
    dataset = problem.draw(source, lambda: vectors)
    known = [critters.classes.index(name)[0] for name in dataset.classes.names]
    assert set(known) <= set(critters.seen.tolist())
    assert (len(dataset.seen), len(dataset.unseen)) == (problem.n_seen, problem.n_unseen)
    rows = {tuple(row) for row in np.asarray(source.features).tolist()}
    own = [tuple(row) for row in np.asarray(dataset.features).tolist()]
    assert len(set(own)) == len(own)
    assert set(own) <= rows
    labels, split = dataset.evaluation_labels(np.arange(len(dataset))), dataset.split
    truth = critters.evaluation_labels(np.arange(len(critters)))
    at = {tuple(row): truth[i] for i, row in enumerate(np.asarray(source.features).tolist())}
    assert [at[row] for row in own] == [known[label] for label in labels]
    for part, each in [
        (split.train, problem.n_images),
        (split.test_seen, TESTED),
        (split.test_unseen, 2 * TESTED),
    ]:
        assert set(np.bincount(labels[part])[np.unique(labels[part])]) <= {each}
    assert not set(split.train) & set(split.test_seen)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("lite0=lite0.mat", ("lite0", None, None, "lite0.mat")),
        ("vit@112=a=b.safetensors", ("vit", 112, None, "a=b.safetensors")),
        ("vit@112:bfloat16=x", ("vit", 112, "bfloat16", "x")),
        ("vit:float32=x", ("vit", None, "float32", "x")),
    ],
)
def test_networks_are_said_in_one_word(text, found):
    network = Network.parse(text)
    assert (network.name, network.image_size, network.precision, network.cub) == found


@pytest.mark.parametrize("text", ["lite0", "lite0=", "=x", "vit@x=y", "vit:half=x", ""])
def test_networks_that_are_none_are_refused(text):
    with pytest.raises(InvalidInput, match="--network is NAME"):
        Network.parse(text)


def row(number, method, seed, harmonic):
    problem = {"network": "a", "data": "cub", "vectors": VECTORS[number % 3], "n_seen": 10}
    return {
        "method": method,
        "seed": seed,
        "split": f"problem {number}",
        "problem": {"number": number, **problem},
        "metrics": {"harmonic_mean": harmonic, "pure": harmonic + 1, "unseen": harmonic + 2},
    }


def test_means_are_over_problems_that_all_methods_share_and_spread_over_seeds():
    rows = [
        row(0, "ours", 0, 50.0), row(3, "ours", 0, 70.0), row(1, "ours", 0, 30.0),
        row(2, "ours", 0, 99.0), row(0, "ours", 1, 56.0), row(3, "ours", 1, 70.0),
        row(0, "sae", 0, 40.0), row(3, "sae", 0, 50.0), row(1, "sae", 0, 60.0),
    ]  # fmt: skip
    found = {(one["setting"], one["method"]): one["metrics"] for one in summaries(rows)}
    ours = found["small folders, harmonic mean", "ours"]
    assert (ours["all"], ours["problems"]) == (50.0, 3)
    assert (ours["attributes"], ours["15 attributes"]) == (60.0, 30.0)
    assert "sentences" not in ours  # no peer was measured on it
    assert found["small folders, pure", "sae"]["10 seen"] == 51.0
    spread = found["spread over seeds", "ours"]
    assert spread["most"] == pytest.approx(np.std([50, 56], ddof=1))
    assert spread["mean"] == pytest.approx(spread["most"] / 2)
    assert ("spread over seeds", "sae") not in found
