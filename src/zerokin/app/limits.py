"""How much a visitor may ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zerokin.parameters import Integer, Ranges, Real, check_parameters

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
    side
        Pixels along either side of a picture.
    waiting
        Requests that may be in hand at once; further ones are told to come back.
    receiving
        Requests whose body has not arrived whole; further ones are told to come back.
    connections
        Open connections; further ones are closed at once.
    batch_pictures
        Pictures of one batch.
    unpacked
        How many times ``upload_bytes`` a zip file may unpack to.
    stored
        How many times ``upload_bytes`` all uploads that are kept may take on the disk, and
        bodies that are still arriving as much again.
    stored_per_visitor
        How many times ``upload_bytes`` the uploads of one visitor may take.
    header_seconds
        Within which the header of a request must have arrived.
    body_seconds
        Within which a body must have arrived, beside ``body_rate``.
    body_rate
        Bytes a second that earn a body more time.
    """

    upload_bytes: int = 50 * MEGABYTE
    pixels: int = 50_000_000
    side: int = 20_000
    waiting: int = 64
    receiving: int = 256
    connections: int = 1000
    batch_pictures: int = 1000
    unpacked: int = 4
    stored: int = 20
    stored_per_visitor: int = 4
    header_seconds: float = 10.0
    body_seconds: float = 15.0
    body_rate: int = 20_000

    _parameter_ranges: ClassVar[Ranges] = {
        **dict.fromkeys(
            (
                "upload_bytes",
                "pixels",
                "side",
                "waiting",
                "receiving",
                "connections",
                "batch_pictures",
                "unpacked",
                "stored",
                "stored_per_visitor",
                "body_rate",
            ),
            Integer(1, words="be at least 1"),
        ),
        **dict.fromkeys(("header_seconds", "body_seconds"), Real(0, closed="neither")),
    }

    def __post_init__(self) -> None:
        check_parameters(self)
