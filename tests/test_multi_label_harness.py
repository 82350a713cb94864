"""Several labels in the harness: peers, the search on class folds, measures, and the commands."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score
from typer.testing import CliRunner

from builders import image_bytes
from label_sets import label_arrays, label_dataset
from zerokin.benchmark.comparison import measure
from zerokin.benchmark.multi_label.comparison import label_methods, measure_labels
from zerokin.benchmark.multi_label.evaluation import LabelEvaluation
from zerokin.benchmark.multi_label.peers import PEERS
from zerokin.benchmark.multi_label.peers.label_ranking import rank_labels
from zerokin.benchmark.multi_label.peers.peer import LabelTraining
from zerokin.cli import app
from zerokin.errors import InvalidInput
from zerokin.metrics import mean_average_precision
from zerokin.selection.multi_label.ours import MultiLabelOurs, estimator_of
from zerokin.selection.multi_label.search import LabelFoldSearch


def images(seed):
    """Whole images and labels of seen classes to fit on; all semantics; images to score."""
    X, labels, Z = label_arrays(seed)
    train = 2 * len(X) // 3
    whole = X.mean(axis=1)
    return whole[:train], labels[:train], Z, whole[train:], labels[train:]


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_peer_ranks_unseen_labels_better_than_chance(name, seed):
    F, Y, Z, new, truth = images(seed)
    scores = PEERS[name]().fit(F, Y, Z).scores(new)
    unseen = ~Y.any(axis=0)
    assert scores.shape == truth.shape
    rng = np.random.default_rng(seed)
    chance = [
        mean_average_precision(truth[:, unseen], rng.normal(size=scores.shape)[:, unseen])
        for _ in range(30)
    ]
    assert mean_average_precision(truth[:, unseen], scores[:, unseen]) > np.mean(chance) + 5
    assert mean_average_precision(truth, scores) > np.mean(chance) + 5


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_learns_nothing_from_unseen_classes(name):
    F, Y, Z, new, _ = images(2)
    unseen = ~Y.any(axis=0)
    changed = np.where(unseen[:, None], 7 * np.random.default_rng(0).normal(size=Z.shape), Z)
    one, other = (PEERS[name]().fit(F, Y, given).scores(new) for given in (Z, changed))
    np.testing.assert_allclose(one[:, ~unseen], other[:, ~unseen], rtol=1e-9, atol=1e-12)
    assert np.abs(one[:, unseen] - other[:, unseen]).max() > 1e-3


def reference_odds(F, Y, new, ridge):
    """Return log-odds (n, p) of scikit-learn's logistic regressions on features as peers have."""
    scale = np.sqrt((F**2).sum(axis=1).mean())
    models = [
        LogisticRegression(C=1 / ridge, tol=1e-8, max_iter=5000).fit(F / scale, y) for y in Y.T
    ]
    return np.stack([model.decision_function(new / scale) for model in models], axis=1)


@pytest.mark.parametrize("ridge", [0.7, 2.3])
def test_transfer_and_conse_stand_on_logistic_regressions(ridge):
    F, Y, Z, new, _ = images(3)
    seen = Y.any(axis=0)
    odds = reference_odds(F, Y[:, seen], new, ridge)
    U = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    found = PEERS["logistic-transfer"](ridge=ridge, temperature=0.2).fit(F, Y, Z).scores(new)
    expected = odds @ softmax(U @ U[seen].T / 0.2, axis=1).T
    np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())
    p = expit(odds)
    for n_top in (3, 1000):
        kept = np.where(np.argsort(np.argsort(-p, axis=1), axis=1) < n_top, p, 0)
        place = kept @ U[seen]
        expected = place @ U.T / np.linalg.norm(place, axis=1, keepdims=True)
        found = PEERS["conse"](ridge=ridge, n_top=n_top).fit(F, Y, Z).scores(new)
        np.testing.assert_allclose(found, expected, atol=0.03)


def test_label_ranking_comes_near_the_least_loss():
    import torch

    F, Y, Z, _, _ = images(4)
    training = LabelTraining.from_arrays(F, Y, Z)
    decay = 0.01

    def objective(w):
        scores = training.F @ w.reshape(F.shape[1], -1) @ training.S.T
        total = 0.0
        for row, labels in zip(scores, training.Y, strict=True):  # every pair, one by one
            ahead = row[~labels][None, :] - row[labels][:, None]
            total += np.logaddexp(0, ahead).mean()
        return total / len(scores) + decay / 2 * (w**2).sum()

    def slope(w):
        W = torch.tensor(w.reshape(F.shape[1], -1), requires_grad=True)
        scores = torch.tensor(training.F) @ W @ torch.tensor(training.S).T
        total = decay / 2 * (W**2).sum()
        for row, labels in zip(scores, torch.tensor(training.Y), strict=True):
            ahead = row[~labels][None, :] - row[labels][:, None]
            total = total + torch.nn.functional.softplus(ahead).mean() / len(scores)
        total.backward()
        return W.grad.numpy().ravel()

    start = np.zeros(F.shape[1] * Z.shape[1])
    least = minimize(objective, start, jac=slope, method="L-BFGS-B", options={"maxiter": 40}).fun
    W = rank_labels(training, torch.nn.functional.softplus, n_epochs=400, decay=decay)
    assert objective(start) > least * 1.2
    assert objective(W.ravel()) < least + 0.05 * (objective(start) - least)


