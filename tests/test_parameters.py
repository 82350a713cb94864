"""Declared ranges of parameters: everything outside is refused in one line that names it."""

from __future__ import annotations

import inspect
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest

import zerokin
from api_problem import CALIBRATION, X, Y, Z
from zerokin.app.limits import Limits
from zerokin.benchmark.ablation.config import AblationConfig, NetworkEntry, RowPlan
from zerokin.benchmark.few_shot import EpisodePlan, FewShotEvaluation
from zerokin.benchmark.few_shot.peers import PEERS as FEW_SHOT_PEERS
from zerokin.benchmark.multi_label.peers import PEERS as LABEL_PEERS
from zerokin.benchmark.peers import PEERS
from zerokin.classifiers import (
    FewShotClassifier,
    MultiLabelZeroShotClassifier,
    ZeroShotClassifier,
)
from zerokin.data import Dataset
from zerokin.declared import Declared, parse_as
from zerokin.errors import ZerokinError
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.input import Augmentation
from zerokin.features.network_config import NetworkFile
from zerokin.features.network_settings import NetworkSettings
from zerokin.features.scaler import FeatureScaler
from zerokin.features.training import Recipe
from zerokin.parameters import (
    Boolean,
    ByteSize,
    Either,
    InstanceOf,
    Integer,
    NamedValues,
    OneOf,
    Optional,
    Real,
    Several,
    Text,
    Unchecked,
    check_parameters,
)
from zerokin.projection import FeatureSpectrum, ProjectionLearner
from zerokin.projection.objective import Parameters
from zerokin.recognizer.answering import Question
from zerokin.recognizer.confidence import ConfidenceModel
from zerokin.recognizer.confidence.fitting import AnswerFitter
from zerokin.recognizer.confidence.novelty import NoveltyRule
from zerokin.recognizer.confidence.overall_risk import OverallRisk
from zerokin.recognizer.confidence.risk_map import RiskMap
from zerokin.selection.class_fold_search import ClassFoldSearch

NOT_NUMBERS = [np.nan, np.inf, -np.inf, "0.5", "3", None, [1], True, np.True_, 1j, b"1", {}]
UNKNOWN_DATA = object.__new__(Dataset)  # which nothing may look into before arguments are checked


def made(kind, **fixed):
    return lambda **changed: kind(**{**fixed, **changed})


USED = {
    ZeroShotClassifier: lambda **p: ZeroShotClassifier(**p).fit(X, Y, semantics=Z),
    FewShotClassifier: lambda **p: FewShotClassifier(**p).fit(X, Y, semantics=Z),
    MultiLabelZeroShotClassifier: lambda **p: MultiLabelZeroShotClassifier(**p).fit(
        X, [[label] for label in Y], semantics=Z
    ),
    ProjectionLearner: lambda **p: ProjectionLearner(**p).fit(X, Z, labels=Y),
    FeatureSpectrum: lambda **p: FeatureSpectrum(X, **p),
    FeatureScaler: made(FeatureScaler, steps="unit"),
    Parameters: made(Parameters, alpha=0.5, beta=0.5, epsilon=0.1),
    **{kind: lambda kind=kind, **p: kind(**p).fit(X, Y, Z) for kind in PEERS.values()},
    **{kind: kind for kind in FEW_SHOT_PEERS.values()},
    **{kind: kind for kind in LABEL_PEERS.values()},
    Recipe: Recipe,
    Augmentation: Augmentation,
    NetworkSettings: NetworkSettings,
    NetworkFile: NetworkFile,
    NetworkEntry: NetworkEntry,
    RowPlan: made(RowPlan, name="a", networks=("b",)),
    AblationConfig: made(AblationConfig, networks=(), rows=()),
    FeatureLearner: FeatureLearner,
    Limits: Limits,
    Question: Question,
    EpisodePlan: lambda **p: FewShotEvaluation(UNKNOWN_DATA, EpisodePlan(**p)),
    FewShotEvaluation: made(FewShotEvaluation, dataset=UNKNOWN_DATA, plan=EpisodePlan()),
    ClassFoldSearch: lambda **p: ClassFoldSearch(**p).prepare(UNKNOWN_DATA),
    AnswerFitter: made(AnswerFitter, dataset=UNKNOWN_DATA, classifier_params={}),
    ConfidenceModel: made(ConfidenceModel, **vars(CALIBRATION)),
    RiskMap: made(RiskMap, probability=(0.5,), risk=(0.5,)),
    OverallRisk: made(OverallRisk, each=(0.5,), overall=(0.5,)),
    NoveltyRule: made(NoveltyRule, threshold=0.0, share=0.1),
}  # fmt: skip


