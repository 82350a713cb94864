"""What every service does: count requests, decode them side by side, answer in batches."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from zerokin.app.batching import Batcher
from zerokin.app.limits import Limits
from zerokin.app.refusals import Busy
from zerokin.compute.machine import available_cores

# On a CPU images are read one by one, whoever asks.
MOST_AT_ONCE = {"cpu": 1, "cuda": 32}
Content = bytes | Sequence[float] | NDArray[Any]
"""An image file; or a row of features (d_f,) where there is no network."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Asked:
    """An image as the network takes it, (3, side, side), or features (d_f,), and who answers it."""

    name: str
    sample: NDArray[Any]
    answerer: Any


class Serving(ABC, Generic[Result]):
    """Requests of many visitors to one bundle.

    Parameters
    ----------
    folder
        The bundle.
    limits
        What is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], limits: Limits | None) -> None:
        self.folder = Path(folder)
        self.limits = limits or Limits()
        self._counting = Lock()
        self._in_hand = 0

    def _start(self, device: str) -> None:
        """Be ready for requests, once what answers them is there."""
        self._decoders = ThreadPoolExecutor(available_cores(), "zerokin decoding")
        most = MOST_AT_ONCE.get(device, MOST_AT_ONCE["cpu"])
        # One more than there are cores, so that these read while answers are put together.
        users = available_cores() + 1 if most == 1 else 1
        self._model = BoundedSemaphore(users)
        self._batcher: Batcher[Asked, Result] = Batcher(self._answer, most=most, threads=users)

    @property
    def in_hand(self) -> int:
        """How many requests are being answered or wait."""
        return self._in_hand

    def close(self) -> None:
        """Finish what is in hand and stop."""
        self._decoders.shutdown()
        self._batcher.close()

    @abstractmethod
    def _sample(self, content: Content, name: str) -> NDArray[Any]:
        """Return a request's content as it is answered; refuse what is none."""

    @abstractmethod
    def _answer(self, batch: Sequence[Asked]) -> Sequence[Result]:
        """Return the answers to several requests."""

    def _promise(
        self, content: Content | Callable[[], Content], name: str, answerer: Any
    ) -> Future[Result]:
        """Return what will hold an answer; too many requests at once are refused."""
        promised: Future[Result] = Future()
        self._take_in()
        promised.add_done_callback(self._let_go)
        self._decoders.submit(self._decode, content, name, answerer, promised)
        return promised

    @contextmanager
    def _counted(self, needed: bool) -> Iterator[None]:
        """Count a request among those in hand, if it asks for as much work as those do."""
        if not needed:
            yield
            return
        self._take_in()
        try:
            yield
        finally:
            self._let_go()

    def _take_in(self) -> None:
        with self._counting:
            if self._in_hand >= self.limits.waiting:
                raise Busy(f"{self._in_hand} requests are in hand already: try again soon")
            self._in_hand += 1

    def _let_go(self, _: object = None) -> None:
        with self._counting:
            self._in_hand -= 1

    def _decode(
        self,
        content: Content | Callable[[], Content],
        name: str,
        answerer: Any,
        promised: Future[Result],
    ) -> None:
        try:
            sample = self._sample(content() if callable(content) else content, name)
        # Also what nobody foresaw must reach the one who waits.
        except BaseException as error:
            if promised.set_running_or_notify_cancel():
                promised.set_exception(error)
            return
        self._batcher.submit(Asked(name, sample, answerer), promised)
