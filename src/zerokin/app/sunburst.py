"""The hierarchy as rings to click through, with the path to one class in full color."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from zerokin.app.style import UNSEEN_MARK
from zerokin.recognizer import Recognizer
from zerokin.report.contrast import text_color_on
from zerokin.report.figures import (
    PALE_SEEN,
    PALE_SHARED,
    PALE_UNSEEN,
    SEEN,
    SHARED,
    UNSEEN,
    leaf_order,
    shown,
    unseen_share,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

FADED = "#EDEDED"
STRIPED = 0.7
ROOT = "all"


def sunburst(recognizer: Recognizer, found: str | None = None) -> go.Figure:
    """Return the rings: superclasses inside, classes outside.

    Parameters
    ----------
    recognizer
        Whose classes.
    found
        A class whose path stands out.
    """
    import plotly.graph_objects as go

    ids, labels, parents, values, colors = rings(recognizer, found)
    unseen = _unseen_parts(recognizer, ids)
    marked = [
        f"{UNSEEN_MARK} {label}" if one else label
        for label, one in zip(labels, unseen, strict=True)
    ]
    figure = go.Figure(
        go.Sunburst(
            ids=ids,
            # Plotly reads tags in labels.
            labels=[escape(label, quote=False).replace(", ", ",<br>") for label in marked],
            parents=parents,
            values=values,
            branchvalues="total",
            marker={
                "colors": colors,
                "line": {"color": "white", "width": 1},
                "pattern": {
                    "shape": ["/" if one else "" for one in unseen],
                    "fillmode": "overlay",
                    "fgcolor": "white",
                    "fgopacity": STRIPED,
                    "size": 9,
                    "solidity": 0.2,
                },
            },
            textfont={"color": [text_color_on(color) for color in colors]},
            hovertemplate="%{label}<br>%{value} classes<extra></extra>",
            leaf={"opacity": 1},
            insidetextorientation="auto",
            sort=False,
        )
    )
    figure.update_layout(
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
        autosize=True,  # the style says how high
        paper_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 13},
    )
    return figure


def rings(
    recognizer: Recognizer, found: str | None = None
) -> tuple[list[str], list[str], list[str], list[int], list[str]]:
    """Return id, label, parent's id, number of classes and color of every part, center first."""
    tree, names = recognizer.hierarchy, recognizer.classes.names
    unseen = ~recognizer.seen
    position = None if found is None else int(recognizer.classes.index(found)[0])
    ids, labels, parents = [ROOT], [f"{len(names)} classes"], [""]
    values, colors = [len(names)], [FADED]
    top = 0 if tree is None else tree.n_layers
    for layer in range(top, 0, -1):
        assert tree is not None
        own, share = tree.labels(layer), unseen_share(tree, layer, unseen)
        for node, name in enumerate(tree.node_names(layer)):
            above = ROOT if layer == top else f"{layer + 1}.{tree.parents(layer)[node]}"
            on_path = None if position is None else bool(own[position] == node)
            ids.append(f"{layer}.{node}")
            labels.append(shown(name))
            parents.append(above)
            values.append(int((own == node).sum()))
            colors.append(_color(float(share[node]), on_path))
    for i in range(len(names)) if tree is None else leaf_order(tree).tolist():
        ids.append(f"0.{i}")
        labels.append(names[i])
        parents.append(ROOT if tree is None else f"1.{tree.labels(1)[i]}")
        values.append(1)
        on_path = None if position is None else i == position
        colors.append(_color(float(unseen[i]), True if on_path is None else on_path))
    return ids, labels, parents, values, colors


def _unseen_parts(recognizer: Recognizer, ids: list[str]) -> list[bool]:
    """Return which parts hold no class with training samples."""
    tree, unseen = recognizer.hierarchy, ~recognizer.seen
    shares = [unseen.astype(float)]
    if tree is not None:
        shares += [unseen_share(tree, layer, unseen) for layer in range(1, tree.n_layers + 1)]
    parts = (one.partition(".") for one in ids)
    return [bool(node) and shares[int(layer)][int(node)] == 1 for layer, _, node in parts]


def _color(share: float, on_path: bool | None) -> str:
    if on_path is False:
        return FADED
    kind = 1 if 0 < share < 1 else 2 if share else 0
    strong, pale = (SEEN, SHARED, UNSEEN), (PALE_SEEN, PALE_SHARED, PALE_UNSEEN)
    return strong[kind] if on_path else pale[kind]
