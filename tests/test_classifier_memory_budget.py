"""`ZeroShotClassifier` within a memory budget: the answers of all memory, or one line."""

from __future__ import annotations

import re
import resource
import sys
import tracemalloc
import warnings

import numpy as np
import pytest

from builders import write_xlsa17_folder, xlsa17_variables
from zerokin import ZeroShotClassifier, load_dataset
from zerokin.benchmark.comparison import find_methods
from zerokin.benchmark.settings import Evaluation
from zerokin.cli import main
from zerokin.data import ShardedFeatures, write_shards
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.features.scaler import STEPS, FeatureScaler
from zerokin.projection import memory
from zerokin.projection.rows import FeatureRows
from zerokin.recognizer import fit_recognizer

SCALINGS = ("power-whiten3-unit", "power-center-whiten1-unit", "center-unit", "none")
SEEDS = range(4)


def problem(seed, *, n=None, d_f=None):
    rng = np.random.default_rng(seed)
    n, d_f = n or int(rng.integers(250, 600)), d_f or int(rng.integers(11, 40))
    classes, d_z = int(rng.integers(14, 30)), int(rng.integers(6, 20))
    Z = rng.uniform(size=(classes, d_z))
    y = rng.integers(classes - 4, size=n)
    X = Z[y] @ rng.normal(size=(d_z, d_f)) + 0.4 * rng.normal(size=(n, d_f))
    return np.maximum(X, 0).astype(np.float32), y, Z


def forms(X, folder):
    """The same features in memory, in a mapped file, and in shards."""
    np.save(folder / "X.npy", X)
    write_shards(folder / "shards", [X], rows=97)
    return [X, np.load(folder / "X.npy", mmap_mode="r"), ShardedFeatures(folder / "shards")]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scaling", SCALINGS)
def test_features_by_blocks_teach_what_features_in_memory_do(tmp_path, seed, scaling):
    X, y, Z = problem(seed)
    settings = {"feature_scaling": scaling, "random_state": seed}
    settings |= {"beta": 0.1, "epsilon": 0.03} if seed % 2 else {}
    free = ZeroShotClassifier(**settings).fit(X, y, semantics=Z)
    for form in forms(X, tmp_path):
        bound = ZeroShotClassifier(**settings, memory_budget="1GiB").fit(form, y, semantics=Z)
        assert bound.seen_penalty_ == pytest.approx(free.seen_penalty_, abs=1e-4)
        scores, expected = (model.decision_function(X) for model in (bound, free))
        np.testing.assert_allclose(scores, expected, atol=1e-3)
        assert bound.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("scaling", ["-".join(STEPS).replace("whiten", "whiten2"), "whiten5"])
def test_scaling_by_blocks_is_scaling(scaling, monkeypatch):
    X, y, _ = problem(1)
    monkeypatch.setattr("zerokin.features.row_sources.BLOCK", 53)
    for factor in (1, 1e-15):  # of numbers so small that their squares are none
        whole, blocks = FeatureScaler(scaling), FeatureScaler(scaling)
        expected = whole.fit_transform(X * np.float32(factor), y)
        found = blocks.fit_transform(FeatureRows(X * np.float32(factor)), y)
        np.testing.assert_allclose(found[:], expected, rtol=1e-3, atol=1e-4 * abs(expected).max())
        few = slice(0, 7)  # fewer samples than features
        expected = whole.fit_transform(X[few], y[few])
        found = blocks.fit_transform(FeatureRows(X[few]), y[few])
        np.testing.assert_allclose(found[:], expected, rtol=1e-3, atol=1e-4)


def test_a_budget_too_small_is_refused_with_the_least_that_is_needed(tmp_path):
    X, y, Z = problem(0)
    _, mapped, _ = forms(X, tmp_path)
    model = ZeroShotClassifier(memory_budget=1, seen_penalty=0.0)
    with pytest.raises(InvalidInput, match="need at least") as caught:
        model.fit(mapped, y, semantics=Z)
    assert "\n" not in str(caught.value)
    least = int(re.search(r"at least ([\d,]+)", str(caught.value))[1].replace(",", ""))
    model.set_params(memory_budget=least).fit(mapped, y, semantics=Z)
    with pytest.raises(InvalidInput, match="need at least"):
        model.set_params(memory_budget=least - 1).fit(mapped, y, semantics=Z)
    with pytest.raises(InvalidInput, match="for F, which lies in memory"):
        model.set_params(memory_budget=least).fit(X, y, semantics=Z)
    with pytest.raises(InvalidInput, match="memory_budget is for device='cpu'"):
        model.set_params(memory_budget="1GiB", device="torch:cpu").fit(mapped, y, semantics=Z)


