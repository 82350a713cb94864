"""Every route of the application is known: what the page does not use is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from served import bundle, running
from zerokin.app import Service, create_app
from zerokin.app.page_requests import PAGE_FOLDERS, PAGE_ROUTES

from .conftest import PASSWORD
from .visitor import Visitor

KNOWN = Path(__file__).with_name("routes.txt")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


def walk(routes, prefix=""):
    """Yield method and path of every route, those of mounted and included ones as well."""
    for route in routes:
        below = getattr(route, "routes", None)
        router = getattr(route, "original_router", None) or getattr(route, "router", None)
        path = prefix + (getattr(route, "path", "") or "")
        if getattr(route, "methods", None):
            yield from ((method, path) for method in route.methods)
        elif router is not None:
            yield from walk(router.routes, prefix)
        elif below is not None:
            yield from walk(below, path)
        else:
            raise AssertionError(f"{route!r} is of a kind that nobody looked at")


@pytest.fixture(scope="module")
def routes(tmp_path_factory):
    service = Service(bundle(tmp_path_factory.mktemp("routes")), device="cpu")
    found = sorted(set(walk(create_app(service).routes)))
    service.close()
    return found


def test_no_route_came_with_an_upgrade(routes):
    known = [tuple(line.split(" ", 1)) for line in KNOWN.read_text(encoding="utf-8").splitlines()]
    assert routes == known, "look at what is new, then write it down in routes.txt"
    assert len(routes) > 80


def is_used(method, path):
    own = path.startswith("/api/")
    below = path.startswith((*PAGE_FOLDERS, "/gradio_api/file="))
    return own or (below and method in ("GET", "HEAD")) or method in PAGE_ROUTES.get(path, ())


def test_what_the_page_does_not_use_is_not_there(routes, address):
    visitor = Visitor(address)
    visitor.open_page()
    tried = 0
    for path in sorted({path for _, path in routes}):
        real = re.sub(r"\{[^}]*\}", "x", path)
        for method in METHODS:
            if is_used(method, path):
                continue
            status, _, content = visitor.ask(method, real, b"{}" if method == "POST" else None)
            assert status in (404, 405), (method, real, status)
            assert method == "HEAD" or content.startswith(b'{"error"'), (method, real, content)
            tried += 1
    assert tried > 300


def test_nothing_is_there_without_the_password(routes, tmp_path):
    with running(bundle(tmp_path), ZEROKIN_PASSWORD=PASSWORD) as (address, _):
        visitor = Visitor(address)
        for method, path in routes:
            status, headers, content = visitor.ask(method, re.sub(r"\{[^}]*\}", "x", path))
            assert status == 401, (method, path)
            assert headers["www-authenticate"].startswith("Basic")
            assert b"critter" not in content.lower()
