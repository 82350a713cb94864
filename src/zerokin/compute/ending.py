"""How processes that `torchrun` started end together: one of them says why, in one line."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

STORE_SECONDS = 5


def speaks_first() -> bool:
    """Tell whether this process is the first of its job that has something to say about its end.

    The store that `torchrun` keeps outlives the processes that it started.
    """
    port = os.environ.get("MASTER_PORT", "")
    if "RANK" not in os.environ or not port.isdigit():
        return True
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    wait = timedelta(seconds=STORE_SECONDS)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    try:
        store = TCPStore(os.environ["MASTER_ADDR"], int(port), is_master=False, timeout=wait)
        return int(store.add(f"zerokin/ending/{attempt}", 1)) == 1
    except (RuntimeError, KeyError):  # nobody is left who could have spoken
        return True


_saying = threading.Lock()


def say_first(message: str) -> None:
    """Print a line about the end of the job, if no other process has."""
    with _saying:
        if speaks_first():
            print(f"zerokin: {message}", file=sys.stderr, flush=True)


@contextmanager
def end_with_the_others(message: str) -> Iterator[None]:
    """Say in one line why this process ends where `torchrun` ends it for another's sake.

    It does so by SIGTERM, and waits. A thread listens: the main one may be in a long product.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, told = socket.socketpair()
    told.setblocking(False)
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    wakeup = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)

    def listen() -> None:
        while number := heard.recv(1):
            if number[0] == signal.SIGTERM:
                say_first(message)
                os._exit(2)

    threading.Thread(target=listen, daemon=True).start()
    yield
    # Not where something went wrong: until that is said, torchrun must not end this process.
    signal.set_wakeup_fd(wakeup)
    signal.signal(signal.SIGTERM, before)
    told.close()  # which ends the thread
