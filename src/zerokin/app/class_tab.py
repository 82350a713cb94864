"""The tab that makes a class known, and forgets one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from zerokin.app.answer_html import note_html
from zerokin.app.archives import uploaded_images
from zerokin.app.attribute_editor import attribute_editor, attribute_values, edited_attributes
from zerokin.app.described import known_by
from zerokin.app.feature_uploads import uploaded_features
from zerokin.app.refusals import one_line
from zerokin.app.service import Service
from zerokin.app.uploads import take_paths
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.recognizer.class_notes import class_notes


def added(
    service: Service,
    name: str | None,
    *,
    attributes: Mapping[str, float] | None = None,
    text: str | None = None,
    vector: str | None = None,
    paths: Sequence[str] | None = None,
) -> str:
    """Add a class, or uploaded examples to one, and return the HTML that says so."""
    before, called = service.recognizer.classes, (name or "").strip()
    told = any((attributes or {}).values()) or text or vector
    if paths and (called in before.names or not told):
        attributes = text = vector = None  # examples alone
    try:
        numbers = None if vector is None else parsed_vector(vector)
        count = service.add_class(
            name or "",
            attributes=attributes,
            text=text,
            vector=numbers,
            **_examples(service, paths),
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
    forget.click(
        lambda one: removed(service, one), gone, done, api_visibility="private", preprocess=False
    )
    return done, lists


def _upload(service: Service) -> gr.File:
    wanted = {"images": "Images of it", "features": "Features of it (.npy, a row each)"}
    examples = gr.File(
        file_count="multiple",
        type="filepath",
        label=f"{wanted[service.recognizer.takes]}, if there are any",
        height=160,
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

    def from_words(given: str | None, paths: list[str] | None, description: str | None) -> str:
        told: dict[str, Any] = {kind: description or ""}
        return added(service, given, paths=paths, **told)

    add.click(from_words, [name, examples, words], done, api_visibility="private")


def _attributes(service: Service, name: Any, examples: Any, add: Any, done: Any) -> gr.Dropdown:
    known = service.recognizer
    names = list(known.classes.attribute_names or ())
    like = gr.Dropdown(
        list(known.classes.names),
        value=None,
        label="Start from a class that is like it",
        info="Its attributes are taken; what sets it apart comes first. Without one all are 0.",
        elem_id="like",
    )
    editor = attribute_editor(known)

    def start(one: str | None) -> list[float]:
        known = service.recognizer
        there = one if one in known.classes.names else None
        return list(attribute_values(known, there).values())

    def from_sliders(given: str | None, paths: list[str] | None, values: list[float]) -> str:
        try:
            own = edited_attributes(names, values)
        except ZerokinError as error:
            return note_html(one_line(error), kind="bad")
        return added(service, given, attributes=own, paths=paths)

    like.input(
        start,
        like,
        editor,
        api_visibility="private",
        show_progress="hidden",
        preprocess=False,
    )
    add.click(from_sliders, [name, examples, editor], done, api_visibility="private")
    return like
