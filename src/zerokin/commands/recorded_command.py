"""A recorded command made ready: folders put in, options parsed, data checked before any work."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zerokin.benchmark.catalog.run import PLACEHOLDER, placeholders
from zerokin.benchmark.circumstances import data_hashes
from zerokin.benchmark.records import Record
from zerokin.errors import InvalidInput, MissingFile, listing
from zerokin.files import existing

FOLDERS_BY_NAME = re.compile(r"([a-z0-9-]+)=(.+)", re.DOTALL)


@dataclass(frozen=True)
class ReadyCommand:
    """A command with folders in the place of its placeholders, and hashes of what it will read."""

    words: tuple[str, ...]
    data: Mapping[str, str]

    @property
    def process(self) -> list[str]:
        """What to start: this very Python, with zerokin or a script of the clone."""
        program, *rest = self.words
        return [sys.executable, *(["-m", "zerokin"] if program == "zerokin" else []), *rest]


def folders_by_name(given: list[str], needed: list[str]) -> dict[str, Path]:
    """Return folders of data by name, from ``cub=DIR``, or ``DIR`` where one data set is needed.

    Examples
    --------
    >>> {name: str(path) for name, path in folders_by_name(["data/cub"], ["cub"]).items()}
    {'cub': 'data/cub'}
    """
    found: dict[str, Path] = {}
    for one in given:
        named = FOLDERS_BY_NAME.fullmatch(one)
        if named is not None and (named[1] in needed or not Path(one).exists()):
            if named[1] not in needed:
                known = listing(needed) if needed else "no data"
                raise InvalidInput(f"{one}: there is no data set {named[1]!r} here, only {known}")
            found[named[1]] = Path(named[2])
        elif len(needed) == 1:
            found[needed[0]] = Path(one)
        else:
            names = ", ".join(f"{name}=DIR" for name in needed) or "no folder"
            raise InvalidInput(f"{one}: say whose folder it is: {names}")
    return found


def make_ready(
    command: str, folders: Mapping[str, Path], out: Path, group: Any, record: Record | None = None
) -> ReadyCommand:
    """Put folders into a command and check all that can be checked before it runs.

    Parameters
    ----------
    command
        With placeholders.
    folders
        Of data, by placeholder.
    out
        Folder of what the command writes.
    group
        The command line, which parses it.
    record
        Whose data the folders should hold; any by default.
    """
    for name in placeholders(command):
        if name not in folders:
            raise MissingFile(f"its data are missing: give {name}=DIR, the folder of {name}")
        existing(folders[name], f"folder of {name}", f"give {name}=DIR, where its files are")
    places = {**{name: str(path) for name, path in folders.items()}, "out": str(out)}
    words = [
        PLACEHOLDER.sub(lambda found: places.get(found[1], found[0]), word)
        for word in shlex.split(command)
    ]
    data = _checked(words, group)
    if record is not None:
        for file, sha in record.data.items():
            if data.get(file, sha) != sha:
                raise InvalidInput(
                    f"{file} is not the file of the record {record.name} (its sha256 is "
                    f"{data[file][:12]}…, recorded {sha[:12]}…): give the folder that holds it"
                )
    return ReadyCommand(tuple(words), data)


def parse_command(words: list[str], group: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of a zerokin command and what its options parse to; refuses mistyped ones."""
    name, command, rest = group.resolve_command(None, words[1:])
    return str(name), dict(command.make_context(name, rest).params)


def _checked(words: list[str], group: Any) -> dict[str, str]:
    """Refuse what the command would refuse; return hashes of the files that it will read."""
    from zerokin.data import load_dataset
    from zerokin.selection.class_fold_search import refuse_without_folds

    if words[0] != "zerokin":
        existing(words[1], "script", "run this in a clone of zerokin")
        measured = load_dataset(words[2])
        refuse_without_folds(measured)  # scripts measure on them
        return data_hashes(measured)
    name, options = parse_command(words, group)
    if name == "ablation":
        from zerokin.benchmark.ablation.config import read_config

        read_config(options["config"])
    if "data" not in options:
        return {}
    given = {key: options.get(key) for key in ("split", "features", "semantics")}
    dataset = load_dataset(options["data"], **given)
    if name in ("evaluate", "compare"):
        from zerokin.benchmark.comparison import check_measurable

        methods = options["methods" if name == "compare" else "method"]
        settings = [one.value for one in options["setting"]]
        check_measurable(dataset, methods, settings, options["split"])
    return data_hashes(dataset)