@pytest.mark.parametrize(
    ("F", "Y", "Z", "line"),
    [
        (np.ones((3, 2)), np.ones((3, 3)), np.ones((4, 2)), "Y must have a row for each of 3"),
        (np.ones((3, 2)), np.eye(3)[:, [0, 0, 0]] * 0, np.eye(3), "fewer than two classes"),
        (np.zeros((3, 2)), np.eye(3), np.eye(3), "F is all zero"),
        (np.full((3, 2), np.nan), np.eye(3), np.eye(3), "F holds NaN"),
    ],
)
def test_what_a_peer_cannot_use_is_refused(F, Y, Z, line):
    with pytest.raises(InvalidInput, match=line):
        PEERS["fast0tag"]().fit(F, Y, Z)


class Few(MultiLabelOurs):
    """Ours with little to choose."""

    def __init__(self):
        super().__init__("ours")
        self.stages = self.stages[2][::5], self.stages[1][:2]


def test_choosing_looks_at_no_test_sample_and_no_unseen_class():
    data = label_dataset(5)
    whole = LabelFoldSearch(Few(), data, quiet=True).choose("generalized")
    tests = np.concatenate([data.split.test_seen, data.split.test_unseen])
    inputs = data.inputs.copy()
    inputs[tests] = np.nan
    vectors = data.classes.vectors.copy()
    vectors[data.unseen] = np.random.default_rng(9).normal(size=(5, vectors.shape[1]))
    from dataclasses import replace

    changed = data.with_inputs(inputs).with_classes(replace(data.classes, vectors=vectors))
    again = LabelFoldSearch(Few(), changed, quiet=True).choose("generalized")
    assert again.best.params == whole.best.params
    assert again.best.unseen == whole.best.unseen
    np.testing.assert_array_equal(again.best.harmonic, whole.best.harmonic)


@pytest.mark.parametrize("setting", ["pure", "generalized"])
def test_rows_hold_what_scikit_learn_measures(setting):
    data = label_dataset(6)
    row, chosen = LabelEvaluation(data, Few(), quiet=True).run(setting)
    model = estimator_of(chosen.best.params, 0).fit(
        data.inputs[data.split.train], data.training_label_matrix(), semantics=data.semantics
    )
    tests = np.concatenate([data.split.test_seen, data.split.test_unseen])
    truth, scores = data.evaluation_label_matrix(tests), model.decision_function(data.inputs[tests])
    columns = data.unseen
    if setting == "generalized":
        columns = np.arange(len(data.classes))
        scores[:, data.seen] -= row.selection["seen_penalty"]
    truth, scores = truth[:, columns], scores[:, columns]
    expected = 100 * average_precision_score(truth, scores, average="macro")
    assert row.metrics["mean_average_precision"] == pytest.approx(expected)
    rows = truth.any(axis=1)
    best = np.argsort(np.argsort(-scores[rows], axis=1), axis=1) < 3
    f1 = 100 * f1_score(truth[rows], best, average="micro")
    assert row.metrics["f1_at_3"] == pytest.approx(f1)
    assert row.selection["tried"] >= 3


def test_regions_show_in_ours_on_the_folds():
    data = label_dataset(7)
    with_regions = LabelFoldSearch(MultiLabelOurs("ours"), data, quiet=True).choose("pure")
    without = LabelFoldSearch(MultiLabelOurs("ours-no-regions"), data, quiet=True).choose("pure")
    assert with_regions.best.score("pure") > without.best.score("pure") + 3
    assert without.best.params["global_weight"] == 1.0


