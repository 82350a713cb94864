"""How much a visitor may ask for."""

from __future__ import annotations

from dataclasses import dataclass

from zerokin.declared import Count, Declared, Positive

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Limits(Declared):
    """What is refused, so that no visitor can use up the machine.

    Parameters
    ----------
    upload_bytes
        Of one request, and of one image inside a zip file.
    pixels
        Of one image.
    side
        Pixels along either side of an image.
    waiting
        Requests that may be in hand at once; further ones are told to come back.
    receiving
        Requests whose body has not arrived whole; further ones are told to come back.
    connections
        Open connections; further ones are closed at once.
    batch_images
        Images of one batch.
    shots
        Images, or rows of features, that one request adds to a class.
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

    upload_bytes: Count = 50 * MEGABYTE
    pixels: Count = 50_000_000
    side: Count = 20_000
    waiting: Count = 64
    receiving: Count = 256
    connections: Count = 1000
    batch_images: Count = 1000
    shots: Count = 100
    unpacked: Count = 4
    stored: Count = 20
    stored_per_visitor: Count = 4
    header_seconds: Positive = 10.0
    body_seconds: Positive = 15.0
    body_rate: Count = 20_000
