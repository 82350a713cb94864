"""What is fuzzed: how inputs begin, how they are mutated, and who reads them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

from .binary_mutators import mutate_mat, mutate_safetensors, mutate_tar, mutate_zip
from .mutators import Mutator, mixed
from .text_mutators import mutate_csv, mutate_json, mutate_yaml

BY_SUFFIX: dict[str, Mutator] = {
    ".json": mixed(mutate_json),
    ".yaml": mixed(mutate_yaml),
    ".csv": mixed(mutate_csv),
    ".safetensors": mixed(mutate_safetensors),
    ".mat": mixed(mutate_mat),
    ".tar": mixed(mutate_tar),
    ".zip": mixed(mutate_zip),
}


@dataclass(frozen=True)
class Target:
    """A reader of files.

    Parameters
    ----------
    name
        What the command line calls it.
    make
        Writes inputs that are accepted into an empty folder.
    read
        Reads the folder, of which it is told the file that was mutated, and does with it what a
        user could do; only a `ZerokinError` may come out.
    files
        Which of the files are mutated, as a pattern; each in turn.
    weight
        Share of all inputs.
    needs
        A module without which the target is left out.
    """

    name: str
    make: Callable[[Path], None]
    read: Callable[[Path, str], None]
    files: str = "*"
    weight: int = 1
    needs: str = "zerokin"

    def open(self, folder: Path) -> OpenTarget:
        """Write the first inputs below a folder."""
        return OpenTarget(self, folder / self.name)


class OpenTarget:
    """A target with its folder; an input is the number of a file, and what that file holds."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target = target
        self.whole, self.place = folder / "whole", folder / "place"
        self.whole.mkdir(parents=True)
        target.make(self.whole)
        shutil.copytree(self.whole, self.place)

    @cached_property
    def files(self) -> list[str]:
        """The files that are mutated."""
        found = [path for path in self.whole.glob(self.target.files) if path.is_file()]
        return sorted(path.relative_to(self.whole).as_posix() for path in found)

    @cached_property
    def seeds(self) -> list[bytes]:
        """The inputs that are accepted, one a file."""
        return [
            bytes([number]) + (self.whole / file).read_bytes()
            for number, file in enumerate(self.files)
        ]

    def mutate(self, given: bytes, rng: Random) -> bytes:
        """Mutate an input: what its file holds, at times with pieces of the others."""
        number = (given[:1] or b"\0")[0] % len(self.files)
        mutator = BY_SUFFIX.get(Path(self.files[number]).suffix, mixed())
        others = [seed[1:] for seed in self.seeds]
        return bytes([number]) + mutator(given[1:], others, rng)

    def run(self, given: bytes) -> None:
        """Read the folder with one file replaced."""
        file = self.files[(given[:1] or b"\0")[0] % len(self.files)]
        # A copy each time: readers may write into their folder.
        shutil.rmtree(self.place)
        shutil.copytree(self.whole, self.place)
        (self.place / file).write_bytes(given[1:])
        self.target.read(self.place, file)


def open_targets(targets: Sequence[Target], folder: Path) -> Mapping[str, OpenTarget]:
    """Open targets by name."""
    return {target.name: target.open(folder) for target in targets}
