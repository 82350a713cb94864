"""What the pages here need to be run as tests: ``client`` and ``photo`` for the web page's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1] / "tests"


@pytest.fixture(scope="session")
def web_page(tmp_path_factory):
    """Give a client of a small bundle's page, and a picture to send."""
    pytest.importorskip("gradio")
    pytest.importorskip("plotly")
    sys.path.append(str(TESTS))
    from fastapi.testclient import TestClient

    from served import bundle, test_pictures
    from zerokin.app import Service, create_app

    service = Service(bundle(tmp_path_factory.mktemp("page")), device="cpu")
    with TestClient(create_app(service), base_url="http://127.0.0.1:7860") as client:
        yield client, test_pictures()[0].read_bytes()
    service.close()


@pytest.fixture(autouse=True)
def _names_for_doctests(request, doctest_namespace):
    if request.node.path.name == "web-page.md":
        client, photo = request.getfixturevalue("web_page")
        doctest_namespace.update(client=client, photo=photo)
