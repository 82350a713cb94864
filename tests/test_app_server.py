"""The server as a process: it starts, answers, stops in order and comes back as it was."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from base64 import b64encode

import pytest

pytest.importorskip("gradio")
pytest.importorskip("plotly")

from served import bundle, environment, running, test_images, zerokin

MANY = 24


def ask(address, path="/api/predict", content=None, user=None):
    request = urllib.request.Request(address + path, content)
    if user is not None:
        request.add_header("authorization", f"Basic {b64encode(user.encode()).decode()}")
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read())


@pytest.fixture
def folder(tmp_path):
    return bundle(tmp_path)


def test_answers_equal_the_command_lines_and_sigterm_finishes_what_is_in_flight(folder):
    file = test_images()[0]
    with running(folder) as (address, process):
        assert address.startswith("http://127.0.0.1:")
        given = ask(address, "/api/predict?k=3&max_risk=0.3", file.read_bytes())
        said = zerokin("predict", folder, file, "--json", "-k", 3, "--max-risk", 0.3)
        assert given | {"picture": str(file), "image": str(file)} == json.loads(said.stdout)
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(ask(address, content=file.read_bytes())))
            for _ in range(MANY)
        ]
        for thread in threads:
            thread.start()
        while ask(address, "/api/health")["in_hand"] + len(answers) < MANY:
            time.sleep(0.001)
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join(60)
        assert process.wait(60) == 0
        assert [one["answer"] for one in answers] == [given["ranked"][0]["name"]] * MANY
        assert "Traceback" not in process.stderr.read()


def test_killed_and_started_again_it_knows_what_it_knew(folder):
    body = json.dumps({"name": "new <b>one</b>", "vector": [1.0] * 80}).encode()
    with running(folder, ZEROKIN_PASSWORD="ada:lovelace") as (address, process):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            ask(address, "/api/classes")
        assert ask(address, "/api/classes", body, user="ada:lovelace")["classes"] == 14
        before = ask(address, "/api/classes", user="ada:lovelace")
        process.kill()
        process.wait(30)
    with running(folder, "--host", "0.0.0.0", "--no-password") as (address, process):
        assert ask(address, "/api/classes") == before | {"read_only": True}
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_a_taken_port_and_a_folder_without_a_bundle_are_one_line(folder, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = zerokin("serve", folder, "--port", taken.getsockname()[1])
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert "give another --port" in said.stderr
    said = zerokin("serve", tmp_path / "nothing")
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    said = zerokin("serve", folder, "--password", "no-colon")
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    said = zerokin("serve", folder, "--queue", "0")
    assert "waiting must be a whole number from 1" in said.stderr
    for more in (["--host", "0.0.0.0"], ["--allowed-host", "birds.example"]):
        said = zerokin("serve", folder, "--port", 0, *more)
        assert (said.returncode, said.stderr.count("\n")) == (2, 1)
        assert "needs a password" in said.stderr


WATCHED = """
import socket, sys, threading, urllib.request
asked = []
def watched(function):
    def call(*given, **named):
        target = given[1] if isinstance(given[0], socket.socket) else given[0]
        host = target[0] if isinstance(target, tuple) else target
        if host not in ("127.0.0.1", "::1", "localhost", None):
            asked.append(repr(target))
            raise OSError("the network is closed")
        return function(*given, **named)
    return call
socket.socket.connect = watched(socket.socket.connect)
socket.getaddrinfo = watched(socket.getaddrinfo)
import zerokin.app
def visit(address):
    for path in ("/", "/favicon.ico", "/api/health", "/theme.css"):
        urllib.request.urlopen(address + path, timeout=60).read()
    import os, signal, time
    time.sleep(2)
    os.kill(os.getpid(), signal.SIGTERM)
def ready(address):
    threading.Thread(target=visit, args=(address,)).start()
zerokin.app.serve(sys.argv[1], port=0, ready=ready)
print(asked)
"""


def test_the_server_calls_nobody(folder):
    said = subprocess.run(
        [sys.executable, "-c", WATCHED, str(folder)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
    )
    assert (said.returncode, said.stdout.strip()) == (0, "[]"), said.stderr


def test_zerokin_imports_and_complains_in_one_line_without_the_extra(folder):
    code = (
        "import sys; sys.modules['gradio'] = None\n"
        "import zerokin, zerokin.app\n"
        "from zerokin.errors import MissingExtra\n"
        "try:\n    zerokin.app.serve(sys.argv[1], port=0)\n"
        "except MissingExtra as error:\n    print(error)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
    )
    assert "pip install 'zerokin[app]'" in said.stdout
