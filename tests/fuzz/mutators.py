"""Mutations of bytes that know nothing of what the bytes mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

Mutator = Callable[[bytes, Sequence[bytes], Random], bytes]
"""Content, other inputs to take pieces from, and what draws; returns mutated content."""

#: A mutation never grows an input beyond this.
MOST_BYTES = 1 << 20
BOUNDARIES = tuple(
    sorted(
        {0, 1, 10**30}
        | {2**bits + step for bits in (7, 8, 15, 16, 31, 32, 63, 64) for step in (-1, 0, 1)}
        | {-(2**bits) for bits in (0, 7, 15, 31, 63)}
    )
)
_DIGITS = re.compile(rb"-?[0-9]+")


def flip_bits(content: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    changed = bytearray(content)
    for _flip in range(rng.randint(1, 8)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def set_bytes(content: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    start, end = _span(content, rng, most=16)
    filler = rng.choice((b"\0", b"\xff", b" ", b"\n", b"\x80", None))
    new = rng.randbytes(end - start) if filler is None else filler * (end - start)
    return content[:start] + new + content[end:]


def insert_bytes(content: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    at = rng.randint(0, len(content))
    return content[:at] + rng.randbytes(rng.randint(1, 16)) + content[at:]


def truncate(content: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    return content[: rng.randint(0, len(content))]


def remove_chunk(content: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    start, end = _span(content, rng)
    return content[:start] + content[end:]


def duplicate_chunk(content: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    start, end = _span(content, rng)
    times = rng.choice((1, 1, 1, 2, 10, 100))
    return content[:end] + content[start:end] * times + content[end:]


def splice(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    other = rng.choice(others) if others else content
    first, last = _span(other, rng)
    start, end = _span(content, rng)
    return content[:start] + other[first:last] + content[end:]


def boundary_integer(content: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    """Write a number at the edge of some integer type, in binary."""
    width = rng.choice((1, 2, 4, 8))
    value = rng.choice(BOUNDARIES) % (1 << 8 * width)
    # Fields of binary formats are mostly aligned, and mostly near the beginning.
    reach = min(len(content), rng.choice((64, 512, len(content) or 1)))
    at = rng.randint(0, reach)
    at -= at % width if rng.random() < 0.7 else 0
    order = rng.choice(("little", "big"))
    return content[:at] + value.to_bytes(width, order) + content[at + width :]


def boundary_digits(content: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    """Replace a written number by one at the edge of some integer type."""
    found = list(_DIGITS.finditer(content[:50_000]))
    if not found:
        return flip_bits(content, _, rng)
    at = rng.choice(found)
    text = rng.choice((*map(str, BOUNDARIES), "1e309", "nan", "-inf", "0.5", "9" * 5000))
    return content[: at.start()] + text.encode() + content[at.end() :]


BYTE_MUTATORS: tuple[Mutator, ...] = (
    flip_bits,
    set_bytes,
    insert_bytes,
    truncate,
    remove_chunk,
    duplicate_chunk,
    splice,
    boundary_integer,
    boundary_digits,
)


def mutate_bytes(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    """Apply a few of the mutations above."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        content = rng.choice(BYTE_MUTATORS)(content, others, rng)[:MOST_BYTES]
    return content


def mixed(*structured: Mutator, plain: float = 0.35) -> Mutator:
    """Return a mutator that draws: bytes as they come, or one that knows the format, or both."""

    def mutate(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
        if not structured or rng.random() < plain:
            return mutate_bytes(content, others, rng)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            content = rng.choice(structured)(content, others, rng)
        return mutate_bytes(content, others, rng) if rng.random() < 0.1 else content

    return mutate


def _span(content: bytes, rng: Random, *, most: int | None = None) -> tuple[int, int]:
    start = rng.randint(0, len(content))
    size = rng.choice((1, 2, 4, 8, 16, 64, len(content) or 1))
    return start, min(len(content), start + (size if most is None else min(size, most)))
