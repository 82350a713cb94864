"""``predict``: answers for images or rows of features, as they are read."""

from __future__ import annotations

import glob
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from zerokin.commands.arguments import Features, as_utf8, out
from zerokin.commands.open_bundle import open_bundle
from zerokin.commands.several_labels import (
    answers_of_features,
    label_lines,
    predicts_labels,
    reads_images,
    refuse_options,
)
from zerokin.errors import InvalidInput, MissingFile, did_you_mean, listing
from zerokin.files import replacing
from zerokin.report.answers_csv import csv_heading, csv_row, tidy_heading, tidy_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zerokin.data.feature_files import FeatureFile
    from zerokin.data.images import Images
    from zerokin.recognizer import ImageAnswer, UnreadableImage

    Answer = ImageAnswer | UnreadableImage

KINDS = ("all", "seen", "unseen")
NAME_WIDTH = 30


def predict(
    model: Annotated[Path, typer.Argument(help="folder that zerokin fit wrote")],
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="IMAGES|FEATURES|DATA",
            help="image files, folders, patterns, or - for paths on standard input; a feature "
            "file where the bundle has no network; or DATA",
            show_default=False,
        ),
    ],
    features: Features = None,
    candidates: Annotated[
        str, typer.Option(help="unseen, seen, all, or names joined by ,", callback=as_utf8)
    ] = "all",
    classes: Annotated[
        str | None,
        typer.Option(
            help="only these candidates: names joined by ,, or a file with one a line",
            callback=as_utf8,
        ),
    ] = None,
    under: Annotated[
        list[str] | None,
        typer.Option(help="only classes below this superclass; repeatable", callback=as_utf8),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(
            help="layer to name: 0 for classes, 1 and up, a rank such as family, or all for "
            "classes and every level",
            callback=as_utf8,
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", help="classes to name for a sample; by default 1, or as many labels as it has"
        ),
    ] = None,
    max_risk: Annotated[
        float | None, typer.Option(help="name a superclass where a class may be wrong more often")
    ] = None,
    min_confidence: Annotated[
        float | None, typer.Option(help="name the deepest level that is this probable, 0 to 1")
    ] = None,
    unseen_bias: Annotated[float, typer.Option(help="added to the scores of unseen classes")] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="a JSON line each")] = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="comma-separated; with levels a row for each of them")
    ] = False,
    result: Annotated[
        Path | None, typer.Option("--out", help="write a file: CSV, or JSON lines with --json")
    ] = None,
    batch: Annotated[int, typer.Option(help="samples read at a time")] = 32,
    device: Annotated[str | None, typer.Option(help="images: cpu or cuda")] = None,
) -> None:
    """Name images, or rows of features where the bundle has no network, best classes first.

    Samples that cannot be read are reported, the others still answered; then the exit status is 1.
    """
    if as_json and as_csv:
        raise InvalidInput("give one of --json and --csv")
    form = "json" if as_json else "csv" if as_csv or result is not None else "table"
    if predicts_labels(model):
        options = {
            "--classes": classes, "--under": under, "--level": level, "--max-risk": max_risk,
            "--min-confidence": min_confidence, "--unseen-bias": unseen_bias or None,
        }  # fmt: skip
        refuse_options(options, f"is for one label a sample, and {model} gives several")
        among = named_candidates(candidates)
        answers_of_labels: Iterable[Any]
        if reads_images(model):
            from zerokin.recognizer.label_recognizer import LabelRecognizer

            if features is not None:
                raise InvalidInput(f"--features is for no network: {model} takes images")
            answers_of_labels = LabelRecognizer.load(model, device=device).recognize_stream(
                given_images(inputs), candidates=among, k=k, batch_size=batch
            )
        else:
            rows = given_features(inputs, features)
            answers_of_labels = answers_of_features(model, rows, candidates=among, k=k)
        write_answers(
            label_lines(answers_of_labels, form), result, nothing=f"no images: {listing(inputs)}"
        )
        return
    k = 1 if k is None else k
    recognizer = open_bundle(model, device=device)
    if recognizer.takes == "features":
        samples: Any = given_features(inputs, features)
    elif features is not None:
        raise InvalidInput(f"--features is for bundles without a network: {model} takes images")
    else:
        samples = given_images(inputs)
    answers = recognizer.recognize_stream(
        samples,
        candidates=chosen_candidates(candidates, recognizer.classes.names),
        k=k,
        max_risk=max_risk,
        unseen_bias=unseen_bias,
        classes=None if classes is None else chosen_classes(classes, recognizer.classes.names),
        under=under,
        level=level,
        min_confidence=min_confidence,
        batch_size=batch,
    )
    if form == "csv" and (level is not None or min_confidence is not None):
        form = "tidy"
    where = "standard input names none" if "-" in inputs else listing(inputs)
    write_answers(written(answers, form, k), result, nothing=f"no {recognizer.takes}: {where}")


