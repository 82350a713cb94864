"""How a network is trained: everything that decides its weights, apart from data and network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal, get_args

from zerokin.aliases import RECIPE, accept_old_names, renamed
from zerokin.declared import (
    Count,
    Declared,
    Flag,
    NotNegative,
    Positive,
    Share,
    ShareBelowOne,
    parse_as,
)
from zerokin.errors import InvalidInput, shown
from zerokin.features.input.augmentation import Augmentation
from zerokin.parameters import Boolean, Either, Integer, OneOf, Real, Several

Optimizer = Literal["sgd", "adamw"]
Schedule = Literal["cosine", "steps", "constant"]
Precision = Literal["auto", "float32", "bfloat16"]
CompileMode = Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]

LATER: dict[str, Any] = {
    "compiled": False,
    "initial_image_size": None,
    "rotation_weight": 0.0,
    "cutmix_prob": 0.0,
    "distillation": 0.0,
    "temperature": 4.0,
    "manifold_mixup": 0.0,
    "label_smoothing": 0.0,
    "resize_stages": None,
    "restart_epochs": None,
    "restart_decay": 1.0,
    "episode_way": None,
    "episode_shots": 5,
    "episode_queries": 15,
}
"""Options that recipes did not always have, with the values that change nothing."""


@accept_old_names(RECIPE)
@dataclass(frozen=True)
class Recipe(Declared):
    """Settings of a training.

    Parameters
    ----------
    epochs
        Passes over the training images.
    batch_size
        Images of a step, over all processes and accumulated parts together; episodes have a size
        of their own.
    episode_way, episode_shots, episode_queries
        Episodes of mode prototypical (Snell et al. 2017): a step learns from so many classes,
        with so many images of each to make its prototype and so many to name. An epoch has as
        many episodes as have the number of training images. None for batches, in other modes.
    lr
        Learning rate of the backbone.
    head_multiplier
        Learning rate of the head, whose layers are new, as a multiple of it.
    optimizer
        Optimizer: ``"sgd"``, with Nesterov's momentum, or ``"adamw"``. The paper has SGD, and says
        nothing of momentum.
    momentum, weight_decay
        Of the optimizer; AdamW has its own momenta.
    schedule
        ``"cosine"`` falls to 0, ``"steps"`` falls to a tenth at each milestone, ``"constant"``
        stays. The paper gives one rate and no schedule.
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
    rotation_weight
        Weight of the rotation-prediction loss (RotNet, Gidaris et al. 2018): above 0, half of every
        batch is rotated, by 90, 180 and 270 degrees in equal parts, and the network learns to
        predict by how much, too. With ``manifold_mixup`` the batch itself stays upright: rotated
        copies of all of it, a quarter each by 0, 90, 180 and 270 degrees, are shown beside, and
        this is the weight of their own loss, too (S2M2, Mangla et al. 2020; EASY, Bendou et al.
        2022: 0.5).
    manifold_mixup
        α of manifold mixup (Verma et al. 2019), 0 for none: in every step, samples and their
        neighbors are interpolated by λ ~ Beta(α, α), at the input or between two blocks of the
        backbone, and so are the losses of classes and superclasses. Steps with CutMix
        (``cutmix_prob``) have none. S2M2 has 2.
    label_smoothing
        Label smoothing (Szegedy et al. 2016): share of every label that all labels have in
        common, in classes and superclasses.
    cutmix_prob
        Probability that a step applies CutMix (Yun et al. 2019): a box of its neighbor replaces
        part of every image, and the labels of both share the loss by area.
    distillation, temperature
        Knowledge distillation (Hinton et al. 2015): share a of the classes' loss that a teacher
        has, and the temperature T of its answers: (1 − a) × cross-entropy + a T² × KL(teacher ‖
        network).
    image_size
        Side of the square images that the network sees in training, in pixels; None for the
        backbone's own.
    initial_image_size
        Progressive resizing (Howard 2018): image size in the first epoch, from which it grows
        evenly to ``image_size`` in the last. Smaller images are faster, and what they teach early
        serves larger ones. None for no growth.
    resize_stages
        Equally long stages of one size each in which images grow from ``initial_image_size`` to
        ``image_size``, so that a compiled backbone is compiled that often; None for a growth from
        epoch to epoch.
    augmentation
        Data augmentation: random resized crops, flips and color jitter.
    precision
        ``"bfloat16"`` where the device is fast at it; ``"auto"`` takes it on GPUs that have it.
    compiled
        Compile the backbone before it learns (`torch.compile`), which takes half a minute; or a
        mode of `torch.compile`, such as ``"reduce-overhead"`` (CUDA graphs) or ``"max-autotune"``.
        ``benchmarks/training_step.py`` tells whether that pays: with ``initial_image_size`` it did
        not on an H200, where ResNet-12's steps were slower once they were compiled for any size.
    accumulation
        Parts into which a batch is cut when it does not fit into memory at once.
    clip_norm
        Longest gradient; None for any.
    ema_decay
        Decay of the exponential moving average (EMA) of the weights, which takes their place at
        the end; 0 for none.
    frozen_batch_norm
        Keep the statistics of batch normalization as they are.
    seed
        Draws new layers, the order of images, their variations and dropout.
    """

    epochs: Annotated[int, Integer(0)] = 12
    batch_size: Count = 64
    episode_way: Annotated[int, Integer(2)] | None = None
    episode_shots: Count = 5
    episode_queries: Count = 15
    lr: Positive = 0.002
    head_multiplier: Positive = 10.0
    optimizer: Optimizer = "sgd"
    momentum: ShareBelowOne = 0.9
    weight_decay: NotNegative = 1e-4
    schedule: Schedule = "cosine"
    milestones: Annotated[tuple[float, ...], Several(Real(0, 1))] = (0.5, 0.75)
    restart_epochs: Count | None = None
    restart_decay: Annotated[float, Real(0, 1, closed="right")] = 1.0
    warmup: NotNegative = 0.0
    head_first: NotNegative = 0
    layer_weight: Annotated[float | tuple[float, ...], Several(Real(0), alone=True)] = 0.3
    reconstruction: NotNegative = 0.0
    rotation_weight: NotNegative = 0.0
    manifold_mixup: NotNegative = 0.0
    label_smoothing: ShareBelowOne = 0.0
    cutmix_prob: Share = 0.0
    distillation: Share = 0.0
    temperature: Positive = 4.0
    image_size: Count | None = None
    initial_image_size: Count | None = None
    resize_stages: Annotated[int, Integer(2)] | None = None
    augmentation: Augmentation = field(default_factory=Augmentation)
    precision: Precision = "auto"
    compiled: Annotated[bool | CompileMode, Either(Boolean(), OneOf(get_args(CompileMode)))] = False
    accumulation: Count = 1
    clip_norm: Positive | None = None
    ema_decay: ShareBelowOne = 0.0
    frozen_batch_norm: Flag = False
    seed: Annotated[int, Integer(0)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.resize_stages is not None and self.initial_image_size is None:
            raise InvalidInput(
                f"resize_stages {self.resize_stages} needs initial_image_size, from which images "
                "grow"
            )
        self.check_growth(self.image_size)
        self._check_restarts()
        self._check_episodes()

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

    def _check_episodes(self) -> None:
        if self.episode_way is None:
            for name in ("episode_shots", "episode_queries"):
                if (value := getattr(self, name)) != LATER[name]:
                    raise InvalidInput(f"{name} {value} needs episode_way, such as 20")
            return
        for name in ("cutmix_prob", "manifold_mixup", "rotation_weight", "distillation"):
            if value := getattr(self, name):
                raise InvalidInput(
                    f"{name} {value} is for batches with class labels, not for episodes: set it to "
                    "0, or leave out episode_way"
                )
        if self.accumulation > 1:
            raise InvalidInput(
                f"accumulation {self.accumulation} would cut up episodes: set it to 1, or lower "
                "episode_way"
            )

    def check_mode(self, mode: str) -> None:
        """Refuse episodes in a mode that does not learn from them, and their lack in the other."""
        if mode == "prototypical" and self.episode_way is None:
            raise InvalidInput(
                "mode 'prototypical' learns from episodes: set episode_way in the recipe, such as "
                "20"
            )
        if mode != "prototypical" and self.episode_way is not None:
            raise InvalidInput(
                f"episode_way {self.episode_way} needs the mode prototypical: it is {shown(mode)}"
            )

    def check_growth(self, image_size: int | None) -> None:
        """Refuse an initial image size above the one that images grow to, where that is known."""
        first = self.initial_image_size
        if first is not None and image_size is not None and first > image_size:
            raise InvalidInput(
                f"initial_image_size {first} is above the size it grows to, {image_size}: "
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
        zerokin.errors.InvalidInput: unknown entry 'epoch'; did you mean 'epochs'? ...
        """
        if isinstance(settings, Mapping):
            settings = renamed(RECIPE, settings, "recipe")
        return parse_as(cls, settings)
