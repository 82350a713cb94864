"""The tab that names one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from zerokin.app.answer_html import answer_html, note_html
from zerokin.app.refusals import one_line
from zerokin.app.service import Service
from zerokin.app.uploads import take_paths, upload_reader
from zerokin.errors import ZerokinError
from zerokin.recognizer import Recognizer
from zerokin.recognizer.answering import Question

CANDIDATES = {"All": "all", "Never seen": "unseen", "Seen": "seen"}
HINT = "Drop a picture on the left: its classes, best first, will stand here."
MOST_BIAS = 0.3
TEMPERATURES = 8


def named_picture(
    service: Service,
    path: str | None,
    candidates: str,
    max_risk: float | None,
    unseen_bias: float,
) -> str:
    """Return the HTML that stands beside a picture."""
    if not path:
        return note_html(HINT)
    try:
        question = Question(
            CANDIDATES[candidates],
            max_risk=max_risk if service.recognizer.calibrations else None,
            unseen_bias=unseen_bias,
        )
        answer = service.ask(upload_reader(Path(path)), Path(path).name, question).result()
        return answer_html(answer, max_risk=question.max_risk)
    except ZerokinError as error:
        return note_html(one_line(error), kind="bad")


def most_bias(recognizer: Recognizer) -> float:
    """Return how far the leaning can go: enough to turn any answer, yet fine to set.

    Probabilities are a softmax of scores over a temperature, so a few temperatures are decisive.
    """
    calibration = next(iter(recognizer.calibrations.values()), None)
    if calibration is None:
        return MOST_BIAS
    return float(f"{TEMPERATURES * calibration.temperature:.1g}")


def image_tab(service: Service) -> None:
    """Lay the tab out."""
    calibrated = bool(service.recognizer.calibrations)
    most = most_bias(service.recognizer)
    with gr.Row():
        with gr.Column(scale=2, min_width=240):
            picture = gr.Image(
                type="filepath",
                image_mode=None,
                sources=["upload", "clipboard"],
                buttons=[],
                height=300,
                label="Picture",
                elem_id="picture",
            )
            take_paths(picture)
            candidates = gr.Radio(
                list(CANDIDATES), value="All", label="Choose among classes", elem_id="candidates"
            )
            risk = gr.Slider(
                0,
                1,
                value=0.3,
                step=0.05,
                label="Risk you accept",
                info="Where a class would be wrong more often, its superclass is named instead.",
                visible=calibrated,
                elem_id="risk",
            )
            bias = gr.Slider(
                -most,
                most,
                value=0,
                step=most / 50,
                label="Lean towards never-seen classes",
                info="Right: name classes without pictures more often. Left: less often.",
                elem_id="bias",
            )
        with gr.Column(scale=3, min_width=240):
            answer = gr.HTML(note_html(HINT), elem_id="answer")

    def show(path: str | None, among: str, accepted: float, leaning: float) -> str:
        return named_picture(service, path, among, accepted, leaning)

    asked: list[Any] = [picture, candidates, risk, bias]
    triggers = [picture.change, candidates.change, risk.release, bias.release]
    gr.on(
        triggers,
        show,
        asked,
        answer,
        trigger_mode="always_last",
        show_progress="minimal",
        api_visibility="private",
    )
