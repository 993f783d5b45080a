"""What is around all routes: log and metrics, limits of bodies and times, refusals before anything is read."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.serving.endpoint import CLIENT_LEFT
from dragoman.serving.logs import event
from dragoman.serving.origins import refused_sender
from dragoman.serving.requests import limited
from dragoman.serving.responses import error_response
from dragoman.serving.service import Service
from dragoman.serving.settings import Settings

TRANSLATING = frozenset(
    ("/translate", "/translate_file", "/v1/translate", "/v1/complete", "/v1/documents/finished", "/v2/translate")
)
"""The routes whose requests the scheduler may refuse."""
PAGE = "/"
"""The route that stands in log and metrics for all files of the page."""


class OriginCheck:
    """Refuses requests of web pages that may not use the server."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            reason = refused_sender(scope, self._settings.cors_origins, self._settings.host_names)
            if reason is not None:
                await error_response(scope["path"], 403, reason)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class LoadShedding:
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


class AccessLog:
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
            async with asyncio.timeout(settings.answer_seconds):
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
        matched = scope.get("route")  # none for what was refused before it was routed
        route = PAGE if getattr(matched, "name", None) == PAGE else getattr(matched, "path", scope["path"])
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
