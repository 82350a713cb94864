"""`ConfidenceModel`: all that turns scores into answers, as plain data that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any, Literal

from zerokin.declared import Declared, Positive
from zerokin.errors import InvalidInput, did_you_mean, listing
from zerokin.parameters import InstanceOf, NamedValues, OneOf, Several
from zerokin.recognizer.confidence.novelty import NoveltyRule
from zerokin.recognizer.confidence.overall_risk import OverallRisk
from zerokin.recognizer.confidence.risk_map import RiskMap

FORMAT, VERSION = "zerokin-answers", 1
Kind = Literal["unseen", "all"]
KINDS: tuple[Kind, ...] = ("unseen", "all")


@dataclass(frozen=True)
class ConfidenceModel(Declared):
    """What `zerokin.recognizer.confidence.fitting.AnswerFitter` learned on validation classes.

    Parameters
    ----------
    candidates
        ``"unseen"`` or ``"all"``: which classes were candidates.
    temperature
        Of the softmax over scores.
    risk_maps
        For the classes and every superclass layer, how risk falls with probability.
    overall
        How the risk of each answer relates to the share of wrong answers.
    novelty
        When an image is like nothing known.
    fitted_on
        What it was learned from: data set, split, folds, parameters of the classifier.
    """

    candidates: Annotated[str, OneOf(KINDS)]
    temperature: Positive
    risk_maps: Annotated[tuple[RiskMap, ...], Several(InstanceOf(RiskMap, "a RiskMap"))]
    overall: OverallRisk
    novelty: NoveltyRule
    fitted_on: Annotated[Mapping[str, Any], NamedValues()] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.risk_maps):
            raise InvalidInput("risk_maps must be a list of one map or more: got none")

    def each_risk(self, overall: float) -> float:
        """Return the ``max_risk`` of each answer at which this share of all answers is wrong."""
        return self.overall.each_for(overall)

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as plain data for JSON."""
        plain = asdict(self)
        plain["risk_maps"] = [_lists(risk_map) for risk_map in plain["risk_maps"]]
        plain["overall"] = _lists(plain["overall"])
        return {"format": FORMAT, "version": VERSION, **plain}

    @classmethod
    def from_dict(cls, data: Any) -> ConfidenceModel:
        """Read what `to_dict` wrote; whatever does not fit is refused by name."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise InvalidInput(f"format: this is no {FORMAT}")
        if data.get("version") != VERSION:
            raise InvalidInput(
                f"version: {data.get('version')!r} is not {VERSION}, which this zerokin reads"
            )
        known = [item.name for item in fields(cls)]
        _refuse_other_keys(data, ["format", "version", *known], "")
        kind = data["candidates"]
        if kind not in KINDS:
            raise InvalidInput(f"candidates: {kind!r} is none of {listing(KINDS)}")
        maps = data["risk_maps"]
        if not isinstance(maps, Sequence) or isinstance(maps, str) or not len(maps):
            raise InvalidInput("risk_maps: must be a list of one map or more")
        if not isinstance(data["fitted_on"], Mapping):
            raise InvalidInput("fitted_on: must be an object")
        return cls(
            candidates=kind,
            temperature=_number(data["temperature"], "temperature", above=0.0),
            risk_maps=tuple(_risk_map(item, f"risk_maps[{i}]") for i, item in enumerate(maps)),
            overall=_overall(data["overall"]),
            novelty=_novelty(data["novelty"]),
            fitted_on=dict(data["fitted_on"]),
        )


def _lists(arrays: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    return {name: list(values) for name, values in arrays.items()}


def _refuse_other_keys(data: Any, known: Sequence[str], where: str) -> None:
    """Refuse anything but an object with exactly these keys."""
    if not isinstance(data, Mapping):
        raise InvalidInput(f"{where.rstrip('.')}: must be an object with {listing(known)}")
    for name in known:
        if name not in data:
            raise InvalidInput(f"{where}{name}: is missing")
    for name in data:
        if name not in known:
            raise InvalidInput(f"{where}{name}: is unknown{did_you_mean(str(name), known)}")


def _number(value: Any, where: str, *, above: float = -math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(f"{where}: {value!r} is not a finite number")
    if value <= above:
        raise InvalidInput(f"{where}: must be above {above:g}, not {value!r}")
    return float(value)


def _shares(values: Any, where: str, *, order: int) -> tuple[float, ...]:
    """Return numbers in 0..1 that rise (order 1) or fall (order -1)."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise InvalidInput(f"{where}: must be a list of numbers")
    numbers = tuple(_number(value, f"{where}[{i}]") for i, value in enumerate(values))
    for i, number in enumerate(numbers):
        if not 0 <= number <= 1:
            raise InvalidInput(f"{where}[{i}]: {number!r} is not between 0 and 1")
        if i and order * (number - numbers[i - 1]) < 0:
            raise InvalidInput(f"{where}[{i}]: must {'rise' if order > 0 else 'fall'} along it")
    return numbers


def _pair(
    data: Any, names: tuple[str, str], orders: tuple[int, int], where: str
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    _refuse_other_keys(data, names, f"{where}.")
    one, other = (
        _shares(data[name], f"{where}.{name}", order=order)
        for name, order in zip(names, orders, strict=True)
    )
    if len(one) != len(other):
        raise InvalidInput(f"{where}.{names[1]}: {len(other)} values for {len(one)} {names[0]}")
    return one, other


def _risk_map(data: Any, where: str) -> RiskMap:
    probability, risk = _pair(data, ("probability", "risk"), (1, -1), where)
    if not probability:
        raise InvalidInput(f"{where}.probability: must hold one step or more")
    return RiskMap(probability, risk)


def _overall(data: Any) -> OverallRisk:
    return OverallRisk(*_pair(data, ("each", "overall"), (1, 1), "overall"))


def _novelty(data: Any) -> NoveltyRule:
    names = [item.name for item in fields(NoveltyRule)]
    _refuse_other_keys(data, names, "novelty.")
    share = _number(data["share"], "novelty.share")
    if not 0 <= share < 1:
        raise InvalidInput(f"novelty.share: {share!r} is not between 0 and 1")
    return NoveltyRule(
        # A share too small for the samples at hand rejects nothing: JSON has no minus infinity.
        threshold=None
        if data["threshold"] is None
        else _number(data["threshold"], "novelty.threshold"),
        share=share,
    )
