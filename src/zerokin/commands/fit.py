"""``fit``: a bundle from images or from features."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from zerokin.commands.arguments import (
    Data,
    Features,
    MemoryBudget,
    ReadingPrecision,
    Semantics,
    SplitName,
    out,
)
from zerokin.commands.several_labels import fit_labels, refuse_options
from zerokin.commands.usage import going_on_from
from zerokin.compute.processes import current
from zerokin.data.dataset import Dataset
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.errors import InvalidInput, ZerokinWarning, listing
from zerokin.files import refuse_unwritable


class GroupingName(StrEnum):
    """What superclasses are made from."""

    kmeans = "kmeans"
    agglomerative = "agglomerative"
    taxonomy = "taxonomy"


class ModeName(StrEnum):
    """What a network is trained on."""

    cnn_rnn = "cnn-rnn"
    superclass_heads = "superclass-heads"
    classes = "classes"
    end_to_end = "end-to-end"


def fit(
    data: Data,
    folder: Annotated[Path, typer.Option("--out", help="folder for what is fitted")],
    split: SplitName = None,
    features: Features = None,
    semantics: Semantics = None,
    seed: Annotated[int, typer.Option(help="seed")] = 0,
    tune: Annotated[
        bool, typer.Option("--tune/--no-tune", help="choose hyper-parameters on validation folds")
    ] = True,
    backbone: Annotated[
        str | None, typer.Option(help="images: the network; by default the best preset at hand")
    ] = None,
    network: Annotated[
        list[str] | None,
        typer.Option(
            help="images: a backbone, or a folder of zerokin train; several stand side by side"
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(help="images: packaged, hub or a file; by default what is at hand"),
    ] = None,
    finetune: Annotated[
        bool, typer.Option("--fine-tune/--frozen", help="images: train the network, or not")
    ] = False,
    mode: Annotated[
        ModeName | None, typer.Option(help="with --fine-tune; by default end-to-end")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="with --fine-tune: passes over the images; by default 12")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="with --fine-tune: YAML file of the network and its recipe; what it says counts"
        ),
    ] = None,
    fold_networks: Annotated[
        bool,
        typer.Option(
            "--fold-networks/--one-network",
            help="with --fine-tune: also train one for each validation fold, to choose honestly",
        ),
    ] = True,
    grouping: Annotated[
        GroupingName | None,
        typer.Option("--by", help="superclasses from this, not as validation chooses"),
    ] = None,
    branching: Annotated[int, typer.Option("-t", "--branching", help="with --by: t")] = 2,
    image_size: Annotated[int | None, typer.Option(help="images: their side, in pixels")] = None,
    regions: Annotated[
        int | None,
        typer.Option(help="several labels an image: so many regions a side; by default 7"),
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda")] = None,
    precision: ReadingPrecision = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume-folder",
            help="where to go on from, and to be able to; for images, and for several processes, "
            "OUT.training by default, removed at the end",
        ),
    ] = None,
    skip_damaged: Annotated[
        bool,
        typer.Option("--skip-damaged", help="leave out images that cannot be decoded, and say so"),
    ] = False,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="drop classes that OUT knows and DATA does not"),
    ] = False,
    memory_budget: MemoryBudget = None,
) -> None:
    """Learn from images, or from features, and write a bundle.

    Everything is chosen on validation classes held out of the seen ones.
    """
    from zerokin.data import load_dataset

    # Whatever is wrong with OUT is said before hours of work, not after.
    if folder.is_file():
        raise InvalidInput(f"{folder} is a file: choose a folder with --out")
    refuse_unwritable(folder, inside=True)
    dataset = load_dataset(data, split=split, features=features, semantics=semantics)
    if isinstance(dataset, MultiLabelDataset):
        given: dict[str, Any] = {
            "--fine-tune": finetune, "--mode": mode, "--epochs": epochs, "--config": config,
            "--by": grouping, "--resume-folder": resume, "--replace": replace,
            "--skip-damaged": skip_damaged, "--memory-budget": memory_budget,
        }  # fmt: skip
        if current().shared:
            raise InvalidInput(f"{data} has several labels a sample: fit it without torchrun")
        refuse_options(given, f"is for one label a sample, and {data} has several")
        of_network = {"--network": network, "--backbone": backbone, "--weights": weights,
                      "--image-size": image_size, "--regions": regions,
                      "--precision": precision}  # fmt: skip
        learner = None
        if dataset.kind == "features":
            refuse_options(of_network, f"is for images, but {data} holds features")
        elif network and len(network) > 1:
            raise InvalidInput("regions are read by one network: give --network once")
        else:
            name = network[0] if network else backbone
            settings = {
                "weights": weights,
                "image_size": image_size,
                "precision": None if precision is None else precision.value,
            }
            learner = network_named(name, None, settings, {}, finetune=False, device=device)
        fit_labels(dataset, folder, learner=learner, regions=regions, tune=tune, seed=seed)
        return
    refuse_options({"--regions": regions}, f"is for several labels a sample, and {data} has one")
    dropped = dropped_classes(dataset, folder)
    if dropped and not replace:
        raise InvalidInput(
            f"{folder} also knows {listing(dropped)}, which {data} does not: put "
            f"{'it' if len(dropped) == 1 else 'them'} into classes.csv, choose another --out, "
            "or drop with --replace"
        )
    if config is not None and not finetune:
        raise InvalidInput("--config says how a network is trained: add --fine-tune")
    options: dict[str, Any] = {"tune": tune, "random_state": seed}
    options["memory_budget"] = memory_budget
    notes: list[str] = []
    if dataset.kind == "features":
        refused = (
            ("--fine-tune", finetune),
            ("--network", network),
            ("--skip-damaged", skip_damaged),
            ("--precision", precision),
        )
        for option, chosen in refused:
            if chosen:
                raise InvalidInput(f"{option} is for images, but {data} holds features")
    else:
        if network and (backbone is not None or weights is not None):
            raise InvalidInput("--network says which networks: leave out --backbone and --weights")
        settings = {
            "weights": weights,
            "mode": mode.value if finetune and mode else None,
            "image_size": image_size,
            "precision": None if precision is None else precision.value,
        }
        recipe = {"epochs": epochs, "seed": seed, "image_size": image_size}
        names: list[str | None] = [*network] if network else [backbone]
        learners = [
            network_named(name, config, settings, recipe, finetune=finetune, device=device)
            for name in names
        ]
        options["learner"] = learners if len(learners) > 1 else learners[0]
        dataset, notes = decodable(dataset, skip_damaged=skip_damaged)
        options |= {"finetune": finetune, "fold_networks": fold_networks}
    if grouping is not None:
        from zerokin.hierarchy.from_dataset import build_hierarchy

        options["hierarchy"] = build_hierarchy(
            dataset, grouping.value, branching=branching, random_state=seed
        )
    fit_bundle(dataset, folder, resume, options, notes)
    if dropped:
        out.print(
            f"note: {folder} knew {listing(dropped)}, too, and no longer does: zerokin "
            "add-class makes it know them again",
            soft_wrap=True,
        )


def network_named(
    name: str | None,
    config: Path | None,
    settings: dict[str, Any],
    recipe: dict[str, Any],
    *,
    finetune: bool,
    device: str | None,
) -> Any:
    """Return a network that was trained before, or the settings of one by its backbone's name."""
    if name is not None and Path(name).is_dir():
        from zerokin.features.feature_learner import FeatureLearner

        if finetune:
            raise InvalidInput(f"{name} is trained already: leave out --fine-tune")
        learner = FeatureLearner.load(name, device=device)
        if settings["precision"] is not None:
            learner.settings = replace(learner.settings, precision=settings["precision"])
        return learner
    made = network_settings(config, {"backbone": name, **settings}, recipe, finetune=finetune)
    return {**made, "device": device}


