"""``candidates``: example images with the classes that are nearest to them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zerokin.commands.arguments import Data, Features, Semantics, SplitName, out
from zerokin.files import refuse_unwritable


def candidates(
    data: Data,
    file: Annotated[Path, typer.Option("--out", help="FILE.png or .svg to draw")],
    images: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="data with the images, where DATA has features alone"),
    ] = None,
    method: Annotated[
        str, typer.Option(help="ours, paper, a variant such as paper-flat, or a peer's name")
    ] = "ours",
    each: Annotated[int, typer.Option(help="images of unseen and of seen classes each")] = 5,
    k: Annotated[int, typer.Option("-k", help="candidates of an image")] = 5,
    seed: Annotated[int, typer.Option(help="draws the images; seed of the method, too")] = 0,
    split: SplitName = None,
    features: Features = None,
    semantics: Semantics = None,
) -> None:
    """Draw test images at random, and their best candidates among all classes."""
    from zerokin.benchmark.candidates import draw_samples, find_candidates
    from zerokin.benchmark.comparison import find_methods
    from zerokin.benchmark.settings import features_name, refuse_unmeasurable
    from zerokin.data import load_dataset
    from zerokin.data.sample_images import load_sample_images
    from zerokin.parameters import Integer, check_arguments
    from zerokin.report.candidates_figure import draw_candidates
    from zerokin.report.figures import checked_image_path

    check_arguments({"k": Integer(1)}, k=k)
    refuse_unwritable(checked_image_path(file))
    (chosen,) = find_methods([method])
    dataset = load_dataset(data, split=split, features=features, semantics=semantics)
    refuse_unmeasurable(dataset, "generalized")
    dataset.features  # noqa: B018  says what to do where there are none
    source = load_dataset(data if images is None else images)
    samples = draw_samples(dataset.split, each, seed)
    loaded = load_sample_images(dataset, source, samples)
    found = find_candidates(dataset, chosen, samples, k=k, seed=seed)
    draw_candidates(
        loaded,
        found,
        dataset.classes.names,
        dataset.split.unseen,
        file,
        title=f"{dataset.name}, {features_name(dataset)}: {method}, "
        f"all {len(dataset.classes)} classes compete",
        note=drawn_note(seed),
    )
    out.print(f"wrote {file}: {len(samples)} images, {k} candidates of each", soft_wrap=True)


def drawn_note(seed: int) -> str:
    """Return how images were drawn, for the line below them."""
    return f"Test images drawn at random (seed {seed}) before anything was predicted."
