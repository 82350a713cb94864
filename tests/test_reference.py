"""Every public name is in the reference, and says what it takes."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import zerokin
from zerokin.errors import ZerokinError

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
PACKAGE = ROOT / "src" / "zerokin"


def rooms():
    """Give every package with names to import from."""
    for init in sorted(PACKAGE.rglob("__init__.py")):
        module = ".".join(["zerokin", *init.parent.relative_to(PACKAGE).parts])
        if "__all__" in init.read_text(encoding="utf-8"):
            yield module


PUBLIC = [
    f"{module}.{name}"
    for module in rooms()
    for name in import_module(module).__all__
    if name != "__version__"
]


def thing(path):
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def documented():
    """Give the names that the reference lists, as module and name, without building it."""
    for page in sorted(REFERENCE.glob("*.md")):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if found := re.fullmatch(r"\.\. currentmodule:: (\S+)", line):
                module = found[1]
            elif found := re.fullmatch(r"   (\w+)|\.\. data:: (\w+)", line):
                yield f"{module}.{found[1] or found[2]}"


LISTED = list(documented())


def test_the_reference_lists_nothing_twice_and_nothing_that_is_not_there():
    assert len(LISTED) == len(set(LISTED))
    for path in LISTED:
        thing(path)


@pytest.mark.parametrize("path", PUBLIC)
def test_a_public_name_is_in_the_reference(path):
    same = [other for other in LISTED if thing(other) is thing(path)]
    assert path in LISTED or (same and not isinstance(thing(path), str | int | tuple | dict))


@pytest.mark.parametrize("name", zerokin.__all__)
def test_a_name_of_zerokin_itself_has_a_page_under_that_name(name):
    assert name == "__version__" or f"zerokin.{name}" in LISTED


def parameters(path):
    given = thing(path)
    if inspect.isabstract(given) and given.__init__ is object.__init__:
        return []
    return list(inspect.signature(given).parameters)


def described(docstring):
    """Give the names in the section Parameters."""
    sections = re.split(r"\n(?=\w[\w ]*\n-+\n)", inspect.cleandoc(docstring))
    for section in sections:
        if section.startswith("Parameters\n"):
            heads = [line for line in section.splitlines()[2:] if re.match(r"\S", line)]
            return {name.strip(" *") for head in heads for name in head.split(":")[0].split(",")}
    return set()


CALLABLE = [
    path
    for path in dict.fromkeys([*PUBLIC, *LISTED])
    if callable(thing(path)) and (inspect.isclass(thing(path)) or inspect.isfunction(thing(path)))
]


@pytest.mark.parametrize("path", CALLABLE)
def test_a_public_name_says_what_it_is_and_what_it_takes(path):
    given = thing(path)
    assert given.__doc__
    if not (inspect.isclass(given) and issubclass(given, ZerokinError | Warning)):
        assert set(parameters(path)) - described(given.__doc__) == set()


@pytest.mark.parametrize("path", [path for path in CALLABLE if inspect.isclass(thing(path))])
def test_every_public_method_says_what_it_does(path):
    for name, member in vars(thing(path)).items():
        if not name.startswith("_") and inspect.isfunction(member):
            assert inspect.getdoc(getattr(thing(path), name)), name
