"""Rows of an ablation that were measured before: whoever stops it loses none of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from zerokin._version import __version__
from zerokin.benchmark.ablation.config import AblationConfig, RowPlan
from zerokin.benchmark.ablation.feature_cache import Files
from zerokin.files import replacing

Results = list[dict[str, Any]]


class MeasuredRows:
    """Results by all that they depend on, a file each in ``FOLDER/measured``.

    Parameters
    ----------
    folder
        Of the ablation.
    config
        Of which seeds, shots and episodes count here.
    semantics
        Hashes of what the semantics that rows name hold.
    options
        Whatever else a row's figures depend on.
    """

    def __init__(
        self,
        folder: Path,
        config: AblationConfig,
        semantics: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.folder = folder / "measured"
        self.semantics = semantics or {}
        self.common = {
            "zerokin": __version__,
            "setting": config.setting,
            "seeds": config.seeds,
            "shots": config.shots,
            "episodes": config.episodes,
            **options,
        }

    def find(self, row: RowPlan, files: list[Files]) -> Results | None:
        """Return what was measured for a row from these very features, if anything was."""
        try:
            found: Results = json.loads(self._path(row, files).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):  # a file that was damaged is made again
            return None
        return found

    def keep(self, row: RowPlan, files: list[Files], results: Results) -> None:
        """Write what was measured."""
        with replacing(self._path(row, files)) as temporary:
            temporary.write_text(json.dumps(results) + "\n", encoding="utf-8")

    def _path(self, row: RowPlan, files: list[Files]) -> Path:
        # The note beside a reading tells its network, recipe and how the training went.
        notes = [
            [path.with_suffix(".json").read_text(encoding="utf-8") for path in of.values()]
            for of in files
        ]
        # What a row does not say was not always there to be said.
        said = {name: value for name, value in asdict(row).items() if value is not None}
        if row.semantics is not None:
            said["semantics"] = [row.semantics, self.semantics.get(row.semantics)]
        content = json.dumps([self.common, said, notes])
        return self.folder / f"{hashlib.sha256(content.encode()).hexdigest()[:20]}.json"
