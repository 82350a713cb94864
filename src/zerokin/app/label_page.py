"""The page of a bundle that gives several labels: an image, what it shows, and where."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

import gradio as gr
from PIL import Image

from zerokin.app.answer_html import note_html, percent, role_html
from zerokin.app.image_tab import CANDIDATES, image_input
from zerokin.app.label_service import LabelQuestion, LabelService
from zerokin.app.names import as_html
from zerokin.app.refusals import one_line
from zerokin.app.uploads import decode_upload, upload_reader
from zerokin.errors import ZerokinError
from zerokin.recognizer.image_answer import data_address
from zerokin.recognizer.label_answer import Box, FoundLabel, LabelAnswer

HINT = "Drop an image on the left: all that it shows will stand here."
AT_ONCE, REMEMBERED = 8, 256
SHOWN_SIDE = 640
PROBABLE = "All that are probable"
COUNTS = {PROBABLE: None, "1": 1, "3": 3, "5": 5}


def label_page(service: LabelService) -> gr.Blocks:
    """Return the page of a service."""
    with gr.Blocks(title="zerokin", analytics_enabled=False) as blocks:
        gr.HTML(title_html(service))
        with gr.Row():
            with gr.Column(scale=2, min_width=240):
                image = image_input()
                candidates = gr.Radio(
                    list(CANDIDATES), value="All", label="Choose among classes",
                    elem_id="candidates",
                )  # fmt: skip
                count = gr.Radio(
                    list(COUNTS), value=PROBABLE, label="How many labels", elem_id="count"
                )
            with gr.Column(scale=3, min_width=240):
                answer = gr.HTML(note_html(HINT), elem_id="answer")

        def show(path: str | None, among: str, count: str) -> str:
            return shown_labels(service, path, among, COUNTS[count])

        gr.on(
            [image.change, candidates.change, count.change],
            show,
            [image, candidates, count],
            answer,
            trigger_mode="always_last",
            show_progress="minimal",
            api_visibility="private",
        )
    blocks.state_session_capacity = REMEMBERED
    blocks.queue(max_size=service.limits.waiting, default_concurrency_limit=AT_ONCE)
    return blocks


def title_html(service: LabelService) -> str:
    """Return the heading: whose page it is, and what it knows."""
    seen = int(service.recognizer.seen.sum())
    name = as_html(service.folder.resolve().name)
    return (
        f'<div class="zk-title"><h1>{name}</h1><p>Finds {seen} classes it was shown images of and '
        f"{len(service.recognizer.names) - seen} it never saw, several in one image.</p></div>"
    )


def shown_labels(service: LabelService, path: str | None, candidates: str, k: int | None) -> str:
    """Return the HTML that stands beside an image."""
    if not path:
        return note_html(HINT)
    try:
        question = LabelQuestion(CANDIDATES[candidates], k)
        file = Path(path)
        read = upload_reader(file)
        answer = service.ask(read, file.name, question).result()
        image = decode_upload(read(), file.name, service.limits)
        return labels_html(answer, small_jpeg(image))
    except ZerokinError as error:
        return note_html(one_line(error), kind="bad")


def small_jpeg(image: Image.Image) -> bytes:
    """Return an image as a JPEG of the size that the page shows."""
    image = image.copy()
    image.thumbnail((SHOWN_SIDE, SHOWN_SIDE))
    content = io.BytesIO()
    image.save(content, "JPEG", quality=85)
    return content.getvalue()


def labels_html(answer: LabelAnswer, jpeg: bytes) -> str:
    """Return an answer: the image with a box for each label, and the labels in a table.

    Parameters
    ----------
    answer
        What the image shows.
    jpeg
        The image as it is shown.

    Examples
    --------
    >>> found = FoundLabel("<b>", "seen", 0.5, 3, (0.5, 0.5, 1.0, 1.0))
    >>> "&lt;b&gt;" in labels_html(LabelAnswer("1.jpg", (found,)), b"")
    True
    """
    if not answer.labels:
        head = '<div class="zk-head zk-none"><h2>Nothing it is sure of</h2></div>'
        return f'<div class="zk-answer">{head}{_image(jpeg, "")}</div>'
    rows = []
    for number, one in enumerate(answer.labels, start=1):
        rows.append(
            f'<tr><td class="zk-number">{number}</td><th scope="row">{as_html(one.label)}</th>'
            f'<td class="zk-role">{role_html(one.role, seen=one.role == "seen")}</td>'
            f'<td class="zk-bar"><span class="zk-{one.role}" '
            f'style="width:{100 * one.probability:.1f}%"></span></td>'
            f'<td class="zk-number">{percent(one.probability)}</td></tr>'
        )
    several = "" if len(rows) == 1 else "s"
    return (
        f'<div class="zk-answer"><div class="zk-head"><h2>{len(rows)} label{several}</h2><p>Each '
        "number stands in the region that matches its label best.</p></div>"
        f"{_image(jpeg, boxes_html(answer.labels))}"
        f'<table class="zk-ranked">{"".join(rows)}</table></div>'
    )


def boxes_html(labels: Sequence[FoundLabel]) -> str:
    """Return the boxes of labels, with their numbers; labels of one region share a box."""
    numbers: dict[Box, list[int]] = {}
    for number, one in enumerate(labels, start=1):
        if one.box is not None:
            numbers.setdefault(one.box, []).append(number)
    boxes = []
    for box, held in numbers.items():
        left, top, right, bottom = (100 * side for side in box)
        role = "seen" if any(labels[at - 1].role == "seen" for at in held) else "unseen"
        named = ", ".join(labels[at - 1].label for at in held)
        boxes.append(
            f'<span class="zk-box zk-{role}" title="{escape(named)}" '
            f'style="left:{left:.2f}%;top:{top:.2f}%;width:{right - left:.2f}%;'
            f'height:{bottom - top:.2f}%">{"".join(f"<b>{at}</b>" for at in held)}</span>'
        )
    return "".join(boxes)


def _image(jpeg: bytes, boxes: str) -> str:
    return (
        f'<div class="zk-found"><img src="{data_address(jpeg)}" alt="the image that was sent">'
        f"{boxes}</div>"
    )
