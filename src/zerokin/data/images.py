"""Images that stay where they are, in folders or tar files, until one is asked for."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from zerokin.errors import InvalidInput, MissingFile
from zerokin.locales import as_typed, on_disk

IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff"})
MOST_PIXELS = 100_000_000
MOST_ALONG_A_SIDE = 200_000
# A file of so few bytes that rows must be missing is refused before memory is taken for them: no
# format here but for blank pages packs more than 8,300 pixels into a byte.
PIXELS_PER_BYTE = 10_000
SMALL_PIXELS = 4_000_000
# What Pillow may try: some of its other formats run programs (EPS) or decode without limits.
# Its JPEG opens MPO, images of several views, too.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")
STRIP_PIXELS = 4_000_000
END_OF_ARCHIVE = 1024  # a tar file ends with two blocks of 512 zero bytes


def is_image(name: str) -> bool:
    """Tell by its suffix whether a file is an image; hidden files are not."""
    base = name.rsplit("/", 1)[-1]
    return not base.startswith(".") and os.path.splitext(base)[1].lower() in IMAGE_SUFFIXES  # noqa: PTH122


class Images(ABC):
    """N images, decoded one at a time; ``names`` tells them apart in messages and files."""

    names: Sequence[str]

    def __len__(self) -> int:
        return len(self.names)

    @abstractmethod
    def load(self, index: int) -> Image.Image:
        """Return one image, upright and in RGB."""

    def digest(self, index: int) -> bytes:
        """Return the SHA-256 of one image: of its file, or of its pixels where it has none."""
        return hashlib.sha256(self.array(index).tobytes()).digest()

    def file(self, index: int) -> Path | None:  # noqa: ARG002
        """Return the file or archive that holds an image; None if it is in memory alone."""
        return None

    def sha256(self) -> str:
        """Return one SHA-256 over the names and contents of all images (reads them all)."""
        return joint_sha256(self.names, [self.digest(index) for index in range(len(self))])

    def array(self, index: int) -> NDArray[np.uint8]:
        """Return one image as (height, width, 3) bytes."""
        return np.asarray(self.load(index))


class FolderImages(Images):
    """Image files below one folder."""

    def __init__(self, root: Path, names: Sequence[str]) -> None:
        self.root = root
        self.names = names

    def load(self, index: int) -> Image.Image:
        path = self.root / self.names[index]
        return decode(self._content(index), str(path))

    def digest(self, index: int) -> bytes:
        return hashlib.sha256(self._content(index)).digest()

    def _content(self, index: int) -> bytes:
        try:
            return self.file(index).read_bytes()
        except OSError as error:
            path = self.root / self.names[index]
            raise MissingFile(f"cannot read image {path}: {error.strerror}") from error

    def file(self, index: int) -> Path:
        return on_disk(self.root / self.names[index])


class ArrayImages(Images):
    """Images that are in memory already, (N, height, width, 3) bytes."""

    def __init__(self, pixels: NDArray[np.uint8]) -> None:
        if pixels.ndim != 4 or pixels.shape[3] != 3 or pixels.dtype != np.uint8:
            raise InvalidInput(
                "images must be uint8 of shape (N, height, width, 3): "
                f"got {pixels.dtype} {pixels.shape}"
            )
        self.pixels = pixels
        self.names = [str(number) for number in range(len(pixels))]

    def load(self, index: int) -> Image.Image:
        return Image.fromarray(self.pixels[index])


class TarEntry(NamedTuple):
    """Where an image's bytes lie."""

    archive: int
    offset: int
    size: int


class TarImages(Images):
    """Images inside uncompressed tar files, read in place."""

    def __init__(
        self, archives: Sequence[Path], names: Sequence[str], entries: Sequence[TarEntry]
    ) -> None:
        self.archives = tuple(archives)
        self.names = names
        self.entries = entries

    def load(self, index: int) -> Image.Image:
        archive = self.archives[self.entries[index].archive]
        return decode(self._content(index), f"{archive}:{self.names[index]}")

    def digest(self, index: int) -> bytes:
        return hashlib.sha256(self._content(index)).digest()

    def file(self, index: int) -> Path:
        return self.archives[self.entries[index].archive]

    def _content(self, index: int) -> bytes:
        # Opened for every image: nothing is shared between the processes of a data loader.
        entry = self.entries[index]
        archive = self.archives[entry.archive]
        try:
            with archive.open("rb") as file:
                file.seek(entry.offset)
                return file.read(entry.size)
        except OSError as error:
            raise MissingFile(f"cannot read {archive}: {error.strerror}") from error


def joint_sha256(names: Sequence[str], digests: Sequence[bytes]) -> str:
    """Return one SHA-256 over images, the same for any order of them."""
    whole = hashlib.sha256()
    for index in sorted(range(len(names)), key=names.__getitem__):
        # Bytes of a file's name that are no UTF-8 are lone surrogates in Python.
        whole.update(names[index].encode("utf-8", "surrogatepass") + b"\0" + digests[index])
    return whole.hexdigest()


