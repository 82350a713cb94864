"""Mutants that no test can notice, kept with the reason in ``equivalents.txt``.

Blocks of three lines, parted by an empty one: file and function, the change, the reason.
"""

from __future__ import annotations

from pathlib import Path

LIST = Path(__file__).with_name("equivalents.txt")


def read_equivalents() -> dict[tuple[str, str, str, str], str]:
    """Read the list: reasons by `Mutant.key`."""
    found = {}
    for block in LIST.read_text(encoding="utf-8").strip().split("\n\n"):
        place, change, reason = (line.strip() for line in block.splitlines())
        file, where = place.split(" ")
        before, after = change.split(" → ")
        found[file, where, before, after] = reason
    return found
