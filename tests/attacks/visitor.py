"""A hostile visitor: plain sockets and HTTP, nothing that keeps to the rules by itself."""

from __future__ import annotations

import http.client
import json
import re
import socket
from contextlib import closing
from urllib.parse import urlsplit

HASH = "abcdef12345"


class Visitor:
    """Asks one server; keeps its cookie as a browser would."""

    def __init__(self, address: str, headers: dict[str, str] | None = None):
        parts = urlsplit(address)
        self.host, self.port = parts.hostname, parts.port
        self.headers = dict(headers or {})

    def ask(self, method, path, body=None, headers=None, seconds=30):
        """Return status, headers and content of an answer."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=seconds)
        with closing(connection):
            # Put together by hand: http.client would refuse some paths itself.
            connection._validate_path = lambda _: None
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            response = connection.getresponse()
            content = response.read()
            return response.status, dict(response.getheaders()), content

    def open_page(self):
        """Load the page: keep its cookie, and return its configuration."""
        status, headers, content = self.ask("GET", "/")
        assert status == 200, content
        if "set-cookie" in headers:
            self.headers["cookie"] = headers["set-cookie"].partition(";")[0]
        found = re.search(rb"window\.gradio_config = (\{.*?\});</script>", content, re.DOTALL)
        return json.loads(found[1])

    def upload(self, name: str, content: bytes):
        """Send a file as the page does; return the answer's status and content."""
        head = f'Content-Disposition: form-data; name="files"; filename="{name}"'
        body = f"--b\r\n{head}\r\n\r\n".encode() + content + b"\r\n--b--\r\n"
        kind = {"content-type": "multipart/form-data; boundary=b"}
        status, _, told = self.ask("POST", "/gradio_api/upload?upload_id=abc", body, kind)
        return status, told

    def keep(self, name: str, content: bytes) -> str:
        """Upload a file and return where it lies."""
        status, told = self.upload(name, content)
        assert status == 200, told
        (path,) = json.loads(told)
        return path

    def call(self, number: int, data: list, session=HASH, **more):
        """Queue a call of the page's functions, and return the answer's status and content."""
        body = {"data": data, "fn_index": number, "trigger_id": None, "session_hash": session}
        return self.ask("POST", "/gradio_api/queue/join", json.dumps(body | more).encode())

    def result(self, session=HASH, seconds=30) -> bytes:
        """Return everything that is told of a session's calls."""
        path = f"/gradio_api/queue/data?session_hash={session}"
        return self.ask("GET", path, seconds=seconds)[2]

    def well(self) -> bool:
        """Tell whether the server answers others."""
        return self.ask("GET", "/api/health", seconds=10)[0] == 200

    def raw(self, content: bytes, seconds: float = 20, *, read=True) -> bytes:
        """Send bytes as they are; return what comes back until the server closes."""
        with socket.create_connection((self.host, self.port), timeout=seconds) as connection:
            connection.sendall(content)
            found = b""
            try:
                while read and (piece := connection.recv(65536)):
                    found += piece
            except ConnectionResetError:
                pass
            return found


def function_of(config: dict, element: str) -> tuple[int, int]:
    """Return the number of the function that an element's value goes into, and of its inputs."""
    own = next(
        part["id"] for part in config["components"] if part["props"].get("elem_id") == element
    )
    for call in config["dependencies"]:
        if own in call["inputs"]:
            return call["id"], len(call["inputs"])
    raise AssertionError(element)


def call_of(config: dict, element: str, value) -> tuple[int, list]:
    """Return a call with a value for an element, and what the page has for the others."""
    parts = {part["id"]: part["props"] for part in config["components"]}
    number, _ = function_of(config, element)
    inputs = next(call["inputs"] for call in config["dependencies"] if call["id"] == number)
    own = (parts[one] for one in inputs)
    return number, [value if one.get("elem_id") == element else one.get("value") for one in own]


def file_data(path: str, **more) -> dict:
    """Return what stands for a file in a call."""
    return {"path": path, "meta": {"_type": "gradio.FileData"}, **more}
