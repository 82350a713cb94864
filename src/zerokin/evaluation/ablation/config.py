"""What an ablation trains and measures, as a typed YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any

from zerokin.errors import InvalidInput, did_you_mean
from zerokin.features.feature_learner import FeatureLearner, NetworkSettings
from zerokin.features.training.recipe import Recipe
from zerokin.files import existing

METHODS = ("projection", "ours", "network")


@dataclass(frozen=True)
class NetworkPlan:
    """A network to train: once for every fold, and once for every seed on all seen classes."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)

    def learner(self, seed: int | None, device: str | None) -> FeatureLearner:
        """Return an untrained learner, for a seed in place of the recipe's."""
        given = self.recipe if seed is None else {**self.recipe, "seed": seed}
        recipe = Recipe.from_dict(given)
        return FeatureLearner(recipe=recipe, device=device, **self.settings)


@dataclass(frozen=True)
class RowPlan:
    """A row of the table: features of one or several networks, and what names classes by them.

    ``method`` is ``"projection"`` (class-level projection alone, the paper's baseline), ``"ours"``
    (with superclasses) or ``"network"`` (the scores of an end-to-end network itself).
    """

    name: str
    networks: tuple[str, ...]
    method: str = "ours"


@dataclass(frozen=True)
class AblationConfig:
    """Networks, rows and seeds."""

    networks: tuple[NetworkPlan, ...]
    rows: tuple[RowPlan, ...]
    seeds: tuple[int, ...] = (0,)
    stored_side: int = 320

    def network(self, name: str) -> NetworkPlan:
        """Return a network by name."""
        return next(plan for plan in self.networks if plan.name == name)


def read_config(path: str | PathLike[str]) -> AblationConfig:
    """Read a configuration; whatever is unknown in it is refused by name."""
    file, content = _yaml(path)
    try:
        return parse_config(content)
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from error


def read_network(path: str | PathLike[str] | None) -> NetworkPlan:
    """Read the settings of one network, with its ``recipe``; the defaults without a file."""
    if path is None:
        return NetworkPlan("network")
    file, content = _yaml(path)
    try:
        return parse_network("the network", content)
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from error


def _yaml(path: str | PathLike[str]) -> tuple[Path, Any]:
    import yaml

    file = existing(path, "configuration", "give the path of a YAML file")
    try:
        return file, yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"{file} is not YAML: {reason}") from error


def parse_network(name: str, content: Any, defaults: Any = None) -> NetworkPlan:
    """Check the settings of a network, on top of others that several share."""
    shared, own = _mapping(defaults or {}, "defaults"), _mapping(content, name)
    recipe = {
        **_mapping(shared.pop("recipe", {}), "defaults.recipe"),
        **_mapping(own.pop("recipe", {}), f"recipe of {name}"),
    }
    settings = {**shared, **own}
    _only(settings, [entry.name for entry in fields(NetworkSettings)], name)
    plan = NetworkPlan(name.removeprefix("network "), settings, recipe)
    plan.learner(0, None)  # refuses what is wrong before anything is trained
    return plan


def parse_config(content: Any) -> AblationConfig:
    """Check what a configuration file holds.

    Examples
    --------
    >>> config = parse_config(
    ...     {
    ...         "networks": {"plain": {"mode": "classes", "recipe": {"epochs": 2}}},
    ...         "rows": [{"name": "class labels", "networks": ["plain"], "method": "projection"}],
    ...     }
    ... )
    >>> config.network("plain").learner(1, None).recipe.seed
    1
    """
    _only(content, ("seeds", "stored_side", "defaults", "networks", "rows"), "the configuration")
    networks = [
        parse_network(f"network {name}", plan, content.get("defaults"))
        for name, plan in _mapping(content.get("networks"), "networks").items()
    ]
    known = [plan.name for plan in networks]
    rows = []
    for row in content.get("rows") or []:
        _only(row, ("name", "networks", "method"), "a row")
        plan = RowPlan(str(row["name"]), tuple(row["networks"]), row.get("method", "ours"))
        for name in plan.networks:
            if name not in known:
                raise InvalidInput(
                    f"row {plan.name}: no network {name!r}{did_you_mean(name, known)}"
                )
        if plan.method not in METHODS:
            raise InvalidInput(
                f"row {plan.name}: unknown method {plan.method!r} (known: {', '.join(METHODS)})"
            )
        rows.append(plan)
    if not rows:
        raise InvalidInput("there are no rows: list at least one")
    seeds = tuple(content.get("seeds", [0]))
    if not seeds or not all(isinstance(seed, int) and seed >= 0 for seed in seeds):
        raise InvalidInput(f"seeds must be whole numbers from 0: got {list(seeds)}")
    return AblationConfig(tuple(networks), tuple(rows), seeds, int(content.get("stored_side", 320)))


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be names with values: got {value!r}")
    return dict(value)


def _only(value: Any, known: Any, what: str) -> None:
    for name in _mapping(value, what):
        if name not in known:
            raise InvalidInput(
                f"{what}: unknown entry {name!r}{did_you_mean(str(name), known)} "
                f"(known: {', '.join(known)})"
            )
