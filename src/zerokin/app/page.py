"""The page: its four tabs, and what brings them up to date when classes change."""

from __future__ import annotations

from typing import Any

import gradio as gr

from zerokin.app.batch_tab import batch_tab
from zerokin.app.class_tab import class_tab, removable
from zerokin.app.hierarchy_tab import hierarchy_tab, shown_hierarchy
from zerokin.app.image_tab import image_tab
from zerokin.app.names import as_html
from zerokin.app.service import Service

AT_ONCE = 8
REMEMBERED = 256  # open pages whose lists of classes the server keeps


def title_html(service: Service) -> str:
    """Return the heading: whose page it is, and what it knows."""
    known = service.recognizer
    name = str(known.about.get("name") or service.folder.resolve().name)
    seen = int(known.seen.sum())
    return (
        f'<div class="zk-title"><h1>{as_html(name)}</h1><p>Names {seen} classes it was shown '
        f"samples of and {len(known.classes) - seen} it never saw.</p></div>"
    )


def page(service: Service) -> gr.Blocks:
    """Return the page of a service."""
    with gr.Blocks(title="zerokin", analytics_enabled=False) as blocks:
        title = gr.HTML(title_html(service))
        with gr.Tab("Image" if service.recognizer.takes == "images" else "Features"):
            image_tab(service)
        with gr.Tab("New class"):
            done, lists = class_tab(service)
        with gr.Tab("Hierarchy") as tree:
            search, rings, path = hierarchy_tab(service)
        with gr.Tab("Batch"):
            batch_tab(service)

        def refreshed() -> tuple[Any, ...]:
            names = list(service.recognizer.classes.names)
            gone = gr.Dropdown(choices=removable(service), value=None)
            others = [gr.Dropdown(choices=names) for _ in lists[:-1]]
            return (title_html(service), gr.Dropdown(choices=names), *others, gone)

        changing: list[Any] = [title, search, *lists]
        for event in (blocks.load, done.change):
            event(refreshed, None, changing, api_visibility="private", show_progress="hidden")
        tree.select(
            lambda name: shown_hierarchy(service, name),
            search,
            [rings, path],
            api_visibility="private",
            preprocess=False,
        )
    blocks.state_session_capacity = REMEMBERED
    blocks.queue(max_size=service.limits.waiting, default_concurrency_limit=AT_ONCE)
    return blocks
