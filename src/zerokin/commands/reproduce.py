"""``reproduce``: a table or figure run again from its record, and compared with it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from zerokin.commands.arguments import out
from zerokin.errors import InvalidInput, MissingFile, listing
from zerokin.files import refuse_unwritable

if TYPE_CHECKING:
    from zerokin.benchmark.catalog import Catalog, Run
    from zerokin.benchmark.records import Record
    from zerokin.commands.recorded_command import ReadyCommand

DIFFERS = 1


def reproduce(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="of a table, figure or run; --list names all")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Argument(help="folder of its data, or NAME=DIR for several")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="all tables and figures, and what is recorded")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="write the record anew from this run")
    ] = False,
    results: Annotated[Path, typer.Option(help="folder of the records")] = Path("results"),
    folder: Annotated[
        Path, typer.Option("--out", help="for what the commands write, in a folder each")
    ] = Path("reproduced"),
) -> None:
    """Run the recorded command of a table or figure, and compare its rows with the record."""
    from zerokin.benchmark.catalog import load_catalog
    from zerokin.benchmark.records import read_record

    catalog = load_catalog()
    if listed or name is None:
        _print_list(catalog, results, name)
        return
    wanted = catalog.runs_for(name)
    kept = {
        run.name: read_record(results / f"{run.name}.json")
        for run in wanted
        if not record and (results / f"{run.name}.json").exists()
    }
    runs = _with_data(name, _to_run(name, wanted, kept, record, catalog), data or [])
    if record:
        refuse_unwritable(results / "record.json")
    refuse_unwritable(folder / runs[0][0].name)
    group = context.find_root().command
    ready = [
        (run, _ready(run, folders, folder / run.name, group, kept.get(run.name)))
        for run, folders in runs
    ]
    agreed = [
        _run(run, command, folder / run.name, kept.get(run.name), results if record else None)
        for run, command in ready
    ]
    if not all(agreed):
        raise typer.Exit(DIFFERS)


def _print_list(catalog: Catalog, results: Path, name: str | None) -> None:
    """Print tables and figures with the state of their runs; the command of each, for one."""
    from zerokin.benchmark.records import read_records
    from zerokin.report.recorded import entry_state

    records = read_records(results)
    if name is not None:
        for run in catalog.runs_for(name):
            out.print(Text(f"{run.name}: {run.command}"), soft_wrap=True)
    table = Table.grid(padding=(0, 2))
    for entry in catalog.entries.values():
        if name not in (None, entry.name, *entry.runs):
            continue
        table.add_row(Text(entry.name, style="bold"), Text(entry.paper))
        for run_name, said in entry_state(entry, catalog, records):
            table.add_row("", Text(f"{run_name}: {said}" if run_name else said))
    out.print(table)


def _to_run(
    name: str, wanted: list[Run], kept: dict[str, Record], record: bool, catalog: Catalog
) -> list[Run]:
    """Return the runs of a name that can be compared; any that was named itself, or is drawn."""
    if not wanted:
        raise InvalidInput(f"{name} cannot be made: it needs {catalog.entries[name].needs}")
    if record or name in catalog.runs:
        return wanted
    known = [run for run in wanted if run.name in kept or not run.recordable]
    if not known:
        raise MissingFile(
            f"{name} has no record: zerokin reproduce {name} --list says what its runs need, and "
            "--record makes one"
        )
    return known


def _with_data(name: str, runs: list[Run], given: list[str]) -> list[tuple[Run, dict[str, Path]]]:
    """Return the runs whose data were given, each with its folder."""
    from zerokin.commands.recorded_command import folders_by_name

    needed = list(dict.fromkeys(run.data for run in runs if run.data))
    folders = folders_by_name(given, needed)
    chosen = [run for run in runs if run.data is None or run.data in folders]
    if not chosen:
        shown = listing([f"{one}=DIR" for one in needed])
        raise MissingFile(f"{name} needs data: zerokin reproduce {name} {shown}")
    return [(run, folders) for run in chosen]


def _ready(
    run: Run, folders: dict[str, Path], place: Path, group: Any, kept: Record | None
) -> ReadyCommand:
    from zerokin.commands.recorded_command import make_ready

    command = run.command if kept is None else kept.command
    try:
        return make_ready(command, folders, place, group, kept)
    except InvalidInput as error:
        raise InvalidInput(f"{run.name}: {error}") from error
    except MissingFile as error:
        raise MissingFile(f"{run.name}: {error}") from error


def _run(
    run: Run, command: ReadyCommand, place: Path, kept: Record | None, results: Path | None
) -> bool:
    """Run a command, compare or record what it wrote; return whether it agrees with its record."""
    out.print(Text(f"{run.name}: {' '.join(command.words)}", style="bold"), soft_wrap=True)
    place.mkdir(parents=True, exist_ok=True)
    status = subprocess.run(command.process, check=False).returncode
    if status:
        raise InvalidInput(f"{run.name}: its command ended with status {status}: see above")
    for image in run.draws:
        out.print(f"drew {place / image}", soft_wrap=True)
    if not run.recordable:
        return True
    if results is not None:
        _write(run, command, place, results)
        return True
    if kept is None:
        out.print(f"{run.name}: nothing is recorded to compare with; --record keeps these rows")
        return True
    return _compare(kept, place / run.rows)


def _write(run: Run, command: ReadyCommand, place: Path, results: Path) -> None:
    from zerokin.benchmark.circumstances import device_name, today, versions
    from zerokin.benchmark.records import Record, rows_in, seeds_of, write_record

    rows = rows_in(place / run.rows)
    record = Record(
        name=run.name,
        title=run.title,
        command=run.command,
        rows=rows,
        trained=run.trained,
        spread=run.spread,
        seeds=seeds_of(rows),
        data=dict(command.data),
        versions=versions(),
        device=device_name(),
        date=today(),
    )
    out.print(f"wrote {write_record(record, results)}: {len(rows)} rows", soft_wrap=True)


def _compare(kept: Record, path: Path) -> bool:
    """Say how many rows agree with the record, and how each other one differs."""
    from zerokin.benchmark.agreement import compare_rows
    from zerokin.benchmark.circumstances import versions
    from zerokin.benchmark.records import rows_in

    found = compare_rows(kept, rows_in(path))
    for line in found.differences:
        out.print(Text(line, style="red"), soft_wrap=True)
    how = "within the recorded spread" if kept.trained else "exactly"
    out.print(f"{kept.name}: {found.agreeing} of {found.total} rows agree {how}", soft_wrap=True)
    here = versions()
    other = [f"{name} {said}" for name, said in kept.versions.items() if here.get(name) != said]
    if other and not found.whole:
        out.print(f"recorded with {', '.join(other)}: other versions may explain it")
    return found.whole
