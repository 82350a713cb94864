"""Processor seconds that choosing a peer's settings takes, beside another version of zerokin.

    python benchmarks/peer_seconds.py xlsa17=DIR [--methods dap,dem] [--against CHECKOUT/src]

For every peer all points of its grid are fitted and measured on the first validation fold, with one
normalization of features and semantics: a search has 12 of them and three folds. Printed are the
seconds, and the best accuracy on the fold's unseen classes (U) and harmonic mean (H), so that a
faster peer is seen to be as strong. Versions take turns in processes of their own, on one thread.
A whole search takes less than 36 times as much where trials race, which this leaves out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


def measure(data: str, name: str, scaling: str) -> dict[str, float]:
    import zerokin
    from zerokin.benchmark.peer_method import PeerMethod
    from zerokin.benchmark.peers import PEERS
    from zerokin.selection.class_fold_search import ClassFoldSearch
    from zerokin.selection.staged_search import Trial

    method = PeerMethod(PEERS[name])
    search = ClassFoldSearch(method, quiet=True).prepare(zerokin.load_dataset(data))
    fold, wanted = search._folds[0], {"feature_scaling": scaling, "semantics": "unit"}
    fold.training.scale_features(scaling)
    import torch  # noqa: F401  loading it is no part of choosing

    trials = [
        Trial({**method.defaults, **p}) for p in method.stages[0] if wanted.items() <= p.items()
    ]
    started = time.process_time()
    list(search._measure(fold, trials))
    return {
        "seconds": round(time.process_time() - started, 2),
        "U": round(max(trial.score("pure") for trial in trials), 1),
        "H": round(max(trial.score("generalized") for trial in trials), 1),
    }


def ask(source: Path, arguments: list[str]) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, *arguments, "--measure"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(said.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data")
    parser.add_argument("--methods", help="peers joined by ,; all by default")
    parser.add_argument("--scaling", default="unit", help="steps of FeatureScaler")
    parser.add_argument("--against", type=Path, help="sources of another version")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.data, given.methods, given.scaling)))
        return
    from zerokin.benchmark.peers import PEERS

    names = given.methods.split(",") if given.methods else list(PEERS)
    totals = [0.0, 0.0]
    for name in names:
        arguments = [given.data, "--methods", name, "--scaling", given.scaling]
        here = ask(SOURCE, arguments)
        told = {"method": name, **here}
        if given.against:
            other = ask(given.against, arguments)
            told |= {f"{key} there": value for key, value in other.items()}
            totals = [totals[0] + here["seconds"], totals[1] + other["seconds"]]
        print(json.dumps(told), flush=True)
    if given.against:
        print(f"{totals[1]:.1f} s there, {totals[0]:.1f} s here: {totals[1] / totals[0]:.1f} ×")


if __name__ == "__main__":
    main()
