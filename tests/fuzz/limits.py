"""What an input may cost and touch while it is read: seconds, memory, files, programs."""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from zerokin.errors import ZerokinError

SECONDS = 5
MEMORY = 2 << 30
FORBIDDEN = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect")
CHANGING = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class TooSlow(BaseException):
    """The time is up; no ``except Exception`` on the way may hold it."""


class Trespass(BaseException):
    """A file outside the scratch folder was to be written, or a program run."""


class Watch:
    """An audit hook, active while an input is read, that guards everything but one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder.resolve())
        self.active = False
        self.seen: str | None = None
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event in FORBIDDEN:
            self._refuse(event, arguments)
        elif event == "open":
            path, _, flags = arguments
            # Readers' caches of compiled modules are Python's own.
            if flags & WRITING and not str(path).endswith((".pyc", "/dev/null")):
                self._inside(event, path)
        elif event in CHANGING:
            # Where a folder's descriptor is given, the path is relative to that folder.
            beside = arguments[-1] if isinstance(arguments[-1], int) else -1
            base = str(Path(f"/proc/self/fd/{beside}").readlink()) if beside >= 0 else "."
            self._inside(event, os.path.join(base, os.fsdecode(arguments[0])))  # noqa: PTH118
        elif event == "pickle.find_class":
            self._refuse(event, arguments)

    def _inside(self, event: str, path: object) -> None:
        if isinstance(path, int) or path is None:
            return
        place = os.path.realpath(os.fsdecode(path))  # type: ignore[arg-type]
        if ".pyc" not in place and not f"{place}/".startswith(f"{self.folder}/"):
            self._refuse(event, (place,))

    def _refuse(self, event: str, arguments: tuple[Any, ...]) -> None:
        self.seen = f"{event} {arguments!r:.200}"
        raise Trespass(self.seen)


def limit_memory() -> None:
    """Let this process grow by `MEMORY`, and no further, where the system can tell."""
    if not Path("/proc/self/statm").exists():
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def outcome(run: Callable[[], None], watch: Watch, *, alarm: bool = True) -> str:
    """Return how reading an input ended.

    Returns
    -------
    str
        ``"accepted"`` or ``"refused"`` are as they should be; everything else names a fault.
    """
    watch.seen, watch.active = None, True
    if alarm:
        signal.signal(signal.SIGALRM, _ring)
        # The second ends a process that stays inside one call of compiled code.
        faulthandler.dump_traceback_later(3 * SECONDS, exit=True)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        run()
        ended = "accepted"
    except ZerokinError as error:
        ended = _refusal(error)
    except TooSlow:
        ended = f"over {SECONDS} s"
    except Trespass as error:
        ended = f"trespass: {error}"
    except MemoryError:
        ended = "over 2 GiB"
    except Exception as error:
        ended = _crash(error)
    finally:
        if alarm:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()
        watch.active = False
    return f"trespass: {watch.seen}" if watch.seen else ended


def scratch_folder() -> Path:
    """Return a new folder, which temporary files go to as well."""
    folder = Path(tempfile.mkdtemp(prefix="zerokin-fuzz-"))
    tempfile.tempdir = str(folder)
    return folder


def _ring(_: int, __: FrameType | None) -> None:
    raise TooSlow


def _refusal(error: ZerokinError) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError) or "llocate memory" in str(cause):
            return "over 2 GiB"
        cause = cause.__cause__ or cause.__context__
    if len(str(error).splitlines()) != 1:
        return f"message of several lines: {str(error)[:200]!r}"
    try:
        str(error).encode()
    except UnicodeEncodeError:
        return f"message that cannot be printed: {str(error)[:200]!r}"
    return "refused"


def _crash(error: Exception) -> str:
    frame, where = error.__traceback__, ""
    while frame is not None:
        name = frame.tb_frame.f_code.co_filename
        if "/zerokin/" in name:
            where = f"{name.rsplit('/zerokin/', 1)[1]}:{frame.tb_lineno}"
        frame = frame.tb_next
    first = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__} at {where}: {first[:120]}"
