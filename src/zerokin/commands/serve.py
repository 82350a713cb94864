"""``serve``: a bundle as a web page."""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from zerokin.commands.arguments import out
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.temporaries import scratch_folder

PASSWORD_VARIABLE = "ZEROKIN_PASSWORD"


def serve(
    model: Annotated[Path, typer.Argument(help="folder that zerokin fit wrote")],
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="port to listen on; 0: a free one")] = 7860,
    password: Annotated[
        str | None,
        typer.Option(
            metavar="USER:PASSWORD",
            envvar=PASSWORD_VARIABLE,
            show_envvar=True,
            help="what every visitor has to give",
        ),
    ] = None,
    max_upload_mb: Annotated[float, typer.Option(help="most megabytes of a request")] = 50,
    max_pixels: Annotated[int, typer.Option(help="most pixels of a picture")] = 50_000_000,
    queue: Annotated[int, typer.Option(help="most requests in hand at once")] = 64,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="let nobody add or remove classes")
    ] = False,
    device: Annotated[str | None, typer.Option(help="cpu or cuda")] = None,
) -> None:
    """Open a bundle as a web page and an HTTP interface, on this machine."""
    from zerokin.app.limits import MEGABYTE, Limits
    from zerokin.app.server import exposure, password_of
    from zerokin.app.server import serve as run
    from zerokin.recogniser.generations import read_pointer

    if not 0 < max_upload_mb < 1e6:
        raise InvalidInput(f"--max-upload-mb must be above 0 and below 1,000,000: {max_upload_mb}")
    limits = Limits(upload_bytes=int(max_upload_mb * MEGABYTE), pixels=max_pixels, waiting=queue)
    read_pointer(model)  # a wrong folder is told before the libraries are loaded
    admitted = password_of(password)
    exposed = exposure(host, admitted)
    if exposed is not None:
        print(f"zerokin: {exposed}", file=sys.stderr)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZerokinWarning)  # it is printed above
        with temporary_files_in_scratch():
            run(
                model,
                host=host,
                port=port,
                password=admitted,
                limits=limits,
                read_only=read_only,
                device=device,
                ready=lambda address: out.print(f"{address} (Ctrl-C stops)", soft_wrap=True),
            )


@contextmanager
def temporary_files_in_scratch() -> Iterator[None]:
    """Have uploads and all else that is temporary put where the next server clears it away."""
    usual = tempfile.tempdir
    with scratch_folder() as folder:
        tempfile.tempdir = str(folder)
        try:
            yield
        finally:
            tempfile.tempdir = usual
