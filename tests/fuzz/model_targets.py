"""Targets among saved models, what trains them, and what serves them."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from zerokin.errors import InvalidInput, ZerokinError

from .targets import Target

BUNDLE = Path(__file__).parents[1] / "data" / "bundle-1"
IMAGE = Path(__file__).parents[1] / "data" / "picture.png"
ABLATION = """seeds: [0, 1]
cache_size: 64
defaults: {backbone: conv4, weights: null, image_size: 32, recipe: {epochs: 2, lr: 0.01}}
networks:
  plain: {mode: classes, options: {width: 8}}
  heads: {mode: superclass-heads, recipe: {batch_size: 8, schedule: cosine}}
rows:
- {name: class labels, networks: [plain], method: projection}
- {name: both, networks: [plain, heads]}
"""


def _generation() -> Path:
    pointer = json.loads((BUNDLE / "bundle.json").read_text(encoding="utf-8"))
    return BUNDLE / str(pointer["generation"])


def _make_hierarchy(folder: Path) -> None:
    shutil.copy(_generation() / "classifier" / "hierarchy.json", folder / "hierarchy.json")


def _read_hierarchy(folder: Path, file: str) -> None:
    from zerokin import ClassHierarchy

    tree = ClassHierarchy.load(folder / "hierarchy.json")
    str(tree)
    for layer in range(1, tree.n_layers + 1):
        assert len(tree.labels(layer)) == tree.n_classes
        assert len(tree.node_names(layer)) == tree.sizes[layer - 1]
    tree.save(folder / "again.json")


def _make_classifier(folder: Path) -> None:
    shutil.copytree(_generation() / "classifier", folder / "model")


def _read_classifier(folder: Path, file: str) -> None:
    from zerokin import Recognizer, ZeroShotClassifier

    model = ZeroShotClassifier.load(folder / "model")
    X = np.random.default_rng(0).normal(size=(2, model.n_features_in_)).astype(np.float32)
    for candidates in ("all", "unseen"):
        model.predict(X, candidates=candidates)
    model.explain(X)
    Recognizer.load(folder / "model").recognize(X)
    model.save(folder / "again")


def _make_network(folder: Path) -> None:
    shutil.copytree(_generation() / "network", folder / "model")


def _read_network(folder: Path, file: str) -> None:
    from zerokin import FeatureLearner

    learner = FeatureLearner.load(folder / "model", device="cpu")
    features = learner.transform(np.zeros((1, 40, 40, 3), np.uint8))
    assert features.shape[0] == 1


def _make_bundle(folder: Path) -> None:
    shutil.copytree(BUNDLE, folder / "bundle")


def _read_bundle(folder: Path, file: str) -> None:
    """Read a bundle as it is; then with the hashes of its files made right, as by hand."""
    from zerokin.files import sha256
    from zerokin.recognizer import Recognizer

    bundle = folder / "bundle"
    with suppress(ZerokinError):
        _use(Recognizer.load(bundle, device="cpu"), folder)
    root = bundle / _generation().name
    pointer = json.loads((BUNDLE / "bundle.json").read_text(encoding="utf-8"))
    for path in root.rglob("*"):
        below = pointer["files"]
        for part in path.relative_to(root).parts[:-1]:
            below = below[part]
        if path.is_file():
            below[path.name] = sha256(path)
    if (bundle / "bundle.json").read_bytes() == (BUNDLE / "bundle.json").read_bytes():
        (bundle / "bundle.json").write_text(json.dumps(pointer), encoding="utf-8")
        _use(Recognizer.load(bundle, device="cpu"), folder)


def _make_changes(folder: Path) -> None:
    for number, name in enumerate(("okapi", 'a, "b" ; c', "שׁ x", "long " * 40)):
        change = {"name": name, "text": f"{name}, striped\rand shy"}
        (folder / f"{number}.json").write_text(json.dumps(change), encoding="utf-8")


@cache
def _described(place: Path) -> tuple[Any, Any]:
    """Return a recognizer that is on disk, and its class table with descriptions."""
    from zerokin.recognizer import Recognizer

    known = Recognizer.load(BUNDLE, device="cpu")
    told = replace(known.classes, descriptions=("",) * len(known.classes))
    known.save(place)
    return known, told


def _read_changes(folder: Path, file: str) -> None:
    """Add a class of any name and text: the bundle opens afterwards, whatever they are."""
    from zerokin.class_names import checked_name, checked_text
    from zerokin.recognizer import Recognizer

    place = folder.parent / "changed"
    known, told = _described(place)
    before = known.classes.names
    try:
        change = json.loads((folder / file).read_bytes())
        name, text = change["name"], change["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    try:
        name = checked_name(name)
        vector = np.arange(1.0, known.classifier.semantics_.shape[1] + 1)
        changed = Recognizer(known.learner, known.classifier, told).add_class(name, vector=vector)
        told = (*told.descriptions, checked_text(text, of=name))
        changed._known = replace(
            changed._known, classes=replace(changed.classes, descriptions=told)
        )
        changed.save(place)
        before = changed.classes.names
    finally:
        assert Recognizer.load(place, device="cpu").classes.names == before
        known._origin = None  # it has not seen the change that it takes the place of
        known.save(place)


def _use(recognizer: Any, folder: Path) -> None:
    for answer in recognizer.recognize(IMAGE, k=3, max_risk=0.2):
        json.dumps(answer.to_dict(examples=True))
    recognizer.save(folder / "again")


def _make_weights(folder: Path) -> None:
    import torch
    from safetensors.torch import save_file
    from tests.training_parts import network

    weights = network().state_dict()
    save_file(weights, folder / "network.safetensors")
    torch.save(weights, folder / "network.pth")
    torch.save({"state_dict": weights}, folder / "legacy.pth", _use_new_zipfile_serialization=False)


def _read_weights(folder: Path, file: str) -> None:
    from tests.training_parts import network

    from zerokin.features.networks.weight_files import load_weights, read_weights

    weights = read_weights(folder / file)
    load_weights(network(), weights, name="the network", source=file)


def _train(folder: Path, file: str = "") -> None:
    from tests.training_parts import network, recipe, source, targets

    from zerokin.features.training import train

    train(network(), source(), targets(), recipe(epochs=1), folder=folder, device="cpu", quiet=True)


def _make_ablation(folder: Path) -> None:
    (folder / "ablation.yaml").write_text(ABLATION, encoding="utf-8")
    (folder / "network.yaml").write_text(
        "backbone: conv4\nweights: null\nmode: classes\nrecipe: {epochs: 2}\n", encoding="utf-8"
    )


def _read_ablation(folder: Path, file: str) -> None:
    from zerokin.benchmark.ablation.config import read_config
    from zerokin.features.network_config import read_network

    if file == "network.yaml":
        read_network(folder / file).learner(1, "cpu")
        return
    config = read_config(folder / file)
    for row in config.rows:
        for name in row.networks:
            config.network(name).learner(None, "cpu")


def _make_results(folder: Path) -> None:
    about = {"dataset": "birds", "seed": 0, "selection": {"alpha": 0.9}, "seconds": {"fit": 1.5}}
    rows = [
        {**about, "method": "ours", "setting": "pure", "metrics": {"per_class_top1": 61.5}},
        {
            **about,
            "method": "shots",
            "setting": "few-shot",
            "metrics": {"top1": 55, "ci95": 0.7, "shots": 1, "way": 5},
        },
    ]
    (folder / "rows.json").write_text(json.dumps(rows))


def _read_results(folder: Path, name: str) -> None:
    from zerokin.report.page import html_page
    from zerokin.report.results_file import read_results

    html_page(read_results([folder / name]))


def _make_record(folder: Path) -> None:
    _make_results(folder)
    content = {
        "format": "zerokin record",
        "version": "1.0",
        "name": "cub-features-ours",
        "title": "Ours",
        "command": "zerokin compare xlsa17={cub} --out {out}/rows.json",
        "rows": json.loads((folder / "rows.json").read_text()),
        "trained": True,
        "spread": 2.0,
        "seeds": [0],
        "data": {"res7.mat": "ab" * 32},
        "versions": {"numpy": "2.0"},
        "device": "CPU",
        "date": "2020-01-02",
    }
    (folder / "rows.json").unlink()
    (folder / "cub-features-ours.json").write_text(json.dumps(content))


def _read_record(folder: Path, name: str) -> None:
    """Seal what was mutated anew: the hash alone would refuse everything."""
    from zerokin.benchmark.agreement import compare_rows
    from zerokin.benchmark.catalog import load_catalog
    from zerokin.benchmark.records import read_record, seal
    from zerokin.report.recorded import entry_section

    path = folder / name
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(content | {"sha256": seal(content)}), encoding="utf-8")
    except (ValueError, TypeError, AttributeError, RecursionError):
        pass  # no object of JSON: the reader must say so
    record = read_record(path)
    compare_rows(record, record.rows)
    catalog = load_catalog()
    entry_section(catalog.entries["table-3"], catalog, {record.name: record})


def _make_requests(folder: Path) -> None:
    image = IMAGE.read_bytes().decode("latin-1")
    # As in the kept bundle: attributes are a dict of numbers.
    known = _service_classes()
    attributes = dict.fromkeys(known, 0.5)
    form = (
        '--x\r\nContent-Disposition: form-data; name="picture"; filename="a.png"\r\n\r\n'
        f"{image}\r\n--x--\r\n"
    )
    requests = {
        "predict": {"method": "POST", "path": "/api/predict?k=3&max_risk=0.2", "body": image},
        "some": {"method": "POST", "path": "/api/predict?candidates=unseen", "body": image},
        "form": {
            "method": "POST",
            "path": "/api/predict",
            "headers": {"content-type": "multipart/form-data; boundary=x"},
            "body": form,
        },
        "add": {
            "method": "POST",
            "path": "/api/classes",
            "headers": {"content-type": "application/json"},
            "body": json.dumps({"name": "okapi", "attributes": attributes}),
        },
        "remove": {"method": "DELETE", "path": "/api/classes?name=okapi"},
        "list": {"method": "GET", "path": "/api/classes", "headers": {"host": "localhost"}},
        "tree": {"method": "GET", "path": "/api/hierarchy"},
        "health": {"method": "GET", "path": "/api/health"},
    }
    for name, request in requests.items():
        (folder / f"{name}.json").write_text(json.dumps(request), encoding="utf-8")


def _service_classes() -> list[str]:
    from zerokin.recognizer import Recognizer

    return list(Recognizer.load(BUNDLE, device="cpu").classes.attribute_names or ())


@cache
def _client(place: Path) -> Any:
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

    from zerokin.app.api import add_api
    from zerokin.app.guard import Guard
    from zerokin.app.request_body import BodyReader
    from zerokin.app.service import Service
    from zerokin.app.upload_store import UploadStore

    shutil.copytree(BUNDLE, place, dirs_exist_ok=True)
    app = FastAPI()
    service = Service(place, device="cpu")
    bodies, uploads = BodyReader(service.limits, place), UploadStore(place, service.limits)
    add_api(app, service, bodies)
    app.add_middleware(Guard, hosts=None, password=None, bodies=bodies, uploads=uploads, ranges={})
    client = TestClient(app, base_url="http://localhost")
    return client.__enter__()  # one event loop for all requests


def _read_requests(folder: Path, file: str) -> None:
    """Send a request; an answer of 500 or more is a fault."""
    client = _client(folder.parent / "served")
    try:
        request = json.loads((folder / file).read_bytes())
        method, url = str(request["method"]), str(request["path"])
        headers = {str(k): str(v) for k, v in dict(request.get("headers", {})).items()}
        body = str(request.get("body", "")).encode("latin-1", "replace")
        sent = client.build_request(method, url, headers=headers, content=body)
    except Exception:
        return  # no HTTP request at all
    if sent.url.host == "localhost" and method.isalpha():
        answer = client.send(sent)
        if answer.status_code >= 500:
            raise AssertionError(f"{answer.status_code} {answer.text[:200]}")
        if answer.status_code >= 400:
            raise InvalidInput(answer.json()["error"] if method != "HEAD" else "refused")


MODEL_TARGETS = (
    Target("hierarchies", _make_hierarchy, _read_hierarchy, weight=2),
    Target("classifiers", _make_classifier, _read_classifier, files="model/*", weight=2),
    Target("networks", _make_network, _read_network, files="model/*"),
    Target("bundles", _make_bundle, _read_bundle, files="bundle/**/*"),
    Target("changes", _make_changes, _read_changes),
    Target("weights", _make_weights, _read_weights),
    Target("checkpoints", _train, _train, files="*.safetensors"),
    Target("ablations", _make_ablation, _read_ablation, weight=2),
    Target("results", _make_results, _read_results, needs="jinja2"),
    Target("records", _make_record, _read_record),
    Target("requests", _make_requests, _read_requests, weight=2, needs="fastapi"),
)
