"""One line for a mistyped command or a warning; an interruption that says how to go on."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from zerokin.aliases import CHOICES, OPTIONS, Names, renamed
from zerokin.commands.arguments import out
from zerokin.compute.processes import joined, started_together
from zerokin.errors import InvalidInput, ZerokinWarning, did_you_mean
from zerokin.progress import Verbosity, set_verbosity

# The class is Click's own, or that of Typer's copy of Click: its child is public in both.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

SHARED = ("fit", "extract", "ablation")
"""Commands whose samples are shared by the processes that torchrun started."""
VERBOSITY = {
    "-q": Verbosity.quiet,
    "--quiet": Verbosity.quiet,
    "-v": Verbosity.verbose,
    "--verbose": Verbosity.verbose,
}
"""Options of every command."""


class Interrupted(Exception):
    """A user stopped a command; the message is what they should know."""


@contextmanager
def going_on_from(kept: Path) -> Iterator[None]:
    """Tell who interrupts that the same command goes on, where there is something to go on from.

    A training that pauses when its time is up (`TrainingPaused`) ends the command without an error.
    """
    from zerokin.features.training.records import TrainingPaused

    try:
        yield
    except TrainingPaused as paused:
        print(f"zerokin: {paused}: the same command goes on from {kept}", file=sys.stderr)
        raise typer.Exit from paused
    except KeyboardInterrupt as error:
        if not kept.exists():
            raise
        raise Interrupted(f"the same command goes on from {kept}") from error


class OneLineGroup(TyperGroup):
    """Commands whose misuse is an `InvalidInput`, like everything else that a user gets wrong."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the options that stand before a command."""
        try:
            return super().make_context(*args, **options)
        except UsageError as error:
            raise _as_ours(error) from error

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, give its options their present names, and take those all have."""
        name, command, rest = super().resolve_command(ctx, args)
        rest = _without_verbosity(rest)
        if started_together() > 1:
            _join_others(ctx, name)
        return name, command, rest if command is None else _under_new_names(command, rest)

    def invoke(self, ctx: Any) -> Any:
        """Find the command, read what it takes, and run it."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            raise _as_ours(error) from error


def _join_others(ctx: Any, name: str | None) -> None:
    """Work with the processes that torchrun started; one of them shows and writes."""
    if name in SHARED:
        processes = ctx.with_resource(joined())
        if not processes.leads:
            out.quiet = True
            set_verbosity(Verbosity.quiet)
    elif name != "train":
        raise InvalidInput(f"zerokin {name} works in one process: start it without torchrun")


def _without_verbosity(args: list[str]) -> list[str]:
    """Return what was typed after a command without ``-q`` and ``-v``, which are heeded."""
    end = args.index("--") if "--" in args else len(args)
    for word in args[:end]:
        if word in VERBOSITY:
            set_verbosity(VERBOSITY[word])
    return [word for word in args[:end] if word not in VERBOSITY] + args[end:]


def _under_new_names(command: Any, args: list[str]) -> list[str]:
    """Return what was typed after a command, with options under their present names."""
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    table = {old: new for old, new in OPTIONS.items() if new in known and old not in known}
    end = args.index("--") if "--" in args else len(args)
    found: list[str] = []
    old: dict[str, str] = {}

    def translate(word: str, names: Names) -> str:
        if word in names:
            old[word] = names[word]
        return names.get(word, word)

    values: Names = {}
    for arg in args[:end]:
        if not arg.startswith("--"):
            found.append(translate(arg, values))
            values = {}
            continue
        name, equals, value = arg.partition("=")
        values = CHOICES.get(table.get(name, name), {})
        found.append(translate(name, table) + equals + translate(value, values))
    renamed(old, dict.fromkeys(old), f"zerokin {command.name}")
    return found + args[end:]


def _as_ours(error: Any) -> Exception:
    if type(error).__name__ == "NoArgsIsHelpError":  # which is shown as the help that it is
        return error  # type: ignore[no-any-return]
    return InvalidInput(usage_line(error))


def usage_line(error: Any) -> str:
    """Return what was mistyped, what may have been meant, and where the help is."""
    context = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    if option is not None and type(error).__name__ == "NoSuchOption":
        parameters = [] if context is None else context.command.params
        known = [name for one in parameters for name in (*one.opts, *one.secondary_opts)]
        options = [name for name in (*known, "--help") if name.startswith("-")]
        said = f"no such option {option}{did_you_mean(option, options)}"
    else:
        words = " ".join(error.format_message().split())
        said = (words[:1].lower() + words[1:]).removesuffix(".")
        said = said.replace(". Did you mean", "; did you mean").replace("Value error, ", "")
    return said if context is None else f"{said} ({context.command_path} --help)"


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Show warnings of ours in a line on standard error, without the place in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", ZerokinWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, ZerokinWarning):
                print(f"zerokin: warning: {message}", file=sys.stderr)
            else:
                usual(message, category, *place, **more)

        warnings.showwarning = show
        yield
