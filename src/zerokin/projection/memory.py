"""How a memory budget is spent: what every stage of projection learning needs, and block sizes.

The budget covers the process: libraries, features that lie in memory, and all that fitting takes.
Features in files are read by blocks, and the semantics of samples go to a file where they must.
"""

from __future__ import annotations

from dataclasses import dataclass

from zerokin.errors import InvalidInput
from zerokin.parameters import ByteSize, Optional, byte_count

MEMORY_BUDGET = Optional(ByteSize())
RUNTIME = 448 * 2**20
"""The interpreter with NumPy, SciPy and scikit-learn, and what their threads take."""
MOST_SCORES = 256 * 2**20
READ_ROWS = (64, 4096)
"""The fewest and the most rows of features that are read at a time."""
SOLVER_ARRAYS = 9
"""Temporaries of a column while its system is solved."""


@dataclass(frozen=True)
class Problem:
    """Sizes of a problem of projection learning.

    Parameters
    ----------
    samples, features
        N and d_f.
    itemsize
        Bytes of a number in arrays with a row per sample.
    held
        Bytes that the features take in memory already; 0 where they lie in files.
    n_neighbors
        Of the graph; 0 without one.
    """

    samples: int
    features: int
    itemsize: int
    held: int
    n_neighbors: int = 0

    def always(self) -> int:
        """Bytes that are taken through all stages: libraries, features, FᵀF's eigenvectors."""
        return RUNTIME + self.held + 8 * self.features * self.features

    def gram(self, rows: int) -> int:
        """Bytes of FᵀF and of its eigenvectors' computation, by rows read at a time."""
        return 5 * 8 * self.features**2 + 3 * 8 * rows * self.features

    def graph(self) -> int:
        """Bytes of the neighbors, and of the graph and its Laplacian while they are built."""
        return self.samples * (2 * self.n_neighbors + 1) * 8 * 12

    def laplacian(self) -> int:
        """Bytes of the Laplacian as given, and in an order of its own."""
        return self.samples * ((2 * self.n_neighbors + 1) * (16 + 24) + 40)

    def search(self, rows: int, unit: bool) -> int:
        """Bytes of an exact search for neighbors: scores, and unit features where they are held."""
        copy = 4 * self.samples * self.features if unit else 0
        results = 2 * 16 * self.n_neighbors * self.samples
        reading = (4 + 8) * READ_ROWS[1] * self.features
        return copy + results + reading + 10 * rows * self.samples

    def descent(self, sought: int) -> int:
        """Bytes of an approximate search for some neighbors each: two copies of F, and lists."""
        # Measured with pynndescent 0.7: trees, candidates and neighbors, for 218,000 samples.
        return 2 * 4 * self.samples * self.features + 450 * sought * self.samples

    def small(self, columns: int, prototypes: int) -> int:
        """Bytes of the matrices without samples, for semantics of some rank."""
        beside = 10 * columns * (self.features + columns) + 4 * prototypes * columns
        return 8 * (beside + 4 * self.samples)

    def solving(self, width: int, block: int, workers: int) -> int:
        """Bytes of the E-step: columns of FW, and the temporaries of those being solved."""
        return self.samples * self.itemsize * (width + SOLVER_ARRAYS * block * workers)

    def semantics(self, columns: int) -> int:
        """Bytes of E."""
        return self.samples * columns * self.itemsize

    def fitting(self, columns: int, prototypes: int) -> int:
        """Bytes of a fit beside E and the columns in work, reading the fewest rows at a time."""
        graph = self.laplacian() if self.n_neighbors else 0
        reading = 2 * self.itemsize * READ_ROWS[0] * (self.features + columns)
        return self.always() + self.small(columns, prototypes) + graph + reading

    def least(self, columns: int, prototypes: int) -> int:
        """Bytes without which no fit to semantics of some rank gets to its end."""
        stages = [
            self.always() + self.gram(READ_ROWS[0]),
            self.fitting(columns, prototypes) + self.solving(1, 1, 1),
        ]
        if self.n_neighbors:
            stages.append(self.always() + max(self.search(1, unit=False), self.graph()))
        return max(stages)


@dataclass(frozen=True)
class FactorPlan:
    """Rows of features that are read at a time for FᵀF."""

    rows: int