def decode(content: bytes, name: str) -> Image.Image:
    """Decode an image to upright RGB; a damaged, truncated or huge one is named in the error."""
    if not content:
        raise InvalidInput(f"image {name} is empty: replace or remove it")
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            _check_size(image.size, len(content), name)
            ImageOps.exif_transpose(image, in_place=True)
            return eight_bit_rgb(image)
    except InvalidInput:
        raise
    # Pillow's decoders raise many kinds on damaged input (OSError, SyntaxError, struct.error, …).
    except Exception as error:
        raise InvalidInput(
            f"image {name} cannot be decoded{_reason(error)}: it is no image or damaged; "
            "replace or remove it"
        ) from error


def _check_size(size: tuple[int, int], n_bytes: int, name: str) -> None:
    """Refuse an image by what its header says, before anything is decoded."""
    width, height = size
    shape = f"image {name} has {width} × {height} pixels"
    if width * height > MOST_PIXELS:
        raise InvalidInput(f"{shape}, over the limit of {MOST_PIXELS:,}: make it smaller")
    if max(size) > MOST_ALONG_A_SIDE:
        raise InvalidInput(
            f"{shape}, over the limit of {MOST_ALONG_A_SIDE:,} along a side: make it smaller"
        )
    if width * height > max(SMALL_PIXELS, PIXELS_PER_BYTE * n_bytes):
        raise InvalidInput(
            f"{shape} by its header, but only {n_bytes:,} bytes: it is damaged; replace it"
        )


def _reason(error: Exception) -> str:
    """Return what Pillow says of a damaged file, where that is meant for people."""
    if isinstance(error, UnidentifiedImageError) or not isinstance(error, OSError):
        return ""
    words = str(error).splitlines()
    return f" ({words[0][:80]})" if words else ""


def eight_bit_rgb(image: Image.Image) -> Image.Image:
    """Return an image of any mode in RGB; what is transparent lies on white.

    A large image is converted in strips: beyond it and the result hardly any memory is taken.
    """
    if image.mode == "RGB" and "transparency" not in image.info:
        return image.copy()
    rows = max(1, STRIP_PIXELS // max(1, image.width))
    if image.height <= rows:
        return _strip_rgb(image)
    whole = Image.new("RGB", image.size)
    for top in range(0, image.height, rows):
        bottom = min(top + rows, image.height)
        strip = image.crop((0, top, image.width, bottom))
        strip.info = image.info
        whole.paste(_strip_rgb(strip), (0, top))
    return whole


def _strip_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16"):
        values = np.asarray(image.convert("I"), dtype=np.uint32)
        image = Image.fromarray((values >> 8).astype(np.uint8))
    elif image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
        opaque = image.convert("RGBA")
        image = Image.new("RGBA", opaque.size, "white")
        image.alpha_composite(opaque)
    return image.convert("RGB")


def list_folder(root: Path) -> list[str]:
    """Return the images below ``root`` as sorted '/'-separated relative names."""
    found = []
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        below = Path(folder).relative_to(root).as_posix()
        prefix = "" if below == "." else f"{below}/"
        found += [as_typed(prefix + name) for name in files if is_image(name)]
    return sorted(found)


def open_tars(archives: Sequence[Path]) -> TarImages:
    """Index the images of tar files, sorted by their name, without reading them."""
    found: dict[str, TarEntry] = {}
    for number, archive in enumerate(archives):
        for name, entry in _index_tar(archive, number):
            if name in found:
                first = archives[found[name].archive].name
                raise InvalidInput(f"{archive} and {first} both hold {name}: remove one")
            found[name] = entry
    names = sorted(found)
    return TarImages(archives, names, [found[name] for name in names])


def _index_tar(archive: Path, number: int) -> list[tuple[str, TarEntry]]:
    again = "it is truncated or damaged; get it again"
    try:
        with archive.open("rb") as file:
            with tarfile.open(fileobj=file, mode="r:") as tar:
                members = [item for item in tar if item.isreg() and is_image(item.name)]
            length = file.seek(0, os.SEEK_END)
            if any(item.offset_data + item.size > length for item in members):
                raise InvalidInput(f"{archive} ends within an image: {again}")
            file.seek(-min(END_OF_ARCHIVE, length), os.SEEK_END)
            if file.read() != bytes(END_OF_ARCHIVE):
                raise InvalidInput(f"{archive} lacks a tar file's end: {again}")
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{archive} cannot be read as a tar file ({error}): {again}") from error
    except OSError as error:
        raise MissingFile(f"cannot read {archive}: {error.strerror}") from error
    return [
        (member.name.removeprefix("./"), TarEntry(number, member.offset_data, member.size))
        for member in members
    ]
