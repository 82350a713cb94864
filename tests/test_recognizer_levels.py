"""Questions at any level of the hierarchy, and to some of the classes, against sums in NumPy."""

from __future__ import annotations

import csv
import io
import json
import sys
import warnings
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from feature_bundles import dataset, fitted, rows
from zerokin.cli import main
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.hierarchy import ClassHierarchy
from zerokin.recognizer import Recognizer, fit_recognizer
from zerokin.recognizer.confidence import ANYTHING, NONE_OF_THESE
from zerokin.recognizer.confidence.confidence import probabilities

NAMES = dataset().classes.names
PATHS = {name: (f"order {at % 3}", f"family {at % 7} of {at % 3}") for at, name in enumerate(NAMES)}
N = 17
SAMPLES = rows(N).astype(np.float64)


@pytest.fixture(scope="module")
def recognizer():
    tree = ClassHierarchy.from_taxonomy(PATHS, ranks=["order", "family"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZerokinWarning)
        return fit_recognizer(dataset(), hierarchy=tree, tune=False, quiet=True)


@pytest.fixture(scope="module")
def bundle(recognizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("levels") / "bundle"
    recognizer.save(folder)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.npy"
    np.save(path, SAMPLES)
    return path


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command in this process; return exit status, output and errors."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["zerokin", *map(str, words)])
        capsys.readouterr()
        status = 0
        try:
            main()
        except SystemExit as ended:
            status = ended.code or 0
        return status, *capsys.readouterr()

    return run


def shares(recognizer, F, chosen=None, kind="all"):
    scores = recognizer.classifier.decision_function(F)
    scores = scores if chosen is None else scores[:, chosen]
    return probabilities(scores, recognizer.calibrations[kind].temperature), scores


def summed(recognizer, values, layer, chosen=None):
    """Sum class probabilities below each superclass, one class at a time."""
    tree = recognizer.hierarchy
    total = [{} for _ in values]
    for column, position in enumerate(range(len(NAMES)) if chosen is None else chosen):
        name = tree.node_names(layer)[tree.labels(layer)[position]]
        for row, found in enumerate(total):
            found[name] = found.get(name, 0.0) + values[row, column]
    return total


@pytest.mark.parametrize(("level", "layer"), [("family", 1), (2, 2), ("Order", 2), ("1", 1)])
def test_a_level_ranks_the_sums_of_its_superclasses(recognizer, level, layer):
    expected = summed(recognizer, shares(recognizer, SAMPLES)[0], layer)
    for answer, sums in zip(
        recognizer.recognize(SAMPLES, level=level, k=99), expected, strict=True
    ):
        at = answer.at_level
        assert (answer.level, at.layer) == (layer, layer)
        assert at.rank == ("family", "order")[layer - 1]
        assert {one.name: one.probability for one in at.ranked} == pytest.approx(sums, abs=1e-9)
        assert answer.name == at.ranked[0].name == max(sums, key=sums.get)
        values = [one.probability for one in at.ranked]
        assert values == sorted(values, reverse=True)


def test_every_level_is_listed_and_the_score_is_that_of_the_best_candidate(recognizer):
    _, scores = shares(recognizer, SAMPLES)
    tree = recognizer.hierarchy
    for row, answer in enumerate(recognizer.recognize(SAMPLES, level="all", k=2)):
        assert [one.rank for one in answer.levels] == ["order", "family", "class"]
        assert [one.name for one in answer.levels[-1].ranked] == [one.name for one in answer.ranked]
        assert answer.name == answer.best.name
        for level in answer.levels[:-1]:
            assert len(level.ranked) == 2
            for one in level.ranked:
                node = tree.node_names(level.layer).index(one.name)
                below = tree.members(level.layer, node)
                assert one.score == pytest.approx(scores[row, below].max(), abs=1e-9)


def test_classes_roles_and_superclasses_restrict_together(recognizer):
    under = ["order 1", "family 0 of 0"]
    tree = recognizer.hierarchy
    wanted = {name for name in NAMES if PATHS[name][0] == under[0] or PATHS[name][1] == under[1]}
    unseen = {name for name, seen in zip(NAMES, recognizer.seen, strict=True) if not seen}
    some = [name for at, name in enumerate(NAMES) if at % 2]
    for options, left in [
        ({"under": "order 1"}, {name for name in NAMES if PATHS[name][0] == "order 1"}),
        ({"under": under}, wanted),
        ({"under": under, "candidates": "unseen"}, wanted & unseen),
        ({"under": under, "classes": some}, wanted & set(some)),
        ({"classes": NAMES[3]}, {NAMES[3]}),
    ]:
        chosen = np.flatnonzero([name in left for name in NAMES])
        kind = "all" if recognizer.seen[chosen].any() else "unseen"
        values, _ = shares(recognizer, SAMPLES, chosen, kind)
        for row, answer in enumerate(recognizer.recognize(SAMPLES, k=99, level=1, **options)):
            found = {one.name: one.probability for one in answer.ranked}
            expected = {NAMES[at]: values[row, i] for i, at in enumerate(chosen)}
            assert found == pytest.approx(expected, abs=1e-9)
            sums = summed(recognizer, values, 1, chosen)[row]
            at_level = {one.name: one.probability for one in answer.at_level.ranked}
            assert at_level == pytest.approx(sums, abs=1e-9)
    assert tree.ranks == ("family", "order")


@pytest.mark.parametrize("least", [0.0, 0.35, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("lowest", [None, 1])
def test_min_confidence_names_the_deepest_level_that_is_sure_enough(recognizer, least, lowest):
    values, _ = shares(recognizer, SAMPLES)
    by_layer = [
        [dict(zip(NAMES, row, strict=True)) for row in values],
        *(summed(recognizer, values, layer) for layer in (1, 2)),
    ]
    given = recognizer.recognize(SAMPLES, min_confidence=least, level=lowest)
    for row, answer in enumerate(given):
        if answer.out_of_distribution:
            assert answer.name == NONE_OF_THESE
            continue
        sure = [
            layer
            for layer in range(lowest or 0, 3)
            if max(by_layer[layer][row].values()) >= least - 1e-12
        ]
        if not sure:
            assert (answer.name, answer.selective.layer) == (ANYTHING, 3)
            continue
        sums = by_layer[sure[0]][row]
        assert answer.selective.layer == sure[0]
        assert answer.name == max(sums, key=sums.get)
        assert answer.selective.probability == pytest.approx(max(sums.values()), abs=1e-9)


@pytest.mark.parametrize("max_risk", [0.0, 0.3, 1.0])
def test_with_a_risk_nothing_below_the_level_is_answered(recognizer, max_risk):
    plain = recognizer.recognize(SAMPLES, max_risk=max_risk)
    for one, free in zip(
        recognizer.recognize(SAMPLES, max_risk=max_risk, level="family"), plain, strict=True
    ):
        if free.selective.layer is None or free.selective.layer >= 1:
            assert one.selective == free.selective
        else:
            assert one.selective.layer >= 1
            assert one.selective.risk <= max_risk


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"level": "famly"}, r"no level 'famly'; did you mean 'family'\? \(levels: 0 class, 1 fam"),
        ({"level": 3}, "there is no level 3 .levels: 0 class, 1 family, 2 order"),
        ({"level": -1}, "there is no level -1"),
        ({"level": True}, "there is no level True"),
        ({"level": 1.0}, "there is no level 1.0"),
        ({"under": "ordr 1"}, "unknown superclass 'ordr 1'; did you mean 'order 1'"),
        ({"under": []}, "under is empty"),
        ({"under": [3]}, "under must be names: got 3"),
        ({"classes": []}, "classes is empty"),
        ({"classes": ["clas 3"]}, "classes: unknown class 'clas 3'; did you mean 'class"),
        ({"classes": NAMES[0], "candidates": "unseen"}, "leaves no class to choose from"),
        ({"under": "order 1", "classes": NAMES[0]}, "classes=.* with under=.* leaves no class"),
        ({"min_confidence": 1.5}, "min_confidence must be a number from 0 to 1"),
        ({"min_confidence": 0.5, "max_risk": 0.5}, "give one of max_risk and min_confidence"),
    ],
)
def test_what_cannot_be_asked_is_said_before_anything_is_read(recognizer, options, line):
    with pytest.raises(InvalidInput, match=line) as caught:
        recognizer.recognize_stream(object(), **options)
    assert "\n" not in str(caught.value)


