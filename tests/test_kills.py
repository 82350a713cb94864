"""A few of the kills that ``python -m tests.kills`` runs; see ``tests/kills``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_commands_killed_at_random_moments_lose_nothing_and_leave_nothing():
    ran = subprocess.run(
        [sys.executable, "-m", "tests.kills", "--seed", "5", "--kills", "11"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "0 faults in 11 kills" in ran.stdout