def decodable(dataset: Dataset, *, skip_damaged: bool) -> tuple[Dataset, list[str]]:
    """Return a data set whose images can all be decoded, and what there is to say of it."""
    from zerokin.data.damaged import (
        describe_damaged,
        find_damaged,
        refuse_damaged,
        without_samples,
    )

    if dataset.kind != "images":
        return dataset, []
    damaged = find_damaged(dataset.images)
    if not skip_damaged:
        refuse_damaged(dataset.images, damaged)
    if not damaged:
        return dataset, []
    note = f"{describe_damaged(dataset.images, damaged)} and left out"
    return without_samples(dataset, np.array(sorted(damaged))), [note]


def network_settings(
    config: Path | None, settings: dict[str, Any], recipe: dict[str, Any], *, finetune: bool
) -> dict[str, Any]:
    """Return what `fit_recognizer` takes: a file's settings on top of the options given."""
    from zerokin.features.network_config import read_network
    from zerokin.features.network_settings import NetworkSettings
    from zerokin.features.networks.backbones import check_backbone, preset_fitting
    from zerokin.features.networks.presets import PRESETS, best_at_hand, describe_best

    plan = read_network(config)
    share = plan.recipe.get("distillation")
    if share:
        raise InvalidInput(
            f"{config}: distillation {share} needs a teacher, which fit has none of: set it "
            "to 0, or train with zerokin train --teacher"
        )
    made = {**_given(settings), **plan.settings}
    file = made.get("weights")
    if "backbone" not in made and file is not None and (fitting := preset_fitting(file)):
        made["backbone"] = fitting
    if not finetune and not {"backbone", "weights"} & made.keys():
        made["backbone"] = best_at_hand()
        out.print(describe_best(made["backbone"]), soft_wrap=True)
    backbone = made.get("backbone", NetworkSettings.backbone)
    check_backbone(backbone, made.get("weights"))
    if "weights" not in made and backbone not in PRESETS:
        made["weights"] = chosen_weights(backbone, None, finetune=finetune)
    return {**made, "recipe": {**_given(recipe), **plan.recipe}}


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were typed: for the others, the classes have defaults."""
    return {name: value for name, value in options.items() if value is not None}


def dropped_classes(dataset: Dataset, folder: Path) -> list[str]:
    """Return the classes that a bundle knows, added later perhaps, and the data do not."""
    from zerokin.recognizer.atomic_bundle import refuse_other_content
    from zerokin.recognizer.serialization import known_classes

    refuse_other_content(folder)
    return [name for name in known_classes(folder) if name not in dataset.classes.names]


def fit_bundle(
    dataset: Dataset,
    folder: Path,
    resume: Path | None,
    options: dict[str, Any],
    notes: Sequence[str] = (),
) -> None:
    """Fit a recognizer and write its bundle; the notes are kept in it, beside its own."""
    from zerokin.recognizer import fit_recognizer

    kept = folder.with_name(f"{folder.name}.training") if resume is None else resume
    keeps = "learner" in options or resume is not None or current().shared
    if keeps:
        refuse_unwritable(kept, inside=True)
    with going_on_from(kept) if keeps else nullcontext(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ZerokinWarning)  # they are printed below
        recognizer = fit_recognizer(dataset, folder=kept if keeps else None, **options)
    recognizer.about["notes"] = [*notes, *recognizer.about["notes"]]
    if not current().leads:
        return
    recognizer.save(folder)
    if keeps and resume is None:
        shutil.rmtree(kept, ignore_errors=True)
    for note in recognizer.about["notes"]:
        out.print(f"note: {note}", soft_wrap=True)
    if recognizer.metrics["validation"]:
        for line in describe_folds(recognizer.metrics["validation"]):
            out.print(line, soft_wrap=True)
    if recognizer.metrics["test"]:
        figures = [
            f"{name.replace('_', ' ')} {value:.1f} %"
            for name, value in recognizer.metrics["test"].items()
        ]
        test = f"test {recognizer.takes}: {', '.join(figures)} (per-class top-1)"
        out.print(test, soft_wrap=True)
    seen = int(recognizer.seen.sum())
    out.print(f"{seen} seen and {len(recognizer.classes) - seen} unseen classes")
    out.print(f"wrote {folder}", soft_wrap=True)


def describe_folds(found: Mapping[str, Any]) -> Iterator[str]:
    """Say S, U and H on the folds with their half-widths, and which classes are never named.

    Examples
    --------
    >>> found = {"seen_among_all": 71.0, "unseen_among_all": 60.0, "harmonic_mean": 65.0}
    >>> widths = {"seen_among_all": 3.0, "unseen_among_all": 5.2, "harmonic_mean": 4.0}
    >>> found |= {"unseen_among_unseen": 70.0, "half_widths": widths, "never_named": ["okapi"]}
    >>> for line in describe_folds({**found, "folds": "6 (drawn)"}):
    ...     print(line)
    validation classes: unseen among unseen 70.0 %, S 71.0 ± 3.0 %, U 60.0 ± 5.2 %,
    H 65.0 ± 4.0 % (per-class top-1; mean and half-width of the 95 % interval, folds: 6 (drawn))
    never named on the folds: okapi
    """
    names = {"S": "seen_among_all", "U": "unseen_among_all", "H": "harmonic_mean"}
    figures = [f"unseen among unseen {found['unseen_among_unseen']:.1f} %"]
    figures += [
        f"{letter} {found[name]:.1f} ± {found['half_widths'][name]:.1f} %"
        for letter, name in names.items()
    ]
    spread = f"mean and half-width of the 95 % interval, folds: {found['folds']}"
    yield f"validation classes: {', '.join(figures)} (per-class top-1; {spread})"
    if found["never_named"]:
        yield f"never named on the folds: {', '.join(found['never_named'])}"


def chosen_weights(backbone: str, weights: str | None, *, finetune: bool) -> str | None:
    """Return the weights to start from: the packaged ones where none are named and there are any.

    Examples
    --------
    >>> chosen_weights("tf_efficientnet_lite0", None, finetune=False)
    'packaged'
    >>> chosen_weights("conv4", None, finetune=False)
    Traceback (most recent call last):
    zerokin.errors.InvalidInput: conv4 without weights knows nothing: give --weights, or train ...
    """
    from zerokin.features.networks.packaged_weights import PACKAGES

    if weights is None and backbone.partition(".")[0] in PACKAGES:
        return "packaged"
    if weights is None and not finetune:
        raise InvalidInput(
            f"{backbone} without weights knows nothing: give --weights, or train it (--fine-tune)"
        )
    return weights
