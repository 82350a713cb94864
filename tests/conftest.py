"""What several test files share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Scripts that tests start as processes of their own: they hold no examples to run.
collect_ignore_glob = ["killed_*.py", "shared_*.py", "served.py", "attacks/visitor.py"]

DATA = Path(os.environ.get("ZEROKIN_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the real data sets (`ZEROKIN_DATA`); tests that need it are skipped without."""
    if not (DATA / "cub" / "att_splits.mat").exists():
        pytest.skip(f"no real data at {DATA}: set ZEROKIN_DATA to the folder that holds cub/")
    return DATA
