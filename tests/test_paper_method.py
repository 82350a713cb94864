"""The method ``paper``: every part against a NumPy transcription of the paper's equations."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.linalg
from typer.testing import CliRunner

from builders import write_xlsa17_folder
from few_shot_data import clustered_dataset
from zerokin import ZeroShotClassifier, load_dataset
from zerokin.benchmark.ablation.methods import method_for
from zerokin.benchmark.comparison import find_methods
from zerokin.classifiers import stages
from zerokin.classifiers.few_shot import FewShotClassifier
from zerokin.classifiers.pruning import lower_pruned
from zerokin.cli import app
from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.metrics.accuracy import per_class_top1
from zerokin.projection import ProjectionLearner
from zerokin.selection.class_fold_search import ClassFoldSearch
from zerokin.selection.method import TrainingData, scores_among
from zerokin.selection.paper_space import PAPER, STAGES, VARIANTS, Paper

RNG = np.random.default_rng(int.from_bytes(b"top3"))
C, D_Z, D_F = int(RNG.integers(21, 29)), int(RNG.integers(7, 11)), int(RNG.integers(23, 31))
SEEN = C - int(RNG.integers(6, 9))
SEMANTICS = RNG.uniform(size=(C, D_Z))
WORLD = RNG.normal(size=(D_Z, D_F))


def drawn_samples(labels, noise=0.6):
    return np.maximum(SEMANTICS[labels] @ WORLD + noise * RNG.normal(size=(len(labels), D_F)), 0)


LABELS = np.repeat(np.arange(SEEN), RNG.integers(8, 13, size=SEEN))
FEATURES = drawn_samples(LABELS)
TRUTH = np.repeat(np.arange(SEEN, C), 9)
NEW = drawn_samples(TRUTH)
UNIT_SEMANTICS = SEMANTICS / np.linalg.norm(SEMANTICS, axis=1, keepdims=True)


# --- the paper, number by number -----------------------------------------------------------------


def scaled(F, steps):
    return F if steps == "none" else F / np.linalg.norm(F, axis=1, keepdims=True)


def laplacian(F, neighbors=10):
    """L = I − D^-½ 𝒲 D^-½; 𝒲 holds cosines of samples one of which is near the other."""
    unit = F / np.linalg.norm(F, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    weights = np.zeros_like(cosines)
    for u, row in enumerate(cosines):
        for v in np.argsort(-row)[:neighbors]:
            weights[u, v] = weights[v, u] = max(row[v], 0)
    scale = np.diag(weights.sum(axis=1) ** -0.5)
    return np.eye(len(F)) - scale @ weights @ scale


def loss(F, W, E, E0, L, alpha, beta, epsilon, gamma):
    mu, nu, eta = alpha / (1 - alpha), (1 - beta) / beta, gamma / (1 - alpha)
    return (
        np.sum((F @ W - E) ** 2)
        + mu * np.sum((F - E @ W.T) ** 2)
        + epsilon / (beta * (1 - alpha)) * np.trace(E.T @ L @ E)
        + nu * np.sum((E - E0) ** 2)
        + eta * np.sum(W**2)
    )


def algorithm_1(F, E0, L, *, alpha, beta, epsilon, gamma, tol=1e-3, max_iter=20):
    """Return W, E and the losses: eq. "bpl" and eq. "ssl" in turn, each as a Sylvester equation."""
    given = {"alpha": alpha, "beta": beta, "epsilon": epsilon, "gamma": gamma}
    E = E0.copy()
    losses = [loss(F, np.zeros((F.shape[1], E.shape[1])), E, E0, L, **given)]

    def stands_still(W):
        losses.append(loss(F, W, E, E0, L, **given))
        return losses[-2] - losses[-1] <= tol * losses[-2]

    for _ in range(max_iter):
        left = (1 - alpha) * F.T @ F + gamma * np.eye(F.shape[1])
        W = scipy.linalg.solve_sylvester(left, alpha * E.T @ E, F.T @ E)
        if stands_still(W):
            break
        right = alpha * beta * W.T @ W + (1 - alpha) * np.eye(E.shape[1])
        known = beta * F @ W + (1 - alpha) * (1 - beta) * E0
        E = scipy.linalg.solve_sylvester(epsilon * L, right, known)
        if stands_still(W):
            break
    return W, E, np.array(losses)


def distances(f, prototypes, distance):
    if distance == "euclidean":
        return np.linalg.norm(prototypes - f, axis=1)
    return -prototypes @ f / np.linalg.norm(prototypes, axis=1) / np.linalg.norm(f)


def nodes_of(tree):
    """The classes under every node, layer by layer from the lowest superclasses up."""
    return [
        [np.flatnonzero(tree.labels(layer) == node) for node in range(size)]
        for layer, size in enumerate(tree.sizes, start=1)
    ]


def surviving(f, tree, prototypes, candidates, distance, keep=3):
    """Candidates under the nearest 3 superclasses of every layer, from the top layer down."""
    left = set(candidates)
    for nodes, vectors in reversed(list(zip(nodes_of(tree), prototypes[1:], strict=True))):
        far = distances(f, vectors, distance)
        possible = [node for node, below in enumerate(nodes) if left & set(below)]
        best = sorted(possible, key=lambda node: far[node])[:keep]
        left &= {int(one) for node in best for one in nodes[node]}
    return left


def named(F, tree, prototypes, candidates, distance):
    answers = []
    for f in F:
        left = sorted(surviving(f, tree, prototypes, candidates, distance))
        answers.append(left[int(np.argmin(distances(f, prototypes[0][left], distance)))])
    return np.array(answers)


def transcribed(features, labels, semantics, params, seed=0):
    """The hierarchy, (W, E, losses) and prototypes of layer 0 (classes), 1, 2, …"""
    F = scaled(features, params["feature_scaling"])
    tree = ClassHierarchy.from_semantics(semantics, params["branching"], seed, method="kmeans")
    L = laplacian(F)
    given = {name: params[name] for name in ("alpha", "beta", "epsilon", "gamma")}
    members = [[np.array([c]) for c in range(len(semantics))], *nodes_of(tree)]
    learned, prototypes = [], []
    for nodes in members:
        vectors = np.array([semantics[below].mean(axis=0) for below in nodes])
        node_of = {int(c): node for node, below in enumerate(nodes) for c in below}
        E0 = vectors[[node_of[label] for label in labels.tolist()]]
        learned.append(algorithm_1(F, E0, L, **given))
        prototypes.append(vectors @ learned[-1][0].T)
    return tree, learned, prototypes


# --- the method object that the commands make ----------------------------------------------------


@pytest.fixture
def learners(monkeypatch):
    """Every ProjectionLearner that is fitted, in order."""
    made = []

    class Noted(ProjectionLearner):
        def fit(self, *args, **options):
            made.append(self)
            return super().fit(*args, **options)

    monkeypatch.setattr(stages, "ProjectionLearner", Noted)
    return made


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
@pytest.mark.parametrize("scaling", ["none", "unit"])
@pytest.mark.parametrize(
    ("branching", "alpha", "beta", "epsilon"), [(2, 0.3, 0.3, 0.1), (3, 0.9, 0.7, 1.0)]
)
def test_every_part_is_the_papers(learners, distance, scaling, branching, alpha, beta, epsilon):
    (method,) = find_methods(["paper"])
    params = {
        **method.defaults,
        "feature_scaling": scaling,
        "distance": distance,
        "branching": branching,
        "alpha": alpha,
        "beta": beta,
        "epsilon": epsilon,
    }
    (scorer,) = method.fit_many(TrainingData(FEATURES, LABELS, UNIT_SEMANTICS), [params])
    tree, learned, prototypes = transcribed(FEATURES, LABELS, UNIT_SEMANTICS, params)
    assert tree.sizes == [
        C // branching**layer for layer in range(1, C) if C // branching**layer >= branching
    ]
    assert len(learners) == len(learned) == tree.n_layers + 1
    for made, (W, E, losses) in zip(learners, learned, strict=True):
        np.testing.assert_allclose(made.objective_, losses, rtol=1e-7)
        np.testing.assert_allclose(made.W_, W, atol=1e-6 * np.abs(W).max())
        np.testing.assert_allclose(made.E_, E, atol=1e-6 * np.abs(E).max())
    model = scorer.model
    found = [model.prototypes_, *model._layer_prototypes]
    for ours, theirs in zip(found, prototypes, strict=True):
        if distance == "cosine":
            theirs = theirs / np.linalg.norm(theirs, axis=1, keepdims=True)
        np.testing.assert_allclose(ours, theirs, atol=1e-6 * np.abs(theirs).max())
    F, pruned = scaled(NEW, scaling), 0
    for candidates in (np.arange(SEEN, C), np.arange(C)):
        alive = model._survivors(scorer.scaled(NEW), candidates)
        for f, row in zip(F, alive, strict=True):
            left = surviving(f, tree, prototypes, candidates.tolist(), distance)
            assert set(candidates[row].tolist()) == left
            pruned += len(candidates) - len(left)
        expected = named(F, tree, prototypes, candidates.tolist(), distance)
        among = scores_among(scorer, NEW, candidates, scorer(NEW))
        np.testing.assert_array_equal(candidates[among.argmax(axis=1)], expected)
        np.testing.assert_array_equal(model.predict(NEW, candidates), expected)
    assert pruned > len(NEW)
    np.testing.assert_array_equal(scorer(NEW).argmax(axis=1), expected)


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_the_estimator_is_the_method(distance):
    params = {**PAPER, "distance": distance}
    (scorer,) = Paper().fit_many(TrainingData(FEATURES, LABELS, UNIT_SEMANTICS), [params])
    model = ZeroShotClassifier(**params, seen_penalty=0.0).fit(
        FEATURES, LABELS, semantics=SEMANTICS
    )
    np.testing.assert_allclose(scorer(NEW), model.decision_function(NEW), atol=1e-9)
    np.testing.assert_array_equal(
        model.decision_function(NEW).argmax(axis=1), model.predict(NEW, "all")
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    labels = np.repeat(np.arange(C), 9)
    features = {"features": drawn_samples(labels).T.astype(np.float32)}
    vectors = {"att": UNIT_SEMANTICS.T, "original_att": SEMANTICS.T}
    return write_xlsa17_folder(
        tmp_path_factory.mktemp("xlsa17"),
        features,
        vectors,
        n_classes=C,
        per_class=9,
        n_unseen=C - SEEN,
        d_z=D_Z,
        d_f=D_F,
    )


@pytest.fixture(scope="module")
def evaluated(folder, tmp_path_factory):
    """Rows of the command by method and setting."""
    file = tmp_path_factory.mktemp("rows") / "rows.json"
    rows = {}
    for method in ("paper", "paper-uncalibrated"):
        options = ["--setting", "pure", "--setting", "generalized", "--json", str(file)]
        ran = CliRunner().invoke(
            app, ["evaluate", f"xlsa17={folder}", "--method", method, *options]
        )
        assert ran.exit_code == 0, ran.output
        for row in json.loads(file.read_text()):
            rows[row["method"], row["setting"]] = row
    return rows


def test_rows_of_the_command_are_those_of_the_transcription(folder, evaluated):
    dataset = load_dataset(f"xlsa17={folder}")
    split = dataset.split
    train = dataset.finite_features(split.train).astype(np.float64)
    labels = dataset.training_labels(split.train)
    truth = dataset.evaluation_labels(split.test_unseen)
    asked = dataset.finite_features(split.test_unseen).astype(np.float64)

    def answers(row, candidates):
        chosen = row["selection"]
        assert chosen["gamma"] == 0.01
        assert chosen["top_k"] == 3
        assert chosen["grouping"] == "kmeans"
        assert chosen["beta"] > 0
        assert chosen["epsilon"] > 0
        tree, _, prototypes = transcribed(train, labels, dataset.semantics, chosen)
        F = scaled(asked, chosen["feature_scaling"])
        return named(F, tree, prototypes, candidates, chosen["distance"])

    pure = evaluated["paper", "pure"]
    reached = per_class_top1(truth, answers(pure, dataset.unseen.tolist()))
    assert pure["metrics"]["per_class_top1"] == pytest.approx(reached)
    assert 100 / len(dataset.unseen) < reached < 100
    plain = evaluated["paper-uncalibrated", "generalized"]
    assert plain["selection"]["seen_penalty"] == 0
    reached = per_class_top1(truth, answers(plain, list(range(C))))
    assert plain["metrics"]["unseen"] == pytest.approx(reached)


def test_a_penalty_of_seen_classes_is_chosen_unless_the_variant_has_none(evaluated):
    assert evaluated["paper", "generalized"]["selection"]["seen_penalty"] != 0
    assert evaluated["paper", "pure"]["selection"] == {
        **evaluated["paper-uncalibrated", "pure"]["selection"]
    }


# --- variants ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_holds_its_part_still_and_chooses_the_others(name):
    (method,), variant = find_methods([name]), VARIANTS[name]
    assert method.name == method_for(name, centered=False).name == name
    trials = [{**method.defaults, **change} for stage in method.stages for change in stage]
    for param, value in variant.fixed.items():
        assert {trial[param] for trial in trials} == {value}
    for stage in STAGES:
        for param in set(stage[0]) - set(variant.fixed):
            assert {trial[param] for trial in trials} >= {change[param] for change in stage}


def test_what_each_variant_holds_still():
    flat, fixed = {"inference": "flat", "branching": 2}, {"beta": 0.0, "epsilon": 0.0}
    assert {name: variant.fixed for name, variant in VARIANTS.items()} == {
        "paper": {},
        "paper-uncalibrated": {},
        "paper-euclidean": {"distance": "euclidean"},
        "paper-cosine": {"distance": "cosine"},
        "paper-flat": flat,
        "paper-baseline": flat | fixed,
        "paper-residual": {"inference": "residual"},
        "paper-fixed-e": fixed,
        "paper-no-graph": {"epsilon": 0.0},
        "paper-taxonomy": {"grouping": "taxonomy", "branching": 2},
    }


def test_variants_differ_in_their_part_alone():
    """Each answers as the estimator with that part changed does."""
    data = TrainingData(FEATURES, LABELS, UNIT_SEMANTICS)
    for name, variant in VARIANTS.items():
        if "grouping" in variant.fixed:
            continue
        method = Paper(name)
        (scorer,) = method.fit_many(data, [method.defaults])
        model = ZeroShotClassifier(**{**PAPER, **variant.fixed})
        model.fit(FEATURES, LABELS, semantics=SEMANTICS)
        unseen = np.arange(SEEN, C)
        among = scores_among(scorer, NEW, unseen, scorer(NEW))
        np.testing.assert_array_equal(unseen[among.argmax(axis=1)], model.predict(NEW), name)


def test_without_a_penalty_trials_are_told_apart_at_none():
    method = Paper("paper-uncalibrated")
    method.stages = ([{}],)
    search = ClassFoldSearch(method, quiet=True).prepare(clustered_dataset())
    best = search.choose("generalized").best
    assert best.seen_penalty == 0
    assert {len(values) for values in best.harmonic} == {1}


# --- Euclidean distance --------------------------------------------------------------------------


def test_euclidean_scores_are_squared_distances_whatever_the_inference(tmp_path):
    for inference in ("flat", "residual", "paper"):
        model = ZeroShotClassifier(
            inference=inference,
            distance="euclidean",
            feature_scaling="none",
            hub_weight=0.3,
            seen_penalty=0.0,
        ).fit(FEATURES, LABELS, semantics=SEMANTICS)
        gaps = ((NEW[:, None] - model.prototypes_) ** 2).sum(axis=2)
        means = np.array([FEATURES[label == LABELS].mean(axis=0) for label in range(SEEN)])
        to_means = ((model.prototypes_[:, None] - means) ** 2).sum(axis=2)
        hubs = -np.sort(to_means, axis=1)[:, : model.hub_neighbors].mean(axis=1)
        np.testing.assert_allclose(model._scores(NEW), -gaps - 0.3 * hubs, rtol=1e-9)
        model.save(tmp_path / inference)
        again = ZeroShotClassifier.load(tmp_path / inference)
        for one in (model, again):
            one.add_class(99, SEMANTICS[:2].mean(axis=0))
        np.testing.assert_array_equal(again.prototypes_, model.prototypes_)
        np.testing.assert_array_equal(again.predict(NEW, "all"), model.predict(NEW, "all"))


@pytest.mark.parametrize("size", [1.0, 1e3, 1e7])
def test_a_class_ruled_out_is_below_all_that_are_left(size):
    scores = -size * RNG.uniform(size=(40, C))
    alive = RNG.uniform(size=scores.shape) < 0.5
    alive[:, 0] = True
    lowered = lower_pruned(scores, alive)
    assert np.isfinite(lowered).all()
    for row, left in zip(lowered, alive, strict=True):
        assert row[~left].max() < row[left].min()
    np.testing.assert_array_equal(lowered[alive], scores[alive])


def test_classes_ruled_out_are_lowest_however_long_features_are():
    model = ZeroShotClassifier(**{**PAPER, "feature_scaling": "none", "top_k": 1})
    model.fit(1e3 * FEATURES, LABELS, semantics=SEMANTICS)
    scores = model.decision_function(1e3 * NEW)
    assert np.ptp(scores) > 1e6
    np.testing.assert_array_equal(scores.argmax(axis=1), model.predict(1e3 * NEW, "all"))


def test_few_shots_are_compared_by_cosine_alone():
    model = FewShotClassifier(ZeroShotClassifier(distance="euclidean"))
    with pytest.raises(InvalidInput, match="shots are compared by cosine"):
        model.fit(FEATURES, LABELS, semantics=SEMANTICS)
