"""Configuration file of a network: YAML of its settings and of the recipe that trains it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, TypeVar

from zerokin.aliases import NETWORK, RECIPE, Names, renamed
from zerokin.declared import parse_as
from zerokin.errors import InvalidInput
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.network_settings import NetworkSettings
from zerokin.features.networks.presets import expand_preset
from zerokin.features.training.recipe import Recipe
from zerokin.features.training.vector_batches import check_fits
from zerokin.files import existing
from zerokin.parameters import NamedValues, check_arguments

Plan = TypeVar("Plan")


@dataclass(frozen=True)
class NetworkFile(NetworkSettings):
    """What a configuration file says of a network.

    Parameters
    ----------
    recipe
        How it is trained; the other settings are those of `NetworkSettings`.
    """

    recipe: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.recipe.check_mode(self.mode)
        check_fits(self.recipe, self.backbone)


@dataclass(frozen=True)
class NetworkPlan:
    """A network to train.

    Parameters
    ----------
    name
        By which rows of an ablation call it.
    settings
        Of `FeatureLearner`, by name.
    recipe
        Of `Recipe`, by name.
    trained_as
        The network that is trained like this one, and only read another way; none by default.
    teacher
        The network whose answers this one learns from, too; none by default.
    seed_offset
        Added to the seeds that it is trained with: networks of one recipe that differ by it can
        stand side by side.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)
    trained_as: str | None = None
    teacher: NetworkPlan | None = None
    seed_offset: int = 0

    def learner(self, seed: int | None, device: str | None) -> FeatureLearner:
        """Return an untrained learner, for a seed in place of the recipe's."""
        given = dict(self.recipe)
        if seed is not None:
            given["seed"] = seed + self.seed_offset
        recipe = Recipe.from_dict(given)
        return FeatureLearner(recipe=recipe, device=device, **self.settings)


def read_network(path: str | PathLike[str] | None) -> NetworkPlan:
    """Read the settings of one network, with its ``recipe``.

    Parameters
    ----------
    path
        YAML file; None for the defaults.
    """
    if path is None:
        return NetworkPlan("network")
    return read_plan(path, lambda content: parse_network("network", content))


def parse_network(
    name: str, content: Any, shared: Any = None, *, kind: type[NetworkFile] = NetworkFile
) -> NetworkPlan:
    """Check the settings of a network, on top of others that several share.

    Examples
    --------
    >>> parse_network("plain", {"mode": "classes"}, {"recipe": {"epochs": 2}}).recipe
    {'epochs': 2}
    >>> parse_network("plain", {"recipe": {"epoch": 2}})
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: unknown entry 'recipe.epoch'; did you mean 'epochs'? ...
    """
    common, own = named_values(shared or {}, "defaults"), named_values(content, "the network")
    recipe = {
        **named_values(common.pop("recipe", {}), "recipe of defaults"),
        **named_values(own.pop("recipe", {}), "recipe"),
    }
    settings = {**common, **own}
    parse_as(kind, {**expand_preset(settings), "recipe": recipe})
    return NetworkPlan(name, settings, recipe)


def named_values(value: Any, what: str) -> dict[str, Any]:
    """Return a mapping of names to values, as a dictionary of its own."""
    check_arguments({what: NamedValues()}, **{what: value})
    return dict(value)


def read_plan(path: str | PathLike[str], parse: Callable[[Any], Plan]) -> Plan:
    """Read a YAML file of one or several networks, under the names of today or of earlier versions.

    Parameters
    ----------
    path
        The file: whatever is wrong in it names it.
    parse
        Makes of its content what is planned.
    """
    import yaml

    file = existing(path, "configuration", "give the path of a YAML file")
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"cannot read {file}: {error.strerror}") from error
    # PyYAML raises many kinds on what claims to be a date or a number and is none.
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"{file} is not YAML: {reason[:300]}") from error
    try:
        return parse(_under_new_names(content, f"{file}"))
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from error


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
