"""The documentation as a site: ``make docs`` builds it, and any warning fails the build.

In docstrings, single backticks name something of zerokin. What has a page of its own becomes a
link; what is only internal stays code; a name that exists nowhere is a warning.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "zerokin"
author = "The zerokin authors"
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = "zerokin"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

nitpicky = True
default_role = "py:obj"
myst_heading_anchors = 3

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# What scikit-learn adds to every estimator for its own routing of metadata.
METHODS = ("fit", "predict", "transform", "score", "decision_function", "partial_fit")
ROUTING = ", ".join(f"set_{name}_request" for name in METHODS)
autodoc_default_options = {"exclude-members": ROUTING}
numpydoc_show_class_members = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88


def setup(app: Sphinx) -> None:
    """Resolve names as docstrings write them; look at what was built."""
    app.connect("missing-reference", resolved)
    app.connect("doctree-read", colored)
    app.connect("build-finished", refuse_other_hosts)


def colored(_app: Sphinx, doctree: Any) -> None:
    """Color examples in indented blocks, which say no language, as Python's."""
    from docutils.nodes import literal_block

    for block in doctree.findall(literal_block):
        if block.astext().startswith(">>>"):
            block["language"] = "pycon"


def refuse_other_hosts(app: Sphinx, failure: Exception | None) -> None:
    """Fail if a page would load anything from another host; links that a reader follows may be."""
    from sphinx.errors import ExtensionError

    if failure is not None:
        return
    loaded = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=["'](?:https?:)?//""")
    for page in Path(app.outdir).rglob("*.html"):
        found = loaded.search(page.read_text(encoding="utf-8"))
        if found:
            raise ExtensionError(f"{page} loads from another host: {found[0]}")


def resolved(app: Sphinx, env: Any, node: Any, shown: Any) -> Any:
    """Return a link or plain code for a name that Sphinx did not find, or None if it is nowhere."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    documented = env.get_domain("py").objects
    meant = _meant(target, node)
    last = target.rpartition(".")[2]
    named = [name for name in documented if name.rpartition(".")[2] == last]
    pages = [name for name in named if meant is not None and _import(name) is meant]
    if not pages and len({documented[name].docname for name in named}) == 1:
        pages = named  # as a class of another room is called in text
    if pages:
        from sphinx.util.nodes import make_refnode

        page = documented[pages[0]]
        return make_refnode(app.builder, node["refdoc"], page.docname, page.node_id, [shown])
    # Types in signatures name other libraries, too; text does not.
    typed = node["reftype"] != "obj" or target.startswith("typing.")
    return shown if typed or meant is not None else None


def _meant(target: str, node: Any) -> object | None:
    """Return what a name stands for in the class or the module whose docstring holds it."""
    here = ".".join(filter(None, (node.get("py:module"), node.get("py:class"))))
    written_in = getattr(_import(here), "__module__", None)
    for scope in (here, written_in, node.get("py:module"), "zerokin", None):
        thing = _import(".".join(filter(None, (scope, target))))
        if thing is not None:
            return thing
    return None


def _import(name: str) -> object | None:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing: object = import_module(".".join(parts[:length]))
        except (ImportError, ValueError):
            continue
        for part in parts[length:]:
            thing = getattr(thing, part, None)
        return thing
    return None