def test_without_probabilities_levels_go_by_their_best_candidate(recognizer):
    plain = Recognizer(None, recognizer.classifier, recognizer.classes)
    best = plain.recognize(SAMPLES, level="order", k=9)
    for answer in best:
        assert all(one.probability is None for one in answer.at_level.ranked)
        assert answer.name == PATHS[answer.best.name][0]
    with pytest.raises(InvalidInput, match="min_confidence needs calibrated answers"):
        plain.recognize(rows(1), min_confidence=0.5)


def test_without_superclasses_there_is_only_the_class_level(recognizer):
    classifier = copy(recognizer.classifier)
    classifier.hierarchy_ = None
    flat = Recognizer(None, classifier, recognizer.classes)
    assert flat.recognize(SAMPLES[:2], level=0)[0].at_level.rank == "class"
    with pytest.raises(InvalidInput, match=r"there is no level 1 \(levels: 0 class\)"):
        flat.recognize(SAMPLES[:2], level=1)
    with pytest.raises(InvalidInput, match="there are no superclasses here"):
        flat.recognize(SAMPLES[:2], under="order 1")


def test_ranks_are_saved_and_last_as_classes_come_and_go(recognizer, bundle, tmp_path):
    again = Recognizer.load(bundle)
    assert again.hierarchy.ranks == ("family", "order")
    again.add_class("newt", vector=dataset().classes.vectors[2]).remove_class(NAMES[-1])
    again.save(tmp_path / "other")
    assert Recognizer.load(tmp_path / "other").hierarchy.ranks == ("family", "order")
    one, other = (known.recognize(rows(3), level="family") for known in (recognizer, again))
    assert [a.level for a in one] == [a.level for a in other] == [1, 1, 1]


