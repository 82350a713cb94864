"""Uploading to the page, and looking at one's own upload: these routes stand before Gradio's."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from zerokin.app.page_requests import FILE, PROGRESS, UPLOAD
from zerokin.app.refusals import Forbidden, Unknown
from zerokin.app.upload_store import UploadStore
from zerokin.data.images import is_image
from zerokin.errors import InvalidInput

FILES_FIELD = "files"


def upload_routes(store: UploadStore, *, most_files: int) -> APIRouter:
    """Return the routes that take uploads of the page and show a visitor's own.

    Parameters
    ----------
    store
        Who keeps them.
    most_files
        Of one request.
    """
    router = APIRouter(include_in_schema=False)

    @router.post(UPLOAD)
    async def upload(request: Request) -> JSONResponse:
        visitor = visitor_of(request)
        if visitor is None:
            raise Forbidden("uploads are for the page: open it first, with cookies")
        async with request.form(max_files=most_files, max_fields=10) as form:
            sent = [one for one in form.getlist(FILES_FIELD) if isinstance(one, UploadFile)]
            if not sent:
                raise InvalidInput(f"the form holds no file in its field {FILES_FIELD!r}")
            paths = [
                await run_in_threadpool(store.keep, visitor, one.filename or "", one.file)
                for one in sent
            ]
        return JSONResponse(paths)

    @router.get(PROGRESS)
    async def progress(upload_id: str) -> StreamingResponse:  # noqa: ARG001
        async def done() -> AsyncIterator[str]:
            # The page shows a bar as long as this stream lasts; an upload ends by its own answer.
            yield f"data: {json.dumps({'msg': 'done'})}\n\n"

        return StreamingResponse(done(), media_type="text/event-stream")

    @router.api_route(f"{FILE}{{path:path}}", methods=["GET", "HEAD"])
    async def own_upload(path: str, request: Request) -> Any:
        if not store.owns(visitor_of(request), path):
            raise Unknown("no upload of yours: upload it again")
        kind = mimetypes.guess_type(path)[0] if is_image(path) else None
        return FileResponse(
            path,
            media_type=kind or "application/octet-stream",
            filename=Path(path).name,
            content_disposition_type="inline" if kind else "attachment",
        )

    return router


def visitor_of(request: Request) -> str | None:
    """Return the token that the guard found in, or gave to, a request."""
    visitor: str | None = request.scope.get("zerokin.visitor")
    return visitor
