"""A real Chromium, a served bundle, and a record of every request the browser made."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP birds.example 127.0.0.1",
)
SIZES = {"wide": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="session")
def chromium():
    api = pytest.importorskip("playwright.sync_api")
    pytest.importorskip("gradio")
    if CHROMIUM is None:
        pytest.skip("no chromium: make test-browser installs it")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory) -> Path:
    """Where images of the page are left: ``ZEROKIN_SCREENSHOTS``, or a temporary folder."""
    given = os.environ.get("ZEROKIN_SCREENSHOTS")
    folder = Path(given) if given else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    from served import bundle, running

    folder = bundle(tmp_path_factory.mktemp("browser"))
    with running(folder) as (address, _):
        yield address, folder


class Visit:
    """A page that was opened, what it asked for, and what went wrong in it."""

    def __init__(self, browser, address, size, scheme="light"):
        width, height = SIZES[size]
        self.address = address
        self.page = browser.new_page(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        self.page.set_default_timeout(60_000)
        self.requests, self.errors = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._console)
        self.page.on("dialog", self._dialog)
        self.page.goto(address)
        self.page.wait_for_selector("#answer p")

    def _console(self, message):
        if "Content Security Policy" in message.text:
            self.errors.append(message.text)

    def _dialog(self, dialog):
        self.errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def tab(self, name):
        self.page.get_by_role("tab", name=name).click()

    def elsewhere(self):
        """Requests to anything but this server."""
        own = (self.address, "data:", f"blob:{self.address}")
        return [url for url in self.requests if not url.startswith(own)]


@pytest.fixture(params=["wide"])
def visit(request, chromium, served):
    """A visit in a window: ``"wide"`` or ``"phone"``, with a color scheme as ``"wide dark"``."""
    size, _, scheme = request.param.partition(" ")
    visit = Visit(chromium, served[0], size, scheme or "light")
    yield visit
    visit.page.close()
    assert visit.elsewhere() == []
    assert visit.errors == []
