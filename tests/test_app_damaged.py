"""A damaged image: the same sentence on the page, over HTTP and in ``zerokin predict``."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

pytest.importorskip("gradio")
pytest.importorskip("plotly")
pytest.importorskip("httpx")

import httpx

from served import bundle, test_images, zerokin
from zerokin.app.application import create_app
from zerokin.app.batch_tab import named_batch
from zerokin.app.class_tab import added
from zerokin.app.image_tab import named_image
from zerokin.app.service import Service

WHOLE = test_images()[0].read_bytes()
DAMAGED = {
    "empty": b"",
    "text": b"no image at all",
    "a header alone": WHOLE[:40],
    "truncated": WHOLE[: len(WHOLE) * 3 // 5],
    "noise": np.random.default_rng(7).bytes(977),
    "another format": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
    "huge by its header": WHOLE[:16] + (9000).to_bytes(4) * 2 + WHOLE[24:],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return bundle(tmp_path_factory.mktemp("damaged"))


@pytest.fixture(scope="module")
def service(model):
    service = Service(model, device="cpu")
    yield service
    service.close()


def by_http(service, content):
    async def ask():
        transport = httpx.ASGITransport(app=create_app(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.post("/api/predict", files={"image": ("odd.png", content)})

    response = asyncio.run(ask())
    assert response.status_code == 400
    return response.json()["error"]


@pytest.mark.parametrize("kind", DAMAGED)
def test_every_way_in_says_the_same_sentence(service, model, tmp_path, kind):
    (tmp_path / "odd.png").write_bytes(DAMAGED[kind])
    said = zerokin("predict", model, "odd.png", cwd=tmp_path)
    assert said.returncode == 1
    sentence = said.stderr.strip().removeprefix("zerokin: ")
    assert sentence.startswith("image odd.png ")
    assert "\n" not in sentence
    assert by_http(service, DAMAGED[kind]) == sentence
    path = str(tmp_path / "odd.png")
    assert f">{sentence}</p>" in named_image(service, path, "All", None, 0.0)
    assert sentence in named_batch(service, [path], "All", 1)
    assert sentence in added(service, "newt", paths=[path])
    assert "newt" not in service.recognizer.classes.names
