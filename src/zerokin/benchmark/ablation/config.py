"""What an ablation trains and measures, as a typed YAML file."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from zerokin.aliases import NETWORK, RECIPE, Names, renamed
from zerokin.benchmark.ablation.methods import ZERO_SHOT
from zerokin.benchmark.few_shot.comparison import VARIANTS, known_few_shot_methods
from zerokin.errors import InvalidInput, did_you_mean, shown
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.network_settings import READ_ALONE, NetworkSettings
from zerokin.features.training.recipe import Recipe
from zerokin.files import existing

SETTINGS = tuple(entry.name for entry in fields(NetworkSettings))

METHODS = {
    "zero-shot": ("plain", "projection", "ours", "ours-taxonomy", "network"),
    "few-shot": (*known_few_shot_methods(), *(v.name for v in VARIANTS), *ZERO_SHOT),
}


@dataclass(frozen=True)
class NetworkPlan:
    """A network to train: once for every fold, and once for every seed on all seen classes.

    Parameters
    ----------
    name
        By which rows call it.
    settings
        Of `FeatureLearner`, by name.
    recipe
        Of `Recipe`, by name.
    trained_as
        The network that is trained like this one, and only read another way; none by default.
    teacher
        The network whose answers this one learns from, too; none by default.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)
    trained_as: str | None = None
    teacher: NetworkPlan | None = None

    def learner(self, seed: int | None, device: str | None) -> FeatureLearner:
        """Return an untrained learner, for a seed in place of the recipe's."""
        given = self.recipe if seed is None else {**self.recipe, "seed": seed}
        recipe = Recipe.from_dict(given)
        return FeatureLearner(recipe=recipe, device=device, **self.settings)


@dataclass(frozen=True)
class RowPlan:
    """A row of the table: features of one or several networks, and what names classes by them.

    Parameters
    ----------
    name
        What the row is called.
    networks
        Names of the networks whose features it uses.
    method
        ``"plain"`` (class-level projection of features as they are, the paper's baseline),
        ``"projection"`` (the same, features normalised as validation chooses), ``"ours"`` (with
        superclasses), ``"ours-taxonomy"`` (with those of a taxonomy) or ``"network"`` (the scores
        of an end-to-end network itself). In a few-shot ablation, a few-shot method, or
        ``"zero-shot"`` or ``"zero-shot-taxonomy"``: ours without any shots, with clusters or a
        taxonomy for superclasses.
    semantics
        Of the classes, in place of the data's own, as for `zerokin.load_dataset`; the networks
        were trained with the data's own all the same.
    """

    name: str
    networks: tuple[str, ...]
    method: str = "ours"
    semantics: str | None = None

    @property
    def told(self) -> dict[str, str]:
        """What its results tell of it."""
        own = {} if self.semantics is None else {"semantics": self.semantics}
        return {"method": self.name, "by": self.method, **own}


@dataclass(frozen=True)
class AblationConfig:
    """Networks, rows and seeds.

    Parameters
    ----------
    networks
        What is trained.
    rows
        What the table shows.
    seeds
        Every network is trained once for each.
    cache_size
        Side of the pictures in memory, from which all networks are shown.
    setting
        ``"zero-shot"`` or ``"few-shot"``.
    shots, episodes
        Of the few-shot setting.
    """

    networks: tuple[NetworkPlan, ...]
    rows: tuple[RowPlan, ...]
    seeds: tuple[int, ...] = (0,)
    cache_size: int = 320
    setting: str = "zero-shot"
    shots: tuple[int, ...] = (1, 5)
    episodes: int = 600

    def only(self, names: Sequence[str]) -> AblationConfig:
        """Return the same with some of its rows alone, by name or as ``"CNN-RNN*"`` has it."""
        known = [row.name for row in self.rows]
        wanted: set[str] = set()
        for name in names:
            found = fnmatch.filter(known, name) if "*" in name else [name]
            if not found or not wanted.union(found) <= set(known):
                raise InvalidInput(f"there is no row {shown(name)}{did_you_mean(name, known)}")
            wanted.update(found)
        return replace(self, rows=tuple(row for row in self.rows if row.name in wanted))

    def network(self, name: str) -> NetworkPlan:
        """Return a network by name."""
        return next(plan for plan in self.networks if plan.name == name)


