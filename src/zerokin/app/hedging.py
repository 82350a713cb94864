"""The choice to hedge (selective prediction): off unless a visitor asks for it."""

from __future__ import annotations

import gradio as gr

from zerokin.app.service import Service

FIRST_RISK = 0.3


def accepted_risk(hedge: bool, risk: float) -> float | None:
    """Return ``max_risk`` of a question, None where nobody asked to hedge.

    Examples
    --------
    >>> accepted_risk(False, 0.3), accepted_risk(True, 0.3)
    (None, 0.3)
    """
    return risk if hedge else None


def hedging_inputs(service: Service, name: str) -> tuple[gr.Checkbox, gr.Slider]:
    """Lay out the choice to hedge, and the risk that is accepted then.

    Parameters
    ----------
    service
        Whose page it is; without calibrated answers there is nothing to choose.
    name
        Of the tab, for the elements' ids.
    """
    calibrated = bool(service.recognizer.calibrations)
    hedge = gr.Checkbox(
        value=False,
        label="Name a superclass where the class is unsure",
        visible=calibrated,
        elem_id=f"{name}-hedge",
    )
    risk = gr.Slider(
        0,
        1,
        value=FIRST_RISK,
        step=0.05,
        label="Risk you accept",
        info="Where a class would be wrong more often, its superclass is named instead.",
        visible=False,
        elem_id=f"{name}-risk",
    )
    hedge.change(
        lambda on: gr.Slider(visible=on),
        hedge,
        risk,
        api_visibility="private",
        show_progress="hidden",
    )
    return hedge, risk
