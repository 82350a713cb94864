"""Mutate the sources, and see whether the tests of the same room notice.

``python -m tests.mutants --seed 0 --mutants 200 --room projection``
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random


def main() -> int:
    """Run, print each survivor, and return 0 if enough mutants were caught."""
    # Set before anything is imported: threads of a forked process are lost.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    from .rooms import ROOMS

    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="what mutants are drawn with")
    parser.add_argument("--mutants", type=int, default=200, help="mutants in total")
    parser.add_argument("--room", action="append", choices=list(ROOMS), help="only this one")
    parser.add_argument("--file", help="only files whose path ends like this")
    parser.add_argument("--workers", type=int, default=1, help="mutants at a time")
    parser.add_argument("--least", type=float, default=95, help="percentage to catch")
    given = parser.parse_args()
    os.nice(10)
    folder = Path(tempfile.mkdtemp(prefix="zerokin-mutants-"))
    try:
        return run(folder, given)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(folder: Path, given: argparse.Namespace) -> int:
    """Draw mutants of all rooms alike, try them room by room, and count."""
    from .equivalents import is_equivalent, read_equivalents
    from .mutations import Mutant, find_mutants
    from .rooms import ROOMS
    from .trials import Trials

    rooms = given.room or list(ROOMS)
    known = [
        (room, mutant)
        for room in rooms
        for file in ROOMS[room].source_files()
        if file.endswith(given.file or "")
        for mutant in find_mutants(file)
    ]
    drawn = Random(given.seed).sample(known, min(given.mutants, len(known)))
    equivalents = read_equivalents()
    total: Counter[str] = Counter()
    print(f"{len(drawn)} of {len(known):,} mutants", flush=True)
    for room in rooms:
        mine = [mutant for of, mutant in drawn if of == room]
        tried: list[Mutant] = [one for one in mine if not is_equivalent(one, equivalents)]
        counts = Counter(equivalent=len(mine) - len(tried))
        if not tried:
            continue
        trials = Trials(ROOMS[room], folder / room, given.workers)
        started = time.perf_counter()
        for outcome in trials.run(tried):
            counts["caught" if outcome.caught else "survived"] += 1
            counts["hung"] += outcome.hung
            if not outcome.caught:
                one = outcome.mutant
                print(f"{one.file}:{one.line} {one.where}: {one.before} → {one.after}", flush=True)
        each = (time.perf_counter() - started) / len(tried)
        print(
            f"{room:12} caught {counts['caught']} of {len(tried)} ({counts['hung']} by the clock), "
            f"and {counts['equivalent']} equivalent ({each:.1f} s each; "
            f"{trials.whole:.1f} s without a mutant)",
            flush=True,
        )
        total += counts
    share = 100 * total["caught"] / max(1, total["caught"] + total["survived"])
    print(f"caught {share:.1f} % of {total['caught'] + total['survived']}")
    return int(share < given.least)


if __name__ == "__main__":
    sys.exit(main())
