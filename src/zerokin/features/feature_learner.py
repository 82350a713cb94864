"""`FeatureLearner`: the paper's second component, transferable features."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from zerokin.aliases import NETWORK, ReadingSaved, renamed
from zerokin.compute.device import chosen_device
from zerokin.data.dataset import Dataset
from zerokin.data.images import Images
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.declared import unknown_entry
from zerokin.errors import InvalidInput, shown
from zerokin.features.input.sources import Source, open_source
from zerokin.features.network_settings import Mode, NetworkSettings
from zerokin.features.networks import (
    FeatureNetwork,
    HierarchyHead,
    PrototypicalHead,
    SemanticHead,
    create_backbone,
)
from zerokin.features.networks.backbone import Backbone
from zerokin.features.networks.network import Head
from zerokin.features.networks.presets import expand_preset
from zerokin.features.reading import View, read_all
from zerokin.features.ready_features import (
    backbone_options,
    learn_scaling,
    open_features,
    reads_images,
    refuse_other_inputs,
)
from zerokin.features.serialization import read_features, write_features
from zerokin.features.start_weights import StartWeights
from zerokin.features.training.distillation import check_teacher
from zerokin.features.training.episode_sampler import check_episodes
from zerokin.features.training.fingerprint import RANDOM, weights_digest
from zerokin.features.training.label_sets import (
    label_set_targets,
    refuse_for_label_sets,
    refuse_without_maps,
)
from zerokin.features.training.loop import train
from zerokin.features.training.recipe import Recipe
from zerokin.features.training.records import Epoch, Targets
from zerokin.features.training.vector_batches import check_fits
from zerokin.features.validation import unseen_accuracy
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy
from zerokin.hierarchy.from_dataset import build_hierarchy
from zerokin.parameters import DEVICE, InstanceOf, Optional, Ranges, check_arguments


class FeatureLearner:
    """Learn features of images that serve classes without images, too.

    With the backbone ``"adapter"`` or ``"mlp"`` it learns from ready features in their place.

    Parameters
    ----------
    backbone, mode, **settings
        See `NetworkSettings`. A preset of `zerokin.features.networks.PRESETS` brings settings of
        its own for those not given.
    recipe
        How the network is trained.
    device
        ``"cpu"`` or ``"cuda"``; by default a GPU if there is one.

    Attributes
    ----------
    network_ : FeatureNetwork
    hierarchy_ : ClassHierarchy or None
    history_ : list of Epoch
    classes_ : list of str or None
        Names of the classes that the network learns, in its order; None where nothing tells.

    Examples
    --------
    >>> import zerokin
    >>> from zerokin.features.training import Recipe
    >>> critters = zerokin.load_dataset("critters")
    >>> learner = FeatureLearner("conv4", weights=None, recipe=Recipe(epochs=0)).fit(critters)
    >>> learner.transform(critters.images.array(0)[None]).shape
    (1, 64)
    """

    network_: FeatureNetwork
    hierarchy_: ClassHierarchy | None
    history_: list[Epoch]
    classes_: list[str] | None

    _parameter_ranges: ClassVar[Ranges] = {
        **NetworkSettings._parameter_ranges,
        "recipe": Optional(InstanceOf(Recipe, "a Recipe")),
        "device": Optional(DEVICE),
    }

    def __init__(
        self,
        backbone: str = NetworkSettings.backbone,
        mode: Mode = NetworkSettings.mode,
        *,
        recipe: Recipe | None = None,
        device: str | None = None,
        **settings: Any,
    ) -> None:
        settings = renamed(NETWORK, settings, type(self).__name__)
        known = [entry.name for entry in fields(NetworkSettings)]
        for name in settings:
            if name not in known:
                raise InvalidInput(unknown_entry(name, known))
        check_arguments(self._parameter_ranges, recipe=recipe, device=device)
        settings = expand_preset({"backbone": backbone, "mode": mode, **settings})
        self.settings = NetworkSettings(**settings)
        self.recipe = recipe or Recipe()
        self.recipe.check_mode(mode)
        check_fits(self.recipe, self.settings.backbone)
        chosen_device(device)  # refuses what cannot be had; which GPU is asked again when needed
        self.device = device

    def fit(
        self,
        dataset: Dataset,
        *,
        hierarchy: ClassHierarchy | None = None,
        source: Source | None = None,
        folder: str | os.PathLike[str] | None = None,
        validation_fold: int | None = None,
        patience: int | None = None,
        teacher: FeatureLearner | None = None,
        quiet: bool = True,
        **options: Any,
    ) -> FeatureLearner:
        """Learn from the training images of a data set.

        Parameters
        ----------
        dataset
            Images; for a backbone that reads them, features.
        hierarchy
            Superclasses over its classes; by default they are clustered from the semantics.
        source
            All samples of the data set, opened before; by default they are opened now.
        folder
            For checkpoints and the log: an interrupted `fit` called again goes on from there.
        validation_fold
            Hold out this validation fold (from 1): after every epoch its classes, which the network
            has not seen, are named.
        patience
            Stop after so many epochs without a better score on the validation fold.
        teacher
            Trained on the same classes and no others: its answers are learned from, too, where the
            recipe has ``distillation``.
        quiet
            Show no progress.
        options
            Of `train`.
        """
        if validation_fold is not None:
            dataset = dataset.fold(validation_fold)
        elif patience is not None:
            raise InvalidInput(
                "patience= needs validation_fold=: nothing else may tell when to stop"
            )
        if source is None or not reads_images(self.settings):
            refuse_other_inputs(self.settings, dataset)
        taught_by = None
        if teacher is not None:
            teacher._check_fitted("the teacher")
            _refuse_other_classes(teacher.classes_, _seen_names(dataset))
            taught_by = teacher.network_  # kept where a learner teaches itself anew
        self.prepare(dataset, hierarchy)
        check_teacher(self.network_, self.recipe, taught_by)
        self.check_episodes(dataset)
        if self.recipe.epochs == 0:
            return self
        source = source or self.open_source(dataset, quiet=quiet)
        start = StartWeights(self.network_.backbone, self.settings.start_interpolation)
        origin, validate = weights_digest(self.network_), None
        if self.settings.weights is None:
            origin = RANDOM + origin
        if validation_fold is not None:

            def validate(network: FeatureNetwork) -> float:
                with start.mixed_in():
                    return unseen_accuracy(network, dataset, source, self.view)

            # Which epoch is best depends on how features are read, too.
            if reading := self.settings.reading():
                origin = f"{origin}, validated with {reading}"

        self.history_ = train(
            self.network_,
            source.select(dataset.split.train),
            self.targets(dataset),
            self.recipe,
            device=self.device,
            folder=folder,
            validate=validate,
            patience=patience,
            origin=origin,
            teacher=taught_by,
            quiet=quiet,
            **options,
        )
        start.mix_in()
        return self

    def check_episodes(self, dataset: Dataset) -> None:
        """Refuse a recipe whose episodes the training images of a data set cannot fill."""
        if self.recipe.episode_way is not None:
            check_episodes(dataset.training_labels(), self.recipe, dataset.classes.names)

    def prepare(self, dataset: Dataset, hierarchy: ClassHierarchy | None = None) -> FeatureLearner:
        """Make the network for a data set without training it."""
        settings = self.settings
        if not reads_images(settings):
            refuse_other_inputs(settings, dataset)
        if dataset.multi_label:
            refuse_for_label_sets(settings.mode, self.recipe)
        if hierarchy is not None:
            beside = f"{dataset.split_name} of {dataset.name}"
            hierarchy = aligned_hierarchy(hierarchy, dataset.classes.names, beside=beside)
        self.hierarchy_ = hierarchy or self._superclasses(dataset)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.recipe.seed)
            backbone = create_backbone(
                settings.backbone,
                weights=settings.weights,
                **backbone_options(settings, dataset),
            )
            if settings.weights is None:
                learn_scaling(backbone, dataset)
            if dataset.multi_label and self.recipe.epochs:
                refuse_without_maps(backbone)
            head = self._head(backbone, dataset)
        self.network_ = FeatureNetwork(backbone, head).to(self.torch_device)
        self.history_, self.classes_ = [], _seen_names(dataset)
        return self

    def transform(
        self, images: Images | Source | NDArray[Any], *, quiet: bool = True
    ) -> NDArray[np.float32]:
        """Return the features of images, (N, d_f).

        A network over ready features takes these, (N, d_in).

        In mode end-to-end a row holds the features and then the estimated semantics, each of unit
        length.
        """
        self._check_fitted()
        if not isinstance(images, Source):
            images = self._open(images, quiet=quiet)
        return read_all(self.network_, images, self.view, quiet=quiet)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the network to a folder, whole or not at all."""
        self._check_fitted()
        write_features(self, folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str | None = None) -> FeatureLearner:
        """Read what `save` wrote; nothing in the folder is executed."""
        with ReadingSaved(cls.__name__, folder):
            return read_features(cls, folder, device=device)

    @property
    def torch_device(self) -> torch.device:
        """Where the network works."""
        chosen = chosen_device(self.device)
        # Every process that torchrun starts has a GPU of its own.
        rank = os.environ.get("LOCAL_RANK")
        return torch.device(f"cuda:{rank}" if chosen == "cuda" and rank else chosen)

    @property
    def view(self) -> View:
        """How images are shown to read features off them."""
        self._check_fitted()
        if not reads_images(self.settings):
            return View(image_size=1, tta_flip=False)  # there is nothing to show in several ways
        side = self.settings.image_size or self.network_.backbone.input_size
        settings = self.settings
        return View(
            image_size=side,
            tta_flip=settings.tta_flip,
            tta_crops=settings.tta_crops,
            tta_crop_seed=settings.tta_crop_seed,
            precision=settings.precision,
        )

    def _check_fitted(self, what: str = "this FeatureLearner") -> None:
        if not hasattr(self, "network_"):
            raise InvalidInput(f"{what} is not fitted yet: call fit first")

    def _superclasses(self, dataset: Dataset) -> ClassHierarchy | None:
        settings = self.settings
        clustered = settings.grouping != "taxonomy"
        if not settings.has_superclasses:
            return None
        if clustered and len(dataset.classes) < settings.branching**2:
            return None
        return build_hierarchy(dataset, settings.grouping, branching=settings.branching)

    def _head(self, backbone: Backbone, dataset: Dataset) -> Head:
        settings, tree = self.settings, self.hierarchy_
        maps = settings.attribute_maps and backbone.reads_images
        if self.recipe.episode_way is not None:
            return PrototypicalHead(
                backbone.d_f, self.recipe.episode_way, self.recipe.episode_shots
            )
        if settings.mode == "end-to-end":
            layers = [] if tree is None else range(1, tree.n_layers + 1)
            return SemanticHead(
                backbone.d_f,
                dataset.semantics[dataset.seen],
                [tree.prototypes(layer) for layer in layers],  # type: ignore[union-attr]
                scale=settings.scale,
                centered=settings.centered,
                map_channels=backbone.channels if maps else None,
                reconstruction=self.recipe.reconstruction > 0,
                image_hidden=settings.image_hidden,
                chained=settings.chained,
                hidden=settings.hidden,
                input_scaling=settings.input_scaling,
                auxiliary_heads=settings.auxiliary_heads,
            )
        return HierarchyHead(
            backbone.d_f,
            len(dataset.seen),
            [] if tree is None else tree.sizes,
            hidden=settings.hidden,
            mode="classes" if tree is None else settings.mode,
            input_scaling=settings.input_scaling,
            auxiliary_heads=settings.auxiliary_heads,
            sigmoid=dataset.multi_label,
        )

    def targets(self, dataset: Dataset) -> Targets:
        """Return what the training images show, as the network is to learn it."""
        if isinstance(dataset, MultiLabelDataset):
            return label_set_targets(dataset, self.hierarchy_)
        labels = dataset.training_labels()
        layers = range(1, 1 + (0 if self.hierarchy_ is None else self.hierarchy_.n_layers))
        columns = [self.hierarchy_.labels(layer)[labels] for layer in layers]  # type: ignore[union-attr]
        return Targets(
            classes=np.searchsorted(dataset.seen, labels),
            layers=np.stack(columns, axis=1) if columns else np.zeros((len(labels), 0), np.int64),
        )

    def open_source(self, dataset: Dataset, *, quiet: bool = True) -> Source:
        """Return all images of a data set, or its features, as the network reads them."""
        inputs = dataset.images if reads_images(self.settings) else dataset.features
        return self._open(inputs, quiet=quiet)

    def _open(self, inputs: Images | NDArray[Any], *, quiet: bool) -> Source:
        device = next(self.network_.parameters()).device
        if not reads_images(self.settings):
            return open_features(inputs, self.network_.backbone, device)
        return open_source(
            inputs,
            self.cache_size,
            resize_mode=self.settings.resize_mode,
            device=device,
            quiet=quiet,
        )

    @property
    def cache_size(self) -> int:
        """Side of the images that crops are taken from."""
        trained_at = self.recipe.image_size or self.network_.backbone.input_size
        largest = max(self.view.image_size, trained_at)
        return self.settings.cache_size or round(largest * 1.125)


def _seen_names(dataset: Dataset) -> list[str]:
    return [dataset.classes.names[index] for index in dataset.seen]


def _refuse_other_classes(there: list[str] | None, here: list[str]) -> None:
    """Refuse a teacher of other classes, above all one that knows what is held out here."""
    if there is None or there == here:
        return
    others = [name for name in there if name not in here] or [n for n in here if n not in there]
    what = f"such as {shown(others[0])}" if others else "in another order"
    raise InvalidInput(
        f"the teacher learned other classes than these, {what}: give one that was trained on the "
        "same"
    )
