"""Pictures in, answers out: network, classifier, classes and calibration as one thing to keep."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zerokin.recognizer.fitting import fit_recogniser
    from zerokin.recognizer.picture_answer import PictureAnswer, UnreadablePicture
    from zerokin.recognizer.recognizer import Recogniser

_HOMES = {
    "PictureAnswer": "picture_answer",
    "Recogniser": "recognizer",
    "UnreadablePicture": "picture_answer",
    "fit_recogniser": "fitting",
}

__all__ = ["PictureAnswer", "Recogniser", "UnreadablePicture", "fit_recogniser"]


def __getattr__(name: str) -> object:
    # Loaded on first use: torch would slow down every command that needs no network.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