def read_config(path: str | PathLike[str]) -> AblationConfig:
    """Read a configuration; whatever is unknown in it is refused by name."""
    file, content = _yaml(path)
    try:
        return parse_config(_under_new_names(content, f"{file}"))
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from error


def read_network(path: str | PathLike[str] | None) -> NetworkPlan:
    """Read the settings of one network, with its ``recipe``; the defaults without a file."""
    if path is None:
        return NetworkPlan("network")
    file, content = _yaml(path)
    try:
        return parse_network("the network", _under_new_names(content, f"{file}"))
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from error


def _yaml(path: str | PathLike[str]) -> tuple[Path, Any]:
    import yaml

    file = existing(path, "configuration", "give the path of a YAML file")
    try:
        return file, yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"cannot read {file}: {error.strerror}") from error
    # PyYAML raises many kinds on what claims to be a date or a number and is none.
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"{file} is not YAML: {reason[:300]}") from error


def _under_new_names(content: Any, what: str) -> Any:
    """Return what a file holds, with settings under their present names; one warning for all."""
    found: dict[str, str] = {}

    def translate(given: Any, table: Names) -> Any:
        if not isinstance(given, Mapping):
            return given
        found.update((name, table[name]) for name in given if name in table)
        return renamed(table, given)

    def network(given: Any) -> Any:
        given = translate(given, NETWORK)
        if isinstance(given, Mapping) and "recipe" in given:
            given = {**given, "recipe": translate(given["recipe"], RECIPE)}
        return given

    content = network(content)
    if isinstance(content, Mapping):
        content = {**content, **{k: network(content[k]) for k in ("defaults",) if k in content}}
        if isinstance(content.get("networks"), Mapping):
            networks = {name: network(given) for name, given in content["networks"].items()}
            content = {**content, "networks": networks}
    renamed(found, dict.fromkeys(found), what)
    return content


def parse_network(name: str, content: Any, defaults: Any = None) -> NetworkPlan:
    """Check the settings of a network, on top of others that several share."""
    shared, own = _mapping(defaults or {}, "defaults"), _mapping(content, name)
    recipe = {
        **_mapping(shared.pop("recipe", {}), "defaults.recipe"),
        **_mapping(own.pop("recipe", {}), f"recipe of {name}"),
    }
    settings = {**shared, **own}
    _only(settings, (*SETTINGS, "recipe"), name)
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
    known_entries = ("setting", "seeds", "cache_size", "shots", "episodes")
    _only(content, (*known_entries, "defaults", "networks", "rows"), "the configuration")
    setting = content.get("setting", "zero-shot")
    if not isinstance(setting, str) or setting not in METHODS:
        hint = did_you_mean(setting, METHODS) if isinstance(setting, str) else ""
        raise InvalidInput(f"unknown setting {shown(setting)}{hint} (known: {', '.join(METHODS)})")
    networks = _networks(_mapping(content.get("networks"), "networks"), content.get("defaults"))
    known = [plan.name for plan in networks]
    rows = [_row(row, known, METHODS[setting]) for row in _list(content.get("rows") or [], "rows")]
    if not rows:
        raise InvalidInput("there are no rows: list at least one")
    seeds = _list(content.get("seeds", [0]), "seeds")
    if not seeds or not all(_is_count(seed, 0) for seed in seeds):
        raise InvalidInput(f"seeds must be whole numbers from 0: got {shown(seeds)}")
    side, episodes = content.get("cache_size", 320), content.get("episodes", 600)
    for name, value in (("cache_size", side), ("episodes", episodes)):
        if not _is_count(value, 1):
            raise InvalidInput(f"{name} must be a whole number from 1: got {shown(value)}")
    shots = _list(content.get("shots", [1, 5]), "shots")
    if not shots or not all(_is_count(number, 1) for number in shots):
        raise InvalidInput(f"shots must be whole numbers from 1: got {shown(shots)}")
    return AblationConfig(
        tuple(networks), tuple(rows), tuple(seeds), side, setting, tuple(shots), episodes
    )


