"""Requests whose client is slow, or leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from dragoman.serving.endpoint import CLIENT_LEFT, endpoint
from dragoman.serving.requests import limited
from dragoman.serving.responses import Refusal

SCOPE = {"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": b""}
Message = dict[str, Any]


def _receiving(*messages: Message) -> Callable[[], Awaitable[Message]]:
    """A client that sends these messages, and then nothing more."""
    waiting = list(messages)

    async def receive() -> Message:
        if not waiting:
            await asyncio.get_running_loop().create_future()
        return waiting.pop(0)

    return receive


def _body(content: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": content, "more_body": more}


def test_the_handler_of_a_client_that_has_left_is_cancelled() -> None:
    async def run() -> None:
        ended = asyncio.Event()

        async def handler(request: Request) -> Response:
            try:
                return await asyncio.get_running_loop().create_future()
            finally:
                ended.set()

        request = Request(SCOPE, _receiving(_body(b"x"), {"type": "http.disconnect"}))
        assert (await endpoint(handler, 30.0)(request)).status_code == CLIENT_LEFT
        await ended.wait()

    asyncio.run(run())


def test_a_client_that_stays_is_answered() -> None:
    async def handler(request: Request) -> Response:
        return Response(await request.body())

    async def run() -> None:
        request = Request(SCOPE, _receiving(_body(b"a", more=True), _body(b"b")))
        assert (await endpoint(handler, 30.0)(request)).body == b"ab"

    asyncio.run(run())


def _refused(
    receive: Callable[[], Awaitable[Message]], *, declared: bytes | None, most: int, seconds: float
) -> Refusal:
    async def run() -> None:
        read = limited(receive, declared, most, seconds)
        while (await read()).get("more_body"):
            pass

    with pytest.raises(Refusal) as refused:
        asyncio.run(run())
    return refused.value


def test_bodies_that_are_slow_or_long_are_refused() -> None:
    slow = _refused(_receiving(_body(b"a", more=True)), declared=b"2", most=10, seconds=0.01)
    assert (slow.status, slow.message) == (408, "The request did not arrive within 0.01 seconds")
    assert _refused(_receiving(), declared=b"11", most=10, seconds=30).status == 413
    assert _refused(_receiving(), declared=b"9" * 4000, most=10, seconds=30).status == 413
    pieces = [_body(b"abcdef", more=True), _body(b"abcdef")]
    assert _refused(_receiving(*pieces), declared=None, most=10, seconds=30).status == 413
