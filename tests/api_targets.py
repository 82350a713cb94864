"""The public estimators and functions of arrays, each with a small problem and what is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from api_inputs import (
    ANY,
    REFUSED,
    SAME,
    Given,
    count,
    labels,
    matrix,
    nothing,
    parameter,
    share,
    texts,
)

from zerokin.evaluation import per_class_top1, top1
from zerokin.evaluation.few_shot import draw_episodes, mean_with_ci95
from zerokin.evaluation.few_shot.peers import PEERS as FEW_SHOT_PEERS
from zerokin.evaluation.few_shot.peers import BaseClasses
from zerokin.evaluation.metrics import harmonic_mean, hit_at
from zerokin.evaluation.peers import PEERS
from zerokin.features.normaliser import FeatureNormaliser
from zerokin.hierarchy import ClassHierarchy, layer_sizes, tree_text
from zerokin.projection import (
    FeatureSpectrum,
    ProjectionLearner,
    nearest_neighbours,
    neighbour_graph,
    normalised_laplacian,
)
from zerokin.recognition import (
    FewShotClassifier,
    ZeroShotClassifier,
    cosine_scores,
    nearest_prototype,
)
from zerokin.recognition.answers import AnswerCalibration, answer, hedge
from zerokin.recognition.answers.novelty import NoveltyRule
from zerokin.recognition.answers.overall_risk import OverallRisk
from zerokin.recognition.answers.risk_map import RiskMap
from zerokin.semantics import taxonomy_vectors, unit_rows

RNG = np.random.default_rng(7)
C, SEEN, D_Z, D_F = 9, 6, 5, 7
Z = RNG.uniform(0.1, 1, size=(C, D_Z))
WORLD = RNG.normal(size=(D_Z, D_F))
Y = np.repeat(np.arange(SEEN), 4)
X = Z[Y] @ WORLD + 0.2 * RNG.normal(size=(len(Y), D_F))
NEW = Z[RNG.integers(SEEN, C, size=5)] @ WORLD + 0.2 * RNG.normal(size=(5, D_F))
SHOTS = Z[[6, 7, 8]] @ WORLD + 0.1
NAMES = [f"kind {letter}" for letter in "rstabcxyz"]
TREE = ClassHierarchy.from_semantics(Z, names=NAMES)
UNNAMED = ClassHierarchy.from_semantics(Z)
CALIBRATION = AnswerCalibration(
    "unseen",
    0.1,
    tuple(RiskMap((0.2, 0.6), (0.5, 0.1)) for _ in range(TREE.n_layers + 1)),
    OverallRisk((0.1, 0.4), (0.05, 0.3)),
    NoveltyRule(-0.5, 0.02),
)
Kind = Callable[[Any, np.random.Generator], Iterator[Given]]


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


def without_table(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield classes that nothing lists: any number may be one."""
    for given in labels(value, rng):
        free = given.label in ("unknown", "negative")
        yield given._replace(expected=ANY) if free else given


