"""The few array operations that differ between NumPy and torch.

The solvers are written once, in the operators that both share (``@``, ``.T``, slices, in-place
arithmetic, and functions of the same name found in `xp`). What both spell differently is here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from zerokin.errors import InvalidInput

Array = Any  # numpy.ndarray or torch.Tensor
Item = TypeVar("Item")
Result = TypeVar("Result")

DTYPES = ("float32", "float64")


def row_blocks(rows: int, block: int = 4096) -> Iterator[slice]:
    """Cut ``rows`` rows into consecutive slices of at most ``block``.

    Examples
    --------
    >>> list(row_blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, rows, block):
        yield slice(start, min(start + block, rows))


class NumpyArrays:
    """NumPy and SciPy on the CPU."""

    xp: Any = np
    device = "cpu"
    steps_between_checks = 1
    """steps of an iteration after which to look whether it is done"""

    def put(self, array: Any, dtype: str) -> Array:
        """Bring an array here, without a copy where it already fits."""
        return np.asarray(array, dtype=dtype)

    def get(self, array: Array) -> np.ndarray:
        """Return an array as NumPy's."""
        return np.asarray(array)

    def cast(self, array: Array, dtype: str) -> Array:
        """Change the type of an array's entries, without a copy where it already fits."""
        return array.astype(dtype, copy=False)

    def empty(self, shape: tuple[int, ...], dtype: str) -> Array:
        """Make an array without content."""
        return np.empty(shape, dtype)

    def sparse(self, matrix: sp.csr_array, dtype: str) -> Any:
        """Bring a sparse matrix here."""
        return matrix.astype(dtype)

    def contiguous(self, array: Array) -> Array:
        """Copy to a fresh array whose rows lie one after another."""
        return np.array(array, order="C")

    def dots(self, left: Array, right: Array) -> Array:
        """Dot product of every pair of columns, summed in float64 whatever the arrays' type."""
        total = np.zeros(left.shape[1])
        for rows in self.cached_blocks(len(left)):
            total += np.einsum("ij,ij->j", left[rows], right[rows])
        return total

    def cached_blocks(self, rows: int) -> list[slice]:
        """Cut rows into blocks that stay in the caches from one operation to the next."""
        return list(row_blocks(rows, 2048))

    def sums_by_label(self, F: Array, labels: Array, count: int) -> Array:
        """Sum the rows of F that share a label, (count, d_f)."""
        samples = np.arange(len(labels))
        members = sp.csr_array(
            (np.ones(len(labels), F.dtype), (labels, samples)), shape=(count, len(labels))
        )
        if isinstance(F, np.ndarray):
            return members @ F
        sums = np.zeros((count, F.shape[1]))
        for rows in row_blocks(len(labels)):
            sums += members[:, rows] @ F[rows]
        return sums

    def kth_largest(self, scores: Array, k: int) -> Array:
        """Find a bound for every row that at least ``k`` of its scores reach, and few beyond."""
        # The k-th largest of the maxima of disjoint groups bounds the k-th largest of all from
        # below, in one fast pass. Strided groups part what lies together in class order.
        groups = min(scores.shape[1], max(1024, 16 * k))
        whole = scores.shape[1] // groups * groups
        maxima = scores[:, :whole].reshape(len(scores), -1, groups).max(axis=1)
        return np.partition(maxima, groups - k, axis=1)[:, groups - k]

    def each(
        self, function: Callable[[Item], Result], items: Sequence[Item], workers: int
    ) -> list[Result]:
        """Apply a function to every item, on some threads.

        SciPy's sparse products use one core each and release the interpreter's lock.
        """
        if min(workers, len(items)) <= 1:
            return [function(item) for item in items]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(function, items))

    def full_precision(self) -> AbstractContextManager[None]:
        """Forbid shortened float32 products (NumPy has none)."""
        return nullcontext()


