"""Both half-steps against dense references written from the formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from scipy.sparse import csr_array

from zerokin.projection import FeatureSpectrum, e_step, neighbor_graph, normalized_laplacian
from zerokin.projection.alternation import alternate
from zerokin.projection.arrays import NumpyArrays, TorchArrays
from zerokin.projection.conjugate_gradients import solve_shifted
from zerokin.projection.objective import Parameters
from zerokin.projection.row_space import distinct_rows, row_space
from zerokin.projection.w_step import solve_w

CASES = {
    "usual": {"n": 60, "d_f": 12, "d_z": 7, "classes": 5},
    "more prototypes than semantics": {"n": 60, "d_f": 12, "d_z": 4, "classes": 9},
    "fewer samples than features": {"n": 15, "d_f": 40, "d_z": 7, "classes": 5},
    "features of low rank": {"n": 60, "d_f": 12, "d_z": 7, "classes": 5, "rank": 4},
    "more semantics than features": {"n": 90, "d_f": 10, "d_z": 30, "classes": 25},
}
SETTINGS = [
    Parameters(0.5, 0.5, 0.1, 0.01),
    Parameters(0.9, 0.3, 2.0, 0.5),
    Parameters(0.2, 1.0, 0.3, 0.01),
    Parameters(0.6, 0.4, 0.0, 0.01),
    Parameters(0.0, 0.7, 0.2, 0.1),
]


def problem(*, n, d_f, d_z, classes, rank=None, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    prototypes = rng.normal(size=(classes, d_z))
    F = prototypes[labels] @ rng.normal(size=(d_z, d_f)) + rng.normal(size=(n, d_f))
    if rank is not None:
        F = F @ rng.normal(size=(d_f, rank)) @ rng.normal(size=(rank, d_f))
    return F, prototypes, labels, normalized_laplacian(neighbor_graph(F, 4))


def run(F, prototypes, labels, laplacian, parameters, iterations, **options):
    spectrum = FeatureSpectrum(F, **options)
    solution = alternate(
        spectrum, prototypes, labels, laplacian, parameters, max_iter=iterations, tol=-1.0
    )
    return solution.W, solution.coordinates @ solution.basis, solution.objective


def dense_w(F, E, p):
    left = (1 - p.alpha) * F.T @ F + p.gamma * np.eye(F.shape[1])
    return scipy.linalg.solve_sylvester(left, p.alpha * E.T @ E, F.T @ E)


def dense_e(F, W, E0, L, p):
    right = p.alpha * p.beta * W.T @ W + (1 - p.alpha) * np.eye(W.shape[1])
    target = p.beta * F @ W + (1 - p.alpha) * (1 - p.beta) * E0
    return scipy.linalg.solve_sylvester(p.epsilon * L.toarray(), right, target)


def design_objective(F, W, E, E0, L, p):
    """The objective as the paper prints it, in torch so that it can be differentiated."""
    mu, nu = p.alpha / (1 - p.alpha), (1 - p.beta) / p.beta
    eta, eps = p.gamma / (1 - p.alpha), p.epsilon / (p.beta * (1 - p.alpha))
    return (
        torch.sum((F @ W - E) ** 2)
        + mu * torch.sum((F - E @ W.T) ** 2)
        + eps * torch.trace(E.T @ L @ E)
        + nu * torch.sum((E - E0) ** 2)
        + eta * torch.sum(W**2)
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("p", SETTINGS, ids=str)
def test_half_steps_equal_dense_sylvester_solutions(case, p):
    F, prototypes, labels, L = problem(**CASES[case])
    E = E0 = prototypes[labels]  # the full columns: no row space involved
    for iterations in (1, 2, 3):
        W, found, _ = run(F, prototypes, labels, L, p, iterations)
        np.testing.assert_allclose(W, dense_w(F, E, p), atol=1e-8)
        E = dense_e(F, W, E0, L, p)
        np.testing.assert_allclose(found, E, atol=1e-8)


def test_threads_share_the_columns(monkeypatch):
    monkeypatch.setattr(e_step, "available_cores", lambda: 3)
    F, prototypes, labels, L = problem(n=350, d_f=300, d_z=45, classes=40)
    assert e_step.usual_widths(NumpyArrays(), 300, 40) == (40, 16, 3)
    W, found, _ = run(F, prototypes, labels, L, SETTINGS[0], 1)
    E = dense_e(F, W, prototypes[labels], L, SETTINGS[0])
    np.testing.assert_allclose(found, E, atol=1e-8)


def drawn_shapes(count):
    """Sizes at which columns of FW come in several goes, and few widths are multiples of blocks."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        d_f = int(rng.integers(5, 71))
        r = int(rng.integers(d_f // 3, d_f + 12)) + 1
        yield int(rng.integers(d_f, 2 * d_f + 40)), d_f, r, int(rng.integers(1, 5))


@pytest.mark.parametrize("device", ["cpu", "torch:cpu"])
@pytest.mark.parametrize(("n", "d_f", "r", "cores"), list(drawn_shapes(40)))
def test_e_step_of_any_width_equals_a_dense_solution(n, d_f, r, cores, device, monkeypatch):
    monkeypatch.setattr(e_step, "available_cores", lambda: cores)
    F, prototypes, labels, L = problem(n=n, d_f=d_f, d_z=r + 2, classes=r, seed=r)
    present, labels = np.unique(labels, return_inverse=True)
    prototypes = prototypes[present]
    p = SETTINGS[r % len(SETTINGS)]
    W, found, values = run(F, prototypes, labels, L, p, 1, device=device)
    E = dense_e(F, W, prototypes[labels], L, p)
    np.testing.assert_allclose(found, E, atol=1e-8)
    wanted = design_objective(
        *(torch.tensor(a) for a in (F, W, E, prototypes[labels], L.toarray())), p
    )
    assert values[-1] == pytest.approx(float(wanted), rel=1e-9)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("p", SETTINGS, ids=str)
def test_objective_is_the_printed_one_and_its_gradient_vanishes(case, p):
    F, prototypes, labels, L = problem(**CASES[case], seed=3)
    tensors = [torch.tensor(a) for a in (F, prototypes[labels], L.toarray())]
    before = prototypes[labels]
    for iterations in (1, 2, 3):
        W, E, values = run(F, prototypes, labels, L, p, iterations)
        scale = values[0]
        for wanted, semantics, position in ((0, before, -2), (1, E, -1)):
            variables = [torch.tensor(a, requires_grad=True) for a in (W, semantics)]
            value = design_objective(tensors[0], *variables, *tensors[1:], p)
            gradient = torch.autograd.grad(value, variables)[wanted]
            assert float(value.detach()) == pytest.approx(values[position], rel=1e-10)
            assert float(gradient.abs().max()) < 1e-8 * scale
        before = E
    start = [torch.zeros(W.shape, dtype=torch.float64), tensors[1]]
    assert float(design_objective(tensors[0], *start, *tensors[1:], p)) == pytest.approx(scale)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("p", [*SETTINGS, Parameters(0.5, 0.5, 0.1, 0.0)], ids=str)
def test_objective_never_rises(case, p):
    for seed in range(3):
        *_, values = run(*problem(**CASES[case], seed=seed), p, 15)
        assert len(values) == 31
        assert np.all(np.diff(values) <= 1e-12 * values[0])


def test_objective_does_not_rise_even_if_systems_are_solved_roughly():
    F, prototypes, labels, L = problem(**CASES["usual"])
    solution = alternate(
        FeatureSpectrum(F),
        prototypes,
        labels,
        L,
        Parameters(0.9, 0.5, 5.0, 0.01),
        max_iter=20,
        tol=-1.0,
        rtol=0.3,
    )
    assert np.all(np.diff(solution.objective) <= 1e-12 * solution.objective[0])


@pytest.mark.parametrize("p", SETTINGS, ids=str)
def test_row_space_equals_the_full_problem(p):
    F, prototypes, labels, L = problem(n=50, d_f=10, d_z=12, classes=3)
    assert row_space(prototypes)[1].shape == (3, 12)
    W, E, _ = run(F, prototypes, labels, L, p, 5)
    E_full = E0 = prototypes[labels]
    for _ in range(5):
        W_full = dense_w(F, E_full, p)
        E_full = dense_e(F, W_full, E0, L, p)
    np.testing.assert_allclose(W, W_full, atol=1e-7)
    np.testing.assert_allclose(E, E_full, atol=1e-7)


def test_without_a_ridge_low_rank_gives_a_smallest_projection():
    F, prototypes, labels, L = problem(**CASES["features of low rank"])
    W, *_ = run(F, prototypes, labels, L, Parameters(0.0, 0.5, 0.1, 0.0), 1)
    np.testing.assert_allclose(W, np.linalg.pinv(F, rcond=1e-10) @ prototypes[labels], atol=1e-8)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("p", SETTINGS[:4], ids=str)
def test_torch_equals_numpy(case, p):
    args = problem(**CASES[case], seed=5)
    for one, other in zip(run(*args, p, 4), run(*args, p, 4, device="torch:cpu"), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("device", ["cpu", "torch:cpu"])
@pytest.mark.parametrize("p", SETTINGS[:4], ids=str)
def test_float32_is_close_to_float64(p, device):
    args = problem(n=200, d_f=20, d_z=8, classes=6)
    exact = run(*args, p, 5)
    rough = run(*args, p, 5, dtype="float32", device=device)
    assert [a.dtype for a in rough[:2]] == [np.float32] * 2
    for one, other in zip(exact, rough, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4 * np.abs(one).max())
    assert np.all(np.diff(rough[2]) <= 1e-6 * rough[2][0])


@pytest.mark.parametrize("arrays", [NumpyArrays(), TorchArrays("cpu")], ids=["numpy", "torch"])
def test_conjugate_gradients_stop_column_by_column(arrays):
    *_, L = problem(**CASES["usual"])
    rng = np.random.default_rng(0)
    shifts = np.array([1e-3, 0.1, 1.0, 50.0, 1.0])
    right = rng.normal(size=(60, 5)) * [1.0, 1e-6, 1e6, 1.0, 0.0]
    start = rng.normal(size=right.shape)
    found = solve_shifted(
        arrays,
        arrays.sparse(L, "float64"),
        arrays.put(shifts, "float64"),
        3.0,
        arrays.put(right, "float64"),
        arrays.put(start, "float64"),
        rtol=1e-11,
    )
    found = arrays.get(found)
    for k, shift in enumerate(shifts):
        exact = np.linalg.solve(shift * np.eye(60) + 3.0 * L.toarray(), right[:, k])
        np.testing.assert_allclose(found[:, k], exact, atol=1e-7 * max(np.abs(exact).max(), 1e-3))


def test_conjugate_gradients_take_the_steps_that_the_hardest_column_needs():
    n, rng = 403, np.random.default_rng(2)
    path = np.eye(n) - 0.5 * (np.eye(n, k=1) + np.eye(n, k=-1))  # neighbors on a line
    shifts, right = np.array([1e-4, 50.0, 1e-4]), rng.normal(size=(n, 3)) * [1.0, 1.0, 1e-5]
    arrays = NumpyArrays()
    found = solve_shifted(arrays, csr_array(path), shifts, 0.7, right, np.zeros((n, 3)), rtol=1e-11)
    for k, shift in enumerate(shifts):
        exact = np.linalg.solve(shift * np.eye(n) + 0.7 * path, right[:, k])
        np.testing.assert_allclose(found[:, k], exact, atol=1e-7 * np.abs(exact).max())


def test_torch_arrays_stay_on_their_device():
    """Whatever device is the default: on "meta", arrays have no numbers at all."""
    with torch.device("meta"):
        arrays = TorchArrays("torch:cpu")
        put = arrays.put(np.array([[1.0, 2.0]])[:, ::-1], "float32")
        made = arrays.empty((2, 3), "float64")
        sums = arrays.sums_by_label(put, arrays.put(np.array([1]), "int64"), 3)
    assert {one.device.type for one in (put, made, sums)} == {"cpu"}
    assert (put.tolist(), put.dtype) == ([[2.0, 1.0]], torch.float32)
    assert (made.shape, made.dtype) == ((2, 3), torch.float64)
    assert sums.tolist() == [[0, 0], [2, 1], [0, 0]]


@pytest.mark.parametrize("seed", range(12))
def test_operations_of_numpy_and_torch_equal_plain_ones(seed):
    rng = np.random.default_rng(seed)
    rows, width = int(rng.integers(1, 5000)), int(rng.integers(1, 6))
    left, right = rng.normal(size=(2, rows, width)).astype(np.float32)
    labels = rng.integers(4, size=rows)
    columns = int(rng.integers(3, 3000))
    scores = rng.normal(size=(5, columns)).astype(np.float32)
    k = int(rng.integers(1, min(columns, 60) + 1))
    kth = np.sort(scores, axis=1)[:, -k]
    for arrays in (NumpyArrays(), TorchArrays("cpu")):
        F, G = arrays.put(left, "float32"), arrays.put(right, "float32")
        dots = arrays.get(arrays.dots(F, G))
        wanted = (left.astype(float) * right).sum(axis=0)
        assert dots.dtype == np.float64
        np.testing.assert_allclose(dots, wanted, atol=1e-3)
        sums = arrays.get(arrays.sums_by_label(F, arrays.put(labels, "int64"), 5))
        wanted = [left[labels == c].sum(axis=0) for c in range(5)]
        np.testing.assert_allclose(sums, wanted, atol=1e-2)
        bound = arrays.get(arrays.kth_largest(arrays.put(scores, "float32"), k))
        assert np.all(bound <= kth)  # at least k reach it, and with few columns no more
        assert columns > 1024 or np.all(bound == kth)
        assert np.all((scores >= bound[:, None]).sum(axis=1) < 4 * k + 64)
        copy = arrays.contiguous(F)
        copy[:] = 0
        assert arrays.get(F).any()


def test_full_precision_is_asked_for_and_given_back():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        with TorchArrays("cpu").full_precision():
            assert torch.get_float32_matmul_precision() == "highest"
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def test_w_step_alone_equals_solve_sylvester():
    rng = np.random.default_rng(0)
    F, E = rng.normal(size=(30, 9)), rng.normal(size=(30, 4))
    W, image = solve_w(np, *np.linalg.eigh(F.T @ F), F.T @ E, E.T @ E, alpha=0.3, gamma=0.02)
    np.testing.assert_allclose(W, dense_w(F, E, Parameters(0.3, 0.5, 0.0, 0.02)), atol=1e-12)
    assert image == pytest.approx(np.sum((F @ W) ** 2))


@pytest.mark.parametrize("repeats", [1, 5])
def test_distinct_rows_rebuild_the_semantics(repeats):
    rng = np.random.default_rng(0)
    E = rng.normal(size=(7, 3))[np.arange(7 * repeats) % 7]
    prototypes, labels = distinct_rows(E)
    np.testing.assert_array_equal(prototypes[labels], E)
    assert len(prototypes) == 7


def test_distinct_rows_do_not_merge_rows_that_a_sum_confuses():
    E = np.array([[1.0, 1e-20], [1.0, 2e-20], [1.0, 1e-20], [0.0, 1.0]])
    prototypes, labels = distinct_rows(E)
    np.testing.assert_array_equal(prototypes[labels], E)
    assert len(prototypes) == 3


@pytest.mark.parametrize("between", [2, 4, 7])
def test_looking_seldom_whether_an_iteration_is_done_changes_nothing(between):
    rng = np.random.default_rng(between)
    n, b = int(rng.integers(40, 90)), int(rng.integers(2, 9))
    L = normalized_laplacian(neighbor_graph(rng.normal(size=(n, 6)), 4))
    shifts, right = rng.uniform(0.5, 50, size=b), rng.normal(size=(n, b))
    seldom = NumpyArrays()
    seldom.steps_between_checks = between
    found = [
        solve_shifted(arrays, L, shifts, 0.7, right, np.zeros((n, b)), rtol=1e-8)
        for arrays in (NumpyArrays(), seldom)
    ]
    np.testing.assert_array_equal(*found)
