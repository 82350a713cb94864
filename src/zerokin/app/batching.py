"""Requests that wait while others are worked on, then go through the network together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batcher(Generic[Item, Result]):
    """Threads that do whatever waits, many items at a time, first come first served.

    Nothing is held back to wait for company: a lone item is worked on at once, and those that
    arrive while all threads are busy form the next batch.

    Parameters
    ----------
    work
        From items to as many results, in order.
    most
        Items of one batch.
    threads
        Batches that are worked on at once.

    Examples
    --------
    >>> doubled = Batcher(lambda items: [2 * item for item in items], most=8)
    >>> [doubled.submit(item).result() for item in (1, 2)]
    [2, 4]
    >>> doubled.close()
    """

    def __init__(
        self, work: Callable[[Sequence[Item]], Sequence[Result]], *, most: int, threads: int = 1
    ) -> None:
        self._work, self._most = work, most
        self._waiting: SimpleQueue[tuple[Item, Future[Result]] | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._run, name="zerokin batches", daemon=True) for _ in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, item: Item, future: Future[Result] | None = None) -> Future[Result]:
        """Return what will hold the result; a future that is there already may be given."""
        promised: Future[Result] = Future() if future is None else future
        self._waiting.put((item, promised))
        return promised

    def close(self) -> None:
        """Finish what waits, then stop."""
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        open_ = True
        while open_:
            batch: list[tuple[Item, Future[Result]]] = []
            entry = self._waiting.get()
            while entry is not None:
                batch.append(entry)
                if len(batch) == self._most:
                    break
                try:
                    entry = self._waiting.get_nowait()
                except Empty:
                    break
            open_ = entry is not None
            wanted = [(item, future) for item, future in batch if not future.cancelled()]
            if wanted:
                self._finish(wanted)

    def _finish(self, batch: list[tuple[Item, Future[Result]]]) -> None:
        try:
            results = self._work([item for item, _ in batch])
        # Whatever it is, those who wait must hear of it.
        except BaseException as error:
            for _, future in batch:
                _settle(future, error=error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            _settle(future, result=result)


def _settle(
    future: Future[Result], *, result: Result | None = None, error: BaseException | None = None
) -> None:
    # A client that has gone away may have cancelled it while it was worked on.
    if not future.set_running_or_notify_cancel():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)  # type: ignore[arg-type]
