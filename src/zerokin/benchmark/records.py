"""Records: results of a run with all that is needed to make them again, sealed by their hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from zerokin.errors import InvalidInput, shown
from zerokin.files import existing, replacing

FORMAT, VERSION = "zerokin record", "1.0"
MADE_BY = "zerokin reproduce NAME --record writes one"


class RecordedRow(BaseModel):
    """What a row must hold; whatever else ``evaluate``, ``compare`` or ``ablation`` wrote stays."""

    model_config = ConfigDict(extra="allow", strict=True)

    dataset: str
    setting: str
    method: str
    seed: int
    metrics: dict[str, FiniteFloat] = Field(min_length=1)


class Record(BaseModel):
    """One run: its command, the rows that it wrote, and what they depend on.

    Parameters
    ----------
    name, title
        What the record is called: its file's name, and words for people.
    command
        As typed, with ``{cub}`` and the like for folders of data and ``{out}`` for outputs.
    rows
        As ``zerokin evaluate --json``, ``compare`` or ``ablation`` wrote them.
    trained
        Whether networks were trained: rounding then moves figures, and rows agree within spread.
    spread
        Points by which a figure of one seed may move, where networks were trained.
    seeds
        Of the rows.
    data
        SHA-256 of every file of data that was read, by name.
    versions
        Of Python, zerokin and the libraries that decide figures.
    device
        What the run was computed on.
    date
        When, as YYYY-MM-DD.
    """

    model_config = ConfigDict(extra="ignore", strict=True)

    name: str
    title: str
    command: str
    rows: list[dict[str, Any]] = Field(min_length=1)
    trained: bool = False
    spread: FiniteFloat | None = None
    seeds: list[int]
    data: dict[str, str]
    versions: dict[str, str]
    device: str
    date: str = Field(pattern=r"^\d{4}-\d\d-\d\d$")


def seal(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a record's content, whatever the order of its keys.

    Examples
    --------
    >>> seal({"a": 1, "b": 2}) == seal({"b": 2, "a": 1, "sha256": "of before"})
    True
    """
    kept = {name: value for name, value in content.items() if name != "sha256"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def write_record(record: Record, folder: Path) -> Path:
    """Write a record as ``FOLDER/NAME.json``."""
    content = {"format": FORMAT, "version": VERSION, **record.model_dump()}
    content["sha256"] = seal(content)
    path = folder / f"{record.name}.json"
    with replacing(path) as temporary:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        temporary.write_text(text, encoding="utf-8")
    return path


def read_record(path: Path) -> Record:
    """Read a record; one of another format, or that was edited by hand, is refused."""
    file = existing(path, "record", MADE_BY)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{file} is not JSON ({shown(str(error))}): {MADE_BY}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidInput(f"{file} is no record of results: {MADE_BY}")
    version = content.get("version")
    if not isinstance(version, str) or version.partition(".")[0] != VERSION.partition(".")[0]:
        raise InvalidInput(
            f"{file} is a record of version {shown(version)}, but this zerokin reads {VERSION}: "
            "update zerokin, or make the record anew"
        )
    if content.get("sha256") != seal(content):
        raise InvalidInput(
            f"{file} was changed after it was recorded (its sha256 does not match): restore it, "
            f"or zerokin reproduce {path.stem} --record makes it anew"
        )
    try:
        record = Record.model_validate(content)
        for row in record.rows:
            RecordedRow.model_validate(row)
    except ValidationError as error:
        raise InvalidInput(f"{file}: {_problem(error)}; {MADE_BY}") from error
    if record.name != path.stem:
        raise InvalidInput(f"{file} holds the record {shown(record.name)}: give it that name")
    return record


def read_records(folder: Path) -> dict[str, Record]:
    """Return all records of a folder by name; none where there is no such folder."""
    return {path.stem: read_record(path) for path in sorted(folder.glob("*.json"))}


def rows_in(path: Path) -> list[dict[str, Any]]:
    """Return the rows that a command wrote: a list, or the counts of ``zerokin check --json``."""
    file = existing(path, "rows", "the command should have written them")
    content = json.loads(file.read_text(encoding="utf-8"))
    if isinstance(content, dict):
        counts = {name: float(value) for name, value in content["counts"].items()}
        about = {"dataset": content["name"], "setting": "data", "method": "check", "seed": 0}
        return [{**about, "metrics": counts}]
    rows: list[dict[str, Any]] = content
    return rows


def seeds_of(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the seeds of rows, each once.

    Examples
    --------
    >>> seeds_of([{"seed": 1}, {"seed": 0}, {"seed": 1}])
    [0, 1]
    """
    return sorted({row["seed"] for row in rows})


def _problem(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}"
