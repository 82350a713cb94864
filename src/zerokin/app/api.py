"""The HTTP interface: the same questions as the page's, in JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from zerokin._version import __version__
from zerokin.app.described import described_classes, described_hierarchy
from zerokin.app.refusals import one_line, status_of
from zerokin.app.request_body import Body, BodyReader
from zerokin.app.service import Service
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.recognizer.answering import Question
from zerokin.recognizer.class_notes import class_notes

KINDS = ("all", "seen", "unseen")
IMAGE_FIELD = "image"
FORMER_FIELD = "picture"
DESCRIPTIONS = ("attributes", "text", "vector")
ROUTES = {
    "/api/health": ("GET",),
    "/api/predict": ("POST",),
    "/api/classes": ("GET", "POST", "DELETE"),
    "/api/hierarchy": ("GET",),
}


def add_api(app: FastAPI, service: Service, bodies: BodyReader) -> None:
    """Give an application the routes under ``/api/``, and errors of one line."""
    app.include_router(routes(service, bodies))
    app.add_exception_handler(ZerokinError, _zerokin_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)


def routes(service: Service, bodies: BodyReader) -> APIRouter:
    """Return the routes that ask and change one service."""
    router = APIRouter(prefix="/api")

    @router.get("/health")
    async def health() -> dict[str, Any]:
        return {
            "status": "ok",
            "version": __version__,
            "classes": len(service.recognizer.classes),
            "in_hand": service.in_hand,
            "arriving": bodies.receiving,
            "read_only": service.read_only,
        }

    @router.post("/predict")
    async def predict(
        request: Request,
        k: Annotated[int, Query()] = 5,
        max_risk: Annotated[float | None, Query()] = None,
        unseen_bias: Annotated[float, Query()] = 0.0,
        candidates: Annotated[list[str] | None, Query()] = None,
        examples: Annotated[bool, Query()] = False,
    ) -> JSONResponse:
        question = Question(chosen(candidates), k, max_risk, unseen_bias)
        async with sent_picture(request) as (read, name):
            answer = await asyncio.wrap_future(service.ask(read, name, question))
        return JSONResponse(answer.to_dict(examples=examples))

    @router.get("/classes")
    async def classes() -> dict[str, Any]:
        return described_classes(service.recognizer, read_only=service.read_only)

    @router.post("/classes")
    async def add_class(request: Request) -> JSONResponse:
        given = await sent_object(request)
        name = given.pop("name", None)
        for key in given:
            if key not in DESCRIPTIONS:
                raise InvalidInput(f"unknown field {key!r}: give name and one of {DESCRIPTIONS}")
        checked_kinds(given)
        before = service.recognizer.classes
        count = await run_in_threadpool(lambda: service.add_class(name, **given))
        answer: dict[str, Any] = {"name": name.strip(), "classes": count}
        if notes := class_notes(name.strip(), before, given.get("attributes")):
            answer["notes"] = notes
        return JSONResponse(answer, status_code=201)

    @router.delete("/classes")
    async def remove_named(name: Annotated[str, Query()]) -> dict[str, Any]:
        return {"name": name, "classes": await run_in_threadpool(service.remove_class, name)}

    @router.delete("/classes/{name:path}")
    async def remove_class(name: str) -> dict[str, Any]:
        return {"name": name, "classes": await run_in_threadpool(service.remove_class, name)}

    @router.get("/hierarchy")
    async def hierarchy() -> dict[str, Any]:
        return described_hierarchy(service.recognizer)

    @router.api_route(
        "/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"], include_in_schema=False
    )
    async def nothing(request: Request) -> JSONResponse:
        allowed = ROUTES.get(request.url.path)
        if allowed is not None:
            line = f"{request.url.path} takes {' and '.join(allowed)}, not {request.method}"
            return error(405, line, {"allow": ", ".join(allowed)})
        return error(404, f"nothing at {request.url.path}: there are {', '.join(ROUTES)}")

    return router


def chosen(candidates: list[str] | None) -> str | list[str]:
    """Return the candidates of a question from the values of a query.

    Examples
    --------
    >>> chosen(None), chosen(["unseen"]), chosen(["lynx", "wolf"])
    ('all', 'unseen', ['lynx', 'wolf'])
    """
    if not candidates:
        return "all"
    return candidates[0] if len(candidates) == 1 and candidates[0] in KINDS else candidates


@asynccontextmanager
async def sent_picture(request: Request) -> AsyncIterator[tuple[Callable[[], bytes], str]]:
    """Give what reads the picture of a request, and its name: the whole body, or a form's file."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        body: Body = request.scope["zerokin.body"]
        yield body.read, IMAGE_FIELD
        return
    async with request.form(max_files=1, max_fields=10) as form:
        sent = form.get(IMAGE_FIELD) or form.get(FORMER_FIELD)
        if not isinstance(sent, UploadFile):
            raise InvalidInput(f"the form holds no file in its field {IMAGE_FIELD!r}")
        yield sent.file.read, one_line(sent.filename or IMAGE_FIELD)


async def sent_object(request: Request) -> dict[str, Any]:
    """Return the JSON object that a request holds."""
    try:
        given = json.loads(await request.body())
    except (ValueError, RecursionError) as problem:
        raise InvalidInput(f"the body is not JSON: {problem}") from problem
    if not isinstance(given, dict):
        raise InvalidInput('the body must be a JSON object such as {"name": …, "text": …}')
    return given


def checked_kinds(given: dict[str, Any]) -> None:
    """Refuse a description of a class that is not of the kind its field holds."""
    kinds = {
        "attributes": (dict, "an object"),
        "text": (str, "a string"),
        "vector": (list, "a list"),
    }
    for key, value in given.items():
        kind, called = kinds[key]
        if not isinstance(value, kind):
            raise InvalidInput(f"{key} must be {called}")
    text = given.get("text", "")
    if text.encode("utf-8", "replace").decode() != text:
        raise InvalidInput("text holds half a character (a surrogate): leave it out")


def error(status: int, line: object, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return an error as every route gives it."""
    return JSONResponse({"error": one_line(line)}, status_code=status, headers=headers)


async def _zerokin_error(_: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, ZerokinError)
    status = status_of(problem)
    return error(status, problem, {"retry-after": "1"} if status == 503 else None)


async def _validation_error(_: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, RequestValidationError)
    first = problem.errors()[0]
    where = first.get("loc", ("", "request"))[-1]
    return error(400, f"{where}: {first.get('msg', 'cannot be used')}")


async def _http_error(_: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, HTTPException)
    headers = dict(problem.headers) if problem.headers else None
    return error(problem.status_code, problem.detail, headers)
