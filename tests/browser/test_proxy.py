"""The page behind nginx with TLS, set up with the very lines of docs/web-page.md."""

from __future__ import annotations

import json
import re
import shutil
import socket
import ssl
import subprocess
import time
import urllib.request
from base64 import b64encode
from pathlib import Path

import pytest

from served import bundle, running, test_images

pytestmark = pytest.mark.browser

PAGE = Path(__file__).parents[2] / "docs" / "web-page.md"
WHOLE = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
{server}
}}
"""
USER, WORD = "ada", "lovelace"


def documented() -> str:
    """The example of the documentation."""
    return re.search(r"```nginx\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def wait_for(port: int) -> None:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"nothing listens on {port}")


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    """Address of the proxy, its certificate, and the server's process."""
    if shutil.which("nginx") is None or shutil.which("openssl") is None:
        pytest.skip("no nginx: make test-browser installs it")
    folder = tmp_path_factory.mktemp("proxy")
    subprocess.run(
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=birds.example "
        f"-addext subjectAltName=DNS:birds.example -keyout {folder}/key.pem -out {folder}/cert.pem",
        shell=True,
        check=True,
        capture_output=True,
    )
    options = ("--allowed-host", "birds.example", "--allow-changes")
    with running(bundle(folder), *options, ZEROKIN_PASSWORD=f"{USER}:{WORD}") as (address, process):
        port = free_port()
        server = documented()
        for old, new in (
            ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
            ("/etc/ssl/birds.pem", f"{folder}/cert.pem"),
            ("/etc/ssl/birds.key", f"{folder}/key.pem"),
            ("http://127.0.0.1:7860", address),
        ):
            assert old in server, old
            server = server.replace(old, new)
        config = folder / "nginx.conf"
        config.write_text(WHOLE.format(folder=folder, server=server), encoding="utf-8")
        nginx = subprocess.Popen(["nginx", "-p", folder, "-c", config], stderr=subprocess.PIPE)
        try:
            wait_for(port)
            yield f"https://birds.example:{port}", folder / "cert.pem", process
        finally:
            nginx.terminate()
            nginx.wait(30)
            nginx.stderr.close()


def ask(proxied, path, content=None, *, user=f"{USER}:{WORD}", **headers):
    """Ask through the proxy as if its name led here."""
    address, certificate, _ = proxied
    port = address.rpartition(":")[2]
    context = ssl.create_default_context(cafile=str(certificate))
    context.check_hostname = False  # it is called by its number below
    request = urllib.request.Request(f"https://127.0.0.1:{port}{path}", content, headers)
    request.add_header("Host", headers.get("Host", f"birds.example:{port}"))
    if user:
        request.add_header("Authorization", f"Basic {b64encode(user.encode()).decode()}")
    try:
        with urllib.request.urlopen(request, context=context, timeout=60) as response:
            return response.status, dict(response.headers), response.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def test_the_documented_proxy_lets_the_interface_through(proxied):
    address = proxied[0]
    photo = test_images()[0].read_bytes()
    status, headers, content = ask(proxied, "/api/predict", photo, Origin=address)
    assert status == 200
    assert json.loads(content)["ranked"]
    assert headers["strict-transport-security"].startswith("max-age=")
    assert "Secure" in ask(proxied, "/")[1]["set-cookie"]
    assert ask(proxied, "/api/health", user="")[0] == 401
    insecure = address.replace("https", "http")
    assert ask(proxied, "/api/predict", photo, Origin=insecure)[0] == 403
    assert ask(proxied, "/api/health", Host="elsewhere.example")[0] == 403
    assert ask(proxied, "/gradio_api/file=/etc/passwd")[0] == 404


def test_the_page_works_behind_the_proxy(proxied, chromium):
    address = proxied[0]
    context = chromium.new_context(
        ignore_https_errors=True, http_credentials={"username": USER, "password": WORD}
    )
    page = context.new_page()
    page.set_default_timeout(60_000)
    asked, wrong = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(address)
    page.wait_for_selector("#answer p")
    page.set_input_files("#image input[type=file]", test_images()[0])
    page.wait_for_selector("#answer h2")
    assert wrong == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    context.close()


def test_a_guesser_cannot_pass_for_many(proxied):
    # The proxy tells from where a request came, whatever a client says of itself.
    statuses = [
        ask(proxied, "/api/health", user="ada:wrong", **{"X-Forwarded-For": f"192.0.2.{n}"})[0]
        for n in range(5)
    ]
    assert statuses[0] == 401
    assert 429 in statuses
