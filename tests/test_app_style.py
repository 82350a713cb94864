"""Contrast of the page's colors, from what the style and the theme declare (WCAG 2.2, 1.4.3)."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("gradio")
pytest.importorskip("plotly")

from zerokin.app.style import CSS, theme
from zerokin.report import figures
from zerokin.report.contrast import contrast_ratio, text_color_on

# Texts, and what they stand on: names of the theme's properties, or CSS variables of the style.
PAIRS = [
    ("body_text_color", "body_background_fill"),
    ("body_text_color", "background_fill_secondary"),
    ("body_text_color", "block_background_fill"),
    ("body_text_color_subdued", "body_background_fill"),
    ("body_text_color_subdued", "background_fill_secondary"),
    ("body_text_color_subdued", "block_background_fill"),
    ("block_info_text_color", "block_background_fill"),
    ("block_title_text_color", "block_background_fill"),
    ("block_label_text_color", "block_label_background_fill"),
    ("input_placeholder_color", "input_background_fill"),
    ("checkbox_label_text_color", "checkbox_label_background_fill"),
    ("button_primary_text_color", "button_primary_background_fill"),
    ("button_primary_text_color", "button_primary_background_fill_hover"),
    ("button_secondary_text_color", "button_secondary_background_fill"),
    ("button_secondary_text_color", "button_secondary_background_fill_hover"),
    ("link_text_color", "background_fill_secondary"),
    ("link_text_color_visited", "background_fill_secondary"),
    ("color_accent", "body_background_fill"),
]
NAMED = {"white": "#ffffff", "black": "#000000"}


def by_hand(first: str, second: str) -> float:
    """The formula of WCAG, written a second time."""

    def light(color):
        weighed = 0.0
        for weight, at in ((0.2126, 1), (0.7152, 3), (0.0722, 5)):
            part = int(color[at : at + 2], 16) / 255
            weighed += weight * (part / 12.92 if part < 0.04 else ((part + 0.055) / 1.055) ** 2.4)
        return weighed + 0.05

    return max(light(first), light(second)) / min(light(first), light(second))


def resolved(look, name: str, mode: str) -> str:
    """Return a color of the theme as #rrggbb, following its references."""
    if mode == "dark":
        # What the style says of a variable in dark mode counts.
        own = re.search(rf"\.dark {{ --{name.replace('_', '-')}: var\(--([\w-]+)\)", CSS)
        if own:
            return resolved(look, own[1].replace("-", "_"), mode)
    value = getattr(look, name)
    if mode == "dark":
        value = getattr(look, f"{name}_dark", None) or value
    if value.startswith("*"):
        return resolved(look, value[1:], mode)
    return NAMED.get(value, value)


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_texts_of_the_theme_can_be_read(mode, text, ground):
    look = theme()
    ratio = by_hand(resolved(look, text, mode), resolved(look, ground, mode))
    assert ratio >= 4.5, (resolved(look, text, mode), resolved(look, ground, mode))


def test_the_style_names_no_color_of_a_text_but_of_the_theme():
    colors = set(re.findall(r"(?<![\w-])color: ([^;!}]+)", CSS))
    variables = {one.strip() for one in colors if one.startswith("var(--")}
    assert {one.strip() for one in colors} - variables == {"white"}  # of the button
    checked = {name.replace("_", "-") for pair in PAIRS for name in pair}
    assert {one[len("var(--") : -1] for one in variables} <= checked
    assert by_hand("#ffffff", figures.SEEN) >= 4.5


def test_marks_and_names_in_the_rings_can_be_told():
    grounds = [getattr(figures, name) for name in ("SEEN", "UNSEEN", "SHARED")]
    for color in grounds:
        for page in ("#ffffff", resolved(theme(), "body_background_fill", "dark")):
            assert by_hand(color, page) >= 3
    grounds += [getattr(figures, f"PALE_{name}") for name in ("SEEN", "UNSEEN", "SHARED")]
    for color in grounds:
        assert by_hand(text_color_on(color), color) >= 4.5


def test_the_contrast_of_two_colors():
    for first, second in [("#0B0F19", "#9ca3af"), ("#123456", "#FEDCBA"), ("#777777", "#FFFFFF")]:
        assert contrast_ratio(first, second) == pytest.approx(by_hand(first, second))
        assert contrast_ratio(second, first) == pytest.approx(by_hand(first, second))
    assert contrast_ratio("#777777", "#FFFFFF") == pytest.approx(4.478, abs=1e-3)