@pytest.mark.parametrize("penalty", [0.0, "auto"])
def test_memory_taken_stays_below_the_budget(tmp_path, penalty):
    X, y, Z = problem(3, n=40_000, d_f=150)
    _, mapped, _ = forms(X, tmp_path)
    del X
    model = ZeroShotClassifier(memory_budget="512MiB", seen_penalty=penalty)
    tracemalloc.start()
    model.fit(mapped, y, semantics=Z)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 2**29 - memory.RUNTIME
    assert taken < 2 * 40_000 * 150 * 4  # features and their scaled form would take as much


def test_wrong_samples_are_refused_in_one_line(tmp_path):
    X, y, Z = problem(2)
    model = ZeroShotClassifier(memory_budget="1GiB")
    with pytest.raises(InvalidInput, match="y must hold a class for each of"):
        model.fit(X, y[:-1], semantics=Z)
    with pytest.raises(InvalidInput, match="all 20 samples are equal"):
        model.fit(np.ones((20, 5), np.float32), y[:20], semantics=Z)
    X[3, 1] = np.nan
    np.save(tmp_path / "nan.npy", X)
    with pytest.raises(InvalidInput, match="X holds nan in row 3, column 1"):
        model.fit(np.load(tmp_path / "nan.npy", mmap_mode="r"), y, semantics=Z)


def test_scaled_features_without_space_are_refused_in_one_line(tmp_path):
    X, y, Z = problem(1)
    mapped = forms(X, tmp_path)[1]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(InvalidInput, match=r"scaled features of .* GiB in .*TMPDIR") as caught:
            ZeroShotClassifier(memory_budget="1GiB").fit(mapped, y, semantics=Z)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An xlsa17 folder whose feature file can be mapped."""
    rng = np.random.default_rng(5)
    features, splits = xlsa17_variables(n_classes=17, per_class=9, n_unseen=4, d_z=7, d_f=23)
    labels = features["labels"][:, 0] - 1
    F = (splits["att"].T @ rng.normal(size=(7, 23)))[labels] + 0.5 * rng.normal(
        size=(len(labels), 23)
    )
    features["features"] = F.T.astype(np.float32)
    return write_xlsa17_folder(tmp_path_factory.mktemp("data") / "mat", features, splits)


@pytest.mark.parametrize("method", ["ours", "paper-flat"])
def test_a_search_by_blocks_chooses_what_a_search_in_memory_does(folder, method, monkeypatch):
    dataset = load_dataset(f"xlsa17={folder}")
    monkeypatch.setattr("zerokin.features.row_sources.BLOCK", 31)
    found = [
        Evaluation(dataset, find_methods([method])[0], memory_budget=budget, quiet=True)
        for budget in (None, "1GiB")
    ]
    for setting in ("pure", "generalized"):
        free, bound = (one.run(setting)[0] for one in found)
        assert bound.metrics == pytest.approx(free.metrics, abs=1e-4)
        penalties = [row.selection.pop("seen_penalty", 0.0) for row in (free, bound)]
        assert penalties[0] == pytest.approx(penalties[1], abs=1e-4)
        assert bound.selection == free.selection


def test_a_bundle_is_fitted_within_a_budget(folder):
    dataset = load_dataset(f"xlsa17={folder}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZerokinWarning)
        free, bound = (
            fit_recognizer(dataset, tune=False, memory_budget=budget, quiet=True)
            for budget in (None, "1GiB")
        )
    X = np.asarray(dataset.features[dataset.split.test_unseen])
    scores, expected = (one.classifier.decision_function(X) for one in (bound, free))
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    with pytest.raises(InvalidInput, match="need at least"):
        fit_recognizer(dataset, tune=False, memory_budget=1000, quiet=True)


def test_a_budget_for_what_holds_all_features_is_refused(folder, capsys, monkeypatch):
    for words, line in (
        (["compare", "--methods", "ours,eszsl"], "eszsl holds all features in memory"),
        (["evaluate", "--setting", "few-shot"], "--memory-budget is for settings without shots"),
    ):
        monkeypatch.setattr(
            sys,
            "argv",
            ["zerokin", words[0], f"xlsa17={folder}", *words[1:], "--memory-budget", "1GiB"],
        )
        with pytest.raises(SystemExit):
            main()
        assert line in capsys.readouterr().err