class TorchArrays:
    """PyTorch on any of its devices that knows float64."""

    steps_between_checks = 4
    """steps after which to look whether an iteration is done: each look waits for the device"""

    def __init__(self, device: str) -> None:
        import torch

        self.xp: Any = torch
        self.device = device
        try:
            self._device = torch.device(device.removeprefix("torch:"))
            torch.zeros(1, device=self._device, dtype=torch.float64)  # Apple's GPUs have none
        # Some builds name a device that they lack by NotImplementedError or ImportError.
        except (RuntimeError, AssertionError, TypeError, ImportError) as error:
            reason = str(error).splitlines()[0]
            raise InvalidInput(
                f"device={device!r} cannot be used ({reason}): try 'cpu', or 'cuda' with a GPU"
            ) from error

    def put(self, array: Any, dtype: str) -> Array:
        """Bring an array here, without a copy where it already fits."""
        if isinstance(array, np.ndarray):
            array = np.ascontiguousarray(array)  # torch has no negative strides
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            return self.xp.as_tensor(array, dtype=getattr(self.xp, dtype), device=self._device)

    def get(self, array: Array) -> np.ndarray:
        """Return an array as NumPy's."""
        result: np.ndarray = array.cpu().numpy()
        return result

    def cast(self, array: Array, dtype: str) -> Array:
        """Change the type of an array's entries, without a copy where it already fits."""
        return array.to(getattr(self.xp, dtype))

    def empty(self, shape: tuple[int, ...], dtype: str) -> Array:
        """Make an array without content."""
        return self.xp.empty(shape, dtype=getattr(self.xp, dtype), device=self._device)

    def sparse(self, matrix: sp.csr_array, dtype: str) -> Any:
        """Bring a sparse matrix here."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse ")  # in beta, and not checked: known
            return self.xp.sparse_csr_tensor(
                self.put(matrix.indptr, "int64"),
                self.put(matrix.indices, "int64"),
                self.put(matrix.data, dtype),
                matrix.shape,
                check_invariants=False,
            )

    def contiguous(self, array: Array) -> Array:
        """Copy to a fresh array whose rows lie one after another."""
        return array.clone(memory_format=self.xp.contiguous_format)

    def dots(self, left: Array, right: Array) -> Array:
        """Dot product of every pair of columns, summed in float64 whatever the arrays' type."""
        return (left * right).sum(0, dtype=self.xp.float64)

    def cached_blocks(self, rows: int) -> list[slice]:
        """Take all rows at once: a device wants few large operations."""
        return [slice(0, rows)]

    def sums_by_label(self, F: Array, labels: Array, count: int) -> Array:
        """Sum the rows of F that share a label, (count, d_f)."""
        return F.new_zeros((count, F.shape[1])).index_add_(0, labels, F)

    def kth_largest(self, scores: Array, k: int) -> Array:
        """Find a bound for every row that at least ``k`` of its scores reach, and few beyond."""
        return scores.topk(k, dim=1).values[:, -1]

    def each(
        self, function: Callable[[Item], Result], items: Sequence[Item], workers: int
    ) -> list[Result]:
        """Apply a function to every item, one after another: each fills the device."""
        del workers
        return [function(item) for item in items]

    @contextmanager
    def _highest(self) -> Iterator[None]:
        before = self.xp.get_float32_matmul_precision()
        self.xp.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            self.xp.set_float32_matmul_precision(before)

    def full_precision(self) -> AbstractContextManager[None]:
        """Forbid shortened float32 products (TF32), whose error would mix up near neighbors."""
        return self._highest()


Arrays = NumpyArrays | TorchArrays


def arrays_for(device: str) -> Arrays:
    """Choose NumPy for ``"cpu"`` and torch for every other device.

    Parameters
    ----------
    device
        ``"cpu"``, or a torch device such as ``"cuda"`` or ``"cuda:1"``. ``"torch:cpu"`` runs
        torch's code on the CPU.

    Examples
    --------
    >>> arrays_for("cpu").device
    'cpu'
    """
    return NumpyArrays() if device == "cpu" else TorchArrays(device)
