"""The application: routes, and around all of them the log, the metrics, the limits of bodies, and errors in the form of
their API.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.errors import DragomanError
from dragoman.serving.deepl import DeepL
from dragoman.serving.endpoint import CLIENT_LEFT, endpoint, json_response
from dragoman.serving.files import Files
from dragoman.serving.libretranslate import LibreTranslate
from dragoman.serving.logs import event
from dragoman.serving.metrics import CONTENT_TYPE_LATEST
from dragoman.serving.models import Models
from dragoman.serving.native import Native
from dragoman.serving.openapi import describe
from dragoman.serving.page import page_handlers
from dragoman.serving.refusals import Refusal
from dragoman.serving.requests import limited
from dragoman.serving.service import Service
from dragoman.serving.settings import Settings

GRACE_SECONDS = 30.0
"""Time for a client to receive its answer, beyond that for computing it."""
TRANSLATING = frozenset(("/translate", "/translate_file", "/v1/translate", "/v1/complete", "/v2/translate"))
"""The routes whose requests the scheduler may refuse."""
PAGE = "/"
"""The route that stands in log and metrics for all files of the page."""


def create_app(models: Models, settings: Settings, *, preload: bool = False) -> Starlette:
    """The ASGI application that serves `models`; with `preload` all are loaded at once."""
    service = Service(models, settings)
    routes = _routes(service)
    middleware = [Middleware(_Outermost, service=service, routes=frozenset(route.path for route in routes))]
    if settings.cors_origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=settings.cors_origins,
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type"],
                expose_headers=["Retry-After"],
            )
        )

    middleware.append(Middleware(_Busy, service=service))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        background = [asyncio.create_task(models.keep_fresh())]
        if settings.key_file is not None:
            background.append(asyncio.create_task(settings.key_file.keep_fresh(service.limits.set_keys)))
        if preload:
            background.append(asyncio.create_task(models.load_all()))
        yield
        for task in background:
            task.cancel()
        service.close()

    handlers = {Refusal: _refused, HTTPException: _not_found, DragomanError: _failed}
    return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers, lifespan=lifespan)


def _routes(service: Service) -> list[Route]:
    libretranslate, native, deepl, files = LibreTranslate(service), Native(service), DeepL(service), Files(service)

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
        "/suggest": libretranslate.suggest,
        "/translate_file": files.translate,
        "/v1/translate": native.translate,
        "/v1/complete": native.complete,
        "/v2/translate": deepl.translate,
    }
    gets = {
        "/languages": libretranslate.languages,
        "/frontend/settings": libretranslate.frontend_settings,
        "/download_file/{name}": files.download,
        "/v2/languages": deepl.languages,
        "/v2/usage": deepl.usage,
        "/health": health,
        "/ready": ready,
        "/metrics": metrics,
        "/spec": spec,
    }
    return [
        *(Route(path, endpoint(handler, seconds), methods=["POST"]) for path, handler in posts.items()),
        *(Route(path, endpoint(handler, seconds), methods=["GET"]) for path, handler in gets.items()),
        *(Route(path, handler, methods=["GET"], name=PAGE) for path, handler in page_handlers().items()),
    ]


def error_response(path: str, status: int, message: str, retry_after: int | None = None) -> Response:
    """An error as the API of a path writes it: LibreTranslate's, DeepL's, or RFC 9457 below /v1."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    if status == 408:
        headers["Connection"] = "close"  # what still comes is the rest of the same request
    if path.startswith("/v1/"):
        problem = {"type": "about:blank", "title": _TITLES.get(status, "Error"), "status": status, "detail": message}
        response = json_response(problem, status, headers)
        response.headers["Content-Type"] = "application/problem+json"
        return response
    return json_response({"message" if path.startswith("/v2/") else "error": message}, status, headers)


_TITLES = {
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


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


class _Busy:
    """Refuses requests while too many sentences wait, before anything of them is read.

    The scheduler would refuse them too. But all requests share one thread, and of those that a server in overload gets
    most are refused: reading and routing them takes several times as long as this.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in TRANSLATING:
            refusal = self._service.scheduler.refusal()
            if refusal is not None:
                response = error_response(scope["path"], refusal.status, refusal.message, refusal.retry_after)
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _Outermost:
    """Limits bodies and times, answers what nothing else has answered, counts and logs."""

    def __init__(self, app: ASGIApp, service: Service, routes: frozenset[str]) -> None:
        self._app, self._service, self._routes = app, service, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, settings, answer = time.perf_counter(), self._service.settings, _Answer(send)
        headers = dict(scope["headers"])
        declared = headers.get(b"content-length")
        try:
            if declared is not None and b"transfer-encoding" in headers:  # what proxies and servers read differently
                response = error_response(scope["path"], 400, "The request has two lengths")
                response.headers["Connection"] = "close"
                await response(scope, receive, answer.send)
                return
            async with asyncio.timeout(settings.body_seconds + settings.request_seconds + GRACE_SECONDS):
                await self._app(
                    scope, limited(receive, declared, settings.max_body, settings.body_seconds), answer.send
                )
        except ClientDisconnect:
            pass  # in the middle of its request
        except Exception as error:
            event("request failed", level=logging.ERROR, exc_info=error)
            if not answer.status:
                response = error_response(scope["path"], 500, "An error on the server; its log has the reason")
                with suppress(OSError):
                    await response(scope, receive, answer.send)
        finally:
            self._count(scope, answer, time.perf_counter() - began)

    def _count(self, scope: Scope, answer: _Answer, seconds: float) -> None:
        found = scope.get("route")  # none for what was refused before it was routed
        route = PAGE if getattr(found, "name", None) == PAGE else getattr(found, "path", scope["path"])
        route = route if route in self._routes else "other"
        status = answer.status or CLIENT_LEFT
        self._service.metrics.count_request(route, status, seconds)
        event(
            "request",
            client=scope["client"][0] if scope.get("client") else None,
            method=scope["method"][:20],
            route=route,
            status=status,
            seconds=round(seconds, 4),
            bytes=answer.bytes,
        )


class _Answer:
    """Watches what is sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.bytes = 0

    async def send(self, message: Message) -> None:
        """Send a message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        self.bytes += len(message.get("body", b""))
        await self._send(message)
