"""An endpoint: reads the request, answers it while the client is there, within the time that a request may take."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from dragoman.serving.responses import Refusal

Handler = Callable[[Request], Awaitable[Response]]

CLIENT_LEFT = 499
"""The status in log and metrics of a request whose client has gone; nobody receives it."""


def endpoint(handler: Handler, seconds: float) -> Handler:
    """The endpoint of a handler.

    The handler is cancelled when the client leaves; its sentences are then dropped from the queue.
    """

    async def answer(request: Request) -> Response:
        await request.body()
        answering = asyncio.ensure_future(handler(request))
        leaving = asyncio.ensure_future(_left(request))
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                return answering.result()
            return Response(status_code=CLIENT_LEFT)
        except TimeoutError:
            raise Refusal(
                503, f"The answer takes longer than {seconds:g} seconds; send less at a time", retry_after=1
            ) from None
        finally:
            answering.cancel()
            leaving.cancel()

    return answer


async def _left(request: Request) -> None:
    """Wait until the client leaves."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
