"""The HTTP interface: the same questions as the page's, in JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from zerokin._version import __version__
from zerokin.app.archives import UploadedImages
from zerokin.app.described import described_classes, described_hierarchy
from zerokin.app.feature_uploads import FIELD as FEATURES_FIELD
from zerokin.app.feature_uploads import sent_row
from zerokin.app.label_service import LabelService
from zerokin.app.refusals import one_line, status_of
from zerokin.app.request_body import FORM, Body, BodyReader, is_form
from zerokin.app.request_models import (
    CLASS_FORM,
    IMAGE_BODY,
    FeatureRow,
    NewClass,
    PredictQuery,
    body_schema,
)
from zerokin.app.service import Service
from zerokin.app.serving import Content
from zerokin.declared import parse_as, problem_line
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.recognizer.class_notes import class_notes

IMAGE_FIELD = "image"
IMAGES_FIELD = "images"
FORMER_FIELD = "picture"
ROUTES = {
    "/api/health": ("GET",),
    "/api/predict": ("POST",),
    "/api/classes": ("GET", "POST", "DELETE"),
    "/api/hierarchy": ("GET",),
}


def add_api(app: FastAPI, service: Service | LabelService, bodies: BodyReader) -> None:
    """Give an application the routes under ``/api/``, and errors of one line."""
    if isinstance(service, LabelService):
        from zerokin.app.label_api import label_routes

        app.include_router(label_routes(service, bodies))
    else:
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

    of_features = service.recognizer.takes == "features"

    @router.post(
        "/predict",
        openapi_extra={"requestBody": body_schema(FeatureRow) if of_features else IMAGE_BODY},
    )
    async def predict(request: Request, asked: Annotated[PredictQuery, Query()]) -> JSONResponse:
        question = asked.question()
        async with sent_sample(request, service) as (read, name):
            answer = await asyncio.wrap_future(service.ask(read, name, question))
        return JSONResponse(answer.to_dict(examples=asked.examples))

    @router.get("/classes")
    async def classes() -> dict[str, Any]:
        return described_classes(service.recognizer, read_only=service.read_only)

    of_class = body_schema(NewClass)
    if not of_features:
        of_class["content"][FORM] = {"schema": CLASS_FORM}

    @router.post("/classes", status_code=201, openapi_extra={"requestBody": of_class})
    async def add_class(request: Request) -> dict[str, Any]:
        async with sent_class(request, service) as (new, images):
            before, name = service.recognizer.classes, new.name.strip()
            count = await run_in_threadpool(
                lambda: service.add_class(**{**vars(new), "images": images})
            )
        answer: dict[str, Any] = {"name": name, "classes": count}
        if shots := service.recognizer.shots.get(name):
            answer["shots"] = shots
        if name not in before.names and (notes := class_notes(name, before, new.attributes)):
            answer["notes"] = notes
        return answer

    @router.delete("/classes")
    async def remove_named(name: Annotated[str, Query()]) -> dict[str, Any]:
        return {"name": name, "classes": await run_in_threadpool(service.remove_class, name)}

    @router.delete("/classes/{name:path}")
    async def remove_class(name: str) -> dict[str, Any]:
        return {"name": name, "classes": await run_in_threadpool(service.remove_class, name)}

    @router.get("/hierarchy")
    async def hierarchy() -> dict[str, Any]:
        return described_hierarchy(service.recognizer)

    unknown_route(router, ROUTES)
    return router


def unknown_route(router: APIRouter, known: Mapping[str, tuple[str, ...]]) -> None:
    """Answer every other path and method by what there is."""

    @router.api_route(
        "/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"], include_in_schema=False
    )
    async def nothing(request: Request) -> JSONResponse:
        allowed = known.get(request.url.path)
        if allowed is not None:
            line = f"{request.url.path} takes {' and '.join(allowed)}, not {request.method}"
            return error(405, line, {"allow": ", ".join(allowed)})
        return error(404, f"nothing at {request.url.path}: there are {', '.join(known)}")


@asynccontextmanager
async def sent_sample(
    request: Request, service: Service
) -> AsyncIterator[tuple[Callable[[], Content], str]]:
    """Give what reads the sample of a request, and its name: the whole body, or a form's file."""
    body: Body = request.scope["zerokin.body"]
    if service.recognizer.takes == "features":
        width = service.recognizer.classifier.n_features_in_
        yield lambda: sent_row(body.read(), width), FEATURES_FIELD
        return
    async with sent_image(request) as sent:
        yield sent


@asynccontextmanager
async def sent_image(request: Request) -> AsyncIterator[tuple[Callable[[], bytes], str]]:
    """Give what reads the image of a request, and its name: the whole body, or a form's file."""
    body: Body = request.scope["zerokin.body"]
    if not is_form(request.headers.get("content-type", "")):
        yield body.read, IMAGE_FIELD
        return
    async with request.form(max_files=1, max_fields=10) as form:
        sent = form.get(IMAGE_FIELD) or form.get(FORMER_FIELD)
        if not isinstance(sent, UploadFile):
            raise InvalidInput(f"the form holds no file in its field {IMAGE_FIELD!r}")
        yield sent.file.read, one_line(sent.filename or IMAGE_FIELD)


@asynccontextmanager
async def sent_class(
    request: Request, service: Service
) -> AsyncIterator[tuple[NewClass, UploadedImages | None]]:
    """Give the class that a request adds, as JSON or as a form, and the form's images of it."""
    if not is_form(request.headers.get("content-type", "")):
        yield parse_as(NewClass, await sent_json(request)), None
        return
    limits = service.limits
    async with request.form(max_files=limits.shots, max_fields=10) as form:
        told = {name: one for name, one in form.multi_items() if isinstance(one, str)}
        sent = [(name, one) for name, one in form.multi_items() if isinstance(one, UploadFile)]
        strange = next((name for name, _ in sent if name != IMAGES_FIELD), None)
        if strange is not None or not sent:
            raise InvalidInput(f"images of a class are files in the form's field {IMAGES_FIELD!r}")
        for name in ("attributes", "vector", "kappa"):
            if name in told:
                told[name] = from_json(told[name], f"the form's field {name!r}")
        new = parse_as(NewClass, told)
        names = [one_line(one.filename or IMAGES_FIELD) for _, one in sent]
        yield new, UploadedImages(names, [one.file.read for _, one in sent], limits)


async def sent_json(request: Request) -> Any:
    """Return what the JSON of a request holds, whatever it says of its type."""
    return from_json(await request.body(), "the body")


def from_json(content: bytes | str, what: str) -> Any:
    """Return what JSON holds."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise InvalidInput(f"{what} is not JSON: {problem}") from problem


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
    return error(400, problem_line({**first, "loc": first["loc"][1:]}, PredictQuery))


async def _http_error(_: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, HTTPException)
    headers = dict(problem.headers) if problem.headers else None
    return error(problem.status_code, problem.detail, headers)