def test_answers_without_a_level_are_as_before(recognizer):
    plain = recognizer.recognize(rows(3))
    asked = recognizer.recognize(rows(3), level="all")
    assert [replace(one, level=None, levels=()) for one in asked] == plain
    assert (plain[0].level, plain[0].levels, plain[0].at_level) == (None, (), None)


def test_predict_writes_a_tidy_row_for_every_node_of_every_level(
    recognizer, bundle, data, tmp_path, command
):
    listed = tmp_path / "few.txt"
    listed.write_text("".join(f"{name}\n" for name in NAMES[::2]), encoding="utf-8")
    options = ("--level", "family", "-k", 2, "--classes", listed, "--under", "order 1")
    status, printed, error = command("predict", bundle, data, "--csv", *options)
    assert status == 0, error
    expected = recognizer.recognize(
        SAMPLES, level="family", k=2, classes=NAMES[::2], under="order 1"
    )
    table = list(csv.DictReader(io.StringIO(printed)))
    told = [
        (row["image"], int(row["level"]), row["level_name"], row["name"], float(row["probability"]))
        for row in table
    ]
    assert told == [
        (answer.image, level.layer, level.rank, node.name, node.probability)
        for answer in expected
        for level in answer.levels
        for node in level.ranked
    ]
    answers = {row["image"]: row["name"] for row in table if row["is_answer"] == "true"}
    assert answers == {answer.image: answer.name for answer in expected}
    status, printed, _ = command("predict", bundle, data, "--json", *options)
    assert [json.loads(line) for line in printed.splitlines()] == [a.to_dict() for a in expected]
    status, printed, _ = command("predict", bundle, data, "--min-confidence", 1, "--csv")
    table = list(csv.DictReader(io.StringIO(printed)))
    assert sum(row["is_answer"] == "true" for row in table) == N
    assert {row["name"] for row in table if row["is_answer"] == "true"} <= {ANYTHING, NONE_OF_THESE}


def test_predict_prints_a_table_of_the_level(recognizer, bundle, data, command):
    status, printed, _ = command("predict", bundle, data, "--level", "order", "-k", 2)
    assert status == 0
    answer = recognizer.recognize(SAMPLES[:1], level="order", k=2)[0]
    lines = printed.splitlines()
    assert lines[1].split()[:4] == [
        *answer.name.split(), f"{answer.at_level.ranked[0].probability:.3f}", "order",
    ]  # fmt: skip
    assert lines[3].strip().startswith(answer.at_level.ranked[1].name)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--level", "genus"], "there is no level 'genus'"),
        (["--under", "oder 1"], "did you mean 'order 1'"),
        (["--classes", "clas 3,class 4"], "unknown class 'clas 3'"),
        (["--classes", " , "], "classes is empty"),
        (["--min-confidence", "7"], "min_confidence must be a number from 0 to 1"),
    ],
)
def test_predict_says_in_one_line_what_cannot_be_asked(bundle, data, options, line, command):
    status, printed, error = command("predict", bundle, data, *options)
    assert (status, printed) == (2, "")
    assert line in error


def test_bundles_of_clusters_have_numbered_levels():
    answer = fitted().recognize(rows(1), level=1)[0]
    assert answer.at_level.rank is None
    with pytest.raises(InvalidInput, match="there is no level 'family'"):
        fitted().recognize(rows(1), level="family")
