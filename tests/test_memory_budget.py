"""Projection learning within a memory budget: the same answers, within the bytes, or one line."""

from __future__ import annotations

import re
import resource
import tracemalloc

import numpy as np
import pytest

from zerokin.data.sharded_features import ShardedFeatures, write_shards
from zerokin.errors import InvalidInput
from zerokin.parameters import byte_count
from zerokin.projection import (
    FeatureSpectrum,
    ProjectionLearner,
    alternation,
    memory,
    nearest_neighbors,
    neighbor_graph,
)

SEEDS = range(6)


def problem(seed, *, most=700, dtype="float64"):
    rng = np.random.default_rng(seed)
    n, d_f = int(rng.integers(150, most)), int(rng.integers(8, 60))
    classes, d_z = int(rng.integers(5, 40)), int(rng.integers(6, 50))
    labels = rng.integers(classes, size=n)
    prototypes = rng.normal(size=(classes, d_z))
    F = prototypes[labels] @ rng.normal(size=(d_z, d_f)) + 2 * rng.normal(size=(n, d_f))
    return F.astype(dtype), prototypes, labels


def mapped(F, path):
    np.save(path, F)
    return np.load(path, mmap_mode="r")


def least(learner, F, prototypes, labels):
    """Return the bytes that the refusal of one byte says are needed."""
    with pytest.raises(InvalidInput, match="need at least") as caught:
        learner.set_params(memory_budget=1).fit(F, prototypes, labels=labels)
    line = str(caught.value)
    assert "\n" not in line
    return int(re.search(r"at least ([\d,]+)", line)[1].replace(",", ""))


def assert_same(one, other, *, atol):
    assert one.n_iter_ == other.n_iter_
    np.testing.assert_allclose(one.W_, other.W_, atol=atol)
    np.testing.assert_allclose(one.E_, other.E_, atol=atol)
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=10 * atol)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_least_memory_gives_what_all_memory_gives(tmp_path, seed, dtype):
    F, prototypes, labels = problem(seed, dtype=dtype)
    learner = ProjectionLearner(0.4, 0.6, 0.3, max_iter=4, tol=0.0)
    free = ProjectionLearner(**learner.get_params()).fit(F, prototypes, labels=labels)
    file = mapped(F, tmp_path / "F.npy")
    bytes_needed = least(learner, file, prototypes, labels)
    bound = learner.set_params(memory_budget=bytes_needed).fit(file, prototypes, labels=labels)
    # Sums in other blocks: rounding alone, of the type that arrays with a row per sample have.
    assert_same(bound, free, atol=1e-8 if dtype == "float64" else 2e-4)
    with pytest.raises(InvalidInput, match="need at least"):
        learner.set_params(memory_budget=bytes_needed - 1).fit(file, prototypes, labels=labels)


@pytest.mark.parametrize("seed", SEEDS)
def test_shards_half_precision_and_plenty_of_memory(tmp_path, seed):
    F, prototypes, labels = problem(seed)
    write_shards(tmp_path / "f", [F], rows=67, dtype="float16")
    shards = ShardedFeatures(tmp_path / "f")
    settings = {"epsilon": 0.2 * (seed % 2), "max_iter": 3, "tol": 0.0}
    free = ProjectionLearner(**settings).fit(np.asarray(shards), prototypes, labels=labels)
    bound = ProjectionLearner(**settings, memory_budget="2GiB")
    bound.fit(shards, prototypes, labels=labels)
    assert_same(bound, free, atol=2e-4)
    assert bound.graph_recall_ == (1.0 if seed % 2 else None)


