"""The HTTP interface: answers against the recognizer, refusals in one line, nothing let through."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from urllib.parse import quote

import pytest
from PIL import Image

pytest.importorskip("gradio")
pytest.importorskip("plotly")

from fastapi.testclient import TestClient

from served import bundle, test_images
from zerokin.app import Limits, Service, create_app
from zerokin.recognizer import Recognizer
from zerokin.recognizer.answering import Question

LOCAL = "http://127.0.0.1:7860"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return bundle(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def service(folder):
    service = Service(folder, limits=Limits(upload_bytes=300_000, pixels=1_000_000), device="cpu")
    yield service
    service.close()


@pytest.fixture(scope="module")
def client(service):
    with TestClient(create_app(service), base_url=LOCAL) as client:
        yield client


def error(response, status):
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    assert "\n" not in response.json()["error"]
    return response.json()["error"]


def test_answers_are_the_recognisers(client, folder):
    alone = Recognizer.load(folder, device="cpu")
    for file in test_images()[:3]:
        query = {"k": 4, "max_risk": 0.3, "unseen_bias": 0.05, "candidates": "unseen"}
        given = client.post("/api/predict", content=file.read_bytes(), params=query)
        expected = alone.recognize(file, k=4, max_risk=0.3, unseen_bias=0.05, candidates="unseen")[
            0
        ].to_dict()
        assert given.status_code == 200
        assert given.json() == expected | {"picture": "image", "image": "image"}


@pytest.mark.parametrize("field", ["image", "picture"])
def test_a_form_names_the_image_and_examples_are_images(client, field):
    file = test_images()[0]
    form = {field: ("garden.png", file.read_bytes(), "image/png")}
    given = client.post("/api/predict", files=form, params={"examples": True}).json()
    assert given["image"] == given["picture"] == "garden.png"
    example = given["kin"][0]["examples"][0]
    assert example.startswith("data:image/jpeg;base64,")
    raw = client.post("/api/predict", content=file.read_bytes()).json()
    assert raw["ranked"] == given["ranked"]


def test_candidates_may_be_named(client):
    content = test_images()[0].read_bytes()
    names = ["plum mumbler", "honey mumbler"]
    given = client.post("/api/predict", content=content, params={"candidates": names}).json()
    assert {one["name"] for one in given["ranked"]} == set(names)


def bomb():
    file = io.BytesIO()
    Image.new("1", (20_000, 20_000)).save(file, "PNG", optimize=True)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "query", "status", "line"),
    [
        (b"", {}, 400, "is empty"),
        (b"text", {}, 400, "damaged"),
        (None, {"k": "many"}, 400, "k must be a whole number from 1: got 'many'"),
        (None, {"k": 0}, 400, "k must be a whole number from 1: got 0"),
        (None, {"max_risk": 2}, 400, "max_risk must be a number from 0 to 1: got 2"),
        (None, {"max_risk": "nan"}, 400, "max_risk must be a number from 0 to 1: got nan"),
        (None, {"unseen_bias": "inf"}, 400, "from -100 to 100: got inf"),
        (None, {"candidates": "plum mumblr"}, 400, "plum mumbler"),
        (None, {"examples": "perhaps"}, 400, "examples must be true or false"),
        (None, {"max_rsk": 0.2}, 400, "unknown entry 'max_rsk'; did you mean 'max_risk'?"),
        (b"x" * 500_000, {}, 413, "limit of 300,000"),
    ],
)
def test_bad_images_and_questions(client, content, query, status, line):
    content = test_images()[0].read_bytes() if content is None else content
    assert line in error(client.post("/api/predict", content=content, params=query), status)


def test_a_decompression_bomb_is_refused(client):
    assert "far more than 1,000,000 pixels" in error(
        client.post("/api/predict", content=bomb()), 413
    )


def test_a_body_without_a_length_is_counted(client):
    pieces = (b"x" * 50_000 for _ in range(20))
    assert "limit" in error(client.post("/api/predict", content=pieces), 413)


@pytest.mark.parametrize(
    "form", [{"files": {"other": ("a.png", b"x")}}, {"data": {"picture": "text"}, "files": {}}]
)
def test_forms_without_the_image(client, form):
    if not form.get("files"):
        head = {"content-type": "multipart/form-data; boundary=b"}
        part = b'--b\r\nContent-Disposition: form-data; name="picture"\r\n\r\ntext\r\n--b--\r\n'
        response = client.post("/api/predict", content=part, headers=head)
    else:
        response = client.post("/api/predict", **form)
    assert "no file in its field 'image'" in error(response, 400)


def test_a_broken_form_is_said(client):
    head = {"content-type": "multipart/form-data"}
    error(client.post("/api/predict", content=b"--", headers=head), 400)
    head = {"content-type": "multipart/form-data; boundary=b"}
    error(client.post("/api/predict", content=b"--b\r\nno\r\n\r\n", headers=head), 400)


STRANGE = [
    "<img src=x onerror=alert(1)>",
    "../../etc/passwd",
    "/absolute",
    "a?b#c%d&e",
    "שלום עולם",
    "‮reversed",
    "emoji 🦒",
]


@pytest.mark.parametrize("name", STRANGE)
def test_classes_of_any_name_come_and_go(client, folder, name):
    ones = {"name": name, "vector": [1.0] * 80}
    assert client.post("/api/classes", json=ones).json() == {"name": name, "classes": 14}
    classes = client.get("/api/classes").json()["classes"]
    assert classes[-1]["name"] == name
    assert not classes[-1]["seen"]
    assert Recognizer.load(folder, device="cpu").classes.names[-1] == name
    given = client.post(
        "/api/predict", content=test_images()[0].read_bytes(), params={"k": 99}
    ).json()
    assert name in [one["name"] for one in given["ranked"]]
    assert "there is a class" in error(client.post("/api/classes", json=ones), 409)
    response = client.delete(f"/api/classes/{quote(name, safe='')}")
    assert response.json() == {"name": name, "classes": 13}


@pytest.mark.filterwarnings("ignore::zerokin.errors.ZerokinWarning")
def test_what_is_odd_about_a_new_class_comes_with_the_answer(client):
    odd = {"name": "Plum Mumbler", "attributes": {"legs::six": 20}}
    response = client.post("/api/classes", json=odd)
    assert response.status_code == 201
    first, second = response.json()["notes"]
    assert "'plum mumbler' already" in first
    assert second == "class 'Plum Mumbler': legs::six is 20, outside 0 to 1 of the other classes"
    assert client.delete("/api/classes/Plum%20Mumbler").json()["classes"] == 13


def test_a_class_may_be_removed_by_a_query(client):
    client.post("/api/classes", json={"name": "..", "vector": [1.0] * 80})
    assert client.delete("/api/classes", params={"name": ".."}).status_code == 200
    error(client.delete("/api/classes"), 400)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"", "not JSON"),
        (b"[]", "must be names with values: got []"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe\xff", "not JSON"),
        (b'{"vector": [1]}', "name is missing: it must be given"),
        (b'{"name": 5, "vector": [1]}', "name must be text: got 5"),
        (b'{"name": "  ", "vector": [1]}', "a class needs a name"),
        (b'{"name": "\\ud800", "vector": [1]}', "control character"),
        (b'{"name": "a\\nb", "vector": [1]}', "control character"),
        (b'{"name": "a"}', "give one of"),
        (b'{"name": "a", "vector": [1], "text": "b"}', "give one of"),
        (b'{"name": "a", "vector": [1]}', "has 1 values"),
        (b'{"name": "a", "vector": ["x"]}', "vector[0] must be a finite number: got 'x'"),
        (b'{"name": "a", "vector": {}}', "vector must be a list"),
        (b'{"name": "a", "attributes": []}', "attributes must be names with values: got []"),
        (b'{"name": "a", "attributes": {"wings": "x"}}', "unknown attribute"),
        (b'{"name": "a", "text": "a beast"}', "not by text"),
        (b'{"name": "a", "text": "\\ud800"}', "control character"),
        (
            b'{"name": "a", "color": "red"}',
            "unknown entry 'color' (known: name, attributes, text, vector, features, kappa)",
        ),
    ],
)
def test_bad_classes(client, body, line):
    assert line in error(client.post("/api/classes", content=body), 400)


def test_openapi_shows_the_bodies_and_the_query(client):
    paths = client.get("/api/openapi.json").json()["paths"]
    predict = paths["/api/predict"]["post"]
    query = {one["name"]: one for one in predict["parameters"]}
    assert set(query) == {
        "k", "max_risk", "unseen_bias", "candidates", "examples", "classes", "under", "level",
        "min_confidence",
    }  # fmt: skip
    assert {one["in"] for one in query.values()} == {"query"}
    assert not any(one["required"] for one in query.values())
    k, bias = query["k"]["schema"], query["unseen_bias"]["schema"]
    assert (k["type"], k["minimum"], k["default"]) == ("integer", 1, Question.k)
    assert (bias["minimum"], bias["maximum"], bias["default"]) == (-100, 100, 0)
    risk = query["max_risk"]["schema"]["anyOf"][0]
    assert (risk["type"], risk["minimum"], risk["maximum"]) == ("number", 0, 1)
    forms = predict["requestBody"]["content"]
    assert list(forms["multipart/form-data"]["schema"]["properties"]) == ["image"]
    assert forms["image/*"]["schema"]["format"] == "binary"
    body = paths["/api/classes"]["post"]["requestBody"]
    schema = body["content"]["application/json"]["schema"]
    assert body["required"]
    assert (schema["required"], schema["additionalProperties"]) == (["name"], False)
    kinds = ["attributes", "text", "vector"]
    assert list(schema["properties"]) == ["name", *kinds, "features", "kappa"]
    assert schema["anyOf"] == [{"required": [kind]} for kind in [*kinds, "features"]]
    form = body["content"]["multipart/form-data"]["schema"]
    assert form["required"] == ["name", "images"]
    assert form["properties"]["images"]["items"]["format"] == "binary"


def test_numbers_that_are_none_are_refused(client):
    body = json.dumps({"name": "a", "vector": [float("nan")] * 80})
    assert "finite" in error(client.post("/api/classes", content=body), 400)


def test_what_cannot_be_removed(client):
    assert "seen in training" in error(client.delete("/api/classes/honey mumbler"), 409)
    assert "did you mean" in error(client.delete("/api/classes/plum mumblr"), 404)


def test_classes_and_hierarchy_are_the_recognisers(client, folder):
    alone = Recognizer.load(folder, device="cpu")
    tree, names = alone.hierarchy, list(alone.classes.names)
    given = client.get("/api/classes").json()
    assert given["known_by"] == "attributes"
    assert given["attributes"] == list(alone.classes.attribute_names)
    assert [one["name"] for one in given["classes"]] == names
    assert [one["seen"] for one in given["classes"]] == alone.seen.tolist()
    layers = client.get("/api/hierarchy").json()["layers"]
    assert [one["layer"] for one in layers] == [*range(tree.n_layers, 0, -1)]
    for layer in layers:
        for number, node in enumerate(layer["nodes"]):
            members = tree.members(layer["layer"], number)
            assert node["classes"] == [names[i] for i in members]
            for i in members:
                path = given["classes"][i]["superclasses"]
                assert path[tree.n_layers - layer["layer"]] == node["name"]
                if node["parent"] is not None:
                    assert path[tree.n_layers - layer["layer"] - 1] == node["parent"]


def test_health(client):
    given = client.get("/api/health").json()
    assert given["status"] == "ok"
    assert given["classes"] == 13
    assert given["in_hand"] == 0


def test_what_is_not_there(client):
    assert "nothing at /api/nothing" in error(client.get("/api/nothing"), 404)
    response = client.get("/api/predict")
    assert "takes POST" in error(response, 405)
    assert response.headers["allow"] == "POST"


def test_no_file_of_the_machine_or_the_bundle_is_served(client, folder):
    for path in ("/etc/passwd", folder / "bundle.json", "../../etc/passwd", __file__):
        response = client.get(f"/gradio_api/file={path}")
        assert response.status_code in (403, 404), path
        assert "zerokin-bundle" not in response.text
        assert "root:" not in response.text


def test_pages_of_other_sites_and_other_names_are_refused(client):
    content = test_images()[0].read_bytes()
    head = {"origin": "http://elsewhere.example"}
    error(client.post("/api/predict", content=content, headers=head), 403)
    error(client.post("/api/predict", content=content, headers={"origin": "null"}), 403)
    assert client.post("/api/predict", content=content, headers={"origin": LOCAL}).is_success
    error(client.get("/api/health", headers={"host": "elsewhere.example"}), 403)
    error(client.get("/", headers={"host": "127.0.0.1.elsewhere.example"}), 403)
    assert client.get("/api/health", headers={"host": "localhost:1"}).is_success


def test_the_page_names_no_other_host_to_load_from(client):
    response = client.get("/")
    policy = response.headers["content-security-policy"]
    assert "http" not in policy
    assert "*" not in policy
    assert "default-src 'self'" in policy
    for start in ('src="http', "src='http", '<link rel="stylesheet" href="http', "@import"):
        assert start not in response.text
    for page in ("/docs", "/redoc"):
        assert "cdn" not in client.get(page).text


def test_a_password_is_needed_everywhere(service, monkeypatch):
    app = create_app(service, password=("ada", "löve:lace"))
    with TestClient(app, base_url=LOCAL) as client:
        for path in ("/", "/api/health", "/gradio_api/info", "/config"):
            response = client.get(path)
            assert response.headers["www-authenticate"].startswith("Basic")
            error(response, 401)
        monkeypatch.setattr("zerokin.app.passwords.FIRST_DELAY", 0.0)
        for given in ("ada:wrong", "löve:lace", "eve:löve:lace", ""):
            head = {"authorization": f"Basic {b64encode(given.encode()).decode()}"}
            error(client.get("/api/health", headers=head), 401)
        error(client.get("/api/health", headers={"authorization": "Basic %%%"}), 401)
        head = {"authorization": f"Basic {b64encode('ada:löve:lace'.encode()).decode()}"}
        assert client.get("/api/health", headers=head).is_success
        assert client.get("/", headers=head).is_success


def test_a_full_queue_and_read_only_are_said(folder):
    service = Service(folder, limits=Limits(waiting=1), read_only=True, device="cpu")
    service._take_in()
    with TestClient(create_app(service), base_url=LOCAL) as client:
        response = client.post("/api/predict", content=test_images()[0].read_bytes())
        assert "in hand already" in error(response, 503)
        assert response.headers["retry-after"] == "1"
        body = {"name": "a", "vector": [1.0] * 80}
        assert "read-only" in error(client.post("/api/classes", json=body), 403)
        assert "read-only" in error(client.delete("/api/classes/plum mumbler"), 403)
    service.close()


def test_what_nobody_foresaw_is_one_line_without_a_trace(service, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(service, "ask", broken)
    app = create_app(service)
    with TestClient(app, base_url=LOCAL, raise_server_exceptions=False) as client:
        said = error(client.post("/api/predict", content=b"x"), 500)
    assert "secret" not in said


def test_a_class_is_added_by_a_form_with_images(tmp_path):
    folder = bundle(tmp_path)
    limits = Limits(upload_bytes=300_000, pixels=1_000_000, shots=3)
    service = Service(folder, limits=limits, device="cpu")
    files = [("images", (file.name, file.read_bytes())) for file in test_images()[:3]]
    attributes = json.dumps({"legs::four": 1, "tail::whip": 0.5})
    with TestClient(create_app(service), base_url=LOCAL) as client:
        data = {"name": "newt", "attributes": attributes, "kappa": "2"}
        given = client.post("/api/classes", data=data, files=files[:2])
        assert given.json() == {"name": "newt", "classes": 14, "shots": 2}
        assert (
            client.post("/api/classes", data={"name": "newt"}, files=files[2:]).json()["shots"] == 3
        )
        known = Recognizer.load(folder, device="cpu")
        expected = Recognizer.load(bundle(tmp_path / "again"), device="cpu")
        expected.add_class(
            "newt", attributes=json.loads(attributes), images=test_images()[:2], kappa=2
        ).add_class("newt", images=test_images()[2:3])
        given = known.recognize(test_images()[3:6], k=3)
        assert [[one.name for one in answer.ranked] for answer in given] == [
            [one.name for one in answer.ranked]
            for answer in expected.recognize(test_images()[3:6], k=3)
        ]
        names = service.recognizer.classes.names
        bomb = io.BytesIO()
        Image.new("1", (3000, 3000)).save(bomb, "PNG")
        script = ("images", ("x.eps", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage"))
        for data, sent, line in [
            (
                {"name": "eft"},
                [*files[:1], ("images", ("a\n.jpg", b"no image"))],
                "no image was added",
            ),
            ({"name": "eft"}, [script], "cannot be decoded"),
            (
                {"name": "eft"},
                [("images", ("b.png", bomb.getvalue()))],
                "over the limit of 1,000,000",
            ),
            ({"name": "eft"}, [("images", ("b.png", b""))], "is empty"),
            ({"name": "eft"}, [("picture", files[0][1])], "the form's field 'images'"),
            ({"name": "eft"}, [("name", files[0][1]), *files[:1]], "the form's field 'images'"),
            ({}, files[:1], "name is missing"),
            ({"name": "eft", "color": "red"}, files[:1], "unknown entry 'color'"),
            ({"name": "eft", "attributes": "{"}, files[:1], "field 'attributes' is not JSON"),
            ({"name": "eft", "vector": "[" * 100_000}, files[:1], "field 'vector' is not JSON"),
            ({"name": "eft", "kappa": "NaN"}, files[:1], "kappa must be"),
            ({"name": "e\x00ft"}, files[:1], "control character"),
            ({"name": "eft", "images": "/etc/passwd"}, files[:1], "unknown entry 'images'"),
            ({"name": "eft"}, files * 2, "Too many files"),
        ]:
            said = error(client.post("/api/classes", data=data, files=sent), 400)
            assert line in said
            assert "/tmp" not in said
            assert service.recognizer.classes.names == names
        large = [("images", ("c.png", bytes(500_000)))]
        error(client.post("/api/classes", data={"name": "eft"}, files=large), 413)
        service.read_only = True
        refused = client.post("/api/classes", data={"name": "eft"}, files=files[:1])
        assert "read-only" in error(refused, 403)
    service.close()
