"""Mutations that keep to safetensors, tar, zip and MATLAB files, and lie in their fields."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from random import Random

from .mutators import BOUNDARIES, mutate_bytes
from .text_mutators import NAMES, change

BLOCK = 512
LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


def mutate_safetensors(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    """Change the header and nothing else, or what the numbers are, or the header's length."""
    length = int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8 : 8 + length])
    except (ValueError, RecursionError):
        return mutate_bytes(content, others, rng)
    values = content[8 + length :]
    action = rng.randrange(8)
    if action == 0:
        return (rng.choice(BOUNDARIES) % 2**64).to_bytes(8, "little") + content[8:]
    if action == 1 and values:
        special = rng.choice(
            (b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\0\0\x80\xff", b"\xff\xff\x7f\x7f")
        )
        at = rng.randrange(0, max(1, len(values) // 4)) * 4
        values = values[:at] + special + values[at + 4 :]
    elif action == 2:
        values = mutate_bytes(values, others, rng)
    elif action < 6 and isinstance(header, dict) and header:
        _change_entry(header, rng)
    else:
        header = change(header, rng)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + values


def _change_entry(header: dict[str, object], rng: Random) -> None:
    name = rng.choice(list(header))
    entry = header[name]
    if not isinstance(entry, dict) or "shape" not in entry:
        header[name] = change(entry, rng)
        return
    action = rng.randrange(6)
    if action == 0:
        entry["dtype"] = rng.choice(("F64", "F32", "F16", "BF16", "I64", "U8", "BOOL", "F8_E4M3"))
    elif action == 1:
        other = header[rng.choice(list(header))]
        if isinstance(other, dict) and "data_offsets" in other:  # two tensors, one place
            entry.update(other)
    elif action == 2:
        entry["data_offsets"] = [rng.choice(BOUNDARIES), rng.choice(BOUNDARIES)]
    elif action == 3:
        entry["shape"] = [rng.choice(BOUNDARIES) for _ in range(rng.randint(0, 4))]
    elif action == 4:
        # The same values in another shape: a file that is whole, but not what is expected.
        total = 1
        for size in entry["shape"]:
            total *= size
        entry["shape"] = rng.choice(([total], [1, total], [total, 1], [1, 1, total], [0, total]))
    else:
        header[rng.choice(NAMES)] = header.pop(name)


def mutate_tar(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    """Change a field of a member's head, and its checksum with it."""
    heads = [at for at in range(0, len(content), BLOCK) if content[at + 257 : at + 262] == b"ustar"]
    if not heads:
        return mutate_bytes(content, others, rng)
    at = rng.choice(heads)
    head = bytearray(content[at : at + BLOCK])
    action = rng.randrange(5)
    if action == 0:
        name = rng.choice(NAMES).encode("utf-8", "replace")[:90] + rng.choice((b"", b".png"))
        head[:100] = name.ljust(100, b"\0")
    elif action == 1:
        size = rng.choice(BOUNDARIES)
        octal = f"{size % 8**11:011o}\0".encode()
        binary = b"\x80" + (size % 2**88).to_bytes(11, "big")
        head[124:136] = rng.choice((octal, binary, b"-0000000001\0", b"x" * 12))
    elif action == 2:
        head[156:157] = rng.choice(
            (b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"S", b"L", b"x", b"g")
        )
    elif action == 3:
        head[157:257] = rng.choice(NAMES).encode("utf-8", "replace")[:100].ljust(100, b"\0")
    else:
        start = rng.choice((100, 108, 116, 136, 257, 263, 265, 329, 337, 345, 483))
        head[start : start + 8] = rng.randbytes(8)
    head[148:156] = b" " * 8
    head[148:156] = f"{sum(head):06o}\0 ".encode()
    return content[:at] + bytes(head) + content[at + BLOCK :]


def mutate_zip(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    """Change a field of a member's heads or of the archive's end."""
    mark, fields = rng.choice(
        (
            (
                CENTRAL,
                ((8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (38, 4), (42, 4)),
            ),
            (LOCAL, ((6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2))),
            (END, ((8, 2), (10, 2), (12, 4), (16, 4), (20, 2))),
        )
    )
    places = [at for at in range(len(content)) if content.startswith(mark, at)]
    if not places:
        return mutate_bytes(content, others, rng)
    at = rng.choice(places)
    if mark == CENTRAL and rng.random() < 0.4:
        return _renamed(content, at, rng)
    offset, width = rng.choice(fields)
    value = rng.choice((*BOUNDARIES, 8, 9, 12, 14, 99, 0o120777 << 16, 0o020666 << 16))
    start = at + offset
    return (
        content[:start]
        + (value % (1 << 8 * width)).to_bytes(width, "little")
        + (content[start + width :])
    )


def _renamed(content: bytes, at: int, rng: Random) -> bytes:
    """Give a member another name of the same length, in the directory and where it lies."""
    (length,) = struct.unpack_from("<H", content, at + 28)
    old = content[at + 46 : at + 46 + length]
    new = rng.choice(NAMES).encode("utf-8", "replace") + b"/../../" * 20
    new = new[: max(0, length - 4)] + old[-4:]
    return content.replace(old, new) if len(new) == len(old) and old else content


def mutate_mat(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    """Change type, size or flags: MATLAB's tags are pairs of 32-bit numbers, 8-byte aligned."""
    if len(content) < 144:
        return mutate_bytes(content, others, rng)
    reach = rng.choice((200, 600, len(content)))
    at = rng.randrange(128, min(reach, len(content) - 8), 8)
    kind, size = struct.unpack_from("<II", content, at)
    action = rng.randrange(5)
    if action == 0:
        kind = rng.choice((*range(20), 2**16, 2**32 - 1))
    elif action == 1:
        size = rng.choice(BOUNDARIES) % 2**32
    elif action == 2:
        kind, size = (rng.choice(BOUNDARIES) % 2**32 for _ in range(2))
    elif action == 3:
        size = max(0, size + rng.choice((-8, -4, -1, 1, 4, 8))) % 2**32
    else:
        kind = (kind ^ (1 << rng.randrange(16))) % 2**32
    return content[:at] + struct.pack("<II", kind, size) + content[at + 8 :]
