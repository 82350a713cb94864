"""Ending the command line without tearing down what the libraries hold, which takes a second."""

from __future__ import annotations

import atexit
import logging
import os
import sys


class QuickExit:
    """Ends the process at once when everything that wants to happen at its end has happened.

    Threads have ended by then, and other exit handlers have run: made before them, this one comes
    last. Where no status was set, as after an exception that nobody caught, the process ends as
    usual.

    Attributes
    ----------
    status : exit status to end with, or None
    """

    def __init__(self) -> None:
        self.status: int | None = None
        atexit.register(self._end)

    def _end(self) -> None:
        if self.status is None:
            return
        logging.shutdown()
        try:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
        except (OSError, ValueError):
            return  # the usual end says what became of the output
        os._exit(self.status)
