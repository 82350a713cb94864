"""A slice of what ``make fuzz`` runs, always the same; see ``tests/fuzz``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from fuzz.limits import TooSlow, Watch, outcome
from fuzz.mutators import BYTE_MUTATORS, mutate_bytes
from fuzz.targets import BY_SUFFIX
from zerokin.errors import InvalidInput

ROOT = Path(__file__).parents[1]


def test_600_mutated_inputs_end_in_one_line_or_are_accepted():
    """In a process of its own, whose memory is limited."""
    source = os.pathsep.join((str(ROOT / "src"), os.environ.get("PYTHONPATH", "")))
    command = [sys.executable, "-m", "tests.fuzz", "--seed", "0", "--inputs", "600"]
    ended = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr[-2000:]
    counted = [line for line in ended.stdout.splitlines() if " inputs: " in line]
    assert sum(int(line.split()[1].replace(",", "")) for line in counted) >= 600


@pytest.mark.parametrize(
    "suffix", [".json", ".yaml", ".csv", ".safetensors", ".mat", ".tar", ".zip"]
)
def test_a_seed_gives_the_same_mutations_and_others_give_others(suffix):
    def drawn(seed):
        rng = Random(seed)
        content = b'{"a": [1, 2], "b": "c"}' * 20
        return [BY_SUFFIX[suffix](content, [content], rng) for _ in range(20)]

    assert drawn(0) == drawn(0)
    assert drawn(0) != drawn(1)


def test_every_mutation_of_bytes_takes_any_input():
    rng = Random(0)
    for mutate in (*BYTE_MUTATORS, mutate_bytes):
        for content in (b"", b"x", b"a 1 2", bytes(300)):
            for _ in range(20):
                assert isinstance(mutate(content, [b"", content], rng), bytes)


def test_the_limits_see_what_goes_wrong(tmp_path):
    def raising(error):
        def run():
            raise error

        return run

    def swallowed():
        try:
            raise MemoryError
        except MemoryError as error:
            raise InvalidInput("x is damaged") from error

    watch = Watch(tmp_path)
    assert outcome(lambda: None, watch, alarm=False) == "accepted"
    assert outcome(raising(InvalidInput("x")), watch, alarm=False) == "refused"
    assert outcome(raising(TooSlow()), watch, alarm=False) == "over 5 s"
    assert outcome(raising(KeyError("x")), watch, alarm=False).startswith("KeyError")
    assert outcome(swallowed, watch, alarm=False) == "over 2 GiB"
    inside, outside = tmp_path / "x", tmp_path.parent / f"{tmp_path.name}-outside"
    assert outcome(lambda: inside.write_text("x"), watch, alarm=False) == "accepted"
    assert "trespass" in outcome(lambda: outside.write_text("x"), watch, alarm=False)
    assert "trespass" in outcome(lambda: os.system("true"), watch, alarm=False)
    assert not outside.exists()
