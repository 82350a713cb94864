"""The mutation run itself: what it changes, what it leaves, and a few mutants tried."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.mutants.equivalents import read_equivalents  # noqa: E402
from tests.mutants.mutations import find_mutants  # noqa: E402
from tests.mutants.rooms import ROOMS, SOURCES  # noqa: E402

MUTANTS = [
    mutant
    for room in ROOMS.values()
    for file in room.source_files()
    for mutant in find_mutants(file)
]


def test_mutants_are_programs_that_differ():
    assert all(mutant.before != mutant.after for mutant in MUTANTS)
    for mutant in Random(1).sample(MUTANTS, 60):
        source = (SOURCES / mutant.file).read_bytes()
        assert ast.dump(ast.parse(mutant.apply())) != ast.dump(ast.parse(source)), mutant


def test_changes_are_those_of_code_and_none_of_words():
    found = {(one.before, one.after) for one in MUTANTS if one.file == "metrics/accuracy.py"}
    for change in (
        ("len(truth) != len(answers)", "len(truth) == len(answers)"),
        ("ahead < k", "ahead <= k"),
        ("ahead < k", "ahead >= k"),
        ("seen + unseen", "seen - unseen"),
        ("count_nonzero(… axis=1)", "count_nonzero(… axis=0)"),
        ("unique(… return_counts=True)", "unique(…)"),
        ("truth.max", "truth.min"),
        ("return weights", "return"),
    ):
        assert change in found
    assert not [one for one in found if "must" in one[0] or "there are" in one[0]]


def test_mutants_listed_as_equivalent_exist():
    known = {mutant.key() for mutant in MUTANTS}
    numbers = {(*mutant.key()[:2], "any number") for mutant in MUTANTS if mutant.is_number()}
    assert not [key for key in read_equivalents() if key not in known | numbers]


def test_a_few_mutants_are_caught_and_the_sources_stay():
    before = {path: path.read_bytes() for path in (SOURCES / "metrics").glob("*.py")}
    ran = subprocess.run(
        [sys.executable, "-m", "tests.mutants", "--mutants", "6", "--room", "metrics"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "6 of " in ran.stdout
    assert "caught 100.0 % of " in ran.stdout
    assert before == {path: path.read_bytes() for path in before}
