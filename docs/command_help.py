"""The tables of options in ``commands.md``, written from the command line itself.

    python docs/command_help.py

puts the tables of today's commands into the page; a test compares the two.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo

PAGE = Path(__file__).parent / "commands.md"
TABLE = re.compile(r"(<!-- options of ([a-z-]+) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def commands() -> dict[str, Callable[..., None]]:
    """Return the function of every command by the command's name."""
    from zerokin.cli import app

    found = {}
    for command in app.registered_commands:
        assert command.callback is not None
        found[command.name or command.callback.__name__.replace("_", "-")] = command.callback
    return found


def table(command: Callable[..., None]) -> str:
    """Return what a command says of itself, and a table of what it takes."""
    said = " ".join((inspect.getdoc(command) or "").split())
    hints = get_type_hints(command, include_extras=True)
    rows = [
        _row(name, parameter.default, hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if hints[name] is not typer.Context
    ]
    return "\n".join([said, "", "| takes | what it is | by default |", "|---|---|---|", *rows, ""])


def _row(name: str, default: Any, hint: Any) -> str:
    """Return the line of a parameter: names, help with the choices there are, default."""
    kind, about = get_args(hint)[:2]
    names = _names(name, kind, about)
    what = about.help or ""
    if choices := _choices(kind):
        what = f"{what}: {choices}" if what else choices
    cells = (", ".join(f"`{one}`" for one in names), what, _shown(default, names))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _names(name: str, kind: Any, about: Any) -> list[str]:
    if isinstance(about, ArgumentInfo):
        return [about.metavar or name.upper()]
    # Typer takes the first name for a default where both stand in an annotation.
    given = [one for one in (about.default, *(about.param_decls or ())) if isinstance(one, str)]
    option = name.replace("_", "-")
    truth = kind is bool or bool in get_args(kind)
    usual = f"--{option}/--no-{option}" if truth else f"--{option}"
    return [part for one in given or [usual] for part in one.split("/")]


def _choices(kind: Any) -> str:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(str(choice.value) for choice in kind)
    if get_origin(kind) is Literal:
        return ", ".join(map(str, get_args(kind)))
    return next(filter(None, map(_choices, get_args(kind))), "")


def _shown(default: Any, names: list[str]) -> str:
    if default is inspect.Parameter.empty:
        return "must be given"
    if isinstance(default, bool) and len(names) > 1:
        return f"`{names[0 if default else 1]}`"
    if default is None or default is False or default in ((), []):
        return ""
    many = default if isinstance(default, list | tuple) else [default]
    return ", ".join(f"`{one.value if isinstance(one, Enum) else one}`" for one in many)


def filled(page: str) -> str:
    """Return the page with the tables of today's commands."""
    known = commands()
    return TABLE.sub(lambda found: f"{found[1]}{table(known[found[2]])}\n", page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
