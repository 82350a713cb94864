"""Whatever a user gives as images, decoded a batch at a time into squares for the network."""

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
from zerokin.data.images import Images, decode, eight_bit_rgb
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.recognizer.image_answer import UnreadableImage

OneImage = str | os.PathLike[str] | Image.Image | NDArray[np.uint8]
ImageInput = OneImage | Iterable[OneImage] | Images
Frame = Callable[[Image.Image], NDArray[np.uint8]]


@dataclass(frozen=True)
class Named:
    """An image still to be loaded, and what it is called in answers and messages."""

    name: str
    load: Callable[[], Image.Image]


def named_images(given: ImageInput) -> Iterator[Named]:
    """Yield the images of an input, none of them read yet.

    Parameters
    ----------
    given
        A path, a Pillow image or an array (height, width, 3) of bytes; any iterable of these; an
        array (N, height, width, 3); or `Images`.

    Examples
    --------
    >>> [image.name for image in named_images(["a.jpg", np.zeros((2, 2, 3), np.uint8)])]
    ['a.jpg', '2']
    """
    if isinstance(given, Images):
        for index, name in enumerate(given.names):
            yield Named(str(name), lambda index=index: given.load(index))  # type: ignore[misc]
        return
    if isinstance(given, np.ndarray) and given.ndim < 3:
        raise InvalidInput(
            f"images are arrays (height, width, 3) of bytes: got {given.dtype} {given.shape}, and "
            "features are for a recognizer that was fitted on features"
        )
    alone = isinstance(given, str | os.PathLike | Image.Image)
    if alone or (isinstance(given, np.ndarray) and given.ndim == 3):
        given = [given]  # type: ignore[list-item]
    try:
        several = iter(given)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidInput(
            f"images must be paths, Pillow images or arrays, not {type(given).__name__}"
        ) from None
    for number, one in enumerate(several, start=1):
        yield _named(one, number)


def decoded_batches(
    images: Iterable[Named], frame: Frame, *, batch_size: int
) -> Iterator[list[tuple[str, NDArray[np.uint8] | UnreadableImage]]]:
    """Yield batches of images, each as a square (3, side, side) or as why it has none."""

    def square(image: Named) -> tuple[str, NDArray[np.uint8] | UnreadableImage]:
        try:
            return image.name, frame(image.load())
        except ZerokinError as error:
            return image.name, UnreadableImage(image.name, str(error))

    waiting = iter(images)
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
        f"image {number} is a {type(one).__name__}: give a path, a Pillow image or an array"
    )


def _from_file(path: Path) -> Image.Image:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot read image {path}: {error.strerror}") from error
    except ValueError as error:  # a zero byte in the name
        raise InvalidInput(f"cannot read image {str(path)!r}: {error}") from error
    return decode(content, str(path))


def _from_image(image: Image.Image, name: str) -> Image.Image:
    try:
        return eight_bit_rgb(ImageOps.exif_transpose(image))
    # Pillow decodes on first use, and its decoders raise many kinds on damaged input.
    except Exception as error:
        raise InvalidInput(f"image {name} cannot be decoded ({error})") from error


def _from_array(pixels: NDArray[Any], number: int) -> Image.Image:
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        raise InvalidInput(
            f"image {number} must be uint8 of shape (height, width, 3): "
            f"got {pixels.dtype} {pixels.shape}"
        )
    return Image.fromarray(np.ascontiguousarray(pixels))
