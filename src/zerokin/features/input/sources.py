"""Where batches of images come from: memory of the device, or files decoded just in time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zerokin.compute.device import to_device
from zerokin.compute.machine import available_cores, available_memory
from zerokin.data.decoding import decode_squares
from zerokin.data.images import ArrayImages, Images
from zerokin.data.resizing import ResizeMode, check_resize_mode, resize_to_square
from zerokin.parameters import SIDE, InstanceOf, Integer, Optional, check_arguments

Rows = NDArray[np.int64]

SHARE_OF_MEMORY = 0.4
AHEAD = 4
CHUNK = 64


class Source(ABC):
    """N samples, a batch at a time: images, or ready features.

    Parameters
    ----------
    device
        Where batches are put.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device

    @abstractmethod
    def __len__(self) -> int:
        """N."""

    @abstractmethod
    def batches(self, rows: Iterable[Rows]) -> Iterator[Tensor]:
        """Yield the samples of each array of rows, on the device."""

    def batch(self, rows: Rows) -> Tensor:
        """Return the samples of some rows."""
        return next(iter(self.batches([rows])))

    def select(self, rows: Rows) -> Source:
        """Return a source of some of the samples, in the given order."""
        return SelectedSource(self, rows)


class ImageSource(Source):
    """N square images as bytes: batches are uint8 (B, 3, side, side).

    Parameters
    ----------
    side
        Of every image, in pixels.
    device
        Where batches are put.
    """

    def __init__(self, side: int, device: torch.device) -> None:
        super().__init__(device)
        self.side = side


class ResidentSource(ImageSource):
    """Images that were decoded once and stay in the memory of the device."""

    def __init__(self, pixels: Tensor) -> None:
        super().__init__(pixels.shape[-1], pixels.device)
        self.pixels = pixels

    def __len__(self) -> int:
        return len(self.pixels)

    def batches(self, rows: Iterable[Rows]) -> Iterator[Tensor]:
        for chosen in rows:
            index = torch.from_numpy(np.array(chosen, dtype=np.int64))
            yield self.pixels[to_device(index, self.device)]


class StreamedSource(ImageSource):
    """Images decoded by threads while the batches before them are in use."""

    def __init__(
        self,
        images: Images,
        side: int,
        device: torch.device,
        *,
        resize_mode: ResizeMode,
        workers: int,
    ) -> None:
        super().__init__(side, device)
        self.images = images
        self.resize_mode: ResizeMode = resize_mode
        self.workers = workers

    def __len__(self) -> int:
        return len(self.images)

    def batches(self, rows: Iterable[Rows]) -> Iterator[Tensor]:
        waiting: deque[list[Future[NDArray[np.uint8]]]] = deque()
        pool = ThreadPoolExecutor(self.workers)
        try:
            for chosen in rows:
                waiting.append([pool.submit(self._square, int(row)) for row in chosen])
                if len(waiting) > AHEAD:
                    yield self._gathered(waiting.popleft())
            while waiting:
                yield self._gathered(waiting.popleft())
        finally:
            pool.shutdown(cancel_futures=True)

    def _square(self, row: int) -> NDArray[np.uint8]:
        return resize_to_square(self.images.load(row), self.side, self.resize_mode)

    def _gathered(self, squares: list[Future[NDArray[np.uint8]]]) -> Tensor:
        pixels = torch.from_numpy(np.stack([square.result() for square in squares]))
        return to_device(pixels, self.device)


class SelectedSource(Source):
    """Some samples of another source."""

    def __init__(self, whole: Source, chosen: Rows) -> None:
        super().__init__(whole.device)
        self.whole = whole
        self.chosen = np.asarray(chosen, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.chosen)

    def batches(self, rows: Iterable[Rows]) -> Iterator[Tensor]:
        return self.whole.batches(self.chosen[row] for row in rows)


def open_source(
    images: Images | NDArray[np.uint8],
    side: int,
    *,
    resize_mode: ResizeMode = "whole",
    device: str | torch.device = "cpu",
    resident: bool | None = None,
    workers: int | None = None,
    quiet: bool = False,
) -> ImageSource:
    """Open images for a network.

    Parameters
    ----------
    images
        `Images`, or an array (N, height, width, 3) of bytes.
    side
        Side of the squares that batches hold, in pixels.
    resize_mode
        How an image becomes a square.
    device
        Where batches are wanted.
    resident
        Decode everything now and keep it on the device; by default if it takes up at most two
        fifths of the device's free memory.
    workers
        Threads that decode; by default one a core.
    quiet
        Show no progress.

    Examples
    --------
    >>> images = np.zeros((3, 20, 30, 3), np.uint8)
    >>> open_source(images, 16, quiet=True).batch(np.array([2, 0])).shape
    torch.Size([2, 3, 16, 16])
    """
    check_resize_mode(resize_mode)
    check_arguments(
        {
            "images": InstanceOf((np.ndarray, Images), "images, or an array of them"),
            "side": SIDE,
            "workers": Optional(Integer(1, 1024)),
        },
        images=images,
        side=side,
        workers=workers,
    )
    if isinstance(images, np.ndarray):
        images = ArrayImages(images)
    device = torch.device(device)
    streamed = StreamedSource(
        images, side, device, resize_mode=resize_mode, workers=workers or available_cores()
    )
    if resident is None:
        resident = len(images) * 3 * side * side <= SHARE_OF_MEMORY * available_memory(device)
    if not resident:
        return streamed
    squares = decode_squares(images, side, resize_mode=resize_mode, workers=workers, quiet=quiet)
    return ResidentSource(torch.from_numpy(squares).to(device))
