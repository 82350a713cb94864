"""`fit_recognizer`: the whole of the paper's Algorithm 2, from pictures to answers."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.data.class_semantics import TEXT_ENCODER, with_semantics
from zerokin.data.dataset import Dataset
from zerokin.data.enough_folds import enough_folds
from zerokin.data.feature_files import FeatureFile
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.features.extraction import extract_features
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.input.sources import PictureSource, open_source
from zerokin.features.training import Recipe
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy
from zerokin.hierarchy.from_dataset import build_hierarchy
from zerokin.parameters import SEED, Boolean, InstanceOf, Optional, Ranges, check_arguments
from zerokin.recognizer.choosing import Choice, calibrate, choose, measure
from zerokin.recognizer.examples import example_pictures
from zerokin.recognizer.fold_features import FoldFeatures
from zerokin.recognizer.recognizer import Recognizer
from zerokin.selection.fitting import with_taxonomy_of

Features = NDArray[np.float32]

FINE_TUNING: Mapping[str, Any] = {"lr": 0.006, "head_multiplier": 3.0}
"""What CUB's validation folds prefer for the end-to-end network, with ImageNet weights at first."""

_RANGES: Ranges = {
    "dataset": InstanceOf(Dataset, "a Dataset"),
    "learner": Optional(InstanceOf((FeatureLearner, Mapping), "a FeatureLearner or its settings")),
    **dict.fromkeys(("finetune", "tune", "calibrated", "fold_networks", "quiet"), Boolean()),
    "hierarchy": Optional(InstanceOf(ClassHierarchy, "a ClassHierarchy")),
    "folder": Optional(InstanceOf((str, os.PathLike), "a path")),
    "random_state": SEED,
}