def labels_alone(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield classes of samples that nothing else counts."""
    for given in without_table(value, rng):
        yield given._replace(expected=ANY) if given.label in ("fewer", "more") else given


def optional(kind: Kind) -> Kind:
    """Return the same inputs, but None may be left out."""

    def inputs(value: Any, rng: np.random.Generator) -> Iterator[Given]:
        for given in kind(value, rng):
            empty = given.value is None or (isinstance(given.value, list) and not given.value)
            yield given._replace(expected=ANY) if empty else given

    return inputs


def any_texts(value: list[str], rng: np.random.Generator) -> Iterator[Given]:
    """Yield lists of names that are for messages alone."""
    for given in texts(value, rng):
        counted = isinstance(given.value, list) and len(given.value) == len(value)
        yield given._replace(expected=ANY) if counted else given


def layers_chosen(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield choices of superclass layers."""
    for same in ((1,), np.array([1]), {1}, iter([1]), [1, 1], [np.int64(1)]):
        yield Given(repr(same)[:30], same, SAME)
    for wrong in (
        [],
        [0],
        [9],
        [-1],
        "1",
        1,
        None,
        [1.0],
        ["1"],
        [None],
        [[1]],
        [np.nan],
        [True],
        2.5,
    ):
        yield Given(repr(wrong)[:30], wrong, REFUSED)


def any_paths(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield taxonomies that need not group classes."""
    for given in paths(value, rng):
        whole = isinstance(given.value, list) and all(
            isinstance(path, list) and all(isinstance(step, str) for step in path)
            for path in given.value
        )
        yield given._replace(expected=ANY) if whole else given


def candidates(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield candidates of a classifier whose classes are called by number."""
    some = rng.permutation(np.arange(SEEN, C))
    for same in (some, some.tolist(), tuple(some), [*some, *some], some.astype(np.int16)):
        yield Given(repr(same)[:30], same, SAME)
    for odd in (
        "all",
        "seen",
        "base",
        "novel",
        [0],
        np.array([2, 7]),
        [0.0],
        ["6"],
        {6: 1},
        some > 6,
    ):
        yield Given(repr(odd)[:30], odd, ANY)
    for wrong in ("unsen", "", [], [99], [-1], [[6]], 6, 6.5, [None], [np.nan], True, b"all", ["kind"],
                  [6, "x"], np.empty(0), {}, print, [6, [7]]):  # fmt: skip
        yield Given(repr(wrong)[:30], wrong, REFUSED)


def semantics(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield semantics of all classes: as a matrix, or by name."""
    at = int(rng.integers(SEEN))
    for given in matrix(value, rng):
        known = given.label in ("None", "one row", "one column")  # None: no semantics at all
        yield given._replace(expected=ANY) if known else given
    zero = value.copy()
    zero[at] = 0
    yield Given("a class of zeros", zero, ANY)
    yield Given("numbers by number", dict(enumerate(value)), SAME)
    yield Given("texts", dict(zip(map(str, range(C)), value, strict=True)), ANY)
    yield Given("floats", {float(i): row for i, row in enumerate(value)}, ANY)
    for wrong in (
        {},
        {0: value[0], "a": value[1]},
        {None: value[0], 1: value[1]},
        {(0, 1): value[0]},
        {i: row[: 1 + i] for i, row in enumerate(value)},
        {i: "word" for i in range(C)},
        {i: None for i in range(C)},
        {True: value[0], False: value[1]},
    ):
        yield Given(repr(wrong)[:30], wrong, REFUSED)


def hierarchy(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield hierarchies beside classes that are called by number."""
    order = rng.permutation(C)
    by_number = ClassHierarchy.from_semantics(Z, names=[str(i) for i in range(C)])
    yield Given("none", None, ANY)
    yield Given("named otherwise", TREE, SAME)
    yield Given("in another order", by_number.select(order), SAME)
    yield Given("some classes", TREE.select(range(4)), REFUSED)
    yield from (given for given in nothing(value, rng))


def zero_shot(X, y, semantics, hierarchy, new, k, candidates, **params):  # noqa: N803
    model = ZeroShotClassifier(**params).fit(X, y, semantics=semantics, hierarchy=hierarchy)
    return model, *model.predict_top_k(new, k, candidates), model.decision_function(new)


def few_shot(X, y, semantics, hierarchy, shots, shot_labels, new, k, candidates, **params):  # noqa: N803
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


def projected(F, E, labels, new, **params):  # noqa: N803
    learner = ProjectionLearner(**params).fit(F, E, labels=labels)
    return learner.W_, learner.E_, learner.objective_, learner.transform(new)


def normalised(F, labels, new, steps):  # noqa: N803
    return FeatureNormaliser(steps).fit(F, labels).transform(new)


def steps(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield steps of normalisation."""
    for wrong in ("", "unity", "whiten", "whiten0", "whiten.", "whiten-1", "whitennan", "unit-", "-unit",
                  "whiten1e9", "whiten" + "9" * 400, "power unit", "UNIT", "unit2", "whiten٣", 3, None,
                  ["unit"], b"unit", True, "unit\n", np.nan):  # fmt: skip
        yield Given(repr(wrong)[:30], wrong, REFUSED)
    for odd in ("none", "unit", "centre", "power", "whiten3", "whiten0.0001", "whiten.5", "whiten5.",
                "unit-unit-unit", "centre-whiten1000000-power-unit", "power-power-power"):  # fmt: skip
        yield Given(odd, odd, ANY)


def layers(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield layers of superclasses."""
    yield Given("arrays", [np.array(layer) for layer in value], SAME)
    yield Given("matrix", np.array(value), SAME)
    for wrong in ([], [[]], [[0, 1]], [value[0], value[0][:-1]], [[0.0] * C], [["a"] * C], [[-1] * C],
                  [[99] * C], [[1] * C], 3, None, "ab", [None], [3], [[None] * C], [[True] * C],
                  [[[0]] * C], [value[1], value[0]], {0: value[0]}, [[np.nan] * C], [[2**70] * C]):  # fmt: skip
        yield Given(repr(wrong)[:30], wrong, REFUSED)


def paths(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield taxonomies."""
    yield Given("tuples", tuple(map(tuple, value)), SAME)
    yield Given("longer", [[*path, f"{i}"] for i, path in enumerate(value)], ANY)
    for wrong in ([], 3, None, "ab", ["ab"] * C, [[]] * C, [None] * C, [[3]] * C, [["a"]] * C,
                  [[f"{i}"] for i in range(C)], value[:-1], [*value, ["x"]], {"a": ["b"]},
                  [[None]] * C, [["", None]] * C, [{"a": 1}] * C, [["a", 2.5]] * C):  # fmt: skip
        yield Given(repr(wrong)[:30], wrong, ANY if wrong == {"a": ["b"]} else REFUSED)


def classes_chosen(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield choices of a hierarchy's classes."""
    for same in (tuple(value), np.array(value), [NAMES[i] for i in value], iter(value)):
        yield Given(repr(same)[:30], same, SAME)
    for wrong in ([], "kind a", [99], [-1], [0, 0], [0, "kind a"], [None], [0.5], [np.nan], 3, None,
                  [True, False], [[0]], ["kind"], [True] * (C + 1), {"a": 1}, 2.5, [1, [2]]):  # fmt: skip
        yield Given(repr(wrong)[:30], wrong, REFUSED)


def tree_numbers(tree: ClassHierarchy) -> tuple[Any, ...]:
    return tuple(tree.labels(layer) for layer in range(1, tree.n_layers + 1))


def is_tree(tree: ClassHierarchy) -> bool:
    return all(len(np.unique(labels)) == labels.max() + 1 for labels in tree_numbers(tree))


def square(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield graphs over samples."""
    import scipy.sparse as sp

    dense = value.toarray()
    yield Given("dense", dense, SAME)
    yield Given("coordinates", sp.coo_matrix(value), SAME)
    for wrong in (dense[:-1], -dense, dense * np.nan, dense + 1j, np.triu(dense), dense[0], 3, "word", None,
                  dense * np.inf, sp.csr_array(dense.astype(object) == 3)[:2]):  # fmt: skip
        yield Given(repr(wrong)[:30], wrong, REFUSED)


def peer(name: str) -> Callable[..., Any]:
    quick = {"n_epochs": 1, "n_steps": 2, "n_hidden": 3}
    own = {key: value for key, value in quick.items() if hasattr(PEERS[name](), key)}

    def scored(F, y, Z, new, random_state, **params):  # noqa: N803
        return PEERS[name](**{**own, **params}).fit(F, y, Z, random_state=random_state).scores(new)

    return scored


def few_shot_peer(name: str) -> Callable[..., Any]:
    base = BaseClasses(X, Y, FeatureNormaliser("none"))

    def scored(shots, queries, **params):
        method = FEW_SHOT_PEERS[name](**params)
        method.learn(base)
        # Before it had checks of its own, `score` was all there was to call.
        return getattr(method, "scores", method.score)(shots, queries)

    return scored


def blocks(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield arrays of more dimensions than two."""
    hole = value.copy()
    hole.flat[int(rng.integers(value.size))] = np.nan
    yield Given("list", value.tolist(), SAME)
    yield Given("Fortran order", np.asfortranarray(value), SAME)
    yield Given("zeros", 0 * value, ANY)
    yield Given("1e-300", 1e-300 * value, ANY)
    yield Given("1e200", 1e200 * value, ANY)
    for wrong in (hole, value * np.inf, value[0], value[None], value[:0], value[..., :0], value + 1j, 3,
                  None, "word", value.astype(str), value[..., :-1], np.concatenate([value, value])):  # fmt: skip
        yield Given(repr(wrong)[:30], wrong, REFUSED)


def numbers(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield lists of numbers."""
    yield Given("list", value.tolist(), SAME)
    yield Given("float32", value.astype(np.float32), SAME)
    for wrong in (
        [],
        value * np.nan,
        value[:, None],
        3,
        None,
        "word",
        value + 1j,
        ["1"],
        [[1], [1, 2]],
    ):
        yield Given(repr(wrong)[:30], wrong, REFUSED)


def accuracies(result: Any) -> bool:
    return 0 <= result <= 100


def hedged(scores, candidates, max_risk, hierarchy, calibration):
    given = hedge(scores, hierarchy, candidates, calibration, max_risk)
    return given.layer, given.node, given.probability, given.risk


def answered(new, max_risk, candidates, hierarchy, calibration):
    model = ZeroShotClassifier().fit(X, Y, semantics=Z, hierarchy=TREE)
    given = answer(
        model, new, calibration, candidates=candidates, hierarchy=hierarchy, max_risk=max_risk
    )
    return [(one.best_probability, one.probability or 0.0, one.risk or 0.0) for one in given]


def positions(value: Any, rng: np.random.Generator) -> Iterator[Given]:
    """Yield positions of classes, each once."""
    yield Given("list", value.tolist(), SAME)
    yield Given("int16", value.astype(np.int16), SAME)
    for wrong in ([], value + 0.5, value + 99, value - 99, value[:, None], 3, None, "word", [None], value + 1j,
                  np.where(value == value[0], np.nan, value), ["a"], [[1], [1, 2]], [2**70]):  # fmt: skip
        yield Given(repr(wrong)[:30], wrong, REFUSED)


def probabilities_within(result: Any) -> bool:
    return finite(result) and all(0 <= np.min(x) and np.max(x) <= 1 for x in result[2:4])


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
        for inference in ("kin", "flat", "paper")
    ]
    found[0].arguments["inference"] = (parameter, "kin")
    found[0].arguments["normalisation"] = (steps, PARAMS["normalisation"])
    learner = {name: (parameter, value) for name, value in ProjectionLearner().get_params().items()}
    F = {"F": (matrix, X)}
    found += [
        Target("FewShotClassifier", few_shot, {**fit, **shots, **own}, named),
        Target("ProjectionLearner", projected,
               {**F, "E": (matrix, Z), "labels": (labels, Y), "new": (matrix, NEW), **learner}, finite),
        Target("FeatureNormaliser", normalised,
               {**F, "labels": (without_table, Y), "new": (matrix, NEW), "steps": (steps, "power-whiten3-unit")}, finite),
        Target("FeatureSpectrum", lambda F, **p: FeatureSpectrum(F, **p).eigenvalues,
               {**F, "device": (parameter, "cpu"), "dtype": (parameter, None)}, finite),
        Target("nearest_neighbours", nearest_neighbours,
               {**F, "n_neighbors": (count, 3), "device": (parameter, "cpu")}, finite),
        Target("neighbour_graph", neighbour_graph,
               {**F, "n_neighbors": (count, 3), "weights": (parameter, "heat")}, finite),
        Target("normalised_laplacian", normalised_laplacian, {"graph": (square, neighbour_graph(X, 3))}, finite),
        Target("cosine_scores", cosine_scores, {"projected": (matrix, NEW), "prototypes": (matrix, X)}, finite),
        Target("nearest_prototype", nearest_prototype,
               {"projected": (matrix, NEW), "prototypes": (matrix, X), "candidates": (positions, np.array([2, 5]))}, finite),
        Target("unit_rows", unit_rows, {"vectors": (matrix, Z), "names": (any_texts, NAMES)}, finite),
        Target("layer_sizes", layer_sizes, {"n_classes": (count, 50), "branching": (count, 3)}, lambda r: min(r) >= 3),
        Target("top1", top1, {"truth": (without_table, Y), "predicted": (without_table, (Y + 1) % 4)}, accuracies),
        Target("per_class_top1", per_class_top1, {"truth": (without_table, Y), "predicted": (without_table, Y % 4)}, accuracies),
        Target("hit_at", hit_at, {"truth": (labels, np.array([0, 2, 1, 1])), "scores": (matrix, SCORES), "k": (count, 2)}, accuracies),
        Target("harmonic_mean", harmonic_mean, {"seen": (parameter, 40.0), "unseen": (parameter, 60.0)}, finite),
        Target("mean_with_ci95", mean_with_ci95, {"accuracies": (numbers, np.array([40.0, 60.0, 30.0]))}, finite),
        Target("draw_episodes", lambda **p: (lambda e: (e.classes, e.shots, e.queries))(draw_episodes(**p)),
               {"labels": (labels_alone, Y), "way": (count, 2), "shots": (count, 1), "queries": (count, 2),
                "random_state": (parameter, 0)}, finite, {"episodes": 3}),
        Target("hedge", hedged, {"scores": (matrix, SCORES), "candidates": (positions, np.array([6, 7, 8])),
               "max_risk": (share, 0.3), "hierarchy": (nothing, TREE), "calibration": (nothing, CALIBRATION)}, probabilities_within),
        Target("answer", answered, {"new": (matrix, NEW), "max_risk": (share, 0.3), "hierarchy": (nothing, TREE),
               "candidates": (candidates, np.arange(SEEN, C)), "calibration": (nothing, CALIBRATION)}, finite),
        Target("ClassHierarchy", lambda **p: tree_numbers(ClassHierarchy(**p)),
               {"layers": (layers, LAYERS), "names": (texts, NAMES), "semantics": (optional(matrix), Z)}, finite),
        Target("ClassHierarchy.from_semantics", lambda **p: tree_numbers(ClassHierarchy.from_semantics(**p)),
               {"Z": (matrix, Z), "branching": (parameter, 2), "random_state": (parameter, 0), "names": (texts, NAMES),
                "method": (parameter, "kmeans")}, finite),
        Target("ClassHierarchy.from_taxonomy", lambda **p: tree_numbers(ClassHierarchy.from_taxonomy(**p)),
               {"paths": (paths, PATHS), "names": (texts, NAMES), "semantics": (optional(matrix), Z)}, finite),
        Target("ClassHierarchy.select", lambda classes: tree_numbers(TREE.select(classes)),
               {"classes": (classes_chosen, [5, 1, 2])}, finite),
        Target("ClassHierarchy.select_layers", lambda layers: tree_numbers(TREE.select_layers(layers)),
               {"layers": (layers_chosen, [1])}, finite),
        Target("ClassHierarchy.named_by", lambda names: tree_numbers(TREE.named_by(names)),
               {"names": (any_texts, list("abcde"))}, finite),
        *(
            Target(f"ClassHierarchy.{name}", getattr(TREE, name), {"layer": (parameter, 1)}, finite)
            for name in ("labels", "parents", "prototypes", "node_names")
        ),
        Target("ClassHierarchy.members", TREE.members, {"layer": (parameter, 1), "node": (parameter, 1)}, finite),
        Target("ClassHierarchy.children", TREE.children, {"layer": (parameter, 1), "node": (parameter, 1)}, finite),
        Target("tree_text", lambda unseen: str(tree_text(TREE, unseen).label), {"unseen": (optional(classes_chosen), [5, 1, 2])}, finite),
        Target("taxonomy_vectors", taxonomy_vectors, {"paths": (any_paths, PATHS)}, finite),
        *(
            Target(f"peer {name}", peer(name),
                   {**F, "y": (labels, Y), "Z": (matrix, Z), "new": (matrix, NEW), "random_state": (parameter, 0),
                    **{n: (parameter, getattr(PEERS[name](), n)) for n in PEERS[name].grid}}, finite)
            for name in PEERS
        ),
        *(
            Target(f"few-shot peer {name}", few_shot_peer(name),
                   {"shots": (blocks, SHOT_BLOCK), "queries": (blocks, QUERY_BLOCK),
                    **{n: (parameter, getattr(FEW_SHOT_PEERS[name](), n)) for n in FEW_SHOT_PEERS[name].grid}}, finite)
            for name in FEW_SHOT_PEERS
        ),
    ]  # fmt: skip
    return found
