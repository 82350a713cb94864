"""The tab that names many samples and gives a table."""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from zerokin.app.answer_html import batch_html, note_html
from zerokin.app.batches import answer_batch
from zerokin.app.hedging import accepted_risk, hedging_inputs
from zerokin.app.image_tab import CANDIDATES
from zerokin.app.refusals import one_line
from zerokin.app.service import Service
from zerokin.app.uploads import take_paths
from zerokin.errors import ZerokinError
from zerokin.recognizer.answering import Question

MOST_RANKED = 10


WANTED = {
    "images": "Images, or a zip file of images",
    "features": "Features: a NumPy file (.npy), a row for each sample",
}


def named_batch(
    service: Service,
    paths: list[str] | None,
    candidates: str,
    k: int,
    max_risk: float | None = None,
) -> str:
    """Return the HTML of a batch."""
    if not paths:
        return note_html(f"Choose first: {WANTED[service.recognizer.takes]}.", kind="bad")
    try:
        question = Question(CANDIDATES[candidates], k=int(k), max_risk=max_risk)
        files = [(Path(path).name, Path(path)) for path in paths]
        return batch_html(answer_batch(service, files, question))
    except ZerokinError as error:
        return note_html(one_line(error), kind="bad")


def batch_tab(service: Service) -> None:
    """Lay the tab out."""
    with gr.Row():
        with gr.Column(scale=2, min_width=240):
            files = gr.File(
                file_count="multiple",
                type="filepath",
                label=WANTED[service.recognizer.takes],
                height=220,
                elem_id="files",
            )
            take_paths(files)
            candidates = gr.Radio(list(CANDIDATES), value="All", label="Choose among classes")
            k = gr.Slider(1, MOST_RANKED, value=1, step=1, label="Classes for each sample")
            hedge, risk = hedging_inputs(service, "batch")
            start = gr.Button("Name them all", variant="primary", elem_id="start")
        with gr.Column(scale=3, min_width=240):
            table = gr.HTML(
                note_html("The answers will stand here, with a CSV file to download."),
                elem_id="batch",
            )
    start.click(
        lambda paths, among, most, on, risk: named_batch(
            service, paths, among, most, accepted_risk(on, risk)
        ),
        [files, candidates, k, hedge, risk],
        table,
        api_visibility="private",
    )