def fit_recognizer(
    dataset: Dataset,
    *,
    learner: FeatureLearner | Mapping[str, Any] | None = None,
    finetune: bool = False,
    tune: bool = True,
    calibrated: bool = True,
    hierarchy: ClassHierarchy | None = None,
    fold_networks: bool = True,
    folder: str | os.PathLike[str] | None = None,
    random_state: int = 0,
    quiet: bool = False,
) -> Recognizer:
    """Learn from the training pictures of a data set to recognize all of its classes.

    Parameters
    ----------
    dataset
        Pictures, and classes with semantics or descriptions.
    learner
        The network: a `FeatureLearner`, or its settings; by default EfficientNet-Lite0 with the
        packaged weights. One that is fitted already is used as it is, unless ``finetune``.
    finetune
        Train the network on the pictures; otherwise features are read off it as it is.
    tune
        Choose the classifier's hyper-parameters on validation classes; otherwise only the balance
        of seen and unseen classes is chosen there.
    calibrated
        Learn on validation classes how far answers can be trusted.
    hierarchy
        Superclasses of all classes, matched by name; by default they are clustered from the
        semantics, or come from the data's taxonomy where validation classes prefer that.
    fold_networks
        With ``finetune``, train a network for each validation fold that has never seen the
        fold's classes. Without, choice and calibration rest on a network that has seen them, and
        are too sure of unseen classes.
    folder
        For checkpoints: a call that was interrupted goes on from there.
    random_state
        Seed of the classifier and of what folds hold out.
    quiet
        Show no progress.
    """
    check_arguments(
        _RANGES,
        dataset=dataset,
        learner=learner,
        finetune=finetune,
        tune=tune,
        calibrated=calibrated,
        hierarchy=hierarchy,
        fold_networks=fold_networks,
        folder=folder,
        random_state=random_state,
        quiet=quiet,
    )
    started = time.perf_counter()
    dataset, notes = _with_vectors(dataset), []
    if len(dataset.seen) < 2:
        raise InvalidInput(
            f"{dataset.name}: fit needs at least two seen classes, not {len(dataset.seen)}"
        )
    dataset.pictures  # noqa: B018  refuses features before anything is trained
    given = hierarchy is not None
    if hierarchy is not None:
        hierarchy = _with_semantics(hierarchy, dataset)
        dataset = with_taxonomy_of(dataset, hierarchy)
    network, trained = _network(learner, finetune)
    _prepare(network, dataset, hierarchy, again=finetune)
    use_folds = enough_folds(dataset)
    of_folds: list[Features] = []
    features: Features | FeatureFile
    if finetune:
        source = _open(network, dataset, quiet=quiet)
        _train(network, dataset, hierarchy, source, _below(folder, "network"), quiet=quiet)
        features = network.transform(source, quiet=quiet)
        if use_folds and fold_networks:
            of_folds = _fold_features(network, dataset, hierarchy, source, folder, quiet=quiet)
    elif folder is not None:
        features = extract_features(
            network, dataset, Path(folder) / "features.safetensors", quiet=quiet
        )
    else:
        features = network.transform(dataset.pictures, quiet=quiet)
    read = time.perf_counter()

    if not use_folds and (tune or calibrated):
        notes.append(
            "too few seen classes or pictures to hold some out: default hyper-parameters, and no "
            "probabilities (six seen classes of two pictures are the least)"
        )
    if (finetune or trained) and use_folds and not of_folds:
        notes.append(
            "the network has seen the validation classes in training: figures and probabilities "
            "of unseen classes are too high"
        )
    featured = FoldFeatures(dataset, features, of_folds)
    chosen = Choice()
    if use_folds:
        chosen = choose(
            featured, tune=tune, taxonomy_only=given, random_state=random_state, quiet=quiet
        )
    if chosen.by_taxonomy and hierarchy is None:
        hierarchy = build_hierarchy(dataset, "taxonomy")
    classifier = _classifier(featured, chosen, hierarchy, random_state)
    calibrations = {}
    if use_folds and calibrated:
        calibrations = calibrate(
            featured, chosen.params, classifier.hierarchy_, random_state=random_state, quiet=quiet
        )
    for note in notes:
        warnings.warn(note, ZerokinWarning, stacklevel=2)
    examples = example_pictures(dataset)
    metrics = {
        "validation": chosen.metrics,
        "test": measure(classifier, featured),
        "seconds": {
            "features": round(read - started, 2),
            "choice": round(time.perf_counter() - read, 2),
        },
    }
    about = {
        "name": dataset.name,
        "data": f"{dataset.name} ({dataset.provenance.reader})",
        "split": f"{dataset.split.version}; validation folds: {dataset.split.folds_version}",
        "training_pictures": len(dataset.split.train),
        "examples": sum(map(len, examples.values())),
        "training": _training(network, finetune=finetune, chosen=chosen, seed=random_state),
        "choice": _choice(chosen, tune=tune, calibrated=bool(calibrations)),
        "notes": notes,
    }
    return Recognizer(
        network,
        classifier,
        # The taxonomy has become superclasses, or has not been used; wnids are in the vectors.
        replace(dataset.classes, taxonomy=None, wnids=None),
        calibrations=calibrations,
        examples=examples,
        metrics=metrics,
        about=about,
    )


def _with_vectors(dataset: Dataset) -> Dataset:
    """Return the data set with class vectors: described classes get those of their texts."""
    if dataset.classes.vectors is None and dataset.classes.descriptions is not None:
        return with_semantics(dataset, f"text={TEXT_ENCODER}")
    dataset.semantics  # noqa: B018  says what is missing
    return dataset


def _with_semantics(hierarchy: ClassHierarchy, dataset: Dataset) -> ClassHierarchy:
    """Return superclasses that know their classes' vectors, so that a class can join them."""
    names = dataset.classes.names
    hierarchy = aligned_hierarchy(hierarchy, names, beside="the data set")
    layers = range(1, hierarchy.n_layers + 1)
    named = hierarchy.has_node_names
    return ClassHierarchy(
        [hierarchy.labels(layer) for layer in layers],
        names=names,
        semantics=dataset.semantics,
        node_names=[hierarchy.node_names(layer) for layer in layers] if named else None,
    )


def _network(
    learner: FeatureLearner | Mapping[str, Any] | None, finetune: bool
) -> tuple[FeatureLearner, bool]:
    """Return a learner of our own, and whether it was fitted before."""
    if isinstance(learner, FeatureLearner):
        network = copy(learner)
        return network, bool(getattr(network, "history_", []))
    # A network that is not trained needs no superclass heads.
    settings = {"mode": "end-to-end" if finetune else "classes", **(learner or {})}
    if finetune:
        settings.setdefault("recipe", Recipe(**FINE_TUNING))
    return FeatureLearner(**settings), False