def write_answers(lines: Iterable[tuple[Any, str]], result: Path | None, *, nothing: str) -> None:
    """Write answers as they come; samples that cannot be read are said, and exit with 1."""
    count = unreadable = 0
    with opened(result) as file:
        for answer, line in lines:
            count += 1
            file.write(line)
            file.flush()
            if hasattr(answer, "error"):
                unreadable += 1
                print(f"zerokin: {answer.error}", file=sys.stderr)
        if not count:
            raise InvalidInput(nothing)
    if result is not None:
        out.print(f"wrote {result}", soft_wrap=True)
    if unreadable:
        raise typer.Exit(1)


def given_features(inputs: list[str], features: str | None) -> FeatureFile | NDArray[np.floating]:
    """Return the features that the arguments stand for: a file of rows, or those of DATA."""
    from zerokin.data.attached_features import FILES, feature_file
    from zerokin.data.load import READERS, load_dataset

    if len(inputs) > 1:
        raise InvalidInput(f"features come from one file or DATA at a time, not {listing(inputs)}")
    alone = inputs[0]
    if features is None and alone.endswith(FILES) and alone.partition("=")[0] not in READERS:
        return feature_file(Path(alone).expanduser())
    dataset = load_dataset(alone, features=features)
    dataset.features  # noqa: B018  refuses images
    return dataset.inputs  # type: ignore[return-value]


def given_images(inputs: list[str]) -> Iterable[Path] | Images:
    """Return the images that the arguments stand for, none of them read yet."""
    from zerokin.data.load import READERS, load_dataset

    alone = inputs[0] if len(inputs) == 1 else "-"
    if alone == "-" or Path(alone).expanduser().exists() or glob.has_magic(alone):
        return image_paths(inputs, sys.stdin)
    kind, equals, _ = alone.partition("=")
    if kind in READERS:
        return load_dataset(alone).images
    hint = did_you_mean(kind, READERS) if equals else ""
    raise MissingFile(f"no image or folder at {alone}{hint}")


def image_paths(inputs: list[str], listed: Iterable[str]) -> Iterable[Path]:
    """Return image files: named, below folders, matching patterns, or listed for ``-``."""
    # What is listed may come as slowly as somebody types; everything else is looked for at once.
    found = [None if given == "-" else _images_at(given) for given in inputs]
    if all(paths is not None and not paths for paths in found):
        raise InvalidInput(f"no images in {listing(inputs)}")
    for given, paths in zip(inputs, found, strict=True):
        if paths is not None and not paths:
            print(f"zerokin: no images in {given}", file=sys.stderr)
    lines = (Path(line.rstrip("\r\n")) for line in listed if line.strip())
    return chain.from_iterable(lines if paths is None else paths for paths in found)


def _images_at(given: str) -> list[Path]:
    from zerokin.data.images import is_image, list_folder

    path = Path(given).expanduser()
    if path.is_dir():
        return [path / name for name in list_folder(path)]
    if path.exists() or not glob.has_magic(given):
        return [path]
    found = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207
    if not found:
        raise MissingFile(f"no file matches {given!r}")
    images = [one for one in map(Path, found) if one.is_file() and is_image(one.name)]
    if not images:
        raise InvalidInput(f"no image among the files that match {given!r}")
    return images


