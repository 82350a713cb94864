"""The page and the HTTP interface of a bundle without a network: features in, hostile ones out."""

from __future__ import annotations

import io
import json
import re
import shutil
from base64 import b64encode
from html import unescape
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gradio")
pytest.importorskip("plotly")

from fastapi.testclient import TestClient

from feature_bundles import dataset, fitted, rows
from zerokin.app import Limits, Service, create_app
from zerokin.app.batch_tab import named_batch
from zerokin.app.image_tab import named_image
from zerokin.app.page import page, title_html
from zerokin.app.refusals import ReadOnly
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.recognizer import Recognizer
from zerokin.recognizer.answering import Question

LOCAL = "http://127.0.0.1:7860"
FORMER = Path(__file__).parent / "data" / "features-1"
WIDTH = 24


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "bundle"
    fitted().save(folder)
    service = Service(folder, limits=Limits(upload_bytes=300_000, batch_images=50))
    yield service
    service.close()


@pytest.fixture(scope="module")
def client(service):
    with TestClient(create_app(service), base_url=LOCAL) as client:
        yield client


def saved(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def with_header(text: str, body: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    """A NumPy file whose header says anything."""
    size = len(text).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    return b"\x93NUMPY" + version + size + text.encode("latin1") + body


def header(descr="<f4", shape="(5, 24)"):
    return f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n"


GOOD = saved(np.ones((5, WIDTH), np.float32))
HOSTILE = {
    "empty": b"",
    "not NumPy": b"garden.jpg",
    "a zip file": b"PK\x03\x04" + bytes(400),
    "truncated": GOOD[:-7],
    "header cut": GOOD[:40],
    "objects": saved(np.array([[{}] * WIDTH], dtype=object), allow_pickle=True),
    "texts": saved(np.array([["1"] * WIDTH])),
    "complex": saved(np.zeros((2, WIDTH), complex)),
    "dates": saved(np.zeros((2, WIDTH), "M8[s]")),
    "fields": saved(np.zeros((2, WIDTH), [("a", "f4")])),
    "wrong width": saved(np.zeros((5, WIDTH + 1))),
    "no columns": saved(np.zeros((5, 0))),
    "no rows": saved(np.zeros((0, WIDTH))),
    "one number": saved(np.float64(3)),
    "three axes": saved(np.zeros((2, 2, WIDTH))),
    "huge header": with_header(header() + " " * 60_000),
    "huge header of version 2": with_header("(" * 200_000, version=b"\x02\x00"),
    "deep header": with_header("(" * 9_000),
    "huge shape": with_header(header(shape="(10000000000000, 24)"), bytes(96)),
    "overflowing shape": with_header(header(shape="(2305843009213693952, 24)"), bytes(96)),
    "negative shape": with_header(header(shape="(-1, 24)"), bytes(96)),
    "shape of texts": with_header(header(shape="('5', 24)"), bytes(96)),
    "code for a header": with_header("__import__('os').system('touch /tmp/owned')\n"),
    "NaN": saved(np.full((1, WIDTH), np.nan)),
    "infinity": saved(np.full((1, WIDTH), -np.inf)),
    "too large to square": saved(np.full((1, WIDTH), 1e200)),
}


def shown(html: str) -> list[str]:
    return [unescape(name) for name in re.findall(r'<th scope="row"><bdi>(.*?)</bdi>', html)]


def test_a_row_is_named_as_by_the_recognizer(service, tmp_path):
    np.save(tmp_path / "x.npy", rows(4))
    for number in (1, 3):
        html = named_image(service, str(tmp_path / "x.npy"), "All", 1.0, 0.0, number)
        expected = service.recognizer.recognize(rows(4)[number - 1], max_risk=1.0)[0]
        assert shown(html) == [one.name for one in expected.ranked]
        assert "<img" not in html
    for number, line in ((5, "has rows 1 to 4: there is no 5"), (-1, "there is no -1")):
        html = named_image(service, str(tmp_path / "x.npy"), "All", 1.0, 0.0, number)
        assert f"x.npy {line}" in html or line in html
    assert "a NumPy file" in named_image(service, None, "All", 0.3, 0.0)


def test_a_batch_is_the_csv_of_the_command(service, tmp_path):
    from zerokin.report.answers_csv import csv_heading, csv_row

    given = rows(9)
    given[2, 5] = np.nan
    np.save(tmp_path / "x.npy", given)
    html = named_batch(service, [str(tmp_path / "x.npy")], "Never seen", 2)
    assert "8 of 9 samples answered" in html
    answers = list(service.recognizer.recognize_stream(given, candidates="unseen", k=2))
    text = csv_heading(2) + "".join(csv_row(answer, 2) for answer in answers)
    assert b64encode(text.encode()).decode() in html
    np.save(tmp_path / "many.npy", np.zeros((51, WIDTH)))
    for files, line in (
        (["many.npy"], "51 rows, over the limit of 50"),
        (["x.npy", "x.npy"], "one NumPy file"),
        ([], "Choose first"),
    ):
        html = named_batch(service, [str(tmp_path / name) for name in files], "All", 1)
        assert line in html


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line_that_names_no_folder(service, tmp_path, kind):
    path = tmp_path / "features.npy"
    path.write_bytes(HOSTILE[kind])
    one = named_image(service, str(path), "All", 0.3, 0.0, 1)
    assert one.startswith('<p class="zk-note zk-bad"'), one
    many = named_batch(service, [str(path)], "All", 1)
    assert "zk-bad" in many or "0 of 1 samples answered" in many
    for html in (one, many):
        assert str(tmp_path) not in html
        assert "Traceback" not in html
        assert len(html) < 2000
    assert not Path("/tmp/owned").exists()
    assert service.in_hand == 0


def test_a_file_that_is_gone_is_said_to_be(service, tmp_path):
    html = named_image(service, str(tmp_path / "gone.npy"), "All", 0.3, 0.0, 1)
    assert "gone.npy" in html
    assert str(tmp_path) not in html


def test_the_page_asks_for_a_file_and_a_row(service):
    blocks = page(service)
    ids = {getattr(block, "elem_id", None) for block in blocks.blocks.values()}
    assert {"features", "row", "files", "new-name"} <= ids
    assert "image" not in ids
    tabs = [block.label for block in blocks.blocks.values() if type(block).__name__ == "Tab"]
    assert tabs[0] == "Features"
    assert "samples of" in title_html(service)


def error(response, status):
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    assert "\n" not in response.json()["error"]
    return response.json()["error"]


def test_http_answers_are_the_recognizers(client, service):
    query = {"k": 4, "max_risk": 0.3, "unseen_bias": 0.05, "candidates": "unseen"}
    for row in rows(3).astype(float):
        given = client.post("/api/predict", json={"features": row.tolist()}, params=query)
        assert given.status_code == 200, given.text
        expected = service.recognizer.recognize(
            row, k=4, max_risk=0.3, unseen_bias=0.05, candidates="unseen"
        )[0].to_dict()
        assert given.json() == expected | {"image": "features", "picture": "features"}
    told = client.get("/api/classes").json()
    assert (told["takes"], told["features"]) == ("features", WIDTH)


@pytest.mark.parametrize(
    ("body", "status", "line"),
    [
        (b"", 400, "this model takes features"),
        (b"\x89PNG\r\n\x1a\n", 400, "this model takes features"),
        (GOOD[:900], 400, "this model takes features"),
        (b"[1, 2]", 400, "this model takes features"),
        (b'{"features": "1 2"}', 400, "this model takes features"),
        (b'{"features": [1], "more": 1}', 400, "this model takes features"),
        (b'{"features": []}', 400, "have 0 features"),
        (b'{"features": [1, 2]}', 400, "have 2 features, but this recognizer takes 24"),
        (
            json.dumps({"features": [[0.5] * 10, [0.5] * 10]}).encode(),
            400,
            "this model takes features",
        ),
        (json.dumps({"features": [[0] * 24] * 2}).encode(), 400, "this model takes features"),
        (json.dumps({"features": [[[0] * 24]]}).encode(), 400, "this model takes features"),
        (json.dumps({"features": ["0.5"] * 24}).encode(), 400, "this model takes features"),
        (json.dumps({"features": [None] * 24}).encode(), 400, "this model takes features"),
        (json.dumps({"features": [{}] * 24}).encode(), 400, "this model takes features"),
        (json.dumps({"features": [[1], [1, 2]]}).encode(), 400, "this model takes features"),
        (b'{"features": [' + b"NaN," * 23 + b"1]}", 400, "this model takes features"),
        (b'{"features": [' + b"1e999," * 23 + b"1]}", 400, "this model takes features"),
        (b'{"features": [' + b"1e200," * 23 + b"1]}", 400, "do not fit"),
        (b'{"features": [' + b"9" * 700 + b"]}", 400, ""),
        (b'{"features": [' + b"0," * 5_000 + b"0]}", 413, "too many for a row"),
        (b"[" * 900, 400, "this model takes features"),
    ],
)
def test_http_refuses_other_bodies_in_one_line(client, service, body, status, line):
    response = client.post("/api/predict", content=body)
    assert line in error(response, status)
    assert service.in_hand == 0


def test_a_form_is_no_row(client):
    form = {"features": ("x.npy", GOOD)}
    assert "this model takes features" in error(client.post("/api/predict", files=form), 400)


def test_classes_change_over_http_and_on_disk(service, client):
    vector = dataset().classes.vectors[-1].tolist()
    assert client.post("/api/classes", json={"name": "newt", "vector": vector}).status_code == 201
    assert "newt" in Recognizer.load(service.folder).classes.names
    assert client.delete("/api/classes", params={"name": "newt"}).status_code == 200
    assert "newt" not in Recognizer.load(service.folder).classes.names


def test_a_classifier_of_an_earlier_version_is_served_and_cannot_be_changed(tmp_path):
    with pytest.warns(ZerokinWarning, match=r"ZeroShotClassifier.load\(.*\).save"):
        service = Service(shutil.copytree(FORMER, tmp_path / "old"))
    try:
        expected = json.loads(FORMER.with_suffix(".json").read_text(encoding="utf-8"))
        answer = service.ask(expected["features"][0], "x", Question(k=12)).result(30)
        assert [one.name for one in answer.ranked] == expected["names"][0]
        with pytest.raises(ReadOnly):
            service.add_class("newt", vector=[1, 2, 3, 4])
        with pytest.raises(InvalidInput, match="must be features"):
            service.ask(b"an image", "x", Question()).result(30)
        page(service)
    finally:
        service.close()


def test_a_level_and_restrictions_may_be_asked_for(client, service):
    known = service.recognizer
    row = np.asarray(rows(1)[0], dtype=np.float64)
    under = known.hierarchy.node_names(1)[0]
    below = [known.classes.names[at] for at in known.hierarchy.members(1, 0)]
    query = {"level": "1", "under": under, "classes": below, "k": 3}
    given = client.post("/api/predict", json={"features": row.tolist()}, params=query)
    assert given.status_code == 200, given.json()
    expected = known.recognize(row, level=1, under=under, classes=below, k=3)[0].to_dict()
    assert given.json() == {**expected, "image": "features", "picture": "features"}
    sure = {"min_confidence": 0.9, "level": "all"}
    given = client.post("/api/predict", json={"features": row.tolist()}, params=sure).json()
    assert given["answer"] == known.recognize(row, min_confidence=0.9)[0].name
    shown = client.get("/api/openapi.json").json()["paths"]["/api/predict"]["post"]["parameters"]
    assert {"level", "under", "classes", "min_confidence"} <= {one["name"] for one in shown}


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ({"level": "famly"}, "there is no level 'famly'"),
        ({"level": "9" * 5000}, "there is no level '999"),
        ({"level": "-1"}, "there is no level '-1'"),
        ({"level": "\x1b[2J"}, "there is no level"),
        ({"under": "x" * 5000}, "unknown superclass"),
        ({"classes": ["class 0", "clas 1"]}, "unknown class 'clas 1'"),
        ({"classes": "class 0", "candidates": "unseen"}, "leaves no class to choose from"),
        ({"min_confidence": "nan"}, "min_confidence must be a number from 0 to 1"),
        ({"min_confidence": "0.5", "max_risk": "0.5"}, "give one of"),
    ],
)
def test_levels_and_restrictions_that_cannot_be_are_one_line(client, query, line):
    given = client.post("/api/predict", json={"features": [0.5] * WIDTH}, params=query)
    assert given.status_code == 400
    said = given.json()["error"]
    assert line in said
    assert len(said) <= 400
    assert said.isprintable()


