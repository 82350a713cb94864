"""What the pages here need to be run as tests: a folder to write to, a client of the web page."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from PIL import Image

TESTS = Path(__file__).parents[1] / "tests"
WRITING = ("tutorial.md", "commands.md")


@pytest.fixture(scope="session")
def web_page(tmp_path_factory):
    """Give a client of a small bundle's page, and an image to send."""
    pytest.importorskip("gradio")
    pytest.importorskip("plotly")
    sys.path.append(str(TESTS))
    from fastapi.testclient import TestClient

    from served import bundle, test_images
    from zerokin.app import Service, create_app

    service = Service(bundle(tmp_path_factory.mktemp("page")), device="cpu")
    with TestClient(create_app(service), base_url="http://127.0.0.1:7860") as client:
        yield client, test_images()[0].read_bytes()
    service.close()


@pytest.fixture(autouse=True)
def _names_for_doctests(request, doctest_namespace):
    if request.node.path.name == "web-page.md":
        client, photo = request.getfixturevalue("web_page")
        doctest_namespace.update(client=client, photo=photo)


@pytest.fixture(autouse=True)
def _folder_to_write_to(request, tmp_path, monkeypatch):
    """Run pages that write in a folder of their own; ``ZEROKIN_IMAGES=DIR`` keeps images."""
    if request.node.path.name not in WRITING:
        yield
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    yield
    kept = os.environ.get("ZEROKIN_IMAGES")
    for image in (tmp_path / "images").glob("*.png") if kept else ():
        small = Image.open(image).convert("RGB").quantize(128)  # a third of the bytes
        small.save(Path(kept) / image.name, optimize=True)
