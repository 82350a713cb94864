"""Clients that are slow, many, from elsewhere or guessing: the others do not notice."""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import time
import zlib
from base64 import b64decode, b64encode
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import unquote

import pytest

from served import bundle, running, test_images

from .conftest import PASSWORD
from .visitor import Visitor, call_of, file_data


def resident(process) -> float:
    """Megabytes that a process holds in memory."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1000


def error_line(content: bytes) -> str:
    given = json.loads(content)
    assert list(given) == ["error"]
    return given["error"]


# -- by which name, and from where --------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "elsewhere.example",
        "127.0.0.1.elsewhere.example",
        "127.0.0.1@elsewhere.example",
        "elsewhere.example:80@127.0.0.1:x",
        "localhost.",
        "localhost:80 elsewhere.example",
        "[::1",
        "0.0.0.0",
        "127.1",
        "",
    ],
)
def test_other_names_are_refused(visitor, host):
    request = f"GET /api/health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    found = visitor.raw(request.encode())
    assert found.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400"))
    assert b"status" not in found.partition(b"\r\n\r\n")[2]


def test_two_names_none_and_a_whole_address_are_refused(visitor):
    own = f"Host: 127.0.0.1:{visitor.port}\r\n"
    end = "Connection: close\r\n\r\n"
    for request in (
        f"GET /api/health HTTP/1.1\r\n{own}Host: elsewhere.example\r\n{end}",
        f"GET /api/health HTTP/1.0\r\n{end}",
        f"GET http://elsewhere.example/api/health HTTP/1.1\r\n{own}{end}",
        f"GET /api/health HTTP/1.1\r\n{own}X: {'y' * 1_000_000}\r\n{end}",
        f"GET\x00 / HTTP/1.1\r\n{own}{end}",
        f"POST /api/predict HTTP/1.1\r\n{own}Content-Length: 5\r\nContent-Length: 6\r\n{end}",
        f"POST /api/predict HTTP/1.1\r\n{own}Content-Length: -1\r\n{end}",
        f"POST /api/predict HTTP/1.1\r\n{own}Content-Length: 9{'9' * 50}\r\n{end}",
    ):
        found = visitor.raw(request.encode())
        assert found.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4")), (request[:60], found[:80])


def test_pages_of_other_sites_change_nothing_and_read_nothing(visitor):
    own = f"http://127.0.0.1:{visitor.port}"
    photo = test_images()[0].read_bytes()
    for origin in (
        "http://elsewhere.example",
        "null",
        "",
        "file://",
        f"http://127.0.0.1:{visitor.port + 1}",
        f"{own}.elsewhere.example",
        f"http://localhost:{visitor.port}",
    ):
        head = {"origin": origin}
        for method, path in (
            ("POST", "/api/predict"),
            ("POST", "/api/classes"),
            ("DELETE", "/api/classes?name=x"),
            ("POST", "/gradio_api/queue/join"),
            ("POST", "/gradio_api/upload"),
        ):
            status, headers, _ = visitor.ask(method, path, photo, head)
            assert status == 403, (origin, path)
            assert not [name for name in headers if name.lower().startswith("access-control")]
        for path in ("/", "/api/health", "/api/classes"):
            headers = visitor.ask("GET", path, headers=head)[1]
            assert not [name for name in headers if name.lower().startswith("access-control")]
    assert visitor.ask("POST", "/api/predict", photo, {"sec-fetch-site": "cross-site"})[0] == 403
    assert visitor.ask("POST", "/api/predict", photo, {"origin": own})[0] == 200
    asked = {"origin": "http://elsewhere.example", "access-control-request-method": "POST"}
    status, headers, _ = visitor.ask("OPTIONS", "/api/predict", headers=asked)
    assert status in (403, 404, 405)
    assert not [name for name in headers if name.lower().startswith("access-control")]


def test_every_answer_tells_the_browser_what_this_page_does_not_do(visitor):
    for path in ("/", "/api/health", "/nothing", "/gradio_api/file=/etc/passwd"):
        headers = {k.lower(): v for k, v in visitor.ask("GET", path)[1].items()}
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "SAMEORIGIN"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


def test_a_forwarded_host_leads_the_page_nowhere(visitor):
    for name in ("x-forwarded-host", "x-gradio-server", "forwarded", "x-forwarded-proto"):
        value = "host=elsewhere.example" if name == "forwarded" else "elsewhere.example"
        content = visitor.ask("GET", "/", headers={name: value})[2]
        assert b"elsewhere.example" not in content


# -- passwords ------------------------------------------------------------------------------------


def basic(credentials: str) -> dict[str, str]:
    return {"authorization": f"Basic {b64encode(credentials.encode()).decode()}"}


def test_guessing_takes_long_and_is_logged(tmp_path):
    with running(bundle(tmp_path), ZEROKIN_PASSWORD=PASSWORD) as (address, process):
        visitor = Visitor(address)
        assert visitor.ask("GET", "/api/health", headers=basic(PASSWORD))[0] == 200
        statuses = [
            visitor.ask("GET", "/api/health", headers=basic(f"ada:{number}"))[0]
            for number in range(60)
        ]
        # Each guess that was looked at doubles the wait for the next.
        assert statuses[0] == 401
        assert statuses.count(401) < 6
        assert set(statuses) == {401, 429}
        # In between not even the right one is looked at: it would tell the guesser.
        status, headers, content = visitor.ask("GET", "/", headers=basic(PASSWORD))
        assert status == 429
        assert int(headers["retry-after"]) >= 1
        assert "wrong passwords" in error_line(content)
        time.sleep(int(headers["retry-after"]))
        assert visitor.ask("GET", "/api/health", headers=basic(PASSWORD))[0] == 200
        process.terminate()
        process.wait(60)
        log = process.stderr.read()
        assert log.count("wrong password from 127.0.0.1") == statuses.count(401)
        assert "ada" not in log


# -- slow ones -------------------------------------------------------------------------------------


def closed_within(connection: socket.socket, seconds: float) -> bool:
    connection.settimeout(seconds)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


SLOW = (
    b"",
    b"GET / HT",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2000000\r\n\r\n",
    b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    b"POST /gradio_api/upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2000000\r\n\r\nabc",
)


def test_slow_clients_are_let_go_and_take_no_memory(server, address):
    """Headers have 10 s, bodies 15 s and more for what has come: all at once, to wait once."""
    visitor, (_, process) = Visitor(address), server
    content = test_images()[0].read_bytes()
    visitor.ask("POST", "/api/predict", content)
    before = resident(process)
    with ExitStack() as stack:
        held = []
        for number in range(20):
            connection = socket.create_connection((visitor.host, visitor.port), timeout=30)
            stack.callback(connection.close)
            # Each announces and sends much of an image, and then nothing more.
            head = (
                b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2900000\r\n\r\n"
            )
            connection.sendall(head + bytes(2_000_000 + number))
            held.append(connection)
        for begin in SLOW:
            connection = socket.create_connection((visitor.host, visitor.port), timeout=30)
            stack.callback(connection.close)
            connection.sendall(begin)
            held.append(connection)
        health = json.loads(visitor.ask("GET", "/api/health")[2])
        assert health["arriving"] >= 20
        assert health["in_hand"] == 0
        assert visitor.ask("POST", "/api/predict", content)[0] == 200
        # 40 MB lie on the disk, in files without a name.
        assert resident(process) - before < 25
        for connection in reversed(held[20:]):
            assert closed_within(connection, 25), SLOW
    for _ in range(100):
        if json.loads(visitor.ask("GET", "/api/health")[2])["arriving"] <= 1:
            break
        time.sleep(0.1)
    else:
        pytest.fail("requests whose client is gone still count")


def test_a_client_that_goes_away_is_one_line(tmp_path):
    with running(bundle(tmp_path)) as (address, process):
        visitor = Visitor(address)
        head = b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\nabc"
        visitor.raw(head, read=False)
        evil = b"POST /api/x%0A%1B[2J HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\na"
        visitor.raw(evil, read=False)
        assert visitor.well()
        time.sleep(0.3)
        process.terminate()
        process.wait(60)
        lines = process.stderr.read().splitlines()
        assert len(lines) == 2, lines
        assert all(line.endswith("the client went away") for line in lines)
        assert "\x1b" not in lines[1]


def test_one_connection_too_many_is_closed_and_the_others_are_served(tmp_path):
    code = (
        "import sys, zerokin.app as app\n"
        "app.serve(sys.argv[1], port=0, limits=app.Limits(connections=30),"
        " ready=lambda address: print(address, flush=True))"
    )
    with running(bundle(tmp_path), code=code) as (address, _), ExitStack() as stack:
        visitor = Visitor(address)
        open_ones = [
            stack.enter_context(socket.create_connection((visitor.host, visitor.port), timeout=30))
            for _ in range(29)
        ]
        time.sleep(0.3)
        assert visitor.well()
        for _ in range(5):
            late = socket.create_connection((visitor.host, visitor.port), timeout=30)
            open_ones.append(stack.enter_context(late))
        assert sum(closed_within(one, 0.3) for one in open_ones[-3:]) == 3
        for one in open_ones:
            one.close()
        time.sleep(0.3)
        assert visitor.well()


# -- images that are worse than they look ------------------------------------------------------


def png(width: int, height: int, rows: int = 0) -> bytes:
    """A PNG file that says how large it is, and holds fewer rows."""

    def chunk(kind, content):
        whole = kind + content
        return struct.pack(">I", len(content)) + whole + struct.pack(">I", zlib.crc32(whole))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    content = zlib.compress(bytes((1 + (width + 7) // 8) * rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", content)


@pytest.mark.parametrize(
    ("size", "status"),
    [
        ((1, 49_000_000), 413),
        ((49_000_000, 1), 413),
        ((20_001, 3), 413),
        ((7000, 7000), 400),
        ((2**31 - 1, 2**31 - 1), 413),
        ((0, 5), 400),
    ],
)
def test_huge_images_of_few_bytes_take_no_memory(server, address, size, status):
    visitor, (_, process) = Visitor(address), server
    before = resident(process)
    for _ in range(4):
        given, _, content = visitor.ask("POST", "/api/predict", png(*size, rows=1))
        assert given == status, content
        error_line(content)
    assert resident(process) - before < 15


def test_uploads_have_a_quota(tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    options = ("--max-upload-mb", "0.2")
    with running(bundle(tmp_path), *options, TMPDIR=str(folder)) as (address, process):
        # Whatever a killed server left behind is gone when the next one starts.
        visitors = [Visitor(address) for _ in range(8)]
        for one in visitors:
            one.open_page()
            for number in range(12):
                status, content = one.upload(f"{number}.png", os.urandom(190_000))
                assert status in (200, 503), content
        kept = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        assert kept <= 20 * 200_000
        process.kill()
        process.wait(30)
    assert list(folder.iterdir())
    with running(bundle(tmp_path / "again"), *options, TMPDIR=str(folder)) as (address, process):
        visitor = Visitor(address)
        config = visitor.open_page()
        assert len(list(folder.iterdir())) == 1
        gone = file_data(str(folder / ".zerokin.00000000.part" / "uploads" / "1" / "a.png"))
        assert visitor.call(*call_of(config, "image", gone))[0] == 403
        process.terminate()
        process.wait(60)
    assert list(folder.iterdir()) == []


def test_a_table_is_no_program(visitor):
    content = test_images()[0].read_bytes()
    names = ["=HYPERLINK(1).png", "+1.png", "-1.png", "@x.png"]
    paths = [visitor.keep(name, content) for name in names]
    given = [file_data(path) for path in paths]
    visitor.call(*call_of(visitor.config, "files", given), session="table")
    told = visitor.result("table").decode()
    found = re.search(r"data:text/csv[^,]*,([^\"\\]+)", told)[1]
    table = b64decode(found).decode() if ";base64" in told else unquote(found)
    assert [line[:2] for line in table.splitlines()[1:]] == ["'=", "'+", "'-", "'@"]
