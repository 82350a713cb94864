"""Contrast of colors, as WCAG 2.2 defines it: 4.5 is the least for text, 3 for marks."""

from __future__ import annotations

LEAST_FOR_TEXT, LEAST_FOR_MARKS = 4.5, 3.0
BLACK, WHITE = "#000000", "#FFFFFF"


def contrast_ratio(first: str, second: str) -> float:
    """Return the contrast ratio of two colors (#RRGGBB), from 1 to 21 (WCAG 2.2, 1.4.3).

    Examples
    --------
    >>> contrast_ratio("#000000", "#FFFFFF"), round(contrast_ratio("#777777", "#FFFFFF"), 2)
    (21.0, 4.48)
    """
    dark, light = sorted(map(relative_luminance, (first, second)))
    return (light + 0.05) / (dark + 0.05)


def relative_luminance(color: str) -> float:
    """Return how light a color (#RRGGBB) is, from 0 to 1."""
    channels = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def text_color_on(background: str) -> str:
    """Return black or white, whichever reads better on a color (#RRGGBB).

    Examples
    --------
    >>> text_color_on("#0072B2"), text_color_on("#D55E00")
    ('#FFFFFF', '#000000')
    """
    return max((WHITE, BLACK), key=lambda color: contrast_ratio(color, background))
