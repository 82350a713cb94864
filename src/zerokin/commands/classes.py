"""``init``, ``add-class``, ``remove-class`` and ``undo``: the classes of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zerokin.commands.arguments import as_utf8, out
from zerokin.commands.open_bundle import open_bundle
from zerokin.errors import InvalidInput

Model = Annotated[Path, typer.Argument(help="folder that zerokin fit wrote")]
ClassName = Annotated[str, typer.Argument(metavar="NAME", help="the class", callback=as_utf8)]


def init(
    data: Annotated[str, typer.Argument(metavar="DIR", help="a sub-folder per class")],
    unseen: Annotated[
        list[str] | None,
        typer.Option(
            help="classes without images, joined by ,; or repeated, a name each", callback=as_utf8
        ),
    ] = None,
    attributes: Annotated[
        str | None,
        typer.Option(help="columns to fill with numbers, joined by ,", callback=as_utf8),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="replace classes.csv")] = False,
) -> None:
    """Write classes.csv for a folder of images, to be filled in."""
    from zerokin.data.class_sheet import write_class_sheet

    folder = Path(data.removeprefix("folder=")).expanduser()
    columns = None if attributes is None else attributes.split(",")
    names = unseen or []
    if len(names) == 1:
        names = [name.strip() for name in names[0].split(",")]
    sheet = write_class_sheet(folder, unseen=names, attributes=columns, force=force)
    out.print(f"wrote {sheet.path}: {sheet.n_seen} seen and {sheet.n_unseen} unseen classes")
    what = "a number for every attribute" if columns else "a description of every class"
    out.print(f"fill in {what}, then: zerokin check {data}", soft_wrap=True)


def add_class(
    model: Model,
    name: ClassName,
    more: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="IMAGES", help="further images of the class, after --images", show_default=False
        ),
    ] = None,
    images: Annotated[
        list[str] | None,
        typer.Option(help="images of the class: files, folders or patterns, one or more"),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(help="FILE.npy with its features, a row a sample, in the place of images"),
    ] = None,
    attributes: Annotated[
        str | None,
        typer.Option(
            help='values by name: "stripes=1,wings=0.5"; the others are 0', callback=as_utf8
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="a description in words", callback=as_utf8)
    ] = None,
    vector: Annotated[
        Path | None, typer.Option(help="a file with its semantic vector: numbers, or .npy")
    ] = None,
    kappa: Annotated[
        float | None, typer.Option(help="how many images the semantics count as; at first 1")
    ] = None,
) -> None:
    """Make one more class known to a bundle, by semantics, images or both, without fitting again.

    Images of a class that is known already, but was not seen in training, are added to it.
    """
    told = sum(given is not None for given in (attributes, text, vector))
    if more and not images:
        raise InvalidInput(f"{more[0]!r} is one word too many: images go after --images")
    if told > 1 or not (told or images or features):
        raise InvalidInput(
            "give one of --attributes, --text and --vector, or --images (--features without a "
            "network), or both"
        )
    if text is not None and not text.strip():
        raise InvalidInput(f"class {name!r}: --text is empty")
    from zerokin.commands.predict import image_paths
    from zerokin.data.attached_features import feature_file

    recognizer = open_bundle(model)
    recognizer.add_class(
        name,
        attributes=None if attributes is None else parsed_attributes(attributes),
        text=text,
        vector=None if vector is None else read_vector(vector),
        images=None if not images else list(image_paths([*images, *(more or ())], ())),
        features=None if features is None else feature_file(features.expanduser()),
        kappa=kappa,
    )
    recognizer.save(model)
    shots = recognizer.shots.get(name.strip())
    by = f", {name.strip()} by {shots} example{'' if shots == 1 else 's'}" if shots else ""
    out.print(f"{model} knows {len(recognizer.classes)} classes{by}", soft_wrap=True, markup=False)


def remove_class(model: Model, name: ClassName) -> None:
    """Make a bundle forget an unseen class."""
    recognizer = open_bundle(model)
    recognizer.remove_class(name)
    recognizer.save(model)
    out.print(f"{model} knows {len(recognizer.classes)} classes", soft_wrap=True)


def undo(model: Model) -> None:
    """Take back the last change of a bundle; given again, the change is back."""
    from zerokin.recognizer import Recognizer

    recognizer = Recognizer.undo(model, device="cpu")
    out.print(
        f"{model} knows {len(recognizer.classes)} classes, as before the last change",
        soft_wrap=True,
    )


def parsed_attributes(text: str) -> dict[str, float]:
    """Return values by attribute.

    Examples
    --------
    >>> parsed_attributes("stripes=1, wings=0.5")
    {'stripes': 1.0, 'wings': 0.5}
    """
    found: dict[str, float] = {}
    for pair in filter(None, (pair.strip() for pair in text.split(","))):
        name, equals, value = pair.rpartition("=")
        try:
            if not equals or name.strip() in found:
                raise ValueError
            found[name.strip()] = float(value)
        except ValueError:
            raise InvalidInput(
                f"--attributes: {pair!r} is not NAME=NUMBER, each name once"
            ) from None
    return found


def read_vector(path: Path) -> list[float]:
    """Read a vector: a ``.npy`` file, or text with numbers between blanks, commas or lines."""
    from zerokin.data.array_features import SUFFIX, mapped_array

    try:
        if path.suffix == SUFFIX:
            values: list[float] = mapped_array(path).astype(float).ravel().tolist()
            return values
        return [float(word) for word in path.read_text(encoding="utf-8").replace(",", " ").split()]
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} is not a vector of numbers: {error}") from error