def outside(range_):
    """Return values that a range must refuse: beyond either end, and of other types."""
    match range_:
        case Real(low, high, closed):
            far = [] if low is None else [low - 1, low - 1e300]
            far += [] if high is None else [high + 1, 1e300, high + max(1, abs(high)) * 1e-9]
            far += [low] if low is not None and closed in ("right", "neither") else []
            far += [high] if high is not None and closed in ("left", "neither") else []
            return [*far, *NOT_NUMBERS, 2**2000]
        case Integer(low, high):
            far = [low - 1, low - 10**6, float(low + 1), low + 0.5, np.float64(low + 1)]
            return [*far, *NOT_NUMBERS, *([] if high is None else [high + 1, 2**70])]
        case OneOf(values):
            return ["no such", "", values[0].upper(), f" {values[0]}", 3, None, [values[0]], np.nan]
        case ByteSize():
            return [0, -1, 2.5, "8 gigs", "3", "GiB", "0 B", None, True, np.nan, 2**63]
        case Boolean():
            return [0, 1, "true", None, [True], np.nan, 1.0]
        case Text():
            return [3, None, "", "a\nb", ["cpu"], np.nan, b"cpu", True]
        case NamedValues():
            return [3, None, [], "a: 1", {1: 2}, True]
        case InstanceOf(kinds):
            other = [3, None, 1.5, [], np.nan, True, object()]
            return [value for value in other if not isinstance(value, kinds)]
        case Optional(inner):
            return [value for value in outside(inner) if value is not None]
        case Either(first, second):
            return [
                value
                for value in (*outside(first), *outside(second))
                if range_.refusal("either", value) is not None
            ]
        case Several(inner, length, alone):
            each = [[value] * (length or 1) for value in outside(inner)]
            other = [None, np.nan, "0.5", {}, True, *([] if length is None else [[], [0.5] * 9])]
            return each + (other if not alone else outside(inner)[:3])
        case Unchecked():
            return []
    raise AssertionError(range_)


