"""The public estimators and functions of arrays, each with a small problem and what is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from api_inputs import count, labels, matrix, nothing, parameter, share, texts
from api_kinds import (
    Kind,
    any_texts,
    blocks,
    candidates,
    labels_alone,
    numbers,
    optional,
    positions,
    rows,
    semantics,
    square,
    steps,
    without_table,
)
from api_problem import CALIBRATION, D_F, NAMES, NEW, RNG, SEEN, SHOTS, TREE, UNNAMED, C, X, Y, Z
from api_tree_kinds import any_paths, classes_chosen, hierarchy, layers, layers_chosen, paths
from feature_bundles import recognizer_of
from zerokin.benchmark.few_shot import draw_episodes, mean_with_ci95
from zerokin.benchmark.few_shot.peers import PEERS as FEW_SHOT_PEERS
from zerokin.benchmark.few_shot.peers import BaseClasses
from zerokin.benchmark.peers import PEERS
from zerokin.classifiers import (
    FewShotClassifier,
    ZeroShotClassifier,
    cosine_scores,
    nearest_prototype,
)
from zerokin.features.scaler import FeatureScaler
from zerokin.hierarchy import ClassHierarchy, layer_sizes
from zerokin.metrics import per_class_top1, top1
from zerokin.metrics.accuracy import harmonic_mean, hit_at
from zerokin.projection import (
    FeatureSpectrum,
    ProjectionLearner,
    nearest_neighbors,
    neighbor_graph,
    normalized_laplacian,
)
from zerokin.recognizer.confidence import predict_selectively
from zerokin.report import tree_text
from zerokin.semantics import taxonomy_vectors, unit_rows


@dataclass
class Target:
    """What is called, with which canonical arguments, and what makes an answer right."""

    name: str
    call: Callable[..., Any]
    arguments: dict[str, tuple[Kind, Any]]
    right: Callable[[Any], bool]
    fixed: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 2e-3

    def canonical(self) -> dict[str, Any]:
        return {**self.fixed, **{name: value for name, (_, value) in self.arguments.items()}}


def finite(result: Any) -> bool:
    """Tell whether everything in a result is a finite number."""
    if isinstance(result, tuple | list):
        return all(map(finite, result))
    if hasattr(result, "toarray"):
        result = result.toarray()
    array = np.asarray(result)
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def zero_shot(X, y, semantics, hierarchy, new, k, candidates, **params):
    model = ZeroShotClassifier(**params).fit(X, y, semantics=semantics, hierarchy=hierarchy)
    return model, *model.predict_top_k(new, k, candidates), model.decision_function(new)


def few_shot(X, y, semantics, hierarchy, shots, shot_labels, new, k, candidates, **params):
    model = FewShotClassifier(**params).fit(
        X, y, semantics=semantics, shots=shots, shot_labels=shot_labels, hierarchy=hierarchy
    )
    return model, *model.predict_top_k(new, k, candidates), model.decision_function(new)


def named(result: Any) -> bool:
    """Tell whether classes are known, scores fall, and each sample has one that is finite."""
    model, names, scores, decision = result
    known = set(np.asarray(model.classes_).tolist())
    return (
        set(np.unique(names).tolist()) <= known
        and not np.isnan(scores).any()
        and bool(np.isfinite(scores[:, 0]).all())
        and bool((np.diff(scores, axis=1)[np.isfinite(scores[:, 1:])] <= 0).all())
        and finite(decision)
        and finite(model.prototypes_)
    )


def projected(F, E, labels, new, **params):
    learner = ProjectionLearner(**params).fit(F, E, labels=labels)
    return learner.W_, learner.E_, learner.objective_, learner.transform(new)


def normalized(F, labels, new, steps):
    return FeatureScaler(steps).fit(F, labels).transform(new)


def tree_numbers(tree: ClassHierarchy) -> tuple[Any, ...]:
    return tuple(tree.labels(layer) for layer in range(1, tree.n_layers + 1))


def peer(name: str) -> Callable[..., Any]:
    quick = {"n_epochs": 1, "n_steps": 2, "n_hidden": 3}
    own = {key: value for key, value in quick.items() if hasattr(PEERS[name](), key)}

    def scored(F, y, Z, new, random_state, **params):
        return PEERS[name](**{**own, **params}).fit(F, y, Z, random_state=random_state).scores(new)

    return scored


def few_shot_peer(name: str) -> Callable[..., Any]:
    base = BaseClasses(X, Y, FeatureScaler("none"), Z)
    known = np.stack([Z[:3], Z[3:6]])

    def scored(shots, queries, **params):
        method = FEW_SHOT_PEERS[name](**params)
        method.learn(base)
        if method.uses_semantics:
            return method.scores(shots, queries, known)
        # Before it had checks of its own, `score` was all there was to call.
        return getattr(method, "scores", method.score)(shots, queries)

    return scored


def accuracies(result: Any) -> bool:
    return 0 <= result <= 100


def hedged(scores, candidates, max_risk, hierarchy, calibration):
    given = predict_selectively(scores, hierarchy, candidates, calibration, max_risk)
    return given.layer, given.node, given.probability, given.risk


def answered(new, max_risk, unseen_bias):
    model = ZeroShotClassifier().fit(X, Y, semantics=Z, hierarchy=TREE)
    model.classes_ = model.classes_.astype(str)
    given = recognizer_of(model, CALIBRATION).recognize(
        new, candidates="unseen", max_risk=max_risk, unseen_bias=unseen_bias
    )
    risks = [one.selective and one.selective.risk for one in given]
    return [(one.best.probability, risk or 0.0) for one, risk in zip(given, risks, strict=True)]


def probabilities_within(result: Any) -> bool:
    return finite(result) and all(np.min(x) >= 0 and np.max(x) <= 1 for x in result[2:4])


PARAMS = ZeroShotClassifier().get_params()
SHOT_BLOCK = RNG.normal(size=(2, 3, 2, D_F))
QUERY_BLOCK = RNG.normal(size=(2, 4, D_F))
SCORES = RNG.normal(size=(4, 3))
LAYERS = [TREE.labels(1).tolist(), TREE.labels(2).tolist()]
PATHS = [
    [f"top {a}", f"mid {a}{b}"]
    for a, b in zip([0, 0, 0, 0, 0, 1, 1, 1, 1], "aabbbccdd", strict=True)
]


def targets() -> list[Target]:
    """Return everything that is called."""
    fit = {
        "X": (matrix, X),
        "y": (labels, Y),
        "semantics": (semantics, Z),
        "hierarchy": (hierarchy, UNNAMED),
        "new": (matrix, NEW),
        "k": (count, 2),
        "candidates": (candidates, np.arange(SEEN, C)),
    }
    shots = {"shots": (matrix, SHOTS), "shot_labels": (without_table, np.arange(SEEN, C))}
    own = {
        name: (parameter, value)
        for name, value in FewShotClassifier().get_params(deep=False).items()
    }
    found = [
        Target(
            f"ZeroShotClassifier, {inference}",
            zero_shot,
            {
                **fit,
                **{
                    name: (parameter, value)
                    for name, value in PARAMS.items()
                    if name != "inference"
                },
            },
            named,
            {"inference": inference},
        )
        for inference in ("residual", "flat", "paper")
    ]
    found[0].arguments["inference"] = (parameter, "residual")
    found[0].arguments["feature_scaling"] = (steps, PARAMS["feature_scaling"])
    learner = {name: (parameter, value) for name, value in ProjectionLearner().get_params().items()}
    F = {"F": (matrix, X)}
    found += [
        Target("FewShotClassifier", few_shot, {**fit, **shots, **own}, named),
        Target(
            "ProjectionLearner",
            projected,
            {**F, "E": (matrix, Z), "labels": (labels, Y), "new": (matrix, NEW), **learner},
            finite,
        ),
        Target(
            "FeatureScaler",
            normalized,
            {
                **F,
                "labels": (without_table, Y),
                "new": (matrix, NEW),
                "steps": (steps, "power-whiten3-unit"),
            },
            finite,
        ),
        Target(
            "FeatureSpectrum",
            lambda F, **p: FeatureSpectrum(F, **p).eigenvalues,
            {**F, "device": (parameter, "cpu"), "dtype": (parameter, None)},
            finite,
        ),
        Target(
            "nearest_neighbors",
            nearest_neighbors,
            {**F, "n_neighbors": (count, 3), "device": (parameter, "cpu")},
            finite,
        ),
        Target(
            "neighbor_graph",
            neighbor_graph,
            {**F, "n_neighbors": (count, 3), "weights": (parameter, "heat")},
            finite,
        ),
        Target(
            "normalized_laplacian",
            normalized_laplacian,
            {"graph": (square, neighbor_graph(X, 3))},
            finite,
        ),
        Target(
            "cosine_scores",
            cosine_scores,
            {"projected": (matrix, NEW), "prototypes": (matrix, X)},
            finite,
        ),
        Target(
            "nearest_prototype",
            nearest_prototype,
            {
                "projected": (matrix, NEW),
                "prototypes": (matrix, X),
                "candidates": (positions, np.array([2, 5])),
            },
            finite,
        ),
        Target(
            "unit_rows", unit_rows, {"vectors": (matrix, Z), "names": (any_texts, NAMES)}, finite
        ),
        Target(
            "layer_sizes",
            layer_sizes,
            {"n_classes": (count, 50), "branching": (count, 3)},
            lambda r: min(r) >= 3,
        ),
        Target(
            "top1",
            top1,
            {"truth": (without_table, Y), "predicted": (without_table, (Y + 1) % 4)},
            accuracies,
        ),
        Target(
            "per_class_top1",
            per_class_top1,
            {"truth": (without_table, Y), "predicted": (without_table, Y % 4)},
            accuracies,
        ),
        Target(
            "hit_at",
            hit_at,
            {
                "truth": (labels, np.array([0, 2, 1, 1])),
                "scores": (matrix, SCORES),
                "k": (count, 2),
            },
            accuracies,
        ),
        Target(
            "harmonic_mean",
            harmonic_mean,
            {"seen": (parameter, 40.0), "unseen": (parameter, 60.0)},
            finite,
        ),
        Target(
            "mean_with_ci95",
            mean_with_ci95,
            {"accuracies": (numbers, np.array([40.0, 60.0, 30.0]))},
            finite,
        ),
        Target(
            "draw_episodes",
            lambda **p: (lambda e: (e.classes, e.shots, e.queries))(draw_episodes(**p)),
            {
                "labels": (labels_alone, Y),
                "way": (count, 2),
                "shots": (count, 1),
                "queries": (count, 2),
                "random_state": (parameter, 0),
            },
            finite,
            {"episodes": 3},
        ),
        Target(
            "predict_selectively",
            hedged,
            {
                "scores": (matrix, SCORES),
                "candidates": (positions, np.array([6, 7, 8])),
                "max_risk": (share, 0.3),
                "hierarchy": (nothing, TREE),
                "calibration": (nothing, CALIBRATION),
            },
            probabilities_within,
        ),
        Target(
            "Recognizer.recognize",
            answered,
            {
                "new": (rows, NEW),
                "max_risk": (optional(share), 0.3),
                "unseen_bias": (parameter, 0.1),
            },
            finite,
        ),
        Target(
            "ClassHierarchy",
            lambda **p: tree_numbers(ClassHierarchy(**p)),
            {
                "layers": (layers, LAYERS),
                "names": (texts, NAMES),
                "semantics": (optional(matrix), Z),
            },
            finite,
        ),
        Target(
            "ClassHierarchy.from_semantics",
            lambda **p: tree_numbers(ClassHierarchy.from_semantics(**p)),
            {
                "Z": (matrix, Z),
                "branching": (parameter, 2),
                "random_state": (parameter, 0),
                "names": (texts, NAMES),
                "method": (parameter, "kmeans"),
            },
            finite,
        ),
        Target(
            "ClassHierarchy.from_taxonomy",
            lambda **p: tree_numbers(ClassHierarchy.from_taxonomy(**p)),
            {"paths": (paths, PATHS), "names": (texts, NAMES), "semantics": (optional(matrix), Z)},
            finite,
        ),
        Target(
            "ClassHierarchy.select",
            lambda classes: tree_numbers(TREE.select(classes)),
            {"classes": (classes_chosen, [5, 1, 2])},
            finite,
        ),
        Target(
            "ClassHierarchy.select_layers",
            lambda layers: tree_numbers(TREE.select_layers(layers)),
            {"layers": (layers_chosen, [1])},
            finite,
        ),
        Target(
            "ClassHierarchy.named_by",
            lambda names: tree_numbers(TREE.named_by(names)),
            {"names": (any_texts, list("abcde"))},
            finite,
        ),
        *(
            Target(f"ClassHierarchy.{name}", getattr(TREE, name), {"layer": (parameter, 1)}, finite)
            for name in ("labels", "parents", "prototypes", "node_names")
        ),
        Target(
            "ClassHierarchy.members",
            TREE.members,
            {"layer": (parameter, 1), "node": (parameter, 1)},
            finite,
        ),
        Target(
            "ClassHierarchy.children",
            TREE.children,
            {"layer": (parameter, 1), "node": (parameter, 1)},
            finite,
        ),
        Target(
            "tree_text",
            lambda unseen: str(tree_text(TREE, unseen).label),
            {"unseen": (optional(classes_chosen), [5, 1, 2])},
            finite,
        ),
        Target("taxonomy_vectors", taxonomy_vectors, {"paths": (any_paths, PATHS)}, finite),
        *(
            Target(
                f"peer {name}",
                peer(name),
                {
                    **F,
                    "y": (labels, Y),
                    "Z": (matrix, Z),
                    "new": (matrix, NEW),
                    "random_state": (parameter, 0),
                    **{n: (parameter, getattr(PEERS[name](), n)) for n in PEERS[name].grid},
                },
                finite,
            )
            for name in PEERS
        ),
        *(
            Target(
                f"few-shot peer {name}",
                few_shot_peer(name),
                {
                    "shots": (blocks, SHOT_BLOCK),
                    "queries": (blocks, QUERY_BLOCK),
                    **{
                        n: (parameter, getattr(FEW_SHOT_PEERS[name](), n))
                        for n in FEW_SHOT_PEERS[name].grid
                    },
                },
                finite,
            )
            for name in FEW_SHOT_PEERS
        ),
    ]
    return found
