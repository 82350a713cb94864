"""The tab that makes a class known, and forgets one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

from zerokin.app.answer_html import note_html
from zerokin.app.archives import uploaded_images
from zerokin.app.described import attribute_range, known_by
from zerokin.app.feature_uploads import uploaded_features
from zerokin.app.refusals import one_line
from zerokin.app.service import Service
from zerokin.app.uploads import take_paths
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.hierarchy.naming import tidy_attribute
from zerokin.recognizer import Recognizer
from zerokin.recognizer.class_notes import class_notes

SHOWN_AT_FIRST = 8
ALL_SHOWN = 12


def telling_attributes(recognizer: Recognizer, like: str | None) -> list[str]:
    """Return the attributes to show sliders of: what sets a class most apart, or the first few."""
    names = list(recognizer.classes.attribute_names or ())
    vectors = recognizer.classes.vectors
    if len(names) <= ALL_SHOWN or like is None or vectors is None:
        return names if len(names) <= ALL_SHOWN else names[:SHOWN_AT_FIRST]
    own = vectors[int(recognizer.classes.index(like)[0])]
    order = np.argsort(-(own - vectors.mean(axis=0)), kind="stable")
    return [names[i] for i in order[:SHOWN_AT_FIRST]]


def attribute_values(recognizer: Recognizer, like: str | None) -> dict[str, float]:
    """Return the values of all attributes of a class, all 0 without one."""
    names = recognizer.classes.attribute_names or ()
    vectors = recognizer.classes.vectors
    if like is None or vectors is None:
        return dict.fromkeys(names, 0.0)
    own = vectors[int(recognizer.classes.index(like)[0])]
    return {name: float(value) for name, value in zip(names, own, strict=True)}


def added(
    service: Service,
    name: str,
    *,
    attributes: Mapping[str, float] | None = None,
    text: str | None = None,
    vector: str | None = None,
    paths: Sequence[str] | None = None,
) -> str:
    """Add a class, or uploaded examples to one, and return the HTML that says so."""
    before, called = service.recognizer.classes, name.strip()
    told = any((attributes or {}).values()) or text or vector
    if paths and (called in before.names or not told):
        attributes = text = vector = None  # examples alone
    try:
        numbers = None if vector is None else parsed_vector(vector)
        count = service.add_class(
            name, attributes=attributes, text=text, vector=numbers, **_examples(service, paths)
        )
    except ZerokinError as error:
        return note_html(one_line(error), kind="bad")
    shots = service.recognizer.shots.get(called)
    by = f", by {shots} example{'' if shots == 1 else 's'}" if shots else ""
    said = note_html(f"“{called}” is known from now on{by}: {count} classes.", kind="good")
    notes = [] if called in before.names else class_notes(called, before, attributes)
    return said + "".join(map(note_html, notes))


def _examples(service: Service, paths: Sequence[str] | None) -> dict[str, Any]:
    """Return a visitor's uploads as examples of a class; one that is none refuses them all."""
    if not paths:
        return {}
    if service.recognizer.takes == "features":
        if len(paths) > 1:
            raise InvalidInput("choose one NumPy file of features (.npy) at a time")
        return {"features": uploaded_features(Path(paths[0]))}
    files = [(Path(path).name, Path(path)) for path in paths]
    images, skipped = uploaded_images(files, service.limits)
    if skipped:
        raise InvalidInput(f"{skipped[0].removesuffix(', left out')}: no image was added")
    return {"images": images}


def removed(service: Service, name: str | None) -> str:
    """Remove a class and return the HTML that says so."""
    if not name:
        return note_html("Choose a class to forget.", kind="bad")
    try:
        count = service.remove_class(name)
    except ZerokinError as error:
        return note_html(one_line(error), kind="bad")
    return note_html(f"“{name}” is forgotten: {count} classes are left.", kind="good")


def parsed_vector(text: str) -> list[float]:
    """Return numbers between blanks, commas or lines.

    Examples
    --------
    >>> parsed_vector("1, 0.5 2e3")
    [1.0, 0.5, 2000.0]
    """
    try:
        return [float(word) for word in text.replace(",", " ").split()]
    except ValueError as error:
        raise InvalidInput(f"a vector is numbers between blanks or commas: {error}") from error


