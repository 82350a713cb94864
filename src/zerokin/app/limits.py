"""How much a visitor may ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zerokin.parameters import Integer, Ranges, check_parameters

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Limits:
    """What is refused, so that no visitor can use up the machine.

    Parameters
    ----------
    upload_bytes
        Of one request, and of one picture inside a zip file.
    pixels
        Of one picture.
    waiting
        Requests that may be in hand at once; further ones are told to come back.
    batch_pictures
        Pictures of one batch.
    unpacked
        How many times ``upload_bytes`` a zip file may unpack to.
    """

    upload_bytes: int = 50 * MEGABYTE
    pixels: int = 50_000_000
    waiting: int = 64
    batch_pictures: int = 1000
    unpacked: int = 4

    _parameter_ranges: ClassVar[Ranges] = dict.fromkeys(
        ("upload_bytes", "pixels", "waiting", "batch_pictures", "unpacked"),
        Integer(1, words="be at least 1"),
    )

    def __post_init__(self) -> None:
        check_parameters(self)
