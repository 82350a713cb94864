"""The model card: what a bundle is, what it was made from, how good it is and where it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from zerokin.errors import listing

if TYPE_CHECKING:
    from zerokin.recognizer.recognizer import Recognizer

NAMES_SHOWN = 60
TO_FILL_IN = "To be filled in by whoever passes this on:"
NO_LICENSE = (
    f"{TO_FILL_IN} the license of the images, of the network's first weights, and of this bundle."
)
LICENSE = re.compile(r"^## Licen[cs]e\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)


def model_card(recognizer: Recognizer) -> str:
    """Return the card of a recognizer in Markdown."""
    of_features = recognizer.takes == "features"
    parts = [
        f"# {_plain(recognizer.about.get('name', 'Recognizer'))}: a zerokin recognizer",
        *_what(recognizer),
        *_data(recognizer),
        *_training(recognizer.about),
        *_measured(recognizer.metrics),
        *_limits(recognizer),
        "## License",
        str(recognizer.about.get("license") or NO_LICENSE),
        "## Use",
        f"    zerokin predict THIS_FOLDER {'features.npy' if of_features else 'image.jpg'} …\n"
        '    zerokin add-class THIS_FOLDER "a new class" --attributes "…"',
        "Everything here is safetensors, JSON, CSV and JPEG: nothing is executed when loaded.",
    ]
    return "\n\n".join(parts) + "\n"


def filled_in_license(card: str) -> str | None:
    r"""Return what somebody wrote under *License* in a card; None if that is still to be done.

    Examples
    --------
    >>> filled_in_license("# Birds\n\n## License\n\nCC BY 4.0\n\n## Use\n")
    'CC BY 4.0'
    """
    found = LICENSE.search(card)
    text = "" if found is None else found[1].strip()
    return None if not text or text.startswith(TO_FILL_IN) else text


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
        f"Names {len(seen)} classes it has seen samples of and {len(unseen)} it has not, "
        f"which are known by {_plain(recognizer.classes.semantics_source)} ({groups} from the top)."
    )
    if recognizer.takes == "features":
        yield (
            "It holds no network: it takes features, "
            f"{recognizer.classifier.n_features_in_:,} numbers for a sample, which must be read as "
            "those it was fitted on."
        )
    if recognizer.shots:
        shots = [f"{name} ({count})" for name, count in recognizer.shots.items()]
        yield f"Of the unseen ones, known by examples: {_plain(listing(shots, most=NAMES_SHOWN))}."
    yield f"Seen: {_plain(listing(seen, most=NAMES_SHOWN))}."
    yield f"Unseen: {_plain(listing(unseen, most=NAMES_SHOWN)) or 'none'}."


def _data(recognizer: Recognizer) -> Iterator[str]:
    about = recognizer.about
    # Earlier versions called them otherwise.
    called = ("training_samples", "training_images", "training_pictures")
    trained = [about[name] for name in called if name in about]
    yield "## Data"
    yield (
        f"{_plain(about.get('data', 'not recorded'))}. Training samples: "
        f"{trained[0] if trained else 'not recorded'}. Split: "
        f"{_plain(about.get('split', 'not recorded'))}."
    )
    if about.get("examples"):
        yield f"It holds {about['examples']} small training images as examples of seen classes."


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
        yield "On test samples, looked at once, after everything was chosen (per-class top-1, %):"
        yield _table(test)
    else:
        yield "There were no test samples of unseen classes: nobody knows how well they are named."


def _limits(recognizer: Recognizer) -> Iterator[str]:
    yield "## Limits"
    yield (
        "- It always ranks the classes it knows. Samples of something else are told apart only "
        'roughly ("none of these").\n'
        "- Unseen classes are named by what was said of them: where that is wrong or misses what "
        "sets them apart, so are the answers.\n"
        "- Samples unlike those of training (another camera, another season, drawings) are named "
        "worse than the figures above say."
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