@dataclass(frozen=True)
class SearchPlan:
    """Rows whose neighbors are sought at a time, and whether unit features are held."""

    rows: int
    unit: bool
    descent: bool = True
    """Whether there is memory for an approximate search, too."""


@dataclass(frozen=True)
class FitPlan:
    """Columns of FW that are held, columns solved together, threads, and where E lies."""

    width: int
    block: int
    workers: int
    in_file: bool
    rows: int


def plan_factors(problem: Problem, budget: int) -> FactorPlan:
    """Choose the rows that are read at a time for FᵀF."""
    fixed = problem.always()
    refuse_below(fixed + problem.gram(READ_ROWS[0]), budget, problem)
    per_row = 3 * 8 * problem.features
    rows = (budget - fixed - problem.gram(0)) // per_row
    return FactorPlan(min(READ_ROWS[1], rows))


def plan_search(problem: Problem, budget: int, sought: int = 20) -> SearchPlan:
    """Choose how neighbors are sought: exact scores of blocks of rows with all samples.

    ``sought`` is how many neighbors an approximate search looks for.
    """
    fixed = problem.always()
    refuse_below(fixed + max(problem.search(1, unit=False), problem.graph()), budget, problem)
    descent = fixed + problem.descent(sought) <= budget
    most = max(1, MOST_SCORES // (4 * problem.samples))
    for unit in (True, False):
        free = budget - fixed - problem.search(0, unit)
        rows = min(most, free // (10 * problem.samples))
        if rows >= min(64, most) or (not unit and rows >= 1):
            return SearchPlan(int(rows), unit, unit and descent)
    return SearchPlan(1, unit=False, descent=False)


def plan_fit(
    problem: Problem,
    columns: int,
    prototypes: int,
    budget: int,
    *,
    usual: tuple[int, int, int],
) -> FitPlan:
    """Choose widths of the E-step and where E lies, the quickest that fit.

    Parameters
    ----------
    problem
        Its sizes.
    columns, prototypes
        Rank of the semantics, and how many of them differ.
    budget
        Bytes.
    usual
        Columns of FW held, columns solved together and threads, where memory is no matter.
    """
    width, block, workers = usual
    fixed = problem.fitting(columns, prototypes)
    least = fixed + problem.solving(1, 1, 1)
    refuse_below(least, budget, problem)
    reading = 2 * problem.itemsize * READ_ROWS[1] * (problem.features + columns)
    many = least + reading <= budget
    rows, free = READ_ROWS[1 if many else 0], budget - fixed - (reading if many else 0)
    for in_file in (False, True):
        left = free - (0 if in_file else problem.semantics(columns))
        fitting = _widths(problem, left, width, block, workers)
        if fitting and (in_file or fitting[0] >= min(width, 32)):
            return FitPlan(*fitting, in_file=in_file, rows=rows)
    return FitPlan(1, 1, 1, in_file=True, rows=rows)


def _widths(
    problem: Problem, free: int, width: int, block: int, workers: int
) -> tuple[int, int, int] | None:
    """Return the widest E-step that fits: fewer columns together first, then fewer threads."""
    column = problem.samples * problem.itemsize
    while block * workers > 1 and problem.solving(min(width, block), block, workers) > free:
        if block > 4 or workers == 1:
            block = max(1, block // 2)
        else:
            workers -= 1
    held = min(width, free // column - SOLVER_ARRAYS * block * workers)
    return (int(held), block, workers) if held >= 1 else None


def budget_bytes(memory_budget: int | str | None) -> int | None:
    """Return a memory budget in bytes, or None without one."""
    return None if memory_budget is None else byte_count(memory_budget)


def refuse_no_cpu(device: str) -> None:
    """Refuse a memory budget on another device than the CPU, whose memory it does not count."""
    if device != "cpu":
        raise InvalidInput(
            f"memory_budget is for device='cpu', but device is {device!r}: leave one of them out"
        )


def refuse_below(least: int, budget: int, problem: Problem) -> None:
    """Refuse a budget below the least that a problem needs."""
    if budget >= least:
        return
    held = f", {problem.held:,} of them for F, which lies in memory" if problem.held else ""
    raise InvalidInput(
        f"memory_budget is {budget:,} bytes, but {problem.samples:,} samples of "
        f"{problem.features:,} features need at least {least:,}{held}"
    )