def removable(service: Service) -> list[str]:
    """Return the classes that can be forgotten."""
    known = service.recognizer
    return [name for name, seen in zip(known.classes.names, known.seen, strict=True) if not seen]


def class_tab(service: Service) -> tuple[gr.HTML, list[gr.Dropdown]]:
    """Lay the tab out; return what changes when classes do, and the lists to bring up to date."""
    if service.read_only:
        gr.HTML(note_html("This server is read-only: classes cannot be added or removed."))
    kind = known_by(service.recognizer.classes)
    lists: list[gr.Dropdown] = []
    with gr.Row():
        with gr.Column(scale=3, min_width=240):
            name = gr.Textbox(label="Name of the new class", elem_id="new-name", max_lines=1)
            examples = _upload(service)
            add = gr.Button("Add the class", variant="primary", elem_id="add", render=False)
            done = gr.HTML(elem_id="added", render=False)
            if kind == "attributes":
                lists.append(_attributes(service, name, examples, add, done))
            else:
                _words(service, kind, name, examples, add, done)
            add.interactive = not service.read_only
            add.render()
            done.render()
        with gr.Column(scale=2, min_width=240):
            gone = gr.Dropdown(
                removable(service),
                value=None,
                label="Forget a class",
                info="Only classes without training images can be forgotten.",
                elem_id="forget-name",
            )
            forget = gr.Button("Forget it", elem_id="forget", interactive=not service.read_only)
    lists.append(gone)
    forget.click(lambda one: removed(service, one), gone, done, api_visibility="private")
    return done, lists


def _upload(service: Service) -> gr.File:
    wanted = {"images": "Images of it", "features": "Features of it (.npy, a row each)"}
    examples = gr.File(
        file_count="multiple",
        type="filepath",
        label=f"{wanted[service.recognizer.takes]}, if there are any: they help, or suffice alone",
        height=120,
        elem_id="new-examples",
    )
    take_paths(examples)
    return examples


def _words(service: Service, kind: str, name: Any, examples: Any, add: Any, done: Any) -> None:
    asked = {
        "text": ("What it looks like", "A sentence or two, as the other classes are described."),
        "vector": ("Its semantic vector", "Numbers between blanks or commas."),
    }[kind]
    words = gr.Textbox(label=asked[0], info=asked[1], lines=4, elem_id="new-words")

    def from_words(given: str, paths: list[str] | None, description: str) -> str:
        return added(service, given, paths=paths, **{kind: description})  # type: ignore[arg-type]

    add.click(from_words, [name, examples, words], done, api_visibility="private")


def _attributes(service: Service, name: Any, examples: Any, add: Any, done: Any) -> gr.Dropdown:
    known = service.recognizer
    attributes = known.classes.attribute_names or ()
    like = gr.Dropdown(
        list(known.classes.names),
        value=None,
        label="Start from a class that is like it",
        info="Attributes without a slider are taken from it; without one they are 0.",
        elem_id="like",
    )
    choices = [(tidy_attribute(attribute), attribute) for attribute in attributes]
    chosen = gr.Dropdown(
        choices,
        value=telling_attributes(known, None),
        multiselect=True,
        label="Attributes to set",
        elem_id="attributes",
    )
    like.change(
        lambda one: telling_attributes(service.recognizer, one),
        like,
        chosen,
        api_visibility="private",
    )
    _sliders(service, [name, examples], like, chosen, add, done)
    return like


def _sliders(
    service: Service, asked: list[Any], like: Any, chosen: Any, add: Any, done: Any
) -> None:
    low, high = attribute_range(service.recognizer.classes)

    def sliders(start: str | None, wanted: Sequence[str]) -> None:
        values = attribute_values(service.recognizer, start)
        wanted = list(dict.fromkeys(wanted))
        with gr.Row():
            scales = [
                gr.Slider(
                    low,
                    high,
                    value=values[attribute],
                    label=tidy_attribute(attribute),
                    min_width=220,
                    interactive=True,
                )
                for attribute in wanted
            ]

        def from_sliders(given: str, paths: list[str] | None, *numbers: float) -> str:
            own = values | dict(zip(wanted, numbers, strict=True))
            return added(service, given, attributes=own, paths=paths)

        add.click(from_sliders, [*asked, *scales], done, api_visibility="private")

    # Drawn anew whenever other attributes are chosen.
    gr.render(inputs=[like, chosen])(sliders)
