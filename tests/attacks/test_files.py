"""No file of the machine is read for a visitor, none is fetched, and nothing is waited for."""

from __future__ import annotations

import http.server
import io
import json
import os
import threading
import zipfile
from pathlib import Path
from urllib.parse import quote

import pytest

from served import test_images

from .visitor import Visitor, call_of, file_data

SECRET = b"0f1e2d3c-secret-of-this-machine"


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    """A file that the server's user can read, in the machine's temporary folder."""
    path = tmp_path_factory.mktemp("secrets") / "secret.png"
    path.write_bytes(SECRET)
    return path


@pytest.fixture(scope="module")
def elsewhere():
    """A server that nobody should call, and who called it."""
    called = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            called.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(SECRET)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/x.png", called
    server.shutdown()
    server.server_close()


def shapes(path):
    """Ways in which a call may name a file."""
    return [
        [file_data(path)],
        file_data(path),
        file_data(path, url=path),
        {"path": path},
        {"path": path, "meta": {"_type": "gradio.FileData"}, "is_stream": True},
        {"image": file_data(path)},
        {"video": file_data(path), "subtitles": None},
        [[file_data(path)]],
        {"url": path, "meta": {"_type": "gradio.FileData"}},
        {"__type__": "update", "value": file_data(path)},
    ]


@pytest.mark.parametrize("element", ["files", "image"])
@pytest.mark.parametrize("number", range(10))
def test_a_call_with_a_path_reads_nothing(visitor, secret, element, number):
    fn, usual = call_of(visitor.config, element, None)
    given = shapes(str(secret))[number]
    for position in range(len(usual)):
        data = [*usual]
        data[position] = given
        status, _, content = visitor.call(fn, data)
        assert status == 403, content
        assert SECRET not in content


def test_no_path_of_the_machine_however_it_is_written(visitor, secret):
    own = visitor.keep("a.png", b"x")
    here = os.path.relpath(secret)
    for path in (
        str(secret),
        f"{own}/../../../{secret.name}",
        f"{Path(own).parent}/../../{secret}",
        f"file://{secret}",
        f"//{secret}",
        here,
        f"/proc/self/root{secret}",
        "/proc/self/environ",
        "/etc/passwd",
        "~/.ssh/id_rsa",
        str(Path(own).parent),
        "",
        "\0",
    ):
        status, _, content = visitor.call(*call_of(visitor.config, "files", [file_data(path)]))
        assert status == 403, (path, content)
        for route in (
            f"/gradio_api/file={path}",
            f"/gradio_api/file={quote(path, safe='')}",
            f"/gradio_api/file/{quote(path)}",
            f"/file={quote(path)}",
            f"/static/{quote('../' * 12 + path.lstrip('/'), safe='')}",
            f"/assets/{quote('..%2f' * 12 + path.lstrip('/'), safe='%')}",
            f"/svelte/../../../{quote(path)}",
            f"/gradio_api/proxy=file://{quote(path)}",
            f"/gradio_api/custom_component/x/client/component/{quote(path, safe='')}",
        ):
            if "\0" in route or route.endswith(("=", "/")):
                continue
            status, _, content = visitor.ask("GET", route)
            assert status in (400, 403, 404), route
            assert SECRET not in content
            assert b"root:" not in content


def test_saved_states_lead_nowhere(visitor, secret):
    visitor.call(*call_of(visitor.config, "files", [file_data(str(secret))]))
    for route in (
        "/gradio_api/deep_link?session_hash=abcdef12345",
        "/config?deep_link=abcdef",
        "/?deep_link=abcdef",
        "/gradio_api/run-history/records",
        "/gradio_api/runs",
    ):
        status, _, content = visitor.ask("GET", route)
        assert status in (403, 404), route
        assert content.startswith(b'{"error"')


def test_special_files_hold_nobody_up(visitor, tmp_path):
    fifo = tmp_path / "fifo.png"
    os.mkfifo(fifo)
    for path in (fifo, "/dev/zero", "/dev/random", "/dev/stdin", "/proc/kmsg", "/dev/tty"):
        for element in ("files", "image"):
            one = file_data(str(path))
            given = [one] if element == "files" else one
            status, *_ = visitor.call(*call_of(visitor.config, element, given))
            assert status == 403
        assert visitor.ask("GET", f"/gradio_api/file={path}")[0] == 404
        assert visitor.well()


def test_nothing_is_fetched(visitor, elsewhere):
    url, called = elsewhere
    own = visitor.keep("a.png", test_images()[0].read_bytes())
    for element in ("files", "image"):
        for given in shapes(url):
            assert visitor.call(*call_of(visitor.config, element, given))[0] == 403
        # A file of one's own, said to lie elsewhere as well.
        lured = file_data(own, url=url, orig_name=url)
        given = [lured] if element == "files" else lured
        visitor.call(*call_of(visitor.config, element, given), session="lured")
        visitor.result("lured")
    for route in ("file=", "file/", "proxy="):
        assert visitor.ask("GET", f"/gradio_api/{route}{url}")[0] in (403, 404)
        assert visitor.ask("GET", f"/gradio_api/{route}{quote(url, safe='')}")[0] in (403, 404)
    assert called == []


def test_uploads_are_ones_own(address):
    one, other, nobody = Visitor(address), Visitor(address), Visitor(address)
    config = one.open_page()
    other.open_page()
    photo = test_images()[0].read_bytes()
    path = one.keep("photo.png", photo)
    status, headers, content = one.ask("GET", f"/gradio_api/file={path}")
    assert (status, content) == (200, photo)
    assert headers["content-type"] == "image/png"
    asked = call_of(config, "image", file_data(path))
    for thief in (other, nobody):
        assert thief.ask("GET", f"/gradio_api/file={path}")[0] == 404
        assert thief.call(*asked)[0] == 403
    assert one.call(*asked, session="own")[0] == 200
    assert b"zk-" in one.result("own")
    assert nobody.upload("photo.png", photo)[0] == 403
    # What is no image never becomes one in a browser.
    path = one.keep("page.html", b"<script>alert(1)</script>")
    headers = one.ask("GET", f"/gradio_api/file={path}")[1]
    assert headers["content-type"] == "application/octet-stream"
    assert headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize(
    "name", ["../../../../tmp/x.png", "/etc/x.png", "a\\..\\b.png", ".hidden", "x" * 500, ""]
)
def test_an_upload_lies_where_uploads_lie(visitor, name):
    status, told = visitor.upload(name, b"x")
    if status == 400:  # without a name it is no file
        assert name == ""
        return
    path = Path(json.loads(told)[0])
    assert path.parents[1] == Path(visitor.keep("a.png", b"x")).parents[1]
    assert not path.name.startswith(".")


def test_a_links_zip_and_a_list_of_millions_read_nothing(visitor, secret):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        link = zipfile.ZipInfo("link.png")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, str(secret))
        archive.writestr("../../x.png", b"x")
    directory = b"PK\x01\x02" + bytes(24) + b"\x01\x00" + bytes(16) + b"a"
    millions = directory * 60_000
    end = b"PK\x05\x06" + bytes(4) + b"\xff\xff\xff\xff" + len(millions).to_bytes(4, "little")
    for content in (file.getvalue(), millions + end + bytes(6)):
        path = visitor.keep("all.zip", content)
        asked = call_of(visitor.config, "files", [file_data(path)])
        assert visitor.call(*asked, session="zipped")[0] == 200
        answer = visitor.result("zipped")
        assert SECRET not in answer
        assert b"left out" in answer or b"far more files" in answer
