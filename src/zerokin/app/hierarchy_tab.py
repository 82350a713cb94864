"""The tab that shows all classes under their superclasses."""

from __future__ import annotations

import gradio as gr

from zerokin.app.answer_html import role_html
from zerokin.app.described import superclass_path
from zerokin.app.names import as_html
from zerokin.app.service import Service
from zerokin.app.style import SEEN_MARK, UNSEEN_MARK
from zerokin.app.sunburst import sunburst
from zerokin.report.figures import PALE_SEEN, PALE_SHARED, PALE_UNSEEN, SEEN, UNSEEN

LEGEND = "".join(
    f'<span class="zk-entry"><span class="zk-swatch{striped}" style="background-color:{color}">'
    f"</span>{what}</span>"
    for color, striped, what in (
        (SEEN, "", f"{SEEN_MARK} seen"),
        (UNSEEN, " zk-striped", f"{UNSEEN_MARK} never seen"),
        (PALE_SEEN, "", "superclass of seen"),
        (PALE_UNSEEN, " zk-striped", "of never seen"),
        (PALE_SHARED, "", "of both"),
    )
)


def path_html(service: Service, name: str | None) -> str:
    """Return where a class stands, as a line; the legend where none is looked for."""
    legend = f'<p class="zk-legend">{LEGEND}</p>'
    known = service.recognizer
    if not name or name not in known.classes.names:
        return legend
    position = known.classes.names.index(name)
    steps = [f"<li>{as_html(step)}</li>" for step in superclass_path(known, position)]
    seen = bool(known.seen[position])
    role = role_html("seen" if seen else "never seen", seen=seen)
    steps.append(f"<li><strong>{as_html(name)}</strong> <small>{role}</small></li>")
    return f'{legend}<ol class="zk-path" id="found">{"".join(steps)}</ol>'


def shown_hierarchy(service: Service, name: str | None) -> tuple[object, str]:
    """Return the rings with a class in full color, and its path in words."""
    known = service.recognizer
    found = name if name in known.classes.names else None
    return sunburst(known, found), path_html(service, found)


def hierarchy_tab(service: Service) -> tuple[gr.Dropdown, gr.Plot, gr.HTML]:
    """Lay the tab out."""
    search = gr.Dropdown(
        list(service.recognizer.classes.names),
        value=None,
        label="Find a class",
        info="Type a part of its name. A click on a ring goes into it, one on the center back.",
        elem_id="search",
    )
    path = gr.HTML(path_html(service, None), elem_id="path")
    rings = gr.Plot(show_label=False, container=False, elem_id="rings")
    search.change(
        lambda name: shown_hierarchy(service, name),
        search,
        [rings, path],
        api_visibility="private",
        preprocess=False,
    )
    return search, rings, path