def test_fewer_samples_than_features(tmp_path):
    rng = np.random.default_rng(0)
    F, prototypes = rng.normal(size=(37, 83)), rng.normal(size=(5, 9))
    labels = rng.integers(5, size=37)
    bound = ProjectionLearner(memory_budget="1GiB", max_iter=2)
    bound.fit(mapped(F, tmp_path / "F.npy"), prototypes, labels=labels)
    assert_same(bound, ProjectionLearner(max_iter=2).fit(F, prototypes, labels=labels), atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_memory_taken_stays_below_the_budget(tmp_path, seed):
    F, prototypes, labels = problem(seed, most=9000, dtype="float32")
    F, labels = np.tile(F, (9000 // len(F), 1)), np.tile(labels, 9000 // len(F))
    F += 0.1 * np.random.default_rng(seed).normal(size=F.shape).astype("float32")
    file = mapped(F, tmp_path / "F.npy")
    learner = ProjectionLearner(max_iter=2, tol=0.0)
    needed = least(learner, file, prototypes, labels)
    peaks = []
    for budget in (needed, needed + 8 * F.nbytes):
        tracemalloc.start()
        learner.set_params(memory_budget=budget).fit(file, prototypes, labels=labels)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert peaks[-1] < budget - memory.RUNTIME


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbors_are_exact_however_few_rows_are_held(tmp_path, seed):
    F, _, _ = problem(seed)
    F[::11] = F[0]
    F[::17] = 0
    k = int(np.random.default_rng(seed).integers(1, 20))
    near, similarity = nearest_neighbors(F, k)
    file = mapped(F, tmp_path / "F.npy")
    sizes = memory.Problem(*F.shape, 8, 0, k)
    needed = sizes.always() + max(sizes.search(1, unit=False), sizes.graph())
    for more in (0, 10 * len(F) * int(np.random.default_rng(seed).integers(1, 9))):
        assert not memory.plan_search(sizes, needed).unit or sizes.graph() > 0
        found = nearest_neighbors(file, k, memory_budget=needed + more)
        np.testing.assert_array_equal(found[0], near)
        np.testing.assert_allclose(found[1], similarity, atol=2e-12)
    bound = neighbor_graph(file, k, memory_budget="1GiB")
    assert abs(bound - neighbor_graph(F, k)).max() < 1e-11


def test_unit_features_are_not_held_where_they_do_not_fit(tmp_path, monkeypatch):
    F, _, _ = problem(4, most=3000)
    sizes = memory.Problem(*F.shape, 8, 0, 5)
    plan = memory.SearchPlan(13, unit=False)
    monkeypatch.setattr("zerokin.projection.neighbors.plan_search", lambda *_: plan)
    found = nearest_neighbors(mapped(F, tmp_path / "F.npy"), 5, memory_budget="1GiB")
    np.testing.assert_array_equal(found[0], nearest_neighbors(F, 5)[0])
    monkeypatch.undo()
    large = memory.Problem(2_000_000, 2048, 4, 0, 10)
    assert not memory.plan_search(large, byte_count("12GiB")).unit
    assert memory.plan_search(large, byte_count("32GiB")).unit
    assert not memory.plan_search(large, byte_count("32GiB")).descent
    assert memory.plan_search(large, byte_count("64GiB")).descent
    assert memory.plan_search(sizes, byte_count("1GiB")).unit


@pytest.mark.parametrize("seed", SEEDS)
def test_semantics_in_a_file_in_blocks_of_any_size(tmp_path, seed, monkeypatch):
    F, prototypes, labels = problem(seed)
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(1, 9, size=3)]
    plan = memory.FitPlan(*sizes, in_file=True, rows=int(rng.integers(1, 99)))
    monkeypatch.setattr(alternation, "plan_fit", lambda *_, **__: plan)
    bound = ProjectionLearner(0.4, 0.6, 0.3, max_iter=3, tol=0.0, memory_budget="1GiB")
    bound.fit(mapped(F, tmp_path / "F.npy"), prototypes, labels=labels)
    assert isinstance(bound._coordinates.base, np.memmap)
    free = ProjectionLearner(0.4, 0.6, 0.3, max_iter=3, tol=0.0).fit(F, prototypes, labels=labels)
    assert_same(bound, free, atol=1e-8)


def test_semantics_go_to_a_file_where_memory_is_short():
    sizes = memory.Problem(200_000, 512, 4, 0, 10)
    usual = (256, 32, 2)
    needed = sizes.fitting(1000, 1000) + sizes.solving(1, 1, 1)
    tight = memory.plan_fit(sizes, 1000, 1000, needed, usual=usual)
    assert tight == memory.FitPlan(1, 1, 1, in_file=True, rows=64)
    for budget in np.linspace(needed, 3 * needed, 40).astype(int):
        plan = memory.plan_fit(sizes, 1000, 1000, int(budget), usual=usual)
        held = 0 if plan.in_file else sizes.semantics(1000)
        assert held + sizes.fitting(1000, 1000) + sizes.solving(
            plan.width, plan.block, plan.workers
        ) <= max(budget, needed)
    assert plan == memory.FitPlan(*usual, in_file=False, rows=4096)


def test_semantics_without_space_for_their_file_are_refused_in_one_line(tmp_path, monkeypatch):
    F, prototypes, labels = problem(1)
    file = mapped(F, tmp_path / "F.npy")
    plan = memory.FitPlan(2, 1, 1, in_file=True, rows=50)
    monkeypatch.setattr(alternation, "plan_fit", lambda *_, **__: plan)
    learner = ProjectionLearner(max_iter=2, memory_budget="1GiB")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(InvalidInput, match=r"GiB in .*no space left.*TMPDIR") as caught:
            learner.fit(file, prototypes, labels=labels)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "\n" not in str(caught.value)
    assert not hasattr(learner, "W_")


def test_what_a_budget_does_not_go_with_is_refused(tmp_path):
    F, prototypes, labels = problem(2)
    with pytest.raises(InvalidInput, match="memory_budget is for device='cpu'"):
        ProjectionLearner(memory_budget="1GiB", device="torch:cpu").fit(
            F, prototypes, labels=labels
        )
    with pytest.raises(InvalidInput, match="spectrum has memory_budget"):
        ProjectionLearner().fit(
            F, prototypes, labels=labels, spectrum=FeatureSpectrum(F, memory_budget="1GiB")
        )
    F[3, 1] = np.nan
    file = mapped(F, tmp_path / "F.npy")
    with pytest.raises(InvalidInput, match="F holds nan in row 3, column 1"):
        ProjectionLearner(memory_budget="1GiB").fit(file, prototypes, labels=labels)


def test_a_spectrum_within_a_budget_is_shared(tmp_path):
    F, prototypes, labels = problem(3)
    file = mapped(F, tmp_path / "F.npy")
    shared = FeatureSpectrum(file, memory_budget="1GiB")
    for given in (file, shared.features):
        learner = ProjectionLearner(memory_budget="1GiB", max_iter=2)
        learner.fit(given, prototypes, labels=labels, spectrum=shared)
        free = ProjectionLearner(max_iter=2).fit(F, prototypes, labels=labels)
        assert_same(learner, free, atol=1e-8)


def test_changes_of_a_copy_on_write_mapping_are_not_lost(tmp_path):
    F, prototypes, labels = problem(5)
    mapped(F, tmp_path / "F.npy")
    changed = np.load(tmp_path / "F.npy", mmap_mode="c")
    changed *= 2
    ProjectionLearner(memory_budget="1GiB", max_iter=1).fit(changed, prototypes, labels=labels)
    np.testing.assert_array_equal(changed, 2 * F)
