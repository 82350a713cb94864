"""What rows tell of each class and of superclasses: against scikit-learn, and in the report."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, recall_score

from test_evaluation import made_dataset
from test_report_page import read, row
from zerokin.benchmark.comparison import find_methods
from zerokin.benchmark.per_class import per_class_accuracies, superclass_confusions
from zerokin.benchmark.settings import Evaluation
from zerokin.data import load_dataset
from zerokin.errors import InvalidInput
from zerokin.report.page import html_page
from zerokin.report.results_file import read_results

EVIL = "<script>alert(1)</script> & <img src=x>"


@pytest.fixture(scope="module")
def critters():
    return load_dataset("critters")


def drawn(critters, seed=4, count=733):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, len(critters.classes) - 3, count)
    named = np.where(rng.random(count) < 0.6, truth, rng.integers(0, len(critters.classes), count))
    return truth, named


def test_accuracies_are_recalls(critters):
    truth, named = drawn(critters)
    told = per_class_accuracies(truth, named, critters)
    labels = np.unique(truth)
    recalls = dict(
        zip(labels, recall_score(truth, named, labels=labels, average=None), strict=True)
    )
    for kind, classes in (("seen", critters.seen), ("unseen", critters.unseen)):
        expected = {critters.classes.names[i]: 100 * recalls[i] for i in classes if i in recalls}
        assert told[kind] == pytest.approx(expected, abs=0.006)
    assert not set(critters.classes.names[-3:]) & {*told["seen"], *told["unseen"]}


def test_confusions_are_those_of_superclasses(critters):
    truth, named = drawn(critters)
    told = superclass_confusions(truth, named, critters)
    from zerokin.hierarchy.from_dataset import build_hierarchy

    tree = build_hierarchy(critters, told["by"])
    names, labels = tree.node_names(told["layer"]), tree.labels(told["layer"])
    matrix = confusion_matrix(labels[truth], labels[named], labels=range(len(names)))
    for i, true in enumerate(names):
        for j, other in enumerate(names):
            assert told["counts"].get(true, {}).get(other, 0) == matrix[i, j]
    assert len(names) <= 20
    assert 0 not in [count for one in told["counts"].values() for count in one.values()]


def test_rows_tell_classes_when_asked_and_their_means_are_the_rows_own():
    dataset = made_dataset(noise=0.9)
    method = find_methods(["eszsl"])[0]
    plain = Evaluation(dataset, method, quiet=True)
    asked = Evaluation(dataset, method, search=plain.search, per_class=True, quiet=True)
    for setting in ("pure", "generalized"):
        before, told = plain.run(setting)[0].as_dict(), asked.run(setting)[0].as_dict()
        assert set(told) - set(before) == {"per_class", "superclasses"}
        assert told["metrics"] == before["metrics"]
        means = {kind: np.mean(list(own.values())) for kind, own in told["per_class"].items()}
        if setting == "pure":
            assert means == pytest.approx({"unseen": told["metrics"]["per_class_top1"]}, abs=0.01)
        else:
            expected = {kind: told["metrics"][kind] for kind in ("seen", "unseen")}
            assert means == pytest.approx(expected, abs=0.01)
        counted = sum(sum(one.values()) for one in told["superclasses"]["counts"].values())
        split = dataset.split
        seen = len(split.test_seen) if setting == "generalized" else 0
        assert counted == len(split.test_unseen) + seen


def told_row(method, seed, low, *, counts, setting="generalized"):
    metrics = {"seen": 60.0 + low, "unseen": 50.0 - low, "harmonic_mean": 54.0, "ausuc": 0.4}
    return {
        **row(method, setting, seed, **metrics),
        "per_class": {"seen": {"zebra": 90.0}, "unseen": {"okapi": 30.0 + low, EVIL: 20.0}},
        "superclasses": {"by": "taxonomy", "layer": 2, "counts": counts},
    }


def test_the_report_shows_classes_confusions_legend_and_the_best(tmp_path):
    counts = {"hoofed": {"hoofed": 6, EVIL: 2}, EVIL: {EVIL: 4}}
    rows = [
        told_row("ridge", 0, 5.0, counts=counts),
        told_row("ours", 0, 10.0, counts=counts),
        told_row("ours", 1, 20.0, counts={"hoofed": {"hoofed": 7, EVIL: 1}}),
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    page = html_page(read_results([tmp_path / "rows.json"]))
    found = read(page)
    start = found.rows.index(["class", "role", "ridge", "ours"])
    assert found.rows[start + 1 : start + 4] == [
        [EVIL, "unseen", "20.0", "20.0"],
        ["okapi", "unseen", "35.0", "45.0"],
        ["zebra", "seen", "90.0", "90.0"],
    ]
    assert "<td>35.0</td><td><strong>45.0</strong></td>" in page
    assert "<td><strong>45.0</strong></td><td>65.0</td>" in page  # U and S of ridge
    at = page.index("Superclasses confused: ours, generalized")
    ours = read(page[at:]).rows[1:3]
    assert ours == [[f"1 {EVIL}", "4", "100", ""], ["2 hoofed", "16", "19", "81"]]
    for word in ("U", "S", "H", "AUSUC"):
        assert f"<dt>{word}</dt>" in page
    assert "<dt>pure</dt>" not in page
    assert not {"script", "img"} & set(found.tags)
    assert all(where.startswith("#") for where in found.fetched)
    assert "prefers-color-scheme: dark" in page


def test_rows_of_earlier_versions_have_no_tables_of_classes():
    page = html_page([row(per_class_top1=60.0)])
    assert "Accuracy of each class" not in page
    assert "Superclasses confused" not in page
    assert "<strong>" not in page


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"per_class": 3}, "per_class is 3, no accuracies"),
        ({"per_class": {"all": {}}}, "no accuracies of seen and unseen"),
        ({"per_class": {"seen": {"okapi": 101}}}, "per_class of 'okapi' is 101, no percentage"),
        ({"per_class": {"seen": {"okapi": float("nan")}}}, "is nan, no percentage"),
        ({"superclasses": []}, "superclasses is .*, no counts"),
        ({"superclasses": {"counts": {"a": {"b": 0.5}}}}, "counts 0.5 of 'b', no whole number"),
        ({"superclasses": {"counts": {"a": {"b": -1}}}}, "counts -1 of 'b', no whole number"),
    ],
)
def test_what_tells_no_classes_is_refused_in_a_line(tmp_path, more, line):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{**row(per_class_top1=1.0), **more}]))
    with pytest.raises(InvalidInput, match=line) as refusal:
        read_results([path])
    assert "rows.json, row 1" in str(refusal.value)
    assert "\n" not in str(refusal.value)
