"""A server killed while visitors change classes: what it has confirmed is kept."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import threading
import time
from pathlib import Path
from random import Random
from urllib.parse import quote

from .children import LIMIT, Kill, _command, computed, kill_group, lead_group
from .scenarios import bundle

VISITORS = 3
DONE = (200, 201)


class Server:
    """``zerokin serve`` in a process forked from this one."""

    def __init__(self, work: Path) -> None:
        self.log = work.with_suffix(".log")
        self.log.unlink(missing_ok=True)
        reading, writing = os.pipe()
        self.child = os.fork()
        if not self.child:
            _command(("serve", "model", "--port", "0", "--device", "cpu"), work, Kill(), writing)
        lead_group(self.child)
        os.close(reading)
        os.close(writing)
        self.port = self._port()

    def _port(self) -> int:
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            text = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
            found = re.search(r"http://127\.0\.0\.1:(\d+)", text)
            if found:
                return int(found[1])
            if os.waitpid(self.child, os.WNOHANG)[0]:
                raise AssertionError(f"the server ended: {text}")
            time.sleep(0.01)
        raise AssertionError("the server did not start")

    def ask(self, method: str, path: str, body: object = None) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"content-type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()

    def kill(self) -> None:
        kill_group(self.child)
        os.waitpid(self.child, 0)

    def stop(self) -> int:
        os.kill(self.child, signal.SIGINT)
        return os.waitpid(self.child, 0)[1]


class Visitor(threading.Thread):
    """Adds classes and removes some of them, noting what the server has confirmed."""

    def __init__(self, server: Server, number: int) -> None:
        super().__init__()
        self.server, self.number = server, number
        self.known: set[str] = set()
        self.unsure: set[str] = set()
        self.wrong: list[int] = []

    def _must(self, status: int) -> None:
        if status not in DONE:
            self.wrong.append(status)

    def run(self) -> None:
        for count in range(10_000):
            name = f"visitor {self.number} class {count}"
            self.unsure = {name}
            try:
                body = {"name": name, "vector": [float(1 + count % 5), *range(1, 80)]}
                self._must(self.server.ask("POST", "/api/classes", body))
                self.known, self.unsure = self.known | {name}, set()
                if count % 3 == 2:
                    self.unsure = {name}
                    self._must(self.server.ask("DELETE", f"/api/classes/{quote(name)}"))
                    self.known, self.unsure = self.known - {name}, set()
            # The server is dead.
            except (OSError, http.client.HTTPException):
                return


def serve_and_kill(work: Path, rng: Random) -> int:
    """Kill a server at work, look at what it left, and have another one serve and stop.

    Returns
    -------
    int
        How many classes it had confirmed.
    """
    server = Server(work)
    visitors = [Visitor(server, number) for number in range(VISITORS)]
    for visitor in visitors:
        visitor.start()
    time.sleep(rng.uniform(0, 1.5))
    server.kill()
    for visitor in visitors:
        visitor.join()
    wrong = [status for visitor in visitors for status in visitor.wrong]
    assert not wrong, f"the server refused: {wrong}"
    confirmed = set().union(*(visitor.known - visitor.unsure for visitor in visitors))
    unsure = set().union(*(visitor.unsure for visitor in visitors))

    def check() -> object:
        names = {name for name in bundle(work)[0] if name.startswith("visitor")}  # type: ignore[index]
        assert confirmed <= names, f"lost {confirmed - names}"
        assert names <= confirmed | unsure, f"not forgotten: {names - confirmed - unsure}"
        return names

    computed(check)
    server = Server(work)
    try:
        assert server.ask("POST", "/api/classes", {"name": "last", "vector": [1.0] * 80}) in DONE
    finally:
        server.stop()
    return len(confirmed)
