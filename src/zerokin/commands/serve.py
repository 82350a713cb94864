"""``serve``: a bundle as a web page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zerokin.app.limits import MEGABYTE, Limits
from zerokin.commands.arguments import out
from zerokin.commands.several_labels import predicts_labels
from zerokin.errors import InvalidInput

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
    no_password: Annotated[
        bool,
        typer.Option("--no-password", help="let everyone who can reach the server use the model"),
    ] = False,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="name of a proxy in front of the server; repeatable"),
    ] = None,
    max_upload_mb: Annotated[float, typer.Option(help="most megabytes of a request")] = (
        Limits.upload_bytes // MEGABYTE
    ),
    max_pixels: Annotated[int, typer.Option(help="most pixels of an image")] = Limits.pixels,
    queue: Annotated[int, typer.Option(help="most requests in hand at once")] = Limits.waiting,
    read_only: Annotated[
        bool | None,
        typer.Option(
            "--read-only/--allow-changes",
            help="let nobody add or remove classes, or everyone who can reach the server",
            show_default="changes are allowed on this machine alone",
        ),
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda")] = None,
) -> None:
    """Open a bundle as a web page and an HTTP interface, on this machine."""
    from zerokin.app.server import check_exposure, password_of
    from zerokin.app.server import serve as run
    from zerokin.recognizer.former_classifier import current_generation

    if not 0 < max_upload_mb < 1e6:
        raise InvalidInput(f"--max-upload-mb must be above 0 and below 1,000,000: {max_upload_mb}")
    limits = Limits(upload_bytes=int(max_upload_mb * MEGABYTE), pixels=max_pixels, waiting=queue)
    if not predicts_labels(model):
        current_generation(model)  # a wrong folder is told before the libraries are loaded
    admitted = password_of(password)
    names = tuple(allowed_host or ())
    check_exposure(host, names, admitted, no_password=no_password)
    run(
        model,
        host=host,
        port=port,
        allowed_hosts=names,
        password=admitted,
        no_password=no_password,
        limits=limits,
        read_only=read_only,
        device=device,
        ready=lambda address: out.print(f"{address} (Ctrl-C stops)", soft_wrap=True),
    )
