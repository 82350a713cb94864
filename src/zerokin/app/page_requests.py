"""What the page itself asks of Gradio: a list of routes, and calls made anew from what was sent.

Gradio serves far more than this page uses: files by path, other sites by address, saved states,
monitoring. None of it is reached: a route that is not listed here is not there, and a call's
values are plain ones, or uploads of the visitor who calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NoReturn
from urllib.parse import parse_qs

from pydantic import BaseModel, StringConstraints

from zerokin.app.refusals import Forbidden
from zerokin.declared import parse_as
from zerokin.errors import InvalidInput
from zerokin.parameters import Integer, Range

PREFIX = "/gradio_api"
JOIN, DATA = f"{PREFIX}/queue/join", f"{PREFIX}/queue/data"
UPLOAD, PROGRESS, FILE = f"{PREFIX}/upload", f"{PREFIX}/upload_progress", f"{PREFIX}/file="

READING, SENDING = frozenset({"GET", "HEAD"}), frozenset({"POST"})
PAGE_ROUTES: Mapping[str, frozenset[str]] = {
    "/": READING,
    "/theme.css": READING,
    "/favicon.ico": READING,
    JOIN: SENDING,
    DATA: READING,
    UPLOAD: SENDING,
    PROGRESS: READING,
}
PAGE_FOLDERS = ("/assets/", "/static/")
"""The files of the page's own program; Gradio keeps within their folders."""

ODD_PATH = re.compile(r"\.\.|//|\\|[\x00-\x1f\x7f]")
SESSION = re.compile(r"[a-z0-9]{1,32}")
FUNCTION = Integer(0, 999_999)
LONGEST_TEXT = 100_000
MOST_VALUES = 20_000
DEEPEST = 4

CallRanges = Mapping[int, Sequence[Range]]
"""By the number of a function of the page, what each of its arguments may be."""


class PageCall(BaseModel):
    """Call of one of the page's functions, as a browser sends it; what else is sent is left out."""

    data: list[Any]
    session_hash: Annotated[str, StringConstraints(pattern=rf"^{SESSION.pattern}$")]
    fn_index: Annotated[int, FUNCTION] | None = None
    trigger_id: Annotated[int, FUNCTION] | None = None


def is_page_route(method: str, path: str) -> bool:
    """Tell whether the page uses a route.

    Examples
    --------
    >>> is_page_route("GET", "/"), is_page_route("GET", "/gradio_api/deep_link")
    (True, False)
    """
    if path in PAGE_ROUTES:
        return method in PAGE_ROUTES[path]
    below = path.startswith((*PAGE_FOLDERS, FILE))
    return below and method in READING and not ODD_PATH.search(path)


def check_query(path: str, query: bytes) -> None:
    """Refuse a query that the page does not send with a route: ``/?deep_link=…`` above all."""
    given = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    allowed = {DATA: {"session_hash"}, UPLOAD: {"upload_id"}, PROGRESS: {"upload_id"}}
    if path == "/":
        # Gradio's own links to this page: its look, and how it is embedded.
        unknown = set(given) - {"__theme", "view"}
    elif path in allowed:
        unknown = set(given) - allowed[path]
        hashes = [one for values in given.values() for one in values]
        if not all(map(SESSION.fullmatch, hashes)):
            raise InvalidInput("the query is none that this page sends: load the page again")
    else:
        unknown = set()
    if unknown:
        raise Forbidden(f"{path} takes no {sorted(unknown)[0]!r} here")


def rebuild_call(body: bytes, owns: Callable[[str], bool], ranges: CallRanges) -> bytes:
    """Return a call of one of the page's functions, made anew from its parts that are plain.

    Parameters
    ----------
    body
        JSON that a browser sent to be queued.
    owns
        Tells whether a path is an upload of the visitor.
    ranges
        What the arguments of each function may be.
    """
    try:
        given = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as problem:
        raise InvalidInput(f"the body is not JSON: {problem}") from problem
    try:
        sent = parse_as(PageCall, given)
    except InvalidInput as problem:
        raise InvalidInput(f"{problem}: no call of this page; load it again") from problem
    count = [0]
    data = [_plain(value, owns, DEEPEST, count) for value in sent.data]
    _check_arguments(sent.fn_index, data, ranges)
    return json.dumps({**vars(sent), "data": data, "event_data": None}).encode()


def _check_arguments(function: int | None, data: Sequence[Any], ranges: CallRanges) -> None:
    own = None if function is None else ranges.get(function)
    if own is None:
        raise InvalidInput(f"the page has no function {function}: load it again")
    if len(data) != len(own):
        raise InvalidInput(
            f"{len(own)} values make this call, not {len(data)}: load the page again"
        )
    for number, (value, one) in enumerate(zip(data, own, strict=True), start=1):
        if (line := one.refusal(f"value {number} of the call", value)) is not None:
            raise InvalidInput(f"{line}; load the page again")


def _plain(value: Any, owns: Callable[[str], bool], deep: int, count: list[int]) -> Any:
    count[0] += 1
    if count[0] > MOST_VALUES or deep < 0:
        raise InvalidInput("the call holds more values than any of this page")
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        if abs(value) > 2**53:
            raise InvalidInput("the call holds a number beyond those of this page")
        return value
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise InvalidInput(f"a text has at most {LONGEST_TEXT:,} signs: got {len(value):,}")
        # Half characters (surrogates) could be kept in no file.
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_plain(one, owns, deep - 1, count) for one in value]
    return _own_file(value, owns)


def _own_file(value: dict[str, Any], owns: Callable[[str], bool]) -> dict[str, Any]:
    """Return what stands for an uploaded file, without any address to fetch it from."""
    path = value.get("path")
    if not isinstance(path, str) or not owns(path):
        raise Forbidden("that file was not uploaded here, or is gone: upload it again")
    return {"path": path, "orig_name": None, "meta": {"_type": "gradio.FileData"}}


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
