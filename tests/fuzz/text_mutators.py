"""Mutations that keep to JSON, YAML and CSV, so that what is checked later is reached too."""

from __future__ import annotations

import copy
import csv
import io
import json
from collections.abc import Sequence
from random import Random
from typing import Any

from .mutators import BOUNDARIES, mutate_bytes

DEEP = 3000
NAMES = (
    "",
    " ",
    "\0",
    "a\0b",
    "two\nlines",
    "\r",
    "..",
    "../../outside",
    "/outside",
    "C:\\outside",
    "x/y",
    "~",
    "<script>alert(1)</script>",
    '"quoted", & more',
    "=cmd()",
    "\u202eolleh",
    "\u2028",
    "\x85",
    "\x1b[31m",
    "e\u0301",
    "\U0001f98c",
    "long " * 2000,
    "%s%n{0}{x}",
    "con",
    "nan",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    *BOUNDARIES,
    10**400,
    0.5,
    -0.0,
    5e-324,
    1e308,
    float("nan"),
    float("inf"),
    [],
    {},
    [[]],
    [None],
    {"": None},
    *NAMES,
    "\ud800",
)


def mutate_json(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return mutate_bytes(content, others, rng)
    if rng.random() < 0.02:
        return _nested(rng).encode()
    text = json.dumps(change(tree, rng), ensure_ascii=rng.random() < 0.7)
    return text.encode("utf-8", "surrogatepass")


def mutate_yaml(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    import yaml

    drawn = rng.random()
    if drawn < 0.02:
        return _nested(rng).encode()
    if drawn < 0.05:
        return laughs(9).encode()
    if drawn < 0.15:
        tag = rng.choice(("!!python/object/apply:os.getcwd []", "!!binary ?", "!!timestamp x"))
        return _replaced_word(content, rng, rng.choice((tag, "*a", "&a", "<<: 1", "2001-99-99")))
    if b"*a" in content:  # what aliases stand for may be endless
        return mutate_bytes(content, others, rng)
    try:
        tree = yaml.safe_load(content)
        return yaml.safe_dump(change(tree, rng), allow_unicode=True).encode()
    except Exception:  # PyYAML raises many kinds
        return mutate_bytes(content, others, rng)


def mutate_csv(content: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    try:
        rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    except (ValueError, csv.Error):
        return mutate_bytes(content, others, rng)
    if not rows:
        return b"name\n"
    row = rows[rng.randrange(len(rows))]
    action = rng.randrange(7)
    if action == 0:
        rows.insert(rng.randrange(len(rows)), list(rng.choice(rows)))
    elif action == 1:
        rows.remove(row)
    elif action == 2:
        row.append(rng.choice(NAMES))
    elif action == 3:
        column = rng.randrange(len(row) or 1)
        for one in rows:
            del one[column : column + 1]
    elif action == 4:
        column = rng.randrange(len(row) or 1)
        for one in rows:
            one.insert(column, one[column] if column < len(one) else "")
    elif row:
        value = rng.choice(NAMES) if action == 5 else _as_text(rng.choice(VALUES))
        row[rng.randrange(len(row))] = value
    text = io.StringIO()
    csv.writer(text, lineterminator=rng.choice(("\n", "\r\n", "\n", "\r"))).writerows(rows)
    return text.getvalue().encode("utf-8", "surrogatepass")


def change(tree: Any, rng: Random) -> Any:
    """Return a tree of lists and mappings with one thing in it changed."""
    tree = copy.deepcopy(tree)
    nodes = list(_nodes(tree))
    if not nodes or rng.random() < 0.02:
        return rng.choice(VALUES)
    # Choosing the container first keeps long lists of numbers from taking all the mutations.
    node = rng.choice(nodes)
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    key = rng.choice(keys) if keys else None
    action = rng.randrange(6)
    if key is None or action == 0:
        _add(node, rng.choice(NAMES), rng.choice(VALUES))
    elif action == 1:
        del node[key]
    elif action == 2:
        _add(node, f"{key}2", copy.deepcopy(node[key]))
    elif action == 3:
        node[key] = copy.deepcopy(rng.choice(nodes))
    else:
        node[key] = copy.deepcopy(rng.choice(VALUES))
    return tree


def laughs(levels: int) -> str:
    """Return YAML of a few lines that stands for 10 ** levels entries."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]")
    return "\n".join(lines) + "\n"


def _nodes(tree: Any) -> Any:
    if isinstance(tree, (dict, list)):
        yield tree
        for below in tree.values() if isinstance(tree, dict) else tree:
            yield from _nodes(below)


def _add(node: Any, key: str, value: Any) -> None:
    if isinstance(node, dict):
        node[key] = value
    else:
        node.append(value)


def _nested(rng: Random) -> str:
    depth = rng.choice((50, DEEP, 30 * DEEP))
    return rng.choice(("[" * depth + "]" * depth, "[" * depth, '{"a":' * depth + "1" + "}" * depth))


def _replaced_word(content: bytes, rng: Random, new: str) -> bytes:
    words = content.split(b" ")
    words[rng.randrange(len(words))] = new.encode()
    return b" ".join(words)


def _as_text(value: Any) -> str:
    return str(value)[:5000] if not isinstance(value, int) or abs(value) < 2**70 else "9" * 400
