"""How a network is trained: everything that decides its weights, apart from data and network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal, get_args

from zerokin.errors import InvalidInput, did_you_mean, shown
from zerokin.features.input.augmentation import Augmentation
from zerokin.parameters import (
    Boolean,
    Either,
    InstanceOf,
    Integer,
    OneOf,
    Optional,
    Ranges,
    Real,
    Several,
    check_parameters,
    plain,
)

Optimiser = Literal["sgd", "adamw"]
Schedule = Literal["cosine", "steps", "constant"]
Precision = Literal["auto", "float32", "bfloat16"]
CompileMode = Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]

LATER: dict[str, Any] = {
    "compiled": False,
    "first_side": None,
    "turns": 0.0,
    "patches": 0.0,
    "distillation": 0.0,
    "temperature": 4.0,
    "manifold_mixup": 0.0,
    "label_smoothing": 0.0,
    "resize_stages": None,
    "restart_epochs": None,
    "restart_decay": 1.0,
}
"""Options that recipes did not always have, with the values that change nothing."""


@dataclass(frozen=True)
class Recipe:
    """Settings of a training.

    Parameters
    ----------
    epochs
        Passes over the training pictures.
    batch_size
        Pictures of a step, over all processes and accumulated parts together.
    lr
        Learning rate of the backbone.
    head_multiplier
        Learning rate of the head, whose layers are new, as a multiple of it.
    optimiser
        ``"sgd"``, with Nesterov's momentum, as in the paper; or ``"adamw"``.
    momentum, weight_decay
        Of the optimiser; AdamW has its own momenta.
    schedule
        ``"cosine"`` falls to 0, ``"steps"`` falls to a tenth at each milestone, ``"constant"``
        stays, as in the paper.
    milestones
        Shares of the training after which ``"steps"`` falls.
    restart_epochs, restart_decay
        Epochs after which ``"cosine"`` starts again (warm restarts, Loshchilov & Hutter 2017), and
        the factor by which each start is lower than the one before; None for no restarts.
    warmup
        Epochs in which the rate rises from 0 first.
    head_first
        Epochs in which the head alone learns first.
    layer_weight
        λ of every superclass layer: one number for all, or one each from the lowest up.
    reconstruction
        μ: weight of self-reconstruction, in mode end-to-end.
    turns
        Weight of telling by how many quarters a picture is turned: above 0, half of every batch is
        turned, by 90, 180 and 270 degrees in equal parts, and the network learns to tell, too.
        With ``manifold_mixup`` the batch itself stays upright: turned copies of all of it, a
        quarter each by 0, 90, 180 and 270 degrees, are shown beside, and this is the weight of
        their own loss, too (S2M2, Mangla et al. 2020; EASY, Bendou et al. 2022: 0.5).
    manifold_mixup
        α of manifold mixup (Verma et al. 2019), 0 for none: in every step, samples and their
        neighbours are interpolated by λ ~ Beta(α, α), at the input or between two blocks of the
        backbone, and so are the losses of classes and superclasses. Steps with ``patches`` have
        none. S2M2 has 2.
    label_smoothing
        Share of every label that all labels have in common, in classes and superclasses.
    patches
        Probability that a step pastes a patch of its neighbour into every picture; the labels of
        both then share the loss by area (CutMix, Yun et al. 2019).
    distillation, temperature
        Share a of the classes' loss that a teacher has, and the temperature T of its answers:
        (1 − a) × cross-entropy + a T² × KL(teacher ‖ network).
    side
        Side of the pictures the network sees in training; None for the backbone's own.
    first_side
        Side in the first epoch, from which it grows evenly to ``side`` in the last: smaller
        pictures are faster, and what they teach early serves larger ones (progressive resizing);
        None for no growth.
    resize_stages
        Equally long stages of one side each in which pictures grow from ``first_side`` to
        ``side``, so that a compiled backbone is compiled that often; None for a growth from epoch
        to epoch.
    augmentation
        How pictures are varied.
    precision
        ``"bfloat16"`` where the device is fast at it; ``"auto"`` takes it on GPUs that have it.
    compiled
        Compile the backbone before it learns (`torch.compile`), which takes half a minute; or a
        mode of `torch.compile`, such as ``"reduce-overhead"`` (CUDA graphs) or ``"max-autotune"``.
        ``benchmarks/training_step.py`` tells whether that pays: with ``first_side`` it did not
        on an H200, where ResNet-12's steps were slower once they were compiled for any side.
    accumulation
        Parts into which a batch is cut when it does not fit into memory at once.
    clip_norm
        Longest gradient; None for any.
    average
        Decay of a running average of the weights, which then takes their place; 0 for none.
    frozen_batch_norm
        Keep the statistics of batch normalisation as they are.
    seed
        Draws new layers, the order of pictures, their variations and dropout.
    """

    epochs: int = 12
    batch_size: int = 64
    lr: float = 0.002
    head_multiplier: float = 10.0
    optimiser: Optimiser = "sgd"
    momentum: float = 0.9
    weight_decay: float = 1e-4
    schedule: Schedule = "cosine"
    milestones: tuple[float, ...] = (0.5, 0.75)
    restart_epochs: int | None = None
    restart_decay: float = 1.0
    warmup: float = 0.0
    head_first: int = 0
    layer_weight: float | tuple[float, ...] = 0.3
    reconstruction: float = 0.0
    turns: float = 0.0
    manifold_mixup: float = 0.0
    label_smoothing: float = 0.0
    patches: float = 0.0
    distillation: float = 0.0
    temperature: float = 4.0
    side: int | None = None
    first_side: int | None = None
    resize_stages: int | None = None
    augmentation: Augmentation = field(default_factory=Augmentation)
    precision: Precision = "auto"
    compiled: bool | CompileMode = False
    accumulation: int = 1
    clip_norm: float | None = None
    average: float = 0.0
    frozen_batch_norm: bool = False
    seed: int = 0

    _parameter_ranges: ClassVar[Ranges] = {
        "epochs": Integer(0),
        "batch_size": Integer(1),
        "lr": Real(0, closed="neither"),
        "head_multiplier": Real(0, closed="neither"),
        "optimiser": OneOf(get_args(Optimiser)),
        "momentum": Real(0, 1, closed="left"),
        "weight_decay": Real(0),
        "schedule": OneOf(get_args(Schedule)),
        "milestones": Several(Real(0, 1)),
        "restart_epochs": Optional(Integer(1)),
        "restart_decay": Real(0, 1, closed="right"),
        "warmup": Real(0),
        "head_first": Real(0),
        "layer_weight": Several(Real(0), alone=True),
        "reconstruction": Real(0),
        "turns": Real(0),
        "manifold_mixup": Real(0),
        "label_smoothing": Real(0, 1, closed="left"),
        "patches": Real(0, 1),
        "distillation": Real(0, 1),
        "temperature": Real(0, closed="neither"),
        "side": Optional(Integer(1)),
        "first_side": Optional(Integer(1)),
        "resize_stages": Optional(Integer(2)),
        "augmentation": InstanceOf(Augmentation, "an Augmentation"),
        "precision": OneOf(get_args(Precision)),
        "compiled": Either(
            Boolean(),
            OneOf(get_args(CompileMode)),
            f"be true, false or one of {', '.join(get_args(CompileMode))}",
        ),
        "accumulation": Integer(1),
        "clip_norm": Optional(Real(0, closed="neither")),
        "average": Real(0, 1, closed="left"),
        "frozen_batch_norm": Boolean(),
        "seed": Integer(0),
    }

    def __post_init__(self) -> None:
        check_parameters(self)
        for name in self._parameter_ranges:
            value = getattr(self, name)
            several = isinstance(value, list | tuple)
            own = tuple(map(plain, value)) if several else plain(value)
            object.__setattr__(self, name, own)
        if self.resize_stages is not None and self.first_side is None:
            raise InvalidInput(
                f"resize_stages {self.resize_stages} needs first_side, from which pictures grow"
            )
        self.check_growth(self.side)
        self._check_restarts()

    def _check_restarts(self) -> None:
        if self.restart_epochs is None:
            return
        if self.schedule != "cosine":
            raise InvalidInput(
                f"restart_epochs {self.restart_epochs} needs the schedule cosine: it has "
                f"{shown(self.schedule)}"
            )
        if not self.warmup < self.restart_epochs:
            raise InvalidInput(
                f"warmup {self.warmup} must end before the first restart, after "
                f"{self.restart_epochs} epochs"
            )

    def check_growth(self, side: int | None) -> None:
        """Refuse a first side that is above the one that pictures grow to, where that is known."""
        if self.first_side is not None and side is not None and self.first_side > side:
            raise InvalidInput(
                f"first_side {self.first_side} is above the side it grows to, {side}: "
                "give a smaller one"
            )

    def layer_weights(self, n_layers: int) -> list[float]:
        """Return λ_l of every superclass layer.

        Examples
        --------
        >>> Recipe(layer_weight=0.1).layer_weights(2), Recipe(layer_weight=(0, 1)).layer_weights(2)
        ([0.1, 0.1], [0, 1])
        """
        given = self.layer_weight
        if not isinstance(given, tuple):
            return [given] * n_layers
        # A network that learns classes alone may share a recipe with others.
        if n_layers and len(given) != n_layers:
            raise InvalidInput(
                f"layer_weight has {len(given)} numbers, but there are {n_layers} superclass "
                "layers: give one number for all, or one each"
            )
        return list(given[:n_layers])

    def as_dict(self) -> dict[str, Any]:
        """Return all settings as plain values, for JSON and YAML.

        Options that came later are left out where they are off: what was written before them still
        describes the same training.
        """
        plain = asdict(self)
        for name, off in LATER.items():
            if plain[name] == off:
                del plain[name]
        plain["milestones"] = list(self.milestones)
        if isinstance(self.layer_weight, tuple):
            plain["layer_weight"] = list(self.layer_weight)
        for name in ("area", "ratio"):
            plain["augmentation"][name] = list(plain["augmentation"][name])
        return plain

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Recipe:
        """Read settings that `as_dict` or a person wrote; what is left out keeps its default.

        Examples
        --------
        >>> Recipe.from_dict({"epochs": 3, "augmentation": {"area": [0.3, 1.0]}}).augmentation.area
        (0.3, 1.0)
        >>> Recipe.from_dict({"epoch": 3})
        Traceback (most recent call last):
        zerokin.errors.InvalidInput: unknown setting 'epoch'; did you mean 'epochs'? ...
        """
        given = _known(settings, cls, "")
        if "augmentation" in given:
            varied = _known(given["augmentation"], Augmentation, "augmentation.")
            given["augmentation"] = Augmentation(**varied)
        return cls(**given)


def _known(settings: Any, kind: type, prefix: str) -> dict[str, Any]:
    if not isinstance(settings, Mapping):
        what = prefix.removesuffix(".") or "settings"
        raise InvalidInput(f"{what} must be names with values: got {shown(settings)}")
    names = [entry.name for entry in fields(kind)]
    for name in settings:
        if name not in names:
            raise InvalidInput(
                f"unknown setting {shown(prefix + str(name))}{did_you_mean(name, names)} "
                f"(known: {', '.join(names)})"
            )
    return dict(settings)
