"""Turn a page whose examples are run as tests into a notebook, and run it.

    python docs/notebook.py docs/tutorial.md build/tutorial.ipynb

Examples become cells, and what lies between them becomes text. Where the page shows an image, the
notebook shows the one of that name which its own cells have written to ``images/``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from doctest import DocTestParser, Example
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

IMAGE = re.compile(r"!\[[^]]*\]\([^)]*?([^/)]+\.png)\)")
LINK = re.compile(r"(?<!!)\[([^]]*)\]\((?!https?:)[^)]*\)")
FLAG = re.compile(r" *# doctest: .*")


def cells(page: str) -> Iterator[tuple[str, str]]:
    r"""Yield the cells of a page as kind and content; code ends where it has something to show.

    Examples
    --------
    >>> list(cells("# One\n\n>>> a = 1\n>>> a\n1\n>>> a + a\n2\n\n[Two](two.md)"))
    [('text', '# One'), ('code', 'a = 1\na'), ('code', 'a + a'), ('text', 'Two')]
    >>> list(cells("![A bird](images/bird.png)"))
    [('code', "from IPython.display import Image\n\nImage('images/bird.png')")]
    """
    code: list[str] = []
    # Flags are pytest's, and doctest itself does not know them.
    for part in DocTestParser().parse(FLAG.sub("", page)):
        if isinstance(part, Example):
            code.append(part.source.rstrip("\n"))
        if code and (part.want if isinstance(part, Example) else part.strip()):
            yield "code", "\n".join(code)
            code = []
        if not isinstance(part, Example):
            yield from _texts(part)
    if code:
        yield "code", "\n".join(code)


def _texts(text: str) -> Iterator[tuple[str, str]]:
    for number, piece in enumerate(IMAGE.split(text)):
        if number % 2:
            yield "code", f"from IPython.display import Image\n\nImage('images/{piece}')"
        elif piece.strip():
            # Other pages do not travel with a notebook: a link keeps its words.
            yield "text", LINK.sub(r"\1", piece.strip())


def main(page: Path, out: Path) -> None:
    """Write the notebook of a page with its outputs."""
    import nbformat
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

    make: dict[str, Any] = {"code": new_code_cell, "text": new_markdown_cell}
    given = cells(page.read_text(encoding="utf-8"))
    made = new_notebook(cells=[make[kind](content) for kind, content in given])
    with TemporaryDirectory() as folder:
        NotebookClient(made, timeout=600, resources={"metadata": {"path": folder}}).execute()
    out.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(made, out)
    print(out)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
