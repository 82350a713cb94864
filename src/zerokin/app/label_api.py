"""The HTTP interface of a bundle that gives several labels: the page's question, in JSON."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from zerokin._version import __version__
from zerokin.app.api import sent_image, unknown_route
from zerokin.app.label_service import LabelQuestion, LabelService
from zerokin.app.request_body import BodyReader
from zerokin.app.request_models import IMAGE_BODY, Typed, chosen
from zerokin.declared import Count

ROUTES = {
    "/api/health": ("GET",),
    "/api/predict": ("POST",),
    "/api/classes": ("GET",),
}


class LabelQuery(BaseModel):
    """Query of POST /api/predict where images have several labels."""

    model_config = ConfigDict(extra="forbid")

    k: Annotated[Count | None, Typed] = Field(
        None, description="how many labels; by default those that are probable enough"
    )
    candidates: list[str] = Field(
        ["all"], description="all, seen, unseen, or a class; repeated for several"
    )


def label_routes(service: LabelService, bodies: BodyReader) -> APIRouter:
    """Return the routes that ask one service."""
    router = APIRouter(prefix="/api")

    @router.get("/health")
    async def health() -> dict[str, Any]:
        return {
            "status": "ok",
            "version": __version__,
            "classes": len(service.recognizer.names),
            "in_hand": service.in_hand,
            "arriving": bodies.receiving,
            "read_only": True,
        }

    @router.post("/predict", openapi_extra={"requestBody": IMAGE_BODY})
    async def predict(request: Request, asked: Annotated[LabelQuery, Query()]) -> JSONResponse:
        question = LabelQuestion(chosen(asked.candidates), asked.k)
        async with sent_image(request) as (read, name):
            answer = await asyncio.wrap_future(service.ask(read, name, question))
        return JSONResponse(answer.to_dict())

    @router.get("/classes")
    async def classes() -> dict[str, Any]:
        pairs = zip(service.recognizer.names, service.recognizer.seen.tolist(), strict=True)
        return {
            "takes": "images",
            "read_only": True,
            "classes": [{"name": name, "seen": seen} for name, seen in pairs],
        }

    unknown_route(router, ROUTES)
    return router
