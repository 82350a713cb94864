"""Mutants that no test can notice, kept with the reason in ``equivalents.txt``.

Blocks of three lines, parted by an empty one: file and function, the change, the reason. The change
``any number`` stands for every number of a function that decides about speed alone.
"""

from __future__ import annotations

from pathlib import Path

from .mutations import Mutant

LIST = Path(__file__).with_name("equivalents.txt")


def read_equivalents() -> dict[tuple[str, ...], str]:
    """Read the list: reasons by `Mutant.key`, or by file, function and ``any number``."""
    found: dict[tuple[str, ...], str] = {}
    for block in LIST.read_text(encoding="utf-8").strip().split("\n\n"):
        place, change, reason = (line.strip() for line in block.splitlines())
        found[*place.split(" "), *change.split(" → ")] = reason
    return found


def is_equivalent(mutant: Mutant, equivalents: dict[tuple[str, ...], str]) -> bool:
    """Tell whether a mutant is on the list."""
    if mutant.key() in equivalents:
        return True
    return mutant.is_number() and (mutant.file, mutant.where, "any number") in equivalents
