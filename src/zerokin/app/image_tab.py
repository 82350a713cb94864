"""The tab that names one sample: an image, or a row of features where there is no network."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from zerokin.app.answer_html import answer_html, note_html
from zerokin.app.feature_uploads import uploaded_row
from zerokin.app.hedging import accepted_risk, hedging_inputs
from zerokin.app.refusals import one_line
from zerokin.app.service import Service
from zerokin.app.uploads import take_paths, upload_reader
from zerokin.errors import ZerokinError
from zerokin.recognizer import Recognizer
from zerokin.recognizer.answering import Question

CANDIDATES = {"All": "all", "Never seen": "unseen", "Seen": "seen"}
HINT = "Drop {} on the left: its classes, best first, will stand here."
ASKED = {"images": "an image", "features": "a NumPy file (.npy)"}
MOST_BIAS = 0.3
FARTHEST = 100.0  # of what a question takes
TEMPERATURES = 8


def named_image(
    service: Service,
    path: str | None,
    candidates: str,
    max_risk: float | None,
    unseen_bias: float,
    row: int | None = None,
) -> str:
    """Return the HTML that stands beside an image, or beside a row of features."""
    takes = service.recognizer.takes
    if not path:
        return note_html(HINT.format(ASKED[takes]))
    try:
        question = Question(
            CANDIDATES[candidates],
            max_risk=max_risk,
            unseen_bias=unseen_bias,
        )
        file = Path(path)
        of_features = takes == "features"
        read = partial(uploaded_row, file, int(row or 1)) if of_features else upload_reader(file)
        answer = service.ask(read, file.name, question).result()
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
    return min(FARTHEST, float(f"{TEMPERATURES * calibration.temperature:.1g}"))


def image_tab(service: Service) -> None:
    """Lay the tab out."""
    most = most_bias(service.recognizer)
    with gr.Row():
        with gr.Column(scale=2, min_width=240):
            sample = _sample(service)
            candidates = gr.Radio(
                list(CANDIDATES), value="All", label="Choose among classes", elem_id="candidates"
            )
            hedge, risk = hedging_inputs(service, "image")
            bias = gr.Slider(
                -most,
                most,
                value=0,
                step=most / 50,
                label="Lean towards never-seen classes",
                info="Right: name classes without images more often. Left: less often.",
                elem_id="bias",
            )
        with gr.Column(scale=3, min_width=240):
            hint = HINT.format(ASKED[service.recognizer.takes])
            answer = gr.HTML(note_html(hint), elem_id="answer")

    def show(path: str | None, among: str, on: bool, risk: float, bias: float, *row: int) -> str:
        return named_image(service, path, among, accepted_risk(on, risk), bias, *row)

    asked: list[Any] = [sample[0], candidates, hedge, risk, bias, *sample[1:]]
    changed = [one.change for one in sample]
    triggers = [*changed, candidates.change, hedge.change, risk.release, bias.release]
    gr.on(
        triggers,
        show,
        asked,
        answer,
        trigger_mode="always_last",
        show_progress="minimal",
        api_visibility="private",
    )


def _sample(service: Service) -> list[Any]:
    """Lay out what takes an image, or a file of features and the number of a row."""
    if service.recognizer.takes == "features":
        width = service.recognizer.classifier.n_features_in_
        label = f"NumPy file (.npy) with {width:,} features in a row"
        file = gr.File(type="filepath", label=label, height=180, elem_id="features")
        take_paths(file)
        return [file, gr.Number(1, label="Row", precision=0, minimum=1, elem_id="row")]
    return [image_input()]


def image_input() -> gr.Image:
    """Lay out what takes an image."""
    image = gr.Image(
        type="filepath",
        image_mode=None,
        sources=["upload", "clipboard"],
        buttons=[],
        height=300,
        label="Image",
        elem_id="image",
    )
    take_paths(image)
    return image
