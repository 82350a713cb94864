"""Choosing hyper-parameters on class folds: validation classes held out of the seen ones."""

from typing import TYPE_CHECKING

from zerokin.aliases import former

if TYPE_CHECKING:
    from zerokin.selection.class_fold_search import ClassFoldSearch

__all__ = ["ClassFoldSearch"]

# Loaded on first use: scikit-learn would slow down every import of zerokin.
__getattr__ = former(__name__, {}, homes={"ClassFoldSearch": "class_fold_search"})
