"""The model card: what a bundle is, what it was made from, how good it is and where it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from zerokin.errors import listing

if TYPE_CHECKING:
    from zerokin.recognizer.recognizer import Recognizer

NAMES_SHOWN = 60
NO_LICENCE = (
    "To be filled in by whoever passes this on: the licence of the pictures, of the network's "
    "first weights, and of this bundle."
)
LICENCE = re.compile(r"^## Licence\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)


def model_card(recognizer: Recognizer) -> str:
    """Return the card of a recognizer in Markdown."""
    parts = [
        f"# {_plain(recognizer.about.get('name', 'Recognizer'))}: a zerokin recognizer",
        *_what(recognizer),
        *_data(recognizer),
        *_training(recognizer.about),
        *_measured(recognizer.metrics),
        *_limits(recognizer),
        "## Licence",
        str(recognizer.about.get("licence") or NO_LICENCE),
        "## Use",
        "    zerokin predict THIS_FOLDER picture.jpg …\n"
        '    zerokin add-class THIS_FOLDER "a new class" --attributes "…"',
        "Everything here is safetensors, JSON, CSV and JPEG: nothing is executed when loaded.",
    ]
    return "\n\n".join(parts) + "\n"


def filled_in_licence(card: str) -> str | None:
    r"""Return what somebody wrote under *Licence* in a card; None if that is still to be done.

    Examples
    --------
    >>> filled_in_licence("# Birds\n\n## Licence\n\nCC BY 4.0\n\n## Use\n")
    'CC BY 4.0'
    """
    found = LICENCE.search(card)
    text = "" if found is None else found[1].strip()
    return None if text in ("", NO_LICENCE) else text


def _what(recognizer: Recognizer) -> Iterator[str]:
    seen = [
        name
        for name, is_seen in zip(recognizer.classes.names, recognizer.seen, strict=True)
        if is_seen
    ]
    unseen = [name for name in recognizer.classes.names if name not in set(seen)]
    tree = recognizer.hierarchy
    groups = (
        "no superclasses"
        if tree is None
        else f"{' > '.join(map(str, reversed(tree.sizes)))} superclasses"
    )
    yield (
        f"Names {len(seen)} classes it has seen pictures of and {len(unseen)} it has not, "
        f"which are known by {_plain(recognizer.classes.semantics_source)} ({groups} from the top)."
    )
    yield f"Seen: {_plain(listing(seen, most=NAMES_SHOWN))}."
    yield f"Unseen: {_plain(listing(unseen, most=NAMES_SHOWN)) or 'none'}."


def _data(recognizer: Recognizer) -> Iterator[str]:
    about = recognizer.about
    yield "## Data"
    yield (
        f"{_plain(about.get('data', 'not recorded'))}. Training pictures: "
        f"{about.get('training_pictures', 'not recorded')}. Split: "
        f"{_plain(about.get('split', 'not recorded'))}."
    )
    if about.get("examples"):
        yield f"It holds {about['examples']} small training pictures as examples of seen classes."


def _training(about: Mapping[str, Any]) -> Iterator[str]:
    yield "## How it was trained and chosen"
    yield _table(about.get("training", {}))
    yield _plain(about.get("choice", "How it was chosen was not recorded."))
    for note in about.get("notes", ()):
        yield f"- {_plain(note)}"


def _measured(metrics: Mapping[str, Any]) -> Iterator[str]:
    yield "## Measured"
    validation, test = metrics.get("validation"), metrics.get("test")
    if validation:
        yield (
            "On validation classes, on which the choice was made, so that it flatters a little "
            "(per-class top-1, %):"
        )
        yield _table(validation)
    if test:
        yield "On test pictures, looked at once, after everything was chosen (per-class top-1, %):"
        yield _table(test)
    else:
        yield "There were no test pictures of unseen classes: nobody knows how well they are named."


def _limits(recognizer: Recognizer) -> Iterator[str]:
    yield "## Limits"
    yield (
        "- It always ranks the classes it knows. Pictures of something else are told apart only "
        'roughly ("none of these").\n'
        "- Unseen classes are named by what was said of them: where that is wrong or misses what "
        "sets them apart, so are the answers.\n"
        "- Pictures unlike the training pictures (another camera, another season, drawings) are "
        "named worse than the figures above say."
    )
    if not recognizer.calibrations:
        yield "- Answers carry no probabilities: there was too little to learn them from."


def _table(values: Any) -> str:
    if not isinstance(values, Mapping):
        return _plain(_shown(values))
    rows = [f"| {_plain(name)} | {_plain(_shown(value))} |" for name, value in values.items()]
    return "\n".join(["| | |", "|---|---|", *rows])


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(text: Any) -> str:
    """Keep names of classes from being read as Markdown or HTML."""
    one_line = " ".join(str(text).split())
    for sign in "\\`*_[]|#":
        one_line = one_line.replace(sign, f"\\{sign}")
    return one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
