"""What a recognizer says of its training, choice and superclasses, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from zerokin.classifiers.zero_shot_classifier import ZeroShotClassifier
from zerokin.features.networks.presets import preset_of
from zerokin.hierarchy import ClassHierarchy
from zerokin.selection.fitting import Chosen

if TYPE_CHECKING:
    from zerokin.features.feature_learner import FeatureLearner
    from zerokin.features.network_ensemble import NetworkEnsemble


def describe_training(
    network: FeatureLearner | NetworkEnsemble | None, chosen: Chosen, seed: int
) -> Iterator[tuple[str, Any]]:
    """Yield the settings of the networks, if there are any, and of the classifier."""
    members = _members(network)
    if not members:
        yield "network", "none: features were given"
    elif len(members) == 1:
        yield from _describe_network(members[0])
    else:
        sizes = [_n_weights(member) for member in members]
        yield (
            "networks side by side",
            f"{len(members)}; every image is read by each, {' + '.join(sizes)} million weights",
        )
        for number, member in enumerate(members, start=1):
            for name, value in _describe_network(member):
                yield f"network {number}: {name}", value
    yield "seed", seed
    for name, value in chosen.params.items():
        yield f"classifier: {name}", value


def _members(network: FeatureLearner | NetworkEnsemble | None) -> tuple[FeatureLearner, ...]:
    if network is None:
        return ()
    from zerokin.features.network_ensemble import networks_of

    return networks_of(network)


def _n_weights(member: FeatureLearner) -> str:
    """Return the weights that reading an image takes, in millions."""
    from zerokin.features.reading import reading_parts

    parts = [part for part in reading_parts(member.network_) if part is not None]
    return f"{sum(w.numel() for part in parts for w in part.parameters()) / 1e6:.2g}"


def _describe_network(network: FeatureLearner) -> Iterator[tuple[str, Any]]:
    settings, recipe = network.settings, network.recipe
    yield "network", settings.backbone
    yield "first weights", str(settings.weights or "random")
    preset = preset_of(settings.backbone)
    if preset is not None and settings.weights:
        yield "these weights, as published, were pretrained on", preset.pretraining
        yield "their license, as published", preset.license
    yield "image side", network.view.image_size
    if settings.precision is not None:
        yield "precision that images are read with", settings.precision
    if settings.tta_crops:
        random = settings.tta_crop_seed is not None
        yield (
            f"{'random crops read of' if random else 'crops read beside'} each image",
            (settings.tta_crops),
        )
    if not network.history_:
        yield "training of the network", "none: its features are used as they are"
        return
    side = recipe.image_size or network.network_.backbone.input_size
    grown = "" if recipe.initial_image_size is None else f"{recipe.initial_image_size} to "
    yield "mode", settings.mode
    yield "image side in training", f"{grown}{side}"
    yield "share of the first weights in those used", settings.start_interpolation
    yield "epochs", recipe.epochs
    yield "learning rate", recipe.lr
    yield "seed of training", recipe.seed


def describe_superclasses(
    network: FeatureLearner | NetworkEnsemble | None,
    classifier: ZeroShotClassifier,
    *,
    origin: str | None,
    finetuned: bool,
) -> dict[str, str]:
    """Return the superclasses of the classifier, and of the network where it learned others.

    ``origin`` tells where the classifier's come from, None where it clustered the classes itself;
    of a network that was trained earlier nobody knows.
    """
    own = classifier.hierarchy_
    said = {"superclasses of the classifier": _sizes(own, origin or _clusters(classifier))}
    members = _members(network)
    for number, member in enumerate(members, start=1):
        learned = member.hierarchy_ if member.history_ else None
        if learned is None or _same_superclasses(learned, own):
            continue
        which = "the network" if len(members) == 1 else f"network {number}"
        others = _clusters(member.settings) if finetuned else "others"
        said[f"superclasses that {which} learned"] = _sizes(learned, others)
    return said


def _clusters(settings: Any) -> str:
    return f"{settings.grouping}, branching {settings.branching}"


def _sizes(tree: ClassHierarchy | None, origin: str) -> str:
    return "none" if tree is None else f"{' > '.join(map(str, reversed(tree.sizes)))} ({origin})"


def _same_superclasses(one: ClassHierarchy, other: ClassHierarchy | None) -> bool:
    """Tell whether two hierarchies group the same classes alike, whatever the groups are called."""
    if other is None or set(one.names) != set(other.names):
        return False
    one = one.select(list(other.names))
    return one.sizes == other.sizes and all(
        len(set(zip(one.labels(layer).tolist(), other.labels(layer).tolist(), strict=True))) == size
        for layer, size in enumerate(one.sizes, start=1)
    )


def describe_choice(chosen: Chosen, *, tune: bool, calibrated: bool) -> str:
    """Return what was chosen on validation classes, in words."""
    if chosen.metrics is None:
        return "Nothing was chosen: the classifier's hyper-parameters are its defaults."
    what = ["the classifier's hyper-parameters"] if tune else []
    what.append("the balance of seen and unseen classes")
    what += ["the calibration of answers"] if calibrated else []
    listed = f"{', '.join(what[:-1])} and {what[-1]}" if what[1:] else what[0]
    return (
        f"Chosen on validation classes held out of the seen ones: {listed}. Test samples "
        "had no say; of unseen classes only the semantics were known."
    )
