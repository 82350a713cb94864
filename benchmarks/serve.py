"""Many clients at once against ``zerokin serve``: errors, latency, memory, the same answers.

    python benchmarks/serve.py MODEL IMAGES... --clients 32 --seconds 60
    python benchmarks/serve.py MODEL IMAGES... --clients 64 --seconds 60 --slow 20

The server runs as a process of its own on loopback. Every client asks again as soon as it is
answered, so that the 95th percentile can be no less than clients / throughput. Answers have to be
those of ``zerokin predict``, every digit of them, and those of a server that was killed and started
again. A lone client is timed before the others come and after they went: other users of the
machine disturb both alike. With ``--slow`` the clients ask for as long again beside others that
send most of a large image and then a byte a second, or a header that never ends.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

QUERY = "/api/predict?k=3"


@contextmanager
def server(model: Path, clients: int):
    command = [sys.executable, "-m", "zerokin", "serve", str(model), "--port", "0"]
    process = subprocess.Popen(
        [*command, "--queue", str(2 * clients)], stdout=subprocess.PIPE, text=True
    )
    try:
        found = re.match(r"http://([\d.]+):(\d+)", process.stdout.readline())
        yield (found[1], int(found[2])), process
    finally:
        if process.poll() is None:
            process.terminate()
            print(f"stopped with status {process.wait(60)}")


def expected_answers(model: Path, files: list[Path]) -> dict[str, dict]:
    command = [sys.executable, "-m", "zerokin", "predict", str(model), *map(str, files)]
    said = subprocess.run(
        [*command, "--json", "-k", "3"], capture_output=True, text=True, check=True
    )
    return {answer["image"]: answer for answer in map(json.loads, said.stdout.splitlines())}


def same(given: dict, expected: dict) -> bool:
    """Tell whether two answers are the same but for what the image is called."""
    return given | {"picture": "", "image": ""} == expected | {"picture": "", "image": ""}


def resident(pid: int) -> float:
    """Return the megabytes that a process holds in memory."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1000


def processor_seconds(pid: int) -> float:
    """Return the time that a process has had on any core."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Client:
    """Asks for one image after the other over one connection."""

    def __init__(self, address, contents, expected, first=0):
        self.connection = http.client.HTTPConnection(*address, timeout=120)
        self.contents, self.expected, self.next = contents, expected, first
        self.seconds, self.errors, self.answered, self.differing = [], [], 0, 0

    def ask(self):
        name = list(self.contents)[self.next % len(self.contents)]
        self.next += 1
        begin = time.perf_counter()
        try:
            self.connection.request("POST", QUERY, self.contents[name])
            response = self.connection.getresponse()
            answer = json.loads(response.read())
            if response.status != 200:
                raise OSError(answer)
            self.answered += 1
            self.differing += not same(answer, self.expected[name])
        except (OSError, ValueError, http.client.HTTPException) as error:
            self.errors.append(repr(error))
            self.connection.close()
        self.seconds.append(time.perf_counter() - begin)

    def run(self, until):
        while time.perf_counter() < until:
            self.ask()


class SlowClient:
    """Holds a connection for as long as the server lets it, then takes the next."""

    def __init__(self, address, *, megabytes: float, number: int):
        self.address, self.content = address, bytes(int(megabytes * 1e6))
        self.in_header = number % 4 == 0
        self.taken = 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        head = b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "
        rest = b"y\r\nContent-Length: %d\r\n\r\n" % (len(self.content) + 10_000)
        while not self.stop.is_set():
            with suppress(OSError), socket.create_connection(self.address, timeout=30) as held:
                self.taken += 1
                held.sendall(head if self.in_header else head + rest + self.content)
                while not self.stop.wait(1):
                    held.sendall(b"x")

    def close(self):
        self.stop.set()
        self.thread.join()


def beside_slow_ones(clients, address, process, given, p95) -> None:
    """Ask again beside slow clients, and print what they change."""
    for client in clients:
        client.seconds.clear()
        client.connection.close()  # the server would let it go while the slow ones come
    slow = [SlowClient(address, megabytes=40, number=n) for n in range(given.slow)]
    time.sleep(5)
    before = resident(process.pid)
    together(clients, given.seconds)
    after = resident(process.pid)
    for one in slow:
        one.close()
    own = np.percentile(np.concatenate([client.seconds for client in clients]), 95)
    print(
        f"beside {given.slow} slow clients ({sum(one.taken for one in slow)} connections): "
        f"p95 {1000 * own:.0f} ms, {own / p95:.2f} of that without them; "
        f"memory {before:.0f} MB, at the end {after:.0f} MB"
    )


def together(clients: list[Client], seconds: float) -> None:
    until = time.perf_counter() + seconds
    threads = [threading.Thread(target=client.run, args=(until,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("images", type=Path, nargs="+")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--warm-up", type=float, default=10)
    parser.add_argument("--slow", type=int, default=0, help="slow clients beside the others")
    given = parser.parse_args()

    expected = expected_answers(given.model, given.images)
    contents = {str(file): file.read_bytes() for file in given.images}
    with server(given.model, given.clients) as (address, process):
        first = Client(address, contents, expected)
        for _ in range(10):
            first.ask()
        first.seconds.clear()
        first.run(time.perf_counter() + given.warm_up)
        clients = [
            Client(address, contents, expected, first=number) for number in range(given.clients)
        ]
        together(clients, given.warm_up)
        for client in clients:
            client.seconds.clear()
        before, used = resident(process.pid), processor_seconds(process.pid)
        begin = time.perf_counter()
        together(clients, given.seconds)
        elapsed = time.perf_counter() - begin
        after, used = resident(process.pid), processor_seconds(process.pid) - used
        seconds = np.concatenate([client.seconds for client in clients])
        p50, p95 = np.percentile(seconds, [50, 95])
        if given.slow:
            beside_slow_ones(clients, address, process, given, p95)
        last = Client(address, contents, expected)
        last.run(time.perf_counter() + given.warm_up)
        process.kill()
        process.wait()
    with server(given.model, given.clients) as (address, _):
        again = Client(address, contents, expected)
        for _ in contents:
            again.ask()
    everyone = [first, *clients, last, again]
    single = float(np.median(first.seconds + last.seconds))
    errors = [line for client in everyone for line in client.errors]
    each = [f"{1000 * np.median(one.seconds):.1f}" for one in (first, last)]
    print(f"one client: {1000 * single:.1f} ms a request (before {each[0]}, after {each[1]})")
    print(
        f"{given.clients} clients, {elapsed:.0f} s: {len(seconds)} requests, "
        f"{len(seconds) / elapsed:.1f} a second, p50 {1000 * p50:.0f} ms, p95 {1000 * p95:.0f} ms "
        f"({p95 / single:.1f} times one request)"
    )
    print(
        f"the server had {used / elapsed:.2f} cores, {1000 * used / len(seconds):.1f} ms a request"
    )
    print(f"errors: {len(errors)} {errors[:1] or ''}")
    print(f"memory after warm-up {before:.0f} MB, at the end {after:.0f} MB")
    answered = sum(client.answered for client in everyone)
    differing = sum(client.differing for client in everyone)
    print(f"answers that differ from zerokin predict's in any digit: {differing} of {answered}")
    print(f"after a kill and a new start: {again.differing} of {again.answered} of these")


if __name__ == "__main__":
    main()