def owners():
    """Return every class of zerokin that declares ranges, and is not abstract."""
    found = {}
    for module in walk_packages(zerokin.__path__, "zerokin."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(import_module(module.name)).values():
            if inspect.isclass(value) and getattr(value, "_parameter_ranges", None):
                found[value] = None
    return [kind for kind in found if not inspect.isabstract(kind)]


OWNERS = owners()


@pytest.mark.parametrize("kind", OWNERS, ids=lambda kind: kind.__name__)
def test_values_outside_the_range_are_refused_by_name(kind):
    accepted = []
    for name, range_ in kind._parameter_ranges.items():
        for value in outside(range_):
            try:
                USED[kind](**{name: value})
            except ZerokinError as error:
                line = str(error)
                if name not in line or "\n" in line or len(line) > 400:
                    accepted.append(f"{name}={value!r}: {line}")
            else:
                accepted.append(f"{name}={value!r} was accepted")
    assert not accepted, "\n".join(accepted)


@pytest.mark.parametrize("kind", OWNERS, ids=lambda kind: kind.__name__)
def test_every_constructor_parameter_has_a_range(kind):
    given = inspect.signature(kind.__init__).parameters.values()
    named = [one.name for one in given if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    missing = set(named) - {"self", "F"} - set(kind._parameter_ranges)
    assert not missing
    assert kind in USED


@pytest.mark.parametrize("kind", OWNERS, ids=lambda kind: kind.__name__)
def test_defaults_fit_and_numpy_scalars_do_too(kind):
    for name, range_ in kind._parameter_ranges.items():
        inner = range_.of if isinstance(range_, Optional) else range_
        if isinstance(inner, Integer):
            assert range_.refusal(name, np.int64(inner.low + 1)) is None
        if isinstance(inner, Real) and inner.low is not None:
            middle = inner.low + 1 if inner.high is None else (inner.low + inner.high) / 2
            assert range_.refusal(name, np.float32(middle)) is None
    defaults = inspect.signature(kind.__init__).parameters
    for name, range_ in kind._parameter_ranges.items():
        if name in defaults and defaults[name].default is not inspect.Parameter.empty:
            value = defaults[name].default
            if type(value).__name__ != "_HAS_DEFAULT_FACTORY_CLASS":
                assert range_.refusal(name, value) is None


@pytest.mark.parametrize(
    "kind", [Recipe, Augmentation, NetworkFile, Limits, EpisodePlan], ids=lambda kind: kind.__name__
)
def test_plain_data_is_held_to_the_ranges_of_the_class(kind):
    """As YAML and JSON have it: refused where the constructor refuses, and read where it reads."""
    assert issubclass(kind, Declared)
    assert parse_as(kind, {}) == kind()
    wrong = []
    for name, range_ in kind._parameter_ranges.items():
        for value in outside(range_):
            if isinstance(range_, InstanceOf):  # of a class within, which is read from a mapping
                value = {"no such": 1} if value is None or isinstance(value, list) else value
            try:
                parse_as(kind, {name: value})
            except ZerokinError as error:
                line = str(error)
                if name not in line or "\n" in line or len(line) > 900:
                    wrong.append(f"{name}={value!r}: {line}")
            else:
                wrong.append(f"{name}={value!r} was accepted")
    assert not wrong, "\n".join(wrong)
    with pytest.raises(ZerokinError, match=rf"unknown entry '{name[:-1]}'; did you mean '{name}'"):
        parse_as(kind, {name[:-1]: getattr(kind(), name)})


def test_whoever_learns_declares_ranges():
    """Of all public classes, those that are fitted or that hold settings."""
    learners = set()
    modules = [module.name for module in walk_packages(zerokin.__path__, "zerokin.")]
    for name in ["zerokin", *modules]:
        if name.endswith("__main__"):
            continue
        package = import_module(name)
        for name in getattr(package, "__all__", ()):
            value = getattr(package, name)
            if inspect.isclass(value) and hasattr(value, "fit") and not inspect.isabstract(value):
                learners.add(value)
    assert learners >= {ZeroShotClassifier, FewShotClassifier, ProjectionLearner, FeatureLearner}
    assert not [kind for kind in learners if not getattr(kind, "_parameter_ranges", None)]
    parameterless = {"NearestNeighbor", "Prototypical", "SimpleShot", "Easy"}
    for peer in (*PEERS.values(), *FEW_SHOT_PEERS.values()):
        assert bool(peer._parameter_ranges) != (peer.__name__ in parameterless)


@pytest.mark.parametrize(
    ("parameter", "value", "line"),
    [
        ("length_scale", 0.0, "length_scale must be a number above 0: got 0.0"),
        ("hub_weight", 100, "hub_weight must be a number from 0 to 2: got 100"),
        ("top_k", 0, "top_k must be a whole number from 1: got 0"),
        ("top_k", "3", "top_k must be a whole number from 1: got '3'"),
        ("alpha", 1, "alpha must be a number from 0 to below 1: got 1"),
        (
            "grouping",
            "kmean",
            "grouping must be one of kmeans, agglomerative: got 'kmean'; did you mean",
        ),
        (
            "random_state",
            -1,
            "random_state must be a whole number from 0 to 4,294,967,295, or None",
        ),
    ],
)
def test_the_line_says_what_was_given_and_the_range(parameter, value, line):
    with pytest.raises(ZerokinError) as refusal:
        check_parameters(ZeroShotClassifier(**{parameter: value}))
    assert line in str(refusal.value)
