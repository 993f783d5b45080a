"""The application: routes, and errors in the form of their API."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dragoman.errors import DragomanError
from dragoman.serving.corrections import CorrectionRoutes
from dragoman.serving.deepl import DeepL
from dragoman.serving.endpoint import endpoint
from dragoman.serving.files import FileRoutes
from dragoman.serving.learning import LearningModel
from dragoman.serving.libretranslate import LibreTranslate
from dragoman.serving.logs import event
from dragoman.serving.metrics import CONTENT_TYPE_LATEST
from dragoman.serving.middleware import PAGE, AccessLog, LoadShedding, OriginCheck
from dragoman.serving.models import LanguagePair, Models
from dragoman.serving.native import Native
from dragoman.serving.openapi import describe
from dragoman.serving.page import page_handlers
from dragoman.serving.responses import Refusal, error_response, json_response
from dragoman.serving.segments import Documents
from dragoman.serving.service import Service
from dragoman.serving.settings import Settings


def create_app(
    models: Models,
    settings: Settings,
    *,
    learning: Mapping[LanguagePair, LearningModel] | None = None,
    preload: bool = False,
) -> Starlette:
    """The ASGI application that serves `models`; some may learn, and with `preload` all are loaded at once."""
    service = Service(models, settings, learning or {})
    routes = _routes(service)
    middleware = [Middleware(AccessLog, service=service, routes=frozenset(route.path for route in routes))]
    if settings.cors_origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=settings.cors_origins,
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=["Authorization", "Content-Type"],
                expose_headers=["Retry-After"],
            )
        )

    # Browsers learn why they are refused only where CORS lets them read the answer.
    middleware += [Middleware(OriginCheck, settings=settings), Middleware(LoadShedding, service=service)]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        background = [asyncio.create_task(models.keep_fresh())]
        for pair, model in service.learning.items():
            background.append(model.start(partial(models.take_up, pair)))
        if settings.key_file is not None:
            background.append(asyncio.create_task(settings.key_file.keep_fresh(service.limits.set_keys)))
        if preload:
            background.append(asyncio.create_task(models.load_all()))
        yield
        for task in background:
            task.cancel()
        service.close()

    handlers = {Refusal: _refused, HTTPException: _not_found, DragomanError: _failed}
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=handlers, lifespan=lifespan)
    app.router.redirect_slashes = False  # a client that follows a redirect sends GET
    return app


def _routes(service: Service) -> list[Route]:
    libretranslate, native, deepl = LibreTranslate(service), Native(service), DeepL(service)
    files, documents, corrections = FileRoutes(service), Documents(service), CorrectionRoutes(service)

    async def health(request: Request) -> Response:
        return json_response({"status": "ok"})

    async def ready(request: Request) -> Response:
        if service.models.loading:
            return json_response({"status": "loading"}, 503, {"Retry-After": "1"})
        return json_response({"status": "ok"})

    async def metrics(request: Request) -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    description = describe(service.models.pairs)

    async def spec(request: Request) -> Response:
        return json_response(description)

    seconds = service.settings.request_seconds
    posts = {
        "/translate": libretranslate.translate,
        "/detect": libretranslate.detect,
        "/suggest": corrections.suggest,
        "/translate_file": files.translate,
        "/v1/translate": native.translate,
        "/v1/complete": native.complete,
        "/v1/corrections": corrections.add,
        "/v1/documents": documents.open,
        "/v1/documents/finished": documents.finish,
        "/v2/translate": deepl.translate,
    }
    gets = {
        "/languages": libretranslate.languages,
        "/frontend/settings": libretranslate.frontend_settings,
        "/download_file/{name}": files.download,
        "/v1/corrections": corrections.list,
        "/v2/languages": deepl.languages,
        "/v2/usage": deepl.usage,
        "/health": health,
        "/ready": ready,
        "/metrics": metrics,
        "/spec": spec,
    }
    deletes = {"/v1/corrections": corrections.remove_all, "/v1/corrections/{number}": corrections.remove}
    by_method = {"POST": posts, "GET": gets, "DELETE": deletes}
    return [
        *(
            Route(path, endpoint(handler, seconds), methods=[method])
            for method, handlers in by_method.items()
            for path, handler in handlers.items()
        ),
        *(Route(path, handler, methods=["GET"], name=PAGE) for path, handler in page_handlers().items()),
    ]


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return error_response(request.url.path, error.status, error.message, error.retry_after)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = error_response(request.url.path, error.status_code, error.detail)
    response.headers.update(error.headers or {})
    return response


async def _failed(request: Request, error: Exception) -> Response:
    """A model that fails: the reason is in the log, because it may name files of the server."""
    event("translation failed", level=logging.ERROR, reason=str(error))
    return error_response(request.url.path, 500, "Cannot translate text: the log of the server has the reason")
