"""Kill commands at random moments: ``python -m tests.kills --seed 0 --kills 200``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random

TESTS = Path(__file__).parents[1]
LEFTOVER = (".part", ".old", ".link", ".training")


def main() -> int:
    """Run, print a line per command, and return 0 if nothing went wrong."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    sys.path.insert(0, str(TESTS))
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="what all moments are drawn from")
    parser.add_argument("--kills", type=int, default=200, help="kills in total")
    parser.add_argument("--only", action="append", help="only this command (may be repeated)")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="zerokin-kills-"))
    try:
        return run(folder, given.seed, given.kills, given.only)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(folder: Path, seed: int, kills: int, only: list[str] | None) -> int:
    """Kill every command in turn; the same seed gives the same moments."""
    _warm_up()
    from own_images import write_critter_folder

    from .scenarios import scenarios, write_template
    from .serving import serve_and_kill

    animals = folder / "animals"
    _forked(lambda: write_critter_folder(animals, n_seen=6, n_unseen=2, n_images=4, n_test=2))
    template = write_template(folder, animals)
    known = [one for one in scenarios(f"folder={animals}") if not only or one.name in only]
    measured = {one.name: _reference(one, template, folder) for one in known}
    names = [one.name for one in known] + ([] if only and "serve" not in only else ["serve"])
    rng = Random(seed)
    found: dict[str, Counter[str]] = {name: Counter() for name in names}
    faults = []
    started = time.perf_counter()
    for number in range(kills):
        name = names[number % len(names)]
        work = folder / f"kill-{number}"
        shutil.copytree(template, work)
        try:
            if name == "serve":
                kept = serve_and_kill(work, rng)
                left = "with confirmed changes kept" if kept else "before any was confirmed"
            else:
                one = next(one for one in known if one.name == name)
                left = _kill(one, measured[name], work, rng)
            _refuse_leftovers(work)
            found[name][left] += 1
        except Exception:
            faults.append(f"kill {number}, {name}: {traceback.format_exc()}")
            found[name]["FAULT"] += 1
            print(faults[-1], flush=True)
        shutil.rmtree(work, ignore_errors=True)
    for name, counts in found.items():
        told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
        print(f"{name:15} {counts.total():4} kills: {told}", flush=True)
    print(f"{len(faults)} faults in {kills} kills ({time.perf_counter() - started:.0f} s)")
    return bool(faults)


def _warm_up() -> None:
    """Import all that is slow to import, and compute nothing."""
    import accelerate  # noqa: F401
    import gradio  # noqa: F401
    import sklearn.linear_model  # noqa: F401
    import torch._dynamo  # noqa: F401

    import zerokin.app.server
    import zerokin.benchmark.ablation
    import zerokin.cli
    import zerokin.recognizer
    import zerokin.report.bars  # noqa: F401


def _forked(function) -> None:
    from .children import computed

    computed(lambda: function() and None)


def _reference(one, template: Path, folder: Path) -> dict[str, object]:
    """Run a command without any kill: how long it takes, its steps, and what is there then."""
    from .children import computed, run_command

    work = folder / f"whole-{one.name.replace(' ', '-')}"
    shutil.copytree(template, work)
    before = computed(lambda: one.state(work))
    ended = run_command(one.arguments, work)
    assert ended.status == 0, work.with_suffix(".log").read_text(encoding="utf-8")
    after = computed(lambda: one.state(work))
    assert before != after, one.name
    _refuse_leftovers(work)
    shutil.rmtree(work)
    return {"before": before, "after": after, "steps": ended.steps, "seconds": ended.seconds}


def _kill(one, measured, work: Path, rng: Random) -> str:
    """Kill a command, look at what it left, and run it again."""
    from .children import Kill, computed, run_command

    if rng.random() < 0.6:
        kill = Kill(step=rng.randint(1, measured["steps"]))
    else:
        kill = Kill(seconds=rng.uniform(0, measured["seconds"]))
    ended = run_command(one.arguments, work, kill)
    now = computed(lambda: one.state(work))
    assert one.several or now in (measured["before"], measured["after"]), f"{kill}: a mixture"
    changed = now == measured["after"]
    arguments = one.again if changed and one.again else one.arguments
    again = run_command(arguments, work)
    log = work.with_suffix(".log").read_text(encoding="utf-8")
    assert again.status == 0, f"{kill}: the next run ended with {again.status}: {log}"
    later = computed(lambda: one.state(work))
    if one.name == "undo":
        assert later == measured["before" if changed else "after"], f"{kill}: no undo"
    elif not (changed and one.again):
        assert later == measured["after"], f"{kill}: the next run made something else"
    if ended.status is not None:
        return "ended before"
    return "old left" if now == measured["before"] else "new left" if changed else "part left"


def _refuse_leftovers(work: Path) -> None:
    left = [
        path.relative_to(work).as_posix()
        for path in work.rglob("*")
        if any(mark in path.name for mark in LEFTOVER) or path.parent == work / "tmp"
    ]
    generations = list((work / "model").glob("v-*"))
    assert not left, f"left behind: {left}"
    assert len(generations) <= 2, f"left behind: {generations}"


if __name__ == "__main__":
    sys.exit(main())
