"""Deprecated names: tables of old names with their new ones, and the functions that read them.

What a person typed (a setting, a keyword argument, an option, an import) is accepted under its old
name with one `ZerokinWarning`. Files that zerokin wrote itself (checkpoints, notes beside features,
bundles) are read under either name without a word: nobody can mend them by hand.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from zerokin.errors import InvalidInput, ZerokinWarning

Names = Mapping[str, str]
"""Old names, each with its new one."""

Thing = TypeVar("Thing", bound=Callable[..., Any])

RECIPE: Names = {
    "turns": "rotation_weight",
    "patches": "cutmix_prob",
    "average": "ema_decay",
    "side": "image_size",
    "first_side": "initial_image_size",
    "optimiser": "optimizer",
}
"""Settings of `zerokin.features.training.Recipe`."""

NETWORK: Names = {
    "side": "image_size",
    "stored_side": "cache_size",
    "framing": "resize_mode",
    "mirrored": "tta_flip",
    "crops": "tta_crops",
    "start_share": "start_interpolation",
}
"""Settings of `NetworkSettings` and `View`; also what is written beside extracted features."""


CLASSIFIER: Names = {
    "kin_decay": "layer_decay",
    "kin_semantics": "semantic_variance",
    "kin_width": "length_scale",
    "kin_shrinkage": "noise",
    "normalisation": "feature_scaling",
}
"""Parameters of `zerokin.ZeroShotClassifier`."""

INFERENCE: Names = {"kin": "residual"}
"""Values of its parameter ``inference``."""

ANSWER: Names = {
    "picture": "image",
    "hedged": "selective",
    "none_of_these": "out_of_distribution",
}
"""Fields of `zerokin.recognizer.ImageAnswer`; as JSON it has both."""

OPTIONS: Names = {
    "--side": "--image-size",
    "--framing": "--resize-mode",
    "--mirror": "--tta-flip",
    "--no-mirror": "--no-tta-flip",
    "--crops": "--tta-crops",
}
"""Options of commands, wherever a command has the new one."""

CHOICES: Mapping[str, Names] = {
    "--setting": {
        "generalised": "generalized",
        "generalised-few-shot": "generalized-few-shot",
    }
}
"""Values of options, by option."""


def renamed(table: Names, given: Mapping[str, Any], what: str | None = None) -> dict[str, Any]:
    """Return a mapping under its new names.

    Parameters
    ----------
    table
        Old names with new ones.
    given
        With old names, new ones, or both.
    what
        How a person knows the mapping, such as ``"the recipe"``: one warning names all of its old
        names. Without it nothing is said.

    Raises
    ------
    InvalidInput
        Something is there under both names.

    Examples
    --------
    >>> renamed({"turns": "rotation_weight"}, {"turns": 0.5, "epochs": 3})
    {'rotation_weight': 0.5, 'epochs': 3}
    """
    old = [name for name in given if name in table]
    for name in old:
        if table[name] in given:
            raise InvalidInput(
                f"{name} is the old name of {table[name]}, which is given, too: leave out {name}"
            )
    if old and what is not None:
        _warn(f"{what}: {', '.join(f'{name} is now {table[name]}' for name in old)}")
    return {table.get(name, name): value for name, value in given.items()}


def accept_old_names(
    table: Names, values: Mapping[str, Names] | None = None
) -> Callable[[Thing], Thing]:
    """Return a decorator of functions and classes that take keyword arguments by old names, too.

    An instance of a decorated class also has its attributes under the old names.

    Parameters
    ----------
    table
        Old names of keyword arguments with new ones.
    values
        Old values with new ones, by argument.

    Examples
    --------
    >>> @accept_old_names({"crops": "tta_crops"})
    ... def read(tta_crops=0):
    ...     return tta_crops
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     read(crops=2)
    2
    >>> print(caught[0].message)
    read: crops is now tta_crops
    """

    def decorate(thing: Thing) -> Thing:
        if not isinstance(thing, type):
            function: Thing = _accepting(table, values or {}, thing, thing.__name__)
            return function
        kind: Any = thing
        # A named tuple takes its arguments where it is made; dataclasses where they are set up.
        maker = "__new__" if issubclass(thing, tuple) else "__init__"
        made = _accepting(table, values or {}, getattr(kind, maker), thing.__name__)
        setattr(kind, maker, staticmethod(made) if maker == "__new__" else made)
        kind.__getattr__ = _former_attribute(table, thing.__name__)
        return thing

    return decorate


def former(module: str, table: Names) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` for names that have moved or changed.

    Parameters
    ----------
    module
        Its ``__name__``.
    table
        Old names with the new ones, which are of the same module or are ``"other.module:Name"``.
    """

    def find(name: str) -> Any:
        if name not in table:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        where, _, new = table[name].rpartition(":")
        home = where or module
        _warn(f"{module}.{name} is now {home}.{new}")
        return getattr(import_module(home), new)

    return find


def _accepting(table: Names, values: Mapping[str, Names], function: Any, what: str) -> Any:
    @functools.wraps(function)
    def accepting(*args: Any, **options: Any) -> Any:
        # Looked at first: nearly all calls have no old name, and cost no more than this.
        if not table.keys().isdisjoint(options):
            options = renamed(table, options, what)
        for name in values.keys() & options.keys():
            old = options[name]
            if isinstance(old, str) and old in values[name]:
                options[name] = values[name][old]
                _warn(f"{what}: {name}={old!r} is now {options[name]!r}")
        return function(*args, **options)

    return accepting


def _former_attribute(table: Names, what: str) -> Callable[[Any, str], Any]:
    def find(self: Any, name: str) -> Any:
        if name not in table:
            raise AttributeError(f"{what!r} object has no attribute {name!r}")
        _warn(f"{what}: {name} is now {table[name]}")
        return getattr(self, table[name])

    return find


def _warn(message: str) -> None:
    # The first place outside of zerokin: where the old name was typed.
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, ZerokinWarning, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "zerokin"
