"""One server for all attacks that need no options of their own."""

from __future__ import annotations

import pytest

pytest.importorskip("gradio")
pytest.importorskip("plotly")

from served import bundle, running

from .visitor import Visitor

PASSWORD = "ada:lovelace"


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """Address and process of a server; in the end it must be well, and have told no trace."""
    folder = bundle(tmp_path_factory.mktemp("attacked"))
    with running(folder, "--max-upload-mb", "3") as (address, process):
        yield address, process
        assert Visitor(address).well()
        process.terminate()
        assert process.wait(60) == 0
        assert "Traceback" not in process.stderr.read()


@pytest.fixture
def address(server):
    return server[0]


@pytest.fixture
def visitor(address):
    visitor = Visitor(address)
    visitor.config = visitor.open_page()
    yield visitor
    assert visitor.well()
