"""What each function of the page can be called with: a range for the value of every component.

Gradio finds a wrong value when the function is about to run, and prints a trace for each. Whoever
calls by hand could fill the log; here such calls are refused at the door, in one line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from zerokin.app.page_requests import CallRanges
from zerokin.parameters import Boolean, InstanceOf, OneOf, Optional, Range, Real, Several


@dataclass(frozen=True)
class UploadedFile(Range):
    """An upload, as `zerokin.app.page_requests.rebuild_call` leaves it."""

    described = "an uploaded file"

    def holds(self, value: Any) -> bool:
        return isinstance(value, dict)


def value_range(component: Any) -> Range:
    """Return what values of a component there are.

    Examples
    --------
    >>> value_range(gr.Slider(0, 1)).described, value_range(gr.Radio(["All", "Seen"])).described
    ('a number from 0 to 1', 'one of All, Seen')
    """
    match component:
        case gr.File(file_count="multiple"):
            return Optional(Several(UploadedFile()))
        case gr.File() | gr.Image():
            return Optional(UploadedFile())
        case gr.Checkbox():
            return Boolean()
        case gr.Slider():
            return Real(component.minimum, component.maximum)
        case gr.Number():
            return Optional(Real(component.minimum, component.maximum))
        case gr.Radio():
            return OneOf([value for _, value in component.choices])
        case gr.Dropdown() | gr.Textbox():
            # Which classes there are may have changed since the page was loaded. Gradio's own check
            # (``preprocess``) would tell a trace then: functions of these lists go without it.
            return Optional(InstanceOf(str, "a text"))
        case gr.HTML():
            return Several(Real())
    raise TypeError(f"no range for values of {component!r}")


def call_ranges(blocks: gr.Blocks) -> CallRanges:
    """Return the ranges of the arguments of every function of a page, by the function's number."""
    return {
        number: tuple(value_range(component) for component in function.inputs)
        for number, function in blocks.fns.items()
    }
