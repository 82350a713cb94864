"""Choosing hyper-parameters on class folds: validation classes held out of the seen ones."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zerokin.selection.class_fold_search import ClassFoldSearch

__all__ = ["ClassFoldSearch"]


def __getattr__(name: str) -> object:
    # Loaded on first use: scikit-learn would slow down every import of zerokin.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.class_fold_search"), name)