def _networks(given: Mapping[str, Any], defaults: Any) -> list[NetworkPlan]:
    """Check all networks; one may be like another that stands before it, but for what it says."""
    plans: dict[str, NetworkPlan] = {}
    for name, content in given.items():
        own = _mapping(content, f"network {name}")
        _only(own, (*SETTINGS, "recipe", "like", "teacher"), f"network {name}")
        model = _before(name, "like", own.pop("like", None), plans)
        shared = defaults if model is None else {**model.settings, "recipe": dict(model.recipe)}
        # What is like another has its teacher, too, unless it says otherwise.
        teacher = (
            _before(name, "teacher", own.pop("teacher"), plans)
            if "teacher" in own
            else model and model.teacher
        )
        plan = replace(parse_network(f"network {name}", own, shared), teacher=teacher)
        _check_teacher(plan)
        if model is not None and all(
            [
                plan.recipe == model.recipe,
                plan.teacher == model.teacher,
                *(entry in READ_ALONE for entry in own),
            ]
        ):
            plan = replace(plan, trained_as=model.trained_as or model.name)
        plans[name] = plan
    return list(plans.values())


def _before(
    name: str, entry: str, given: object, plans: Mapping[str, NetworkPlan]
) -> NetworkPlan | None:
    """Return the network that an entry of another names, which must stand before it."""
    if given is None:
        return None
    if not isinstance(given, str) or given not in plans:
        raise InvalidInput(
            f"network {name}: {entry} names no network before it: {shown(given)}"
            f"{did_you_mean(given, plans)}"
        )
    return plans[given]


def _check_teacher(plan: NetworkPlan) -> None:
    share = Recipe.from_dict(plan.recipe).distillation
    if share and plan.teacher is None:
        raise InvalidInput(
            f"network {plan.name}: distillation {share} needs a teacher: name a network before it"
        )
    if plan.teacher is not None and not share:
        raise InvalidInput(
            f"network {plan.name}: there is a teacher, but distillation is 0: set it in the recipe "
            "to the teacher's share of the loss, such as 0.5"
        )


def _row(given: Any, known: list[str], methods: Sequence[str]) -> RowPlan:
    _only(given, ("name", "networks", "method", "semantics"), "a row")
    for needed in ("name", "networks"):
        if needed not in given:
            raise InvalidInput(f"a row lacks its {needed}: got {shown(given)}")
    name, method = str(given["name"]), given.get("method", "ours")
    networks = _list(given["networks"], f"networks of row {shown(name)}")
    for network in networks:
        if network not in known:
            hint = did_you_mean(network, known) if isinstance(network, str) else ""
            raise InvalidInput(f"row {shown(name)}: no network {shown(network)}{hint}")
    if not networks:
        raise InvalidInput(f"row {shown(name)} lists no network: name at least one")
    if method not in methods:
        hint = did_you_mean(method, methods) if isinstance(method, str) else ""
        raise InvalidInput(
            f"row {shown(name)}: unknown method {shown(method)}{hint} (known: {', '.join(methods)})"
        )
    semantics = given.get("semantics")
    if semantics is not None and not isinstance(semantics, str):
        raise InvalidInput(f"row {shown(name)}: semantics must be text: got {shown(semantics)}")
    if semantics is not None and method == "network":
        raise InvalidInput(
            f"row {shown(name)}: a network's own scores are of the semantics that it was trained "
            "with: leave out semantics, or take another method"
        )
    return RowPlan(name, tuple(networks), method, semantics)


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise InvalidInput(f"{what} must be a list: got {shown(value)}")
    return list(value)


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**63


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be names with values: got {shown(value)}")
    for name in value:
        if not isinstance(name, str):
            raise InvalidInput(f"{what}: {shown(name)} is no name: put it in quotes")
    return dict(value)


def _only(value: Any, known: Any, what: str) -> None:
    for name in _mapping(value, what):
        if name not in known:
            raise InvalidInput(
                f"{what}: unknown entry {shown(name)}{did_you_mean(name, known)} "
                f"(known: {', '.join(known)})"
            )
