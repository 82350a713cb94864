"""What an ablation trains and measures, as a typed YAML file."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Annotated, Any, Literal

from zerokin.benchmark.ablation.methods import ZERO_SHOT
from zerokin.benchmark.few_shot.comparison import VARIANTS as FEW_SHOT_VARIANTS
from zerokin.benchmark.few_shot.comparison import known_few_shot_methods
from zerokin.benchmark.few_shot.evaluation import ChooseOn, EpisodePlan
from zerokin.declared import Count, Declared, Flag, parse_as
from zerokin.errors import InvalidInput, did_you_mean, shown
from zerokin.features.network_config import (
    NetworkFile,
    NetworkPlan,
    named_values,
    parse_network,
    read_plan,
)
from zerokin.features.network_settings import READ_ALONE
from zerokin.features.training.recipe import Recipe
from zerokin.parameters import SEED, Integer, NamedValues, OneOf, Several, Text, check_arguments
from zerokin.selection.paper_space import VARIANTS
from zerokin.selection.zero_shot_space import OURS

Setting = Literal["zero-shot", "few-shot"]
METHODS: Mapping[Setting, Sequence[str]] = {
    "zero-shot": ("plain", "projection", *OURS, "network", *VARIANTS),
    "few-shot": (*known_few_shot_methods(), *(v.name for v in FEW_SHOT_VARIANTS), *ZERO_SHOT),
}


@dataclass(frozen=True)
class NetworkEntry(NetworkFile):
    """What the file says of one network among others.

    Parameters
    ----------
    like
        A network before it, whose settings it has but for what it says.
    teacher
        A network before it, whose answers it learns from, too.
    seed_offset
        Added to the ablation's seeds: several networks of one recipe, to stand side by side.
    """

    like: Annotated[str, Text("base")] | None = None
    teacher: Annotated[str, Text("base")] | None = None
    seed_offset: Annotated[int, SEED] = 0


@dataclass(frozen=True)
class RowPlan(Declared):
    """A row of the table: features of one or several networks, and what names classes by them.

    Parameters
    ----------
    name
        What the row is called.
    networks
        Names of the networks whose features it uses.
    method
        ``"plain"`` (class-level projection of features as they are, the paper's baseline),
        ``"projection"`` (the same, features normalized as validation chooses), ``"ours"`` (with
        superclasses), ``"ours-taxonomy"`` (with those of a taxonomy), ``"paper"`` or a variant of
        it (`zerokin.selection.paper_space`), or ``"network"`` (the scores of an end-to-end network
        itself). In a few-shot ablation, a few-shot method, or
        ``"zero-shot"`` or ``"zero-shot-taxonomy"``: ours without any shots, with clusters or a
        taxonomy for superclasses.
    semantics
        Of the classes, in place of the data's own, as for `zerokin.load_dataset`; the networks
        were trained with the data's own all the same.
    shot_networks
        Few-shot: networks whose features samples have as shots, in the place of ``networks`` one by
        one: the same networks, read with many random crops, say.
    choose_on
        Few-shot: classes whose episodes choose, ``"validation"`` (by default), ``"base"`` or
        ``"both"``, as for `~zerokin.benchmark.few_shot.FewShotEvaluation`.
    """

    name: Annotated[str, Text("class labels")]
    networks: Annotated[tuple[str, ...], Several(Text("base"), least=True)]
    method: Annotated[str, Text("ours")] = "ours"
    semantics: Annotated[str, Text("taxonomy")] | None = None
    shot_networks: Annotated[tuple[str, ...], Several(Text("base"), least=True)] | None = None
    choose_on: ChooseOn | None = None

    @property
    def chooses_on_base(self) -> bool:
        """Whether base classes have a say in what is chosen."""
        return self.choose_on in ("base", "both")

    @property
    def all_networks(self) -> tuple[str, ...]:
        """Those of queries, then those of shots."""
        return (*self.networks, *(self.shot_networks or ()))

    @property
    def told(self) -> dict[str, str]:
        """What its results tell of it."""
        said = {"semantics": self.semantics, "choose_on": self.choose_on}
        own = {name: value for name, value in said.items() if value is not None}
        return {"method": self.name, "by": self.method, **own}


@dataclass(frozen=True)
class AblationConfig(Declared):
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
        Side of the images in memory, from which all networks are shown.
    setting
        ``"zero-shot"`` or ``"few-shot"``.
    shots, episodes
        Of the few-shot setting.
    base_fold_networks
        Few-shot: for rows that choose on base classes, train their networks again without each of
        the parts that are held out. Only so are these new to the network.
    defaults
        Settings that networks share, as a file has them; ``networks`` hold them already.
    """

    networks: tuple[NetworkPlan, ...]
    rows: tuple[RowPlan, ...]
    seeds: Annotated[tuple[int, ...], Several(Integer(0), least=True)] = (0,)
    cache_size: Count = 320
    setting: Setting = "zero-shot"
    shots: Annotated[tuple[int, ...], Several(Integer(1), least=True)] = (1, 5)
    episodes: Count = EpisodePlan.episodes
    base_fold_networks: Flag = False
    defaults: Annotated[Mapping[str, Any], NamedValues()] = field(default_factory=dict)

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
    return read_plan(path, parse_config)


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
    content = named_values(content, "the configuration")
    networks, defaults = (
        named_values(content.get(name) or {}, name) for name in ("networks", "defaults")
    )
    config = parse_as(AblationConfig, {**content, "networks": _networks(networks, defaults)})
    if not config.rows:
        raise InvalidInput("there are no rows: list at least one")
    if config.base_fold_networks and not any(row.chooses_on_base for row in config.rows):
        raise InvalidInput(
            "base_fold_networks is for rows with choose_on base or both: there are none"
        )
    for row in config.rows:
        try:
            _check_row(row, config)
        except InvalidInput as error:
            raise InvalidInput(f"row {shown(row.name)}: {error}") from error
    return config


def _networks(networks: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[NetworkPlan]:
    """Check all networks; one may be like another that stands before it, but for what it says."""
    plans: dict[str, NetworkPlan] = {}
    for name, content in networks.items():
        try:
            plans[name] = _network(name, content, defaults, plans)
        except InvalidInput as error:
            raise InvalidInput(f"network {name}: {error}") from error
    return list(plans.values())


def _network(
    name: str, content: Any, defaults: Mapping[str, Any], before: Mapping[str, NetworkPlan]
) -> NetworkPlan:
    own = named_values(content, "it")
    model = _before("like", own.pop("like", None), before)
    shared = defaults if model is None else {**model.settings, "recipe": dict(model.recipe)}
    # What is like another has its teacher, too, unless it says otherwise.
    teacher = (
        _before("teacher", own.pop("teacher"), before)
        if "teacher" in own
        else model and model.teacher
    )
    usual = 0 if model is None else model.seed_offset
    offset = own.pop("seed_offset", usual)
    check_arguments({"seed_offset": SEED}, seed_offset=offset)
    plan = parse_network(name, own, shared, kind=NetworkEntry)
    plan = replace(plan, teacher=teacher, seed_offset=offset)
    _check_teacher(plan)
    if model is not None and all(
        [
            plan.recipe == model.recipe,
            plan.teacher == model.teacher,
            plan.seed_offset == model.seed_offset,
            *(entry in READ_ALONE for entry in own),
        ]
    ):
        return replace(plan, trained_as=model.trained_as or model.name)
    return plan


def _before(entry: str, given: object, plans: Mapping[str, NetworkPlan]) -> NetworkPlan | None:
    """Return the network that an entry of another names, which must stand before it."""
    if given is None:
        return None
    if not isinstance(given, str) or given not in plans:
        raise InvalidInput(
            f"{entry} names no network before it: {shown(given)}{did_you_mean(given, plans)}"
        )
    return plans[given]


def _check_teacher(plan: NetworkPlan) -> None:
    share = Recipe.from_dict(plan.recipe).distillation
    if share and plan.teacher is None:
        raise InvalidInput(f"distillation {share} needs a teacher: name a network before it")
    if plan.teacher is not None and plan.teacher.settings.get("mode") == "prototypical":
        raise InvalidInput(
            f"teacher {plan.teacher.name} learns from episodes and names no class: take another"
        )
    if plan.teacher is not None and not share:
        raise InvalidInput(
            "there is a teacher, but distillation is 0: set it in the recipe to the teacher's "
            "share of the loss, such as 0.5"
        )


def _check_row(row: RowPlan, config: AblationConfig) -> None:
    known = [plan.name for plan in config.networks]
    for name in row.all_networks:
        if name not in known:
            raise InvalidInput(f"no network {shown(name)}{did_you_mean(name, known)}")
    check_arguments({"method": OneOf(METHODS[config.setting])}, method=row.method)
    by_episodes = config.setting == "few-shot" and row.method not in ZERO_SHOT
    for name in ("choose_on", "shot_networks"):
        if getattr(row, name) is not None and not by_episodes:
            raise InvalidInput(f"{name} is for few-shot methods: leave it out")
    if row.shot_networks is not None and len(row.shot_networks) != len(row.networks):
        raise InvalidInput(
            f"shot_networks names {len(row.shot_networks)} networks for {len(row.networks)}: name "
            "one for each"
        )
    if row.semantics is not None and row.method == "network":
        raise InvalidInput(
            "a network's own scores are of the semantics that it was trained with: leave out "
            "semantics, or take another method"
        )
