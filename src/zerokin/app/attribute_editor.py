"""All attributes of a class as sliders: filtered by name, what sets a class apart first.

The sliders are drawn by the browser, from one list of numbers. Gradio could draw components anew
for the attributes that are asked for (``gr.render``), but would drop the functions of the former
ones: a click that came a moment late asked for a function that was gone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

from zerokin.app.described import attribute_range
from zerokin.errors import InvalidInput
from zerokin.hierarchy.naming import tidy_attribute
from zerokin.recognizer import Recognizer

SCRIPT = Path(__file__).with_suffix(".js")


def attribute_values(recognizer: Recognizer, like: str | None) -> dict[str, float]:
    """Return the values of all attributes of a class, all 0 without one."""
    names = recognizer.classes.attribute_names or ()
    vectors = recognizer.classes.vectors
    if like is None or vectors is None:
        return dict.fromkeys(names, 0.0)
    own = vectors[int(recognizer.classes.index(like)[0])]
    return {name: float(value) for name, value in zip(names, own, strict=True)}


def attribute_editor(recognizer: Recognizer) -> gr.HTML:
    """Lay the sliders out; their value is a list, a number for each attribute in order."""
    classes = recognizer.classes
    names = list(classes.attribute_names or ())
    low, high = attribute_range(classes)
    vectors = np.zeros((1, len(names))) if classes.vectors is None else classes.vectors
    return gr.HTML(
        list(attribute_values(recognizer, None).values()),
        # Names come as properties, never as a template: whatever they hold is text.
        html_template='<div class="zk-editor"></div>',
        js_on_load=SCRIPT.read_text(encoding="utf-8"),
        attributes=[tidy_attribute(name) for name in names],
        average=vectors.mean(axis=0).tolist(),
        low=low,
        high=high,
        elem_id="attributes",
    )


def edited_attributes(names: list[str], values: Any) -> dict[str, float]:
    """Return what the sliders say by name; anything but a number for each is refused.

    Examples
    --------
    >>> edited_attributes(["hooves", "neck"], [1, 0.5])
    {'hooves': 1.0, 'neck': 0.5}
    """
    if not isinstance(values, list) or len(values) != len(names):
        raise InvalidInput(f"the page knows other attributes than the {len(names)}: load it again")
    return {name: float(value) for name, value in zip(names, values, strict=True)}
