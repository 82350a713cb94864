"""Run mutations with a fixed seed over all targets: ``python -m tests.fuzz --inputs 10000``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from random import Random

GOOD = ("accepted", "refused")


def main() -> int:
    """Run, print a line per target, and return 0 if nothing went wrong."""
    # Set before anything is imported: threads would make memory differ from run to run.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="what all mutations are drawn from")
    parser.add_argument("--inputs", type=int, default=10_000, help="inputs in total")
    parser.add_argument("--target", action="append", help="only this one (may be repeated)")
    parser.add_argument("--keep", type=Path, help="folder for the inputs that end badly")
    given = parser.parse_args()
    return run(given.seed, given.inputs, given.target, given.keep)


def run(seed: int, inputs: int, only: list[str] | None, keep: Path | None) -> int:
    """Run ``inputs`` mutations; the same seed gives each target the same ones."""
    from .all_targets import warmed_up
    from .limits import Watch, limit_memory, outcome, scratch_folder

    warnings.simplefilter("ignore")
    scratch = scratch_folder()
    watch = Watch(scratch)
    targets = warmed_up(scratch, only)
    limit_memory()
    total = sum(opened.target.weight for opened in targets.values())
    faults: Counter[str] = Counter()
    for name, opened in targets.items():
        started, ends = time.perf_counter(), Counter[str]()
        rng = Random(f"{seed} {name}")
        for number in range(-(-inputs * opened.target.weight // total)):
            mutated = opened.mutate(rng.choice(opened.seeds), rng)
            ended = outcome(lambda given=mutated, of=opened: of.run(given), watch)  # type: ignore[misc]
            ends[ended if ended in GOOD else "FAULT"] += 1
            if ended not in GOOD:
                faults[f"{name}: {ended}"] += 1
                if keep is not None and faults[f"{name}: {ended}"] == 1:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{name}-{number}").write_bytes(mutated)
                    print(f"  {name}-{number}: {ended}", flush=True)
        counts = ", ".join(f"{count:,} {end}" for end, count in sorted(ends.items()))
        print(f"{name:14} {ends.total():6,} inputs: {counts} ({_seconds(started)})", flush=True)
    print(f"{sum(faults.values()):,} faults", flush=True)
    for fault, count in faults.most_common():
        print(f"{count:6,} × {fault}", flush=True)
    shutil.rmtree(scratch, ignore_errors=True)
    return 1 if faults else 0


def _seconds(started: float) -> str:
    return f"{time.perf_counter() - started:.1f} s"


if __name__ == "__main__":
    sys.exit(main())
