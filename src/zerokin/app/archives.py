"""Many images at once: files, and what zip files hold, read without writing anything."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from threading import Lock

from PIL import Image

from zerokin.app.limits import Limits
from zerokin.app.refusals import TooLarge
from zerokin.app.uploads import decode_upload, upload_reader
from zerokin.data.images import Images, is_image
from zerokin.errors import InvalidInput

ENCRYPTED = 0x1
HIDDEN = ("__MACOSX",)
END, END_BYTES, LONGEST_COMMENT = b"PK\x05\x06", 22, 65_535
LARGE_LOCATOR, LOCATOR_BYTES = b"PK\x06\x07", 20
ENTRY_BYTES = 500  # of a zip file's directory for each image of a batch, on average


@dataclass
class Unpacked:
    """How many bytes of zip files have been unpacked; over the limit nothing more is."""

    most: int
    taken: int = 0
    lock: Lock = field(default_factory=Lock)

    def take(self, count: int) -> None:
        """Note bytes that were unpacked."""
        with self.lock:
            self.taken += count
            if self.taken > self.most:
                raise TooLarge(f"the zip file unpacks to more than {self.most:,} bytes")


class UploadedImages(Images):
    """Images that were sent, each read when it is its turn."""

    def __init__(
        self, names: Sequence[str], readers: Sequence[Callable[[], bytes]], limits: Limits
    ):
        self.names, self._readers, self._limits = names, readers, limits

    def load(self, index: int) -> Image.Image:
        return decode_upload(self._readers[index](), self.names[index], self._limits)


def uploaded_images(
    files: Sequence[tuple[str, Path]], limits: Limits
) -> tuple[UploadedImages, list[str]]:
    """Return the images of uploaded files, and a line for everything that was left out.

    Parameters
    ----------
    files
        What each file is called, and where it lies; zip files are looked into, once.
    limits
        More images than these are refused.
    """
    names: list[str] = []
    readers: list[Callable[[], bytes]] = []
    skipped: list[str] = []
    unpacked = Unpacked(limits.unpacked * limits.upload_bytes)
    for called, path in files:
        if path.suffix.lower() == ".zip" or called.lower().endswith(".zip"):
            for name, reader in _members(called, path, limits, unpacked, skipped):
                names.append(name)
                readers.append(reader)
        elif is_image(called):
            names.append(called)
            readers.append(upload_reader(path))
        else:
            skipped.append(f"{called}: not an image, left out")
    if len(names) > limits.batch_images:
        raise TooLarge(f"{len(names):,} images, over the limit of {limits.batch_images:,}")
    return UploadedImages(names, readers, limits), skipped


def _members(
    called: str, path: Path, limits: Limits, unpacked: Unpacked, skipped: list[str]
) -> list[tuple[str, Callable[[], bytes]]]:
    try:
        listed = directory_bytes(path)
        if listed > limits.batch_images * ENTRY_BYTES:
            raise TooLarge(f"{called} lists far more files than {limits.batch_images:,} images")
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except TooLarge:
        raise
    # zipfile raises many kinds on damaged input.
    except Exception as error:
        raise InvalidInput(f"{called} cannot be read as a zip file ({error})") from error
    found: list[tuple[str, Callable[[], bytes]]] = []
    for entry in sorted(entries, key=lambda entry: entry.filename):
        reason = unfit(entry, limits)
        if reason is None:
            found.append((entry.filename, _reader(path, entry, limits, unpacked)))
        elif reason:
            skipped.append(f"{entry.filename}: {reason}, left out")
    return found


def directory_bytes(path: Path) -> int:
    """Return how long the list of a zip file's members is, which is read into memory whole.

    Parameters
    ----------
    path
        A zip file; one in the form for more than 4 GB is refused.
    """
    with path.open("rb") as file:
        length = file.seek(0, os.SEEK_END)
        file.seek(max(0, length - END_BYTES - LONGEST_COMMENT - LOCATOR_BYTES))
        tail = file.read()
    at = tail.rfind(END)
    if at < 0 or len(tail) < at + END_BYTES:
        raise InvalidInput("it has no end")
    if tail[max(0, at - LOCATOR_BYTES) : at].startswith(LARGE_LOCATOR):
        raise InvalidInput("it is in the form for more than 4 GB")
    return int.from_bytes(tail[at + 12 : at + 16], "little")


def unfit(entry: zipfile.ZipInfo, limits: Limits) -> str | None:
    """Return why a member of a zip file is left out, "" for what need not be told, else None.

    Examples
    --------
    >>> unfit(zipfile.ZipInfo("../../etc/passwd.jpg"), Limits())
    'its path leads out of the zip file'
    >>> unfit(zipfile.ZipInfo("garden/1.jpg"), Limits())
    """
    name = entry.filename
    parts = PurePosixPath(name).parts
    if not name:
        return "it has no name"
    if ".." in parts or name.startswith("/") or "\\" in name or ":" in name.partition("/")[0]:
        return "its path leads out of the zip file"
    if entry.is_dir() or any(part.startswith(".") or part in HIDDEN for part in parts):
        return ""
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "a link or a special file"
    if entry.flag_bits & ENCRYPTED:
        return "encrypted"
    if name.lower().endswith(".zip"):
        return "a zip file inside a zip file"
    if not is_image(name):
        return "not an image"
    if entry.file_size > limits.upload_bytes:
        return f"over the limit of {limits.upload_bytes:,} bytes"
    return None


def _reader(
    path: Path, entry: zipfile.ZipInfo, limits: Limits, unpacked: Unpacked
) -> Callable[[], bytes]:
    def read() -> bytes:
        try:
            with zipfile.ZipFile(path) as archive, archive.open(entry) as member:
                # What the directory says of a member's size need not be true.
                content = member.read(limits.upload_bytes + 1)
        # zipfile raises many kinds on damaged input.
        except Exception as error:
            raise InvalidInput(
                f"image {entry.filename} cannot be unpacked ({str(error)[:80]})"
            ) from error
        unpacked.take(len(content))
        return content

    return read
