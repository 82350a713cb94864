"""`fit_recognizer`: the whole of the paper's Algorithm 2, from images or features to answers."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.compute.processes import current
from zerokin.data.class_semantics import TEXT_ENCODER, with_semantics
from zerokin.data.dataset import Dataset
from zerokin.data.enough_folds import enough_folds
from zerokin.errors import InvalidInput, ZerokinWarning
from zerokin.hierarchy import ClassHierarchy
from zerokin.hierarchy.alignment import aligned_hierarchy
from zerokin.hierarchy.from_dataset import build_hierarchy, readable_names
from zerokin.metrics.accuracy import harmonic_mean, per_class_top1
from zerokin.parameters import SEED, Boolean, InstanceOf, Optional, Ranges, check_arguments
from zerokin.projection.memory import MEMORY_BUDGET
from zerokin.recognizer.about import describe_choice, describe_superclasses, describe_training
from zerokin.recognizer.confidence.confidence_model import KINDS, ConfidenceModel
from zerokin.recognizer.confidence.fitting import AnswerFitter
from zerokin.recognizer.examples import example_images
from zerokin.recognizer.recognizer import Recognizer
from zerokin.selection.fitting import Chosen, choose_parameters, with_taxonomy_of
from zerokin.selection.method import features_of

if TYPE_CHECKING:
    from zerokin.features.feature_learner import FeatureLearner
    from zerokin.features.network_ensemble import NetworkEnsemble
    from zerokin.recognizer.network_features import Learner

_RANGES: Ranges = {
    "dataset": InstanceOf(Dataset, "a Dataset"),
    **dict.fromkeys(("finetune", "tune", "calibrated", "fold_networks", "quiet"), Boolean()),
    "hierarchy": Optional(InstanceOf(ClassHierarchy, "a ClassHierarchy")),
    "folder": Optional(InstanceOf((str, os.PathLike), "a path")),
    "random_state": SEED,
    "memory_budget": MEMORY_BUDGET,
}


def fit_recognizer(
    dataset: Dataset,
    *,
    learner: Learner | Sequence[Learner] = None,
    finetune: bool = False,
    tune: bool = True,
    calibrated: bool = True,
    hierarchy: ClassHierarchy | None = None,
    fold_networks: bool = True,
    folder: str | os.PathLike[str] | None = None,
    random_state: int = 0,
    memory_budget: int | str | None = None,
    quiet: bool = False,
) -> Recognizer:
    """Learn from the training samples of a data set to recognize all of its classes.

    Of several processes (`zerokin.compute.joined`) each calls it with the same data, and
    reads its share of the samples.

    Parameters
    ----------
    dataset
        Images or features, and classes with semantics or descriptions.
    learner
        Images: the network, a `FeatureLearner` or its settings; by default the best preset whose
        weights are at hand, with ``finetune`` EfficientNet-Lite0 and the packaged weights.
        One that is fitted already is used as it is, unless ``finetune``. Among settings, ``recipe``
        may be a `Recipe`, or what differs from the default one. A list stands for several networks
        side by side: their features, each of unit length, stand in one row.
    finetune
        Images: train the network on them; otherwise features are read off it as it is.
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
        For checkpoints and trials; a call that was interrupted goes on from there.
    random_state
        Seed of the classifier and of what folds hold out.
    memory_budget
        Most memory of the process while the classifier is chosen and fitted, in bytes or as
        ``"8GiB"``: features in files are then read by blocks (see `ZeroShotClassifier`). Networks
        that read images are not bounded by it.
    quiet
        Show no progress.
    """
    check_arguments(
        _RANGES,
        dataset=dataset,
        finetune=finetune,
        tune=tune,
        calibrated=calibrated,
        hierarchy=hierarchy,
        fold_networks=fold_networks,
        folder=folder,
        random_state=random_state,
        memory_budget=memory_budget,
        quiet=quiet,
    )
    started = time.perf_counter()
    current().refuse_different("data", dataset.sha256.encode())
    dataset, notes = _with_vectors(dataset), []
    if len(dataset.seen) < 2:
        raise InvalidInput(
            f"{dataset.name}: fit needs at least two seen classes, not {len(dataset.seen)}"
        )
    given = hierarchy is not None
    if hierarchy is not None:
        hierarchy = _with_semantics(hierarchy, dataset)
        dataset = with_taxonomy_of(dataset, hierarchy)
    use_folds = enough_folds(dataset)
    network: FeatureLearner | NetworkEnsemble | None = None
    featured, has_seen_folds = dataset, False
    if dataset.kind != "features":
        from zerokin.recognizer.network_features import read_with_networks

        network, featured, has_seen_folds = read_with_networks(
            dataset,
            learner,
            hierarchy,
            finetune=finetune,
            fold_networks=use_folds and fold_networks,
            folder=folder,
            quiet=quiet,
        )
    elif finetune or learner is not None:
        raise InvalidInput(f"{dataset.name} holds features: learner and finetune are for images")
    read = time.perf_counter()

    if not use_folds and (tune or calibrated):
        notes.append(
            "too few seen classes or samples to hold some out: default hyper-parameters, and no "
            "probabilities (six seen classes of two samples are the least)"
        )
    if has_seen_folds and use_folds:
        notes.append(
            "the network has seen the validation classes in training: figures and probabilities "
            "of unseen classes are too high"
        )
    chosen = Chosen()
    if use_folds:
        chosen = choose_parameters(
            featured,
            tune=tune,
            taxonomy_only=given,
            random_state=random_state,
            folder=None if folder is None else Path(folder) / "trials",
            memory_budget=memory_budget,
            quiet=quiet,
        )
    if chosen.by_taxonomy and hierarchy is None:
        hierarchy = build_hierarchy(dataset, "taxonomy")
    classifier = _classifier(featured, chosen, hierarchy, random_state, memory_budget)
    calibrations: dict[str, ConfidenceModel] = {}
    if use_folds and calibrated:
        fitter = AnswerFitter(
            featured,
            chosen.params,
            hierarchy=classifier.hierarchy_,
            random_state=random_state,
            memory_budget=memory_budget,
            quiet=quiet,
        )
        calibrations |= {kind: fitter.with_candidates(kind).calibration() for kind in KINDS}
    for note in notes:
        warnings.warn(note, ZerokinWarning, stacklevel=2)
    examples = {} if network is None else example_images(dataset)
    metrics = {
        "validation": chosen.metrics,
        "test": _measure(classifier, featured),
        "seconds": {
            "features": round(read - started, 2),
            "choice": round(time.perf_counter() - read, 2),
        },
    }
    origin = "as given" if given else "the taxonomy of the data" if chosen.by_taxonomy else None
    about = {
        "name": dataset.name,
        "data": f"{dataset.name} ({dataset.provenance.reader})",
        "split": f"{dataset.split.version}; validation folds: {dataset.split.folds_version}",
        "training_samples": len(dataset.split.train),
        "examples": sum(map(len, examples.values())),
        "training": {
            **dict(describe_training(network, chosen, random_state)),
            **describe_superclasses(network, classifier, origin=origin, finetuned=finetune),
        },
        "choice": describe_choice(chosen, tune=tune, calibrated=bool(calibrations)),
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
    return hierarchy.replace(names=names, semantics=dataset.semantics)


def _classifier(
    dataset: Dataset,
    chosen: Chosen,
    hierarchy: ClassHierarchy | None,
    seed: int,
    memory_budget: int | str | None,
) -> ZeroShotClassifier:
    train = dataset.split.train
    own = train[current().share(len(train))]
    settings = {**chosen.params, "random_state": seed, "memory_budget": memory_budget}
    model = ZeroShotClassifier(**settings).fit(
        features_of(dataset, own, by_blocks=memory_budget is not None),
        dataset.training_labels(own),
        semantics=dataset.classes,
        hierarchy=hierarchy,
    )
    if model.hierarchy_ is not None:
        model.hierarchy_ = readable_names(model.hierarchy_, dataset.classes)
    return model


def _measure(model: ZeroShotClassifier, dataset: Dataset) -> dict[str, float] | None:
    """Measure once on the test samples; None where there are none of unseen classes."""
    split = dataset.split
    if not len(split.test_unseen):
        return None
    truth = dataset.evaluation_labels(split.test_unseen)
    scores = _scores(model, dataset, split.test_unseen)
    named = dataset.unseen[scores[:, dataset.unseen].argmax(axis=1)]
    unseen = per_class_top1(truth, scores.argmax(axis=1))
    found = {"unseen_among_unseen": per_class_top1(truth, named), "unseen_among_all": unseen}
    if len(split.test_seen):
        own = dataset.evaluation_labels(split.test_seen)
        scores = _scores(model, dataset, split.test_seen)
        seen = per_class_top1(own, scores.argmax(axis=1))
        found |= {"seen_among_all": seen, "harmonic_mean": harmonic_mean(seen, unseen)}
    return found


def _scores(
    model: ZeroShotClassifier, dataset: Dataset, samples: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the scores (n, C) of samples, of which several processes have a share each."""
    own = samples[current().share(len(samples))]
    return current().gather(model.decision_function(dataset.finite_features(own)))
