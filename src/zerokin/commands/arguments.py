"""What several commands take, and where they print."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from zerokin.locales import as_typed

out = Console(highlight=False)
if not out.is_terminal:
    # Files and other programs have no width: lines are not broken there, nor tables narrowed.
    out.width = 10_000


def as_utf8(given: str | list[str] | None) -> str | list[str] | None:
    """Return what was typed as UTF-8, for options that hold names and words rather than paths."""
    if isinstance(given, str):
        return as_typed(given)
    return None if given is None else [as_typed(one) for one in given]


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="a folder of your images, critters, critters-scenes, or KIND=DIR: folder, xlsa17, "
        "cub, awa1, awa2, sun, imnet, mini-imagenet, coco, nus-wide, voc",
        show_default=False,
    ),
]
SplitName = Annotated[str | None, typer.Option("--split", help="pure or standard")]
Features = Annotated[
    str | None,
    typer.Option(
        help="FILE.safetensors that extract wrote, FILE.npy with a row a sample, or a feature file "
        "of an xlsa17 folder"
    ),
]
MemoryBudget = Annotated[
    str | None,
    typer.Option(
        help="most memory, such as 8GiB: features in files are read by blocks; ours and paper only"
    ),
]
Semantics = Annotated[
    str | None,
    typer.Option(
        help="word-vectors=FILE, text=MODEL, table=FILE, definitions, clip-text, taxonomy or own, "
        "in place of the data's own; several with + between them"
    ),
]


class PrecisionName(StrEnum):
    """Type of number that a network computes with."""

    float32 = "float32"
    bfloat16 = "bfloat16"


ReadingPrecision = Annotated[
    PrecisionName | None,
    typer.Option(help="what the network computes with; by default bfloat16 on GPUs alone"),
]
