"""What several test files share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# How long a test takes depends on who else uses the machine: nothing may fail by that.
settings.register_profile("zerokin", deadline=None)
settings.load_profile("zerokin")

# Scripts that tests start as processes of their own: they hold no examples to run.
collect_ignore_glob = ["killed_*.py", "shared_*.py", "served.py", "attacks/visitor.py"]

DATA = Path(os.environ.get("ZEROKIN_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the real data sets (`ZEROKIN_DATA`); tests that need it are skipped without."""
    if not (DATA / "cub" / "att_splits.mat").exists():
        pytest.skip(f"no real data at {DATA}: set ZEROKIN_DATA to the folder that holds cub/")
    return DATA