def test_what_cannot_be_measured_is_said_in_one_line():
    data = label_dataset(0)
    with pytest.raises(InvalidInput, match="the standard setting is of one label a sample"):
        list(measure_labels(data, ["ours"], ["standard"], [0]))
    with pytest.raises(InvalidInput, match="unknown method 'our' for several labels; did you mean"):
        list(measure_labels(data, ["our"], ["pure"], [0]))
    with pytest.raises(InvalidInput, match="no taxonomy of its classes"):
        list(measure_labels(data, ["ours-taxonomy"], ["pure"], [0], quiet=True))
    with pytest.raises(InvalidInput, match="holds images, not features"):
        list(measure("critters-scenes", ["ours"], ["pure"], [0]))
    assert list(label_methods())[-1] == "ours"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An own folder with labels.csv, and features of regions."""
    X, labels, Z = label_arrays(8, n=91, n_classes=12, n_unseen=3)
    place = tmp_path_factory.mktemp("several") / "mine"
    place.mkdir()
    (place / "test").mkdir()
    unseen = np.arange(12) >= 9
    columns = ",".join(f"a{at}" for at in range(Z.shape[1]))
    lines = [f"name,role,{columns}"] + [
        f"class{at},{'unseen' if unseen[at] else 'seen'},{','.join(f'{v:.5f}' for v in Z[at])}"
        for at in range(12)
    ]
    (place / "classes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = []
    for at in range(91):
        name = f"{'test/' if at >= 60 else ''}{at:03d}.png"
        (place / name).write_bytes(image_bytes(size=(8, 8)))
        rows.append(",".join([name, *(f"class{c}" for c in labels[at].nonzero()[0])]))
    (place / "labels.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    np.save(place / "regions.npy", X.astype(np.float32))
    return place


def zerokin(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_the_commands_take_several_labels_where_the_data_says_so(folder, tmp_path):
    given = (str(folder), "--features", folder / "regions.npy")
    ran = zerokin("check", *given)
    assert ran.exit_code == 0, ran.output
    ran = zerokin("evaluate", *given, "--json", tmp_path / "rows.json")
    assert ran.exit_code == 0, ran.output
    rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
    assert [row["method"] for row in rows] == ["ours"]
    assert "mAP unseen" in ran.output
    ran = zerokin("compare", *given, "--setting", "generalized", "--out", tmp_path / "t.csv")
    assert ran.exit_code == 0, ran.output
    for name in (*PEERS, "ours"):
        assert re.search(rf"^{name}, generalized, seed 0", ran.output, re.MULTILINE)
    model = tmp_path / "model"
    ran = zerokin("fit", *given, "--out", model)
    assert ran.exit_code == 0, ran.output
    assert "9 seen and 3 unseen classes" in ran.output
    ran = zerokin("predict", model, *given, "--json", "-k", 2)
    answers = [json.loads(line) for line in ran.output.splitlines()]
    assert len(answers) == 91
    assert answers[60]["image"] == "test/060.png"
    assert all(len(one["labels"]) == 2 for one in answers)
    assert all(0 <= label["region"] < 5 for one in answers for label in one["labels"])
    ran = zerokin("predict", model, folder / "regions.npy", "--csv", "--candidates", "unseen")
    header, *lines = ran.output.splitlines()
    assert header == "image,label,role,probability,region,box"
    assert lines
    assert all(line.split(",")[2] == "unseen" for line in lines)


def test_a_network_is_trained_and_finds_labels_in_images(folder, tmp_path):
    config = tmp_path / "network.yaml"
    config.write_text(
        "{backbone: conv4, weights: null, mode: cnn-rnn, image_size: 32, "
        "recipe: {epochs: 2, batch_size: 20, image_size: 32, precision: float32}}\n",
        encoding="utf-8",
    )
    ran = zerokin("train", folder, "--config", config, "--out", tmp_path / "trained", "--fold", 1)
    assert ran.exit_code == 0, ran.output
    network, model = tmp_path / "trained" / "model", tmp_path / "model"
    given = ("--network", network, "--regions", 2, "--no-tune", "--out", model)
    ran = zerokin("fit", folder, *given)
    assert ran.exit_code == 0, ran.output
    images = sorted((folder / "test").glob("*.png"))[:5]
    ran = zerokin("predict", model, *images, "--json", "-k", 3)
    answers = [json.loads(line) for line in ran.output.splitlines()]
    assert [answer["image"] for answer in answers] == [str(image) for image in images]
    for answer in answers:
        for label in answer["labels"]:
            row, column = divmod(label["region"], 2)
            assert label["box"] == [column / 2, row / 2, (column + 1) / 2, (row + 1) / 2]
    ran = zerokin("predict", model, images[0], folder / "nothing.png", "--csv")
    assert ran.exit_code == 1
    assert "nothing.png" in ran.output


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("fit", "DATA", "--out", "OUT", "--fine-tune"), "--fine-tune is for one label a sample"),
        (("fit", "DATA", "--features", "F", "--out", "OUT", "--regions", "3"), "is for images"),
        (("fit", "DATA", "--features", "F", "--out", "OUT", "--by", "kmeans"), "--by is for one"),
        (("evaluate", "DATA", "--features", "F", "--setting", "standard"), "one label a sample"),
        (("evaluate", "DATA", "--features", "F", "--setting", "few-shot"), "several labels"),
        (("train", "DATA", "--out", "OUT", "--config", "C"), "learns one label an image"),
        (("evaluate", "DATA", "--features", "F", "--method", "eszsl"), "unknown method 'eszsl'"),
    ],
)
def test_what_takes_one_label_says_so_in_one_line(folder, tmp_path, arguments, line):
    config = tmp_path / "network.yaml"
    config.write_text("{backbone: conv4, weights: null, mode: end-to-end}\n", encoding="utf-8")
    named = {"DATA": folder, "F": folder / "regions.npy", "OUT": tmp_path / "out", "C": config}
    ran = zerokin(*(named.get(one, one) for one in arguments))
    assert ran.exit_code != 0
    assert line in f"{ran.output}{ran.exception}"
    assert isinstance(ran.exception, SystemExit | InvalidInput)
    assert not (tmp_path / "out" / "multi_label.json").exists()
