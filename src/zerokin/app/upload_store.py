"""Files that visitors of the page sent: each visitor's own, within a quota, for a while."""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import time
import unicodedata
from collections import OrderedDict
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import IO

from zerokin.app.limits import Limits
from zerokin.app.refusals import Busy, TooLarge
from zerokin.temporaries import scratch_folder

KEPT_SECONDS = 1800.0  # since an upload was last used
SAFE_SECONDS = 60.0  # in which no other visitor's upload pushes one out
LEAST_BYTES = 16_000  # that a file counts as, so that empty ones cannot be many
LONGEST_NAME = 100
VISITOR = re.compile(r"[0-9a-f]{32}")


@dataclass
class Upload:
    """A file of a visitor."""

    visitor: str
    path: Path
    size: int
    used: float


class UploadStore:
    """What visitors uploaded, by path; a path that is not here is no upload, whatever it names.

    Parameters
    ----------
    folder
        An empty folder of its own.
    limits
        How much all visitors and each of them may keep.
    """

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self._uploads: OrderedDict[str, Upload] = OrderedDict()  # the longest unused first
        self._lock = Lock()

    def keep(self, visitor: str, name: str, file: IO[bytes]) -> str:
        """Copy a file that a visitor sent and return its path.

        Parameters
        ----------
        visitor
            Who sent it, by the token of a cookie.
        name
            What the visitor calls it.
        file
            Its content, from where it stands.
        """
        place = self.folder / secrets.token_hex(16)
        place.mkdir(mode=0o700)
        path = place / plain_name(name)
        try:
            with path.open("xb") as copy:
                shutil.copyfileobj(file, copy)
            size = max(path.stat().st_size, LEAST_BYTES)
            with self._lock:
                self._make_room(visitor, size)
                self._uploads[str(path)] = Upload(visitor, path, size, time.monotonic())
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        return str(path)

    def owns(self, visitor: str | None, path: str) -> bool:
        """Tell whether a path is an upload of this visitor; then it counts as used just now."""
        with self._lock:
            self._remove_old()
            upload = self._uploads.get(path)
            if upload is None or upload.visitor != visitor:
                return False
            upload.used = time.monotonic()
            self._uploads.move_to_end(path)
            return True

    def remove_old(self) -> None:
        """Remove what nobody has used for a while."""
        with self._lock:
            self._remove_old()

    def close(self) -> None:
        """Remove everything."""
        with self._lock:
            for path in list(self._uploads):
                self._remove(path)
            shutil.rmtree(self.folder, ignore_errors=True)

    def _make_room(self, visitor: str, size: int) -> None:
        self._remove_old()
        unit = self.limits.upload_bytes
        own = self.limits.stored_per_visitor * unit
        if size > own:
            raise TooLarge(f"{size:,} bytes, over the limit of {own:,} for one visitor")
        # A visitor's older uploads make room for new ones, then those that nobody used of late.
        mine = [path for path, upload in self._uploads.items() if upload.visitor == visitor]
        kept = sum(self._uploads[path].size for path in mine)
        for path in mine:
            if kept + size <= own:
                break
            kept -= self._remove(path)
        total = sum(upload.size for upload in self._uploads.values())
        for path, upload in list(self._uploads.items()):
            if total + size <= self.limits.stored * unit:
                return
            if upload.visitor == visitor or time.monotonic() - upload.used > SAFE_SECONDS:
                total -= self._remove(path)
        if total + size > self.limits.stored * unit:
            raise Busy("there is no room for uploads just now: try again in a minute")

    def _remove_old(self) -> None:
        now = time.monotonic()
        while self._uploads:
            path, upload = next(iter(self._uploads.items()))
            if now - upload.used <= KEPT_SECONDS:
                return
            self._remove(path)

    def _remove(self, path: str) -> int:
        upload = self._uploads.pop(path)
        shutil.rmtree(upload.path.parent, ignore_errors=True)
        return upload.size


def plain_name(name: str) -> str:
    r"""Return a visitor's name for a file as one that can be nothing but a file's name.

    Examples
    --------
    >>> plain_name("../../etc/passwd"), plain_name("C:\\photos\\okapi\n.jpg"), plain_name("..")
    ('passwd', 'okapi.jpg', 'upload')
    """
    last = PurePosixPath(name.replace("\\", "/")).name
    signs = [sign for sign in last if unicodedata.category(sign) not in ("Cc", "Cs", "Cf")]
    stem, dot, suffix = "".join(signs).strip().rpartition(".")
    short = f"{stem[: LONGEST_NAME - len(suffix) - 1]}{dot}{suffix}"[:LONGEST_NAME]
    # A name may take 255 bytes, whatever the script.
    while len(short.encode()) > 200:
        short = short[1:]
    return short.lstrip(".") or "upload"


_held = ExitStack()


@cache
def upload_root() -> Path:
    """Return this process's folder for uploads; those of processes that were killed are removed.

    It is Gradio's folder for uploads, too, as long as the process lives.
    """
    folder = _held.enter_context(scratch_folder())
    atexit.register(release_upload_root)
    os.environ["GRADIO_TEMP_DIR"] = str(folder)
    return folder


def release_upload_root() -> None:
    """Remove the folder for uploads; another one is made when it is next asked for."""
    upload_root.cache_clear()
    _held.close()
