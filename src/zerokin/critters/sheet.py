"""A labelled grid of images, as in a field guide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from zerokin.critters.pen import Colour
from zerokin.errors import InvalidInput

PAPER: Colour = (252, 250, 245)
SEEN: Colour = (66, 60, 74)
UNSEEN: Colour = (206, 74, 52)


def image_sheet(
    images: Sequence[NDArray[np.uint8]],
    captions: Sequence[str],
    *,
    columns: int = 6,
    highlight: Sequence[bool] | None = None,
    row_titles: Sequence[str] = (),
    legend: tuple[str, str] | None = None,
) -> Image.Image:
    """Lay images out in rows, each with its caption below.

    Parameters
    ----------
    images
        Equally large images, (side, side, 3) each, uint8.
    captions
        The text below each image, of one line or more.
    columns
        Images in a row.
    highlight
        Which captions to print in the second colour (the unseen); none by default.
    row_titles
        A title printed above each row, or nothing.
    legend
        What the first and the second colour mean, printed at the bottom.

    Returns
    -------
    PIL.Image.Image
        The sheet, RGB.

    Examples
    --------
    >>> import numpy as np
    >>> sheet = image_sheet([np.zeros((64, 64, 3), np.uint8)] * 3, ["a", "b", "c"], columns=2)
    >>> sheet.mode, sheet.width < sheet.height
    ('RGB', True)
    """
    if not images or len(images) != len(captions):
        raise InvalidInput(
            f"every image needs one caption: got {len(images)} images, {len(captions)} captions"
        )
    shapes = {np.shape(image) for image in images}
    if len(shapes) > 1:
        raise InvalidInput(f"images of a sheet must be equally large: got shapes {shapes}")
    marked = [False] * len(images) if highlight is None else list(highlight)
    side = len(images[0])
    gap, line = max(4, side // 16), max(14, side // 8)
    small, large = _font(0.72 * line), _font(0.86 * line)
    columns = min(columns, len(images))
    rows = -(-len(images) // columns)
    title = round(1.5 * line) if row_titles else 0
    n_lines = 1 + max(caption.count("\n") for caption in captions)
    step = title + side + n_lines * line + gap
    height = gap + rows * step + (round(1.5 * line) if legend else 0)
    sheet = Image.new("RGB", (gap + columns * (side + gap), height), PAPER)
    draw = ImageDraw.Draw(sheet)
    rounded = _rounded(side)
    for place, (image, caption) in enumerate(zip(images, captions, strict=True)):
        row, column = divmod(place, columns)
        x, y = gap + column * (side + gap), gap + row * step
        if column == 0 and row < len(row_titles):
            draw.text((x, y + 0.55 * title), row_titles[row], font=large, fill=SEEN, anchor="lm")
        sheet.paste(Image.fromarray(image), (x, y + title), rounded)
        colour = UNSEEN if marked[place] else SEEN
        for number, text in enumerate(caption.split("\n")):
            middle = (x + side / 2, y + title + side + (0.55 + number) * line)
            font = _fitted(text, small, side + gap)
            draw.text(middle, text, font=font, fill=colour, anchor="mm")
    if legend:
        start, level = float(gap), height - 0.85 * line
        for text, colour in zip(legend, (SEEN, UNSEEN), strict=True):
            dot = (start, level - 0.25 * line, start + 0.5 * line, level + 0.25 * line)
            draw.ellipse(dot, fill=colour)
            draw.text((start + 0.8 * line, level), text, font=small, fill=colour, anchor="lm")
            start += 1.8 * line + small.getlength(text)
    return sheet


def _font(size: float) -> ImageFont.FreeTypeFont:
    # Pillow's own face, so that a sheet looks the same on every machine.
    font = ImageFont.load_default(size=size)
    assert isinstance(font, ImageFont.FreeTypeFont), "Pillow was built without FreeType"
    return font


def _fitted(text: str, font: ImageFont.FreeTypeFont, width: float) -> ImageFont.FreeTypeFont:
    """Return the font, smaller if the text would not fit."""
    share = 0.96 * width / max(font.getlength(text), 1.0)
    return font if share >= 1.0 else _font(font.size * share)


def _rounded(side: int) -> Image.Image:
    """Return a mask with rounded corners, drawn large and reduced."""
    mask = Image.new("L", (4 * side, 4 * side))
    box = (0, 0, 4 * side - 1, 4 * side - 1)
    ImageDraw.Draw(mask).rounded_rectangle(box, radius=side // 4, fill=255)
    return mask.reduce(4)