def _prepare(
    network: FeatureLearner, dataset: Dataset, hierarchy: ClassHierarchy | None, *, again: bool
) -> None:
    if again or not hasattr(network, "network_"):
        network.prepare(dataset, hierarchy if network.settings.mode != "classes" else None)


def _open(network: FeatureLearner, dataset: Dataset, *, quiet: bool) -> PictureSource:
    return open_source(
        dataset.pictures,
        network.cache_size,
        resize_mode=network.settings.resize_mode,
        device=network.torch_device,
        quiet=quiet,
    )


def _train(
    network: FeatureLearner,
    dataset: Dataset,
    hierarchy: ClassHierarchy | None,
    source: PictureSource,
    folder: Path | None,
    *,
    quiet: bool,
) -> None:
    network.fit(dataset, hierarchy=hierarchy, source=source, folder=folder, quiet=quiet)


def _fold_features(
    network: FeatureLearner,
    dataset: Dataset,
    hierarchy: ClassHierarchy | None,
    source: PictureSource,
    folder: str | os.PathLike[str] | None,
    *,
    quiet: bool,
) -> list[Features]:
    """Return features by a network for each fold; only those of training pictures are filled."""
    found = []
    train = dataset.split.train
    # A fold knows nothing of unseen classes.
    tree = None if hierarchy is None else hierarchy.select(dataset.seen.tolist())
    for number in range(1, len(dataset.split.folds) + 1):
        own = copy(network)
        _train(
            own, dataset.fold(number), tree, source, _below(folder, f"fold-{number}"), quiet=quiet
        )
        read = own.transform(source.select(train), quiet=quiet)
        whole = np.zeros((len(dataset), read.shape[1]), np.float32)
        whole[train] = read
        found.append(whole)
    return found


def _below(folder: str | os.PathLike[str] | None, name: str) -> Path | None:
    return None if folder is None else Path(folder) / name


def _classifier(
    dataset: Dataset, chosen: Choice, hierarchy: ClassHierarchy | None, seed: int
) -> ZeroShotClassifier:
    model = ZeroShotClassifier(**chosen.params, random_state=seed).fit(
        np.asarray(dataset.features[dataset.split.train]),
        dataset.training_labels(),
        semantics=dataset.classes,
        hierarchy=hierarchy,
    )
    attributes = dataset.classes.attribute_names
    if attributes and model.hierarchy_ is not None and not model.hierarchy_.has_node_names:
        model.hierarchy_ = model.hierarchy_.named_by(attributes)
    return model


def _training(
    network: FeatureLearner, *, finetune: bool, chosen: Choice, seed: int
) -> dict[str, Any]:
    settings, recipe = network.settings, network.recipe
    about: dict[str, Any] = {
        "network": settings.backbone,
        "first weights": str(settings.weights or "random"),
        "picture side": network.view.image_size,
    }
    if settings.tta_crops:
        about["crops read beside each picture"] = settings.tta_crops
    if finetune or network.history_:
        side = recipe.image_size or network.network_.backbone.input_size
        grown = "" if recipe.initial_image_size is None else f"{recipe.initial_image_size} to "
        about |= {
            "mode": settings.mode,
            "picture side in training": f"{grown}{side}",
            "share of the first weights in those used": settings.start_interpolation,
            "epochs": recipe.epochs,
            "learning rate": recipe.lr,
            "seed of training": recipe.seed,
        }
    else:
        about["training of the network"] = "none: its features are used as they are"
    return {**about, "seed": seed, **{f"classifier: {k}": v for k, v in chosen.params.items()}}


def _choice(chosen: Choice, *, tune: bool, calibrated: bool) -> str:
    if chosen.metrics is None:
        return "Nothing was chosen: the classifier's hyper-parameters are its defaults."
    what = ["the classifier's hyper-parameters"] if tune else []
    what.append("the balance of seen and unseen classes")
    what += ["the calibration of answers"] if calibrated else []
    listed = f"{', '.join(what[:-1])} and {what[-1]}" if what[1:] else what[0]
    return (
        f"Chosen on validation classes held out of the seen ones: {listed}. Test pictures "
        "had no say; of unseen classes only the semantics were known."
    )
