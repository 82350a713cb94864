"""Let coverage choose the inputs of a target: ``python -m tests.fuzz.guided TARGET --seconds 60``.

Needs atheris (``pip install 'zerokin[fuzz]'``). Inputs that reach new lines of zerokin are kept and
mutated further, by libFuzzer's own mutations and by those of the target's format. The first input
that ends badly ends the run; ``--keep`` says where it is written.
"""

from __future__ import annotations

import argparse
import resource
import sys
import warnings
from pathlib import Path
from random import Random

from .__main__ import GOOD


def main() -> None:
    """Fuzz one target; the process ends inside libFuzzer."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path.cwd(), help="folder for what ends badly")
    given = parser.parse_args()
    try:
        import atheris
    except ImportError:
        sys.exit("guided fuzzing needs an optional part: pip install 'zerokin[fuzz]'")
    warnings.simplefilter("ignore")
    # Readers import lazily: reading their own inputs once brings all of zerokin they need.
    with atheris.instrument_imports(include=["zerokin"], enable_loader_override=False):
        from .all_targets import TARGETS, warmed_up
        from .limits import SECONDS, Watch, outcome, scratch_folder

        if given.target not in TARGETS:
            sys.exit(f"no target {given.target!r}: choose one of {', '.join(TARGETS)}")
        scratch = scratch_folder()
        watch = Watch(scratch)
        opened = warmed_up(scratch, [given.target])[given.target]

    def run(content: bytes) -> None:
        ended = outcome(lambda: opened.run(content), watch, alarm=False)
        if ended not in GOOD:
            raise AssertionError(ended)

    def mutate(content: bytes, most: int, seed: int) -> bytes:
        rng = Random(seed)
        if rng.random() < 0.5:
            return opened.mutate(content, rng)[:most]
        mutated: bytes = atheris.Mutate(content, most)
        return mutated

    corpus = scratch / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(opened.seeds):
        (corpus / str(number)).write_bytes(seed)
    given.keep.mkdir(parents=True, exist_ok=True)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    options = [
        f"-max_total_time={given.seconds}",
        f"-seed={given.seed}",
        f"-timeout={SECONDS}",
        f"-rss_limit_mb={used + 2048}",
        "-max_len=200000",
        "-print_final_stats=1",
        "-verbosity=0",
        f"-artifact_prefix={given.keep}/{given.target}-",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], run, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
