"""The HTTP interface and the page of several labels, without a browser."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from PIL import Image

from label_bundles import EVIL, label_bundle, scene_files, scene_folder
from zerokin import load_dataset
from zerokin.errors import InvalidInput
from zerokin.recognizer.label_recognizer import LabelRecognizer, fit_label_recognizer

pytest.importorskip("gradio")

from fastapi.testclient import TestClient

from zerokin.app import create_app
from zerokin.app.label_page import labels_html, shown_labels, small_jpeg
from zerokin.app.label_service import LabelService
from zerokin.app.limits import Limits
from zerokin.recognizer.label_answer import FoundLabel, LabelAnswer, cell_box


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    service = LabelService(
        label_bundle(tmp_path_factory.mktemp("app")),
        limits=Limits(pixels=200_000),
        device="cpu",
    )
    yield service
    service.close()


@pytest.fixture(scope="module")
def client(service):
    with TestClient(create_app(service), base_url="http://127.0.0.1") as client:
        yield client


def test_the_interface_answers_as_the_recognizer(client, service):
    content = scene_files()[0].read_bytes()
    found = client.post("/api/predict?k=4", content=content)
    assert found.status_code == 200
    expected = service.recognizer.recognize(scene_files()[0], k=4)[0].to_dict()
    assert found.json()["labels"] == expected["labels"]
    assert len(expected["labels"]) == 4
    for one in expected["labels"]:
        assert one["box"] == pytest.approx(cell_box(one["region"], 4))
    unseen = client.post("/api/predict?k=3&candidates=unseen", content=content).json()["labels"]
    assert {one["role"] for one in unseen} == {"unseen"}
    form = client.post("/api/predict", files={"image": ("x.png", content)})
    assert form.json()["image"] == "x.png"


@pytest.mark.parametrize(("query", "content", "status", "line"), [
    ("", b"no image", 400, "cannot be decoded"),
    ("", b"", 400, "is empty"),
    ("?k=0", None, 400, "k must be"),
    ("?k=many", None, 400, "k"),
    ("?candidates=no+such+class", None, 400, "no such class"),
    ("?max_risk=0.1", None, 400, "max_risk"),
    ("?threshold=2", None, 400, "threshold"),
])  # fmt: skip
def test_what_is_no_question_is_refused_in_one_line(client, query, content, status, line):
    content = scene_files()[0].read_bytes() if content is None else content
    found = client.post(f"/api/predict{query}", content=content)
    assert found.status_code == status, found.text
    assert line in found.json()["error"]
    assert "\n" not in found.json()["error"]


def test_an_image_beyond_the_limits_is_refused_before_it_is_decoded(client, service, tmp_path):
    content = io.BytesIO()
    Image.new("RGB", (1000, 999)).save(content, "PNG")
    found = client.post("/api/predict", content=content.getvalue())
    assert found.status_code == 413
    (tmp_path / "large.png").write_bytes(content.getvalue())
    assert "zk-bad" in shown_labels(service, str(tmp_path / "large.png"), "All", 3)


def test_only_what_there_is_can_be_called(client):
    for method, path, status in (
        ("POST", "/api/classes", 405), ("DELETE", "/api/classes", 405),
        ("GET", "/api/hierarchy", 404), ("GET", "/api/nothing", 404), ("GET", "/api/predict", 405),
    ):  # fmt: skip
        assert client.request(method, path).status_code == status, (method, path)
    known = client.get("/api/classes").json()
    assert known["read_only"]
    assert known["classes"][0] == {"name": EVIL, "seen": True}
    assert client.get("/api/health").json()["classes"] == len(known["classes"])


def test_the_page_shows_names_as_they_are(service):
    html = shown_labels(service, str(scene_files()[0]), "Seen", int(service.recognizer.seen.sum()))
    assert "onerror" in html
    assert "<img src=x" not in html
    numbers = [int(number) for number in re.findall(r"<b>(\d+)</b>", html)]
    assert sorted(numbers) == list(range(1, 1 + int(service.recognizer.seen.sum())))


def test_boxes_lie_where_regions_do():
    found = tuple(FoundLabel("a", "seen", 0.5, region, cell_box(region, 3)) for region in (0, 5, 8))
    html = labels_html(LabelAnswer("1.jpg", found), b"")
    shared = labels_html(LabelAnswer("1.jpg", (found[0], found[1], found[0])), b"")
    assert "<b>1</b><b>3</b></span>" in shared  # neither hides the other
    for left, top in ((0, 0), (66.67, 33.33), (66.67, 66.67)):
        assert f"left:{left:.2f}%;top:{top:.2f}%;width:33.33%;height:33.33%" in html
    assert "Nothing it is sure of" in labels_html(LabelAnswer("1.jpg", ()), b"")


def test_what_the_page_shows_is_small():
    tall = Image.fromarray(np.random.default_rng(0).integers(0, 255, (900, 300, 3), np.uint8))
    with Image.open(io.BytesIO(small_jpeg(tall))) as shown:
        assert shown.size == (213, 640)
    assert tall.size == (300, 900)


def test_images_and_batches_of_them_are_answered_alike(service, tmp_path):
    files = scene_files()
    (tmp_path / "broken.png").write_bytes(b"nothing")
    given = [files[0], tmp_path / "broken.png", *files[1:]]
    answers = list(service.recognizer.recognize_stream(given, k=2, batch_size=2))
    assert [answer.image for answer in answers] == [str(one) for one in given]
    assert "broken.png" in answers[1].error
    for file, answer in zip(files, [answers[0], *answers[2:]], strict=True):
        assert service.recognizer.recognize(file, k=2)[0] == answer
    with pytest.raises(InvalidInput, match=r"broken\.png"):
        service.recognizer.recognize(given)


def test_test_images_are_not_read(monkeypatch):
    data = load_dataset(f"folder={scene_folder()}")
    tests = set(np.concatenate([data.split.test_seen, data.split.test_unseen]).tolist())
    read, array = set(), type(data.images).load

    def noted(self, index):
        read.add(int(index))
        return array(self, index)

    monkeypatch.setattr(type(data.images), "load", noted)
    network = {"backbone": "conv4", "weights": None, "image_size": 32}
    recognizer, _ = fit_label_recognizer(
        data, network, regions=2, components=0, tune=False, quiet=True
    )
    assert recognizer.classifier.n_features_in_ == 64
    assert not read & tests


@pytest.mark.parametrize(("harm", "line"), [
    (lambda folder: (folder / "reader" / "components.npz").write_bytes(b"PK"), "no whole reader"),
    (lambda folder: np.savez(folder / "reader" / "components.npz",
                             mean=np.zeros(64, "f4"), directions=np.zeros((63, 4), "f4")),
     "components that do not fit"),
    (lambda folder: np.savez(folder / "reader" / "components.npz",
                             mean=np.array([{}], object), directions=np.zeros((64, 4), "f4")),
     "no whole reader"),
    (lambda folder: (folder / "reader" / "regions.json").unlink(), "regions.json"),
    (lambda folder: (folder / "reader" / "components.npz").unlink(), "64 features"),
])  # fmt: skip
def test_a_tampered_reader_is_refused(tmp_path, harm, line):
    folder = label_bundle(tmp_path)
    harm(folder)
    with pytest.raises(Exception, match=line) as caught:
        LabelRecognizer.load(folder, device="cpu")
    assert isinstance(caught.value, (InvalidInput, FileNotFoundError)), caught.value
    assert "\n" not in str(caught.value)
