"""Whatever a user gives as pictures, decoded a batch at a time into squares for the network."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from zerokin.compute.machine import available_cores
from zerokin.data.pictures import Pictures, decode, eight_bit_rgb
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.recognizer.image_answer import UnreadableImage

Picture = str | os.PathLike[str] | Image.Image | NDArray[np.uint8]
ImageInput = Picture | Iterable[Picture] | Pictures
Frame = Callable[[Image.Image], NDArray[np.uint8]]


@dataclass(frozen=True)
class Named:
    """A picture still to be loaded, and what it is called in answers and messages."""

    name: str
    load: Callable[[], Image.Image]


def named_pictures(given: ImageInput) -> Iterator[Named]:
    """Yield the pictures of an input, none of them read yet.

    Parameters
    ----------
    given
        A path, a Pillow image or an array (height, width, 3) of bytes; any iterable of these; an
        array (N, height, width, 3); or `Pictures`.

    Examples
    --------
    >>> [picture.name for picture in named_pictures(["a.jpg", np.zeros((2, 2, 3), np.uint8)])]
    ['a.jpg', '2']
    """
    if isinstance(given, Pictures):
        for index, name in enumerate(given.names):
            yield Named(str(name), lambda index=index: given.load(index))  # type: ignore[misc]
        return
    alone = isinstance(given, str | os.PathLike | Image.Image)
    if alone or (isinstance(given, np.ndarray) and given.ndim == 3):
        given = [given]  # type: ignore[list-item]
    try:
        several = iter(given)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidInput(
            f"pictures must be paths, Pillow images or arrays, not {type(given).__name__}"
        ) from None
    for number, one in enumerate(several, start=1):
        yield _named(one, number)


def decoded_batches(
    pictures: Iterable[Named], frame: Frame, *, batch_size: int
) -> Iterator[list[tuple[str, NDArray[np.uint8] | UnreadableImage]]]:
    """Yield batches of pictures, each as a square (3, side, side) or as why it has none."""
    if batch_size < 1:
        raise InvalidInput(f"batch_size must be at least 1: got {batch_size}")

    def square(picture: Named) -> tuple[str, NDArray[np.uint8] | UnreadableImage]:
        try:
            return picture.name, frame(picture.load())
        except ZerokinError as error:
            return picture.name, UnreadableImage(picture.name, str(error))

    waiting = iter(pictures)
    with ThreadPoolExecutor(available_cores()) as pool:
        while batch := list(islice(waiting, batch_size)):
            yield list(pool.map(square, batch))


def _named(one: Any, number: int) -> Named:
    if isinstance(one, str | os.PathLike):
        path = Path(one)
        return Named(str(path), lambda: _from_file(path))
    if isinstance(one, Image.Image):
        return Named(
            getattr(one, "filename", "") or str(number), lambda: _from_image(one, str(number))
        )
    if isinstance(one, np.ndarray):
        return Named(str(number), lambda: _from_array(one, number))
    raise InvalidInput(
        f"picture {number} is a {type(one).__name__}: give a path, a Pillow image or an array"
    )


def _from_file(path: Path) -> Image.Image:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot read picture {path}: {error.strerror}") from error
    except ValueError as error:  # a zero byte in the name
        raise InvalidInput(f"cannot read picture {str(path)!r}: {error}") from error
    return decode(content, str(path))


def _from_image(picture: Image.Image, name: str) -> Image.Image:
    try:
        return eight_bit_rgb(ImageOps.exif_transpose(picture))
    # Pillow decodes on first use, and its decoders raise many kinds on damaged input.
    except Exception as error:
        raise InvalidInput(f"picture {name} cannot be decoded ({error})") from error


def _from_array(pixels: NDArray[Any], number: int) -> Image.Image:
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        raise InvalidInput(
            f"picture {number} must be uint8 of shape (height, width, 3): "
            f"got {pixels.dtype} {pixels.shape}"
        )
    return Image.fromarray(np.ascontiguousarray(pixels))
