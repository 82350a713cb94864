"""Deprecated names: tables of old names with their new ones, and the functions that read them.

What a person typed (a setting, a keyword argument, an option, an import) is accepted under its old
name with one `ZerokinWarning`. So is what a person saved (bundles, classifiers, networks): saving
it again writes the new names. Files that zerokin keeps for itself (checkpoints, notes beside
features) are read under either name without a word.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from contextvars import ContextVar
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
    "centred": "centered",
}
"""Settings of `NetworkSettings` and `View`."""

FEATURE_NOTES: Names = {**NETWORK, "pictures_sha256": "images_sha256"}
"""What is written beside extracted features."""


CLASSIFIER: Names = {
    "kin_decay": "layer_decay",
    "kin_semantics": "semantic_variance",
    "kin_width": "length_scale",
    "kin_shrinkage": "noise",
    "normalisation": "feature_scaling",
    "calibration": "seen_penalty",
}
"""Parameters of `zerokin.ZeroShotClassifier` and `zerokin.FewShotClassifier`."""

VALUES: Mapping[str, Names] = {
    "inference": {"kin": "residual"},
    "feature_scaling": {"centre": "center"},
    "resize_mode": {"centre": "center"},
}
"""Values of settings and parameters, by the setting's new name; they may be joined by ``-``."""

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
    "--deep": "--decode",
}
"""Options of commands, wherever a command has the new one."""

CHOICES: Mapping[str, Names] = {
    "--setting": {
        "generalised": "generalized",
        "generalised-few-shot": "generalized-few-shot",
    },
    "--resize-mode": VALUES["resize_mode"],
    "--method": {"nearest-neighbour": "nearest-neighbor"},
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
        names. Without it nothing is said, unless by `ReadingSaved`.

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
    found = {table.get(name, name): value for name, value in given.items()}
    new = {name: renamed_value(name, value) for name, value in found.items()}
    changed = bool(old) or any(new[name] is not found[name] for name in found)
    reading = _READING.get()
    if changed and reading is not None:
        reading.met_old_names = True
    if what is not None and changed:
        said = [f"{name} is now {table[name]}" for name in old]
        said += [f"{k}={v!r} is now {new[k]!r}" for k, v in found.items() if new[k] is not v]
        _warn(f"{what}: {', '.join(said)}")
    return new


def renamed_value(name: str, value: Any) -> Any:
    """Return the value of a setting under its new name, if it has one.

    Examples
    --------
    >>> renamed_value("feature_scaling", "power-centre-unit"), renamed_value("epochs", 3)
    ('power-center-unit', 3)
    """
    table = VALUES.get(name)
    if table is None or not isinstance(value, str):
        return value
    parts = value.split("-")
    return value if table.keys().isdisjoint(parts) else "-".join(table.get(p, p) for p in parts)


class ReadingSaved:
    """Context in which a folder is read that `save` wrote: one warning if it holds old names.

    Within another such context nothing is said: that one is of the whole, this one of a part.

    Parameters
    ----------
    kind
        The class whose ``save`` wrote it.
    folder
        The folder.
    """

    def __init__(self, kind: str, folder: str | os.PathLike[str]) -> None:
        self.kind, self.folder = kind, os.fspath(folder)
        self.met_old_names = False

    def __enter__(self) -> None:
        self._outer = _READING.get()
        _READING.set(self._outer or self)

    def __exit__(self, error: object, *_: object) -> None:
        _READING.set(self._outer)
        if self.met_old_names and error is None:
            _warn(
                f"{self.folder} was saved by an earlier version, under names that have changed: "
                f"{self.kind}.load({self.folder!r}).save({self.folder!r}) writes the new ones"
            )


_READING: ContextVar[ReadingSaved | None] = ContextVar("reading", default=None)


def accept_old_names(table: Names) -> Callable[[Thing], Thing]:
    """Return a decorator of functions and classes that take keyword arguments by old names, too.

    An instance of a decorated class also has its attributes under the old names.

    Parameters
    ----------
    table
        Old names of keyword arguments with new ones. Old values are those of `VALUES`.

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
            function: Thing = _accepting(table, thing, thing.__name__)
            return function
        kind: Any = thing
        # A named tuple takes its arguments where it is made; dataclasses where they are set up.
        maker = "__new__" if issubclass(thing, tuple) else "__init__"
        made = _accepting(table, getattr(kind, maker), thing.__name__)
        setattr(kind, maker, staticmethod(made) if maker == "__new__" else made)
        kind.__getattr__ = _former_attribute(table, thing.__name__)
        return thing

    return decorate


def former(
    module: str, table: Names, *, homes: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` for names that have changed or are loaded on first use.

    Parameters
    ----------
    module
        Its ``__name__``.
    table
        Old names with new ones, which are of the same module or are ``"other.module:Name"``.
    homes
        Names that a package loads on first use, each with its module below the package: what is
        slow to import, or not there without an extra, is imported by nobody else.
    """

    def find(name: str) -> Any:
        if homes is not None and name in homes:
            return getattr(import_module(f"{module}.{homes[name]}"), name)
        if name not in table:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        where, _, new = table[name].rpartition(":")
        home = where or module
        _warn(f"{module}.{name} is now {home}.{new}")
        return getattr(import_module(home), new)

    return find


def _accepting(table: Names, function: Any, what: str) -> Any:
    watched = table.keys() | VALUES.keys()

    @functools.wraps(function)
    def accepting(*args: Any, **options: Any) -> Any:
        # Looked at first: nearly all calls have no old name, and cost no more than this.
        if not watched.isdisjoint(options):
            options = renamed(table, options, what)
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
