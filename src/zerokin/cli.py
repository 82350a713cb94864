"""The command line: what each command takes, and which room does it."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from zerokin._version import __version__
from zerokin.commands.arguments import Data, Features, ReadingPrecision, Semantics, out
from zerokin.commands.candidates import candidates
from zerokin.commands.classes import add_class, init, remove_class, undo
from zerokin.commands.data import check, hierarchy, skipgram, vectors
from zerokin.commands.fit import fit
from zerokin.commands.measure import compare, evaluate
from zerokin.commands.predict import predict
from zerokin.commands.report import report
from zerokin.commands.reproduce import reproduce
from zerokin.commands.serve import serve
from zerokin.commands.train import ablation, train
from zerokin.commands.usage import Interrupted, OneLineGroup, going_on_from, one_line_warnings
from zerokin.compute.ending import say_first
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.files import refuse_unwritable, unwritable
from zerokin.locales import print_anything
from zerokin.progress import Verbosity, set_verbosity, verbosity

INTERRUPTED = 130

app = typer.Typer(
    cls=OneLineGroup,
    help="Recognize classes you have no images of, through the superclasses they share.",
    epilog="Every command takes -h, -q (no progress) and -v (times of stages; tracebacks).",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class FeatureFormat(StrEnum):
    """Form of extracted features."""

    native = "native"
    xlsa17 = "xlsa17"


class FeatureType(StrEnum):
    """Type of number in a feature file."""

    float16 = "float16"
    float32 = "float32"


class PoolingName(StrEnum):
    """Which tokens of a transformer become features."""

    cls = "cls"
    mean = "mean"
    cls_mean = "cls+mean"
    cls2 = "cls2"
    cls4 = "cls4"
    cls4_mean = "cls4+mean"


class ResizeModeName(StrEnum):
    """How images become squares."""

    whole = "whole"
    center_crop = "center"


@app.callback(invoke_without_command=True)
def version(
    version: Annotated[bool, typer.Option("-V", "--version", help="Print the version.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Show no progress.")] = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Time every stage; tracebacks of errors.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""
    if quiet and verbose:
        raise InvalidInput("give one of --quiet and --verbose")
    if quiet or verbose:
        set_verbosity(Verbosity.quiet if quiet else Verbosity.verbose)
    if version:
        print(f"zerokin {__version__}")
        raise typer.Exit


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="folder for the images")] = Path("zerokin-demo"),
    seed: Annotated[int, typer.Option(help="seed of the training")] = 0,
    report: Annotated[Path | None, typer.Option("--json", help="write the rows")] = None,
) -> None:
    """Name invented animals that were never shown: generate, group, train, recognize."""
    from zerokin.commands.demo import run_demo

    if report is not None:
        refuse_unwritable(report)
    run_demo(out, seed=seed, report=report)


@app.command()
def extract(
    data: Data,
    target: Annotated[Path, typer.Option("--out", help="FILE.safetensors, or a folder for xlsa17")],
    backbone: Annotated[
        str | None,
        typer.Option(
            help="a preset or another network; by default tf_efficientnet_lite0",
            show_default=False,
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(help="packaged, hub or a file; by default a preset's", show_default=False),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="folder of a saved FeatureLearner instead")
    ] = None,
    image_size: Annotated[int | None, typer.Option(help="side of the images, in pixels")] = None,
    resize_mode: Annotated[
        ResizeModeName | None, typer.Option(help="all of an image, or a centered square")
    ] = None,
    pooling: Annotated[
        PoolingName | None,
        typer.Option(help="of a transformer: its class token, patch tokens or both"),
    ] = None,
    zoom: Annotated[float | None, typer.Option(help="1.15 leaves out the rim")] = None,
    tta_flip: Annotated[
        bool | None,
        typer.Option(
            "--tta-flip/--no-tta-flip",
            help="test-time augmentation: average with mirrored images",
        ),
    ] = None,
    tta_crops: Annotated[
        int | None, typer.Option(help="test-time augmentation: average with so many crops")
    ] = None,
    tta_crop_seed: Annotated[
        int | None,
        typer.Option(help="random crops, others of every image, by this seed: those of EASY"),
    ] = None,
    regions: Annotated[
        int,
        typer.Option(help="several labels an image: read a grid of so many regions a side; 0: no"),
    ] = 0,
    form: Annotated[FeatureFormat, typer.Option("--format")] = FeatureFormat.native,
    dtype: Annotated[FeatureType, typer.Option(help="of the native format")] = FeatureType.float32,
    device: Annotated[str | None, typer.Option(help="cpu or cuda")] = None,
    precision: ReadingPrecision = None,
    batch: Annotated[int | None, typer.Option(help="images at a time")] = None,
    features: Features = None,
    semantics: Semantics = None,
) -> None:
    """Write the features of all images to a file; what was interrupted goes on."""
    from zerokin.data import load_dataset
    from zerokin.data.native_writer import partial_file
    from zerokin.features.extraction import extract_features, extract_xlsa17
    from zerokin.features.extractor import open_extractor

    if form == FeatureFormat.xlsa17 and dtype == FeatureType.float16:
        raise InvalidInput("xlsa17 files have no float16: leave out --dtype float16")
    dataset = load_dataset(data, features=features, semantics=semantics)
    extractor = open_extractor(
        backbone,
        weights=weights,
        model=model,
        image_size=image_size,
        resize_mode=None if resize_mode is None else resize_mode.value,
        pooling=None if pooling is None else pooling.value,
        zoom=zoom,
        tta_flip=tta_flip,
        tta_crops=tta_crops,
        tta_crop_seed=tta_crop_seed,
        regions=regions,
        batch_size=batch,
        device=device,
        precision=None if precision is None else precision.value,
    )
    if form == FeatureFormat.xlsa17:
        extract_xlsa17(extractor, dataset, target)
    else:
        with going_on_from(partial_file(target)):
            extract_features(extractor, dataset, target, dtype=dtype.value)
    what = "images" if extractor.reads_images else "samples"
    found = f"{len(dataset):,} {what}, {extractor.width:,} features each"
    out.print(f"wrote {target}: {found}", soft_wrap=True)


for command in (
    init,
    check,
    fit,
    predict,
    add_class,
    remove_class,
    undo,
    serve,
    hierarchy,
    train,
    evaluate,
    compare,
    candidates,
    ablation,
    reproduce,
    report,
    vectors,
    skipgram,
):
    app.command()(command)


def main() -> None:
    """Run the command line; what a user got wrong is said in one line, with exit status 2."""
    print_anything()
    set_verbosity(Verbosity.normal)
    try:
        with one_line_warnings():
            app(prog_name="zerokin")
    except ZerokinError as error:
        if verbosity() == Verbosity.verbose:
            traceback.print_exc()
        say_first(str(error))
        sys.exit(2)
    except Interrupted as stop:
        print(f"zerokin: interrupted; {stop}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except SystemExit as ended:
        # Typer turns an interruption into this status, without a word.
        if ended.code == INTERRUPTED:
            print("zerokin: interrupted", file=sys.stderr)
        raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        what = error.filename or "the output"
        print(f"zerokin: cannot write {what}: {unwritable(error)}", file=sys.stderr)
        # Python would try once more, at the end, to write what standard output still holds.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(2)