def chosen_candidates(text: str, names: Iterable[str]) -> str | list[str]:
    """Return candidates as `Recognizer.recognize` takes them.

    Examples
    --------
    >>> chosen_candidates("lynx, wolf", ["lynx", "wolf"]), chosen_candidates("a,b", ["a,b", "c"])
    (['lynx', 'wolf'], ['a,b'])
    """
    if text in KINDS:
        return text
    return [text] if text in names else [name.strip() for name in text.split(",")]


def named_candidates(text: str) -> str | list[str]:
    """Return candidates: a kind, or names joined by commas."""
    return text if text in KINDS else [name.strip() for name in text.split(",")]


def chosen_classes(text: str, names: Iterable[str]) -> list[str]:
    """Return classes that were typed, or that a file lists, one in a line."""
    from zerokin.data.readers.tables import read_lines

    typed = [text] if text in names else [name.strip() for name in text.split(",") if name.strip()]
    if not set(typed) <= set(names) and Path(text).is_file():
        typed = read_lines(Path(text))
        if not typed:
            raise InvalidInput(f"{text} lists no class: write one in a line")
    return typed


def written(answers: Iterable[Answer], form: str, k: int) -> Iterator[tuple[Any, str]]:
    """Yield every answer with its line of output."""
    if form == "json":
        for answer in answers:
            yield answer, json.dumps(answer.to_dict(), ensure_ascii=False) + "\n"
        return
    heading = {"csv": csv_heading(k), "tidy": tidy_heading(), "table": table_heading()}[form]
    rows: dict[str, Callable[[Any, int], str]] = {"csv": csv_row, "tidy": tidy_rows}
    row = rows.get(form, table_row)
    for answer in answers:
        yield answer, heading + row(answer, k)
        heading = ""


def table_heading() -> str:
    """Return the first line of the table."""
    return f"{'answer':<{NAME_WIDTH}}  {'prob.':>6}  {'role':<10}  image\n"


def table_row(answer: Any, k: int) -> str:
    """Return an answer as lines of a table: the answer, and the classes it was chosen from."""
    if not hasattr(answer, "ranked"):
        return _row("(unreadable)", None, "", answer.image)
    best = answer.best
    role = _role(best)
    lines = []
    if answer.selective is not None and answer.selective.layer != 0:
        is_node = answer.selective.layer is not None and answer.selective.layer <= len(
            answer.superclasses
        )
        is_none = answer.selective.layer is None
        kind = "superclass" if is_node else "neither" if is_none else "anything"
        lines.append(_row(answer.name, answer.selective.probability, kind, answer.image))
    elif answer.selective is None and answer.level:
        node = answer.at_level.ranked[0]
        value = node.score if node.probability is None else node.probability
        lines.append(_row(node.name, value, answer.at_level.rank or "superclass", answer.image))
    else:
        value = best.score if best.probability is None else best.probability
        lines.append(_row(best.name, value, role, answer.image))
    if answer.out_of_distribution and answer.selective is None:
        lines.append("  (like nothing it knows: maybe none of these)\n")
    if k > 1:
        for one in answer.at_level.ranked if answer.level else answer.ranked:
            value = one.score if one.probability is None else one.probability
            kind = "" if answer.level else _role(one)
            lines.append(_row(f"  {one.name}", value, kind, ""))
    return "".join(lines)


def _role(one: Any) -> str:
    return "seen" if one.seen else "few-shot" if one.shots else "unseen"


def _row(name: str, value: float | None, role: str, image: str) -> str:
    number = "" if value is None else f"{value:.3f}"
    name = printable(name)
    if len(name) > NAME_WIDTH:
        name = f"{name[: NAME_WIDTH - 1].rstrip(' ,')}…"
    line = f"{name:<{NAME_WIDTH}}  {number:>6}  {role:<10}  {printable(image)}"
    return line.rstrip() + "\n"


def printable(text: str) -> str:
    r"""Replace characters that would steer a terminal.

    Examples
    --------
    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return "".join(sign if sign.isprintable() else "�" for sign in text)


@contextmanager
def opened(path: Path | None) -> Iterator[TextIO]:
    """Give standard output, or a file that is there whole or not at all."""
    if path is None:
        yield sys.stdout
        return
    with (
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file