def test_a_class_is_added_by_examples(tmp_path):
    from zerokin.classifiers.few_shot.class_by_example import with_shots

    fitted().save(tmp_path / "bundle")
    service = Service(tmp_path / "bundle", limits=Limits(shots=4))
    F = np.asarray(rows(6), dtype=np.float64)
    with TestClient(create_app(service), base_url=LOCAL) as client:
        count = len(service.recognizer.classes)
        new = {"name": "newt", "features": F[:3].tolist()}
        given = client.post("/api/classes", json=new)
        assert given.status_code == 201, given.json()
        assert given.json() == {"name": "newt", "classes": count + 1, "shots": 3}
        more = {"name": "newt", "features": F[3:5].tolist(), "kappa": 2}
        assert client.post("/api/classes", json=more).json()["shots"] == 5
        expected = with_shots(fitted().classifier, "newt", F[:5])
        known = Recognizer.load(tmp_path / "bundle").classifier
        np.testing.assert_allclose(known.prototypes_, expected.prototypes_, atol=1e-9)
        described = client.get("/api/classes").json()["classes"]
        assert {one["name"]: one["shots"] for one in described if one["shots"]} == {"newt": 5}
        for body, status, line in [
            ({"name": "newt", "features": F.tolist()}, 413, "6 examples, over the limit of 4"),
            ({"name": "class 0", "features": F[:1].tolist()}, 409, "was seen in training"),
            ({"name": "newt", "vector": [1.0] * 6}, 409, "there is a class 'newt' already"),
            ({"name": "eft", "features": [[1.0]]}, 400, "have 1 features"),
            ({"name": "eft", "features": []}, 400, "features must be a list of one or more"),
            ({"name": "eft", "features": [[1.0, 2.0], [1.0]]}, 400, "features"),
            ({"name": "eft", "features": [["1"] * WIDTH]}, 400, "features"),
            ({"name": "eft", "features": [[0.0] * WIDTH]}, 400, "all zero"),
            ({"name": "eft", "features": [[1e308] * WIDTH]}, 400, "scale shots down"),
            ({"name": "eft", "features": [[1.0] * WIDTH], "kappa": -1}, 400, "kappa must be"),
            ({"name": "eft"}, 400, "give one of vector, attributes and text"),
        ]:
            refused = client.post("/api/classes", json=body)
            assert refused.status_code == status, refused.json()
            assert line in refused.json()["error"]
            assert len(service.recognizer.classes) == count + 1
        form = client.post("/api/classes", data={"name": "eft"}, files={"images": ("a.jpg", b"x")})
        assert form.status_code == 400
        assert "takes features" in form.json()["error"]
    service.close()
