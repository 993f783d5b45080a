"""Connections on which the head of a request does not arrive are closed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from dragoman.serving import server
from dragoman.serving.server import _Protocol


class Transport(asyncio.Transport):
    """A connection without a network."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = asyncio.Event()
        self.written = b""

    def close(self) -> None:
        self.closed.set()

    def is_closing(self) -> bool:
        return self.closed.is_set()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data


def _protocol() -> tuple[_Protocol, Transport]:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.get_running_loop().create_future()

    config = uvicorn.Config(app, log_config=None)
    config.load()
    protocol, transport = _Protocol(config, ServerState(), {}), Transport()
    protocol.connection_made(transport)
    return protocol, transport


def test_a_connection_without_a_whole_head_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.0)

    async def run() -> None:
        for sent in (b"", b"GET /health HTTP/1.1\r\nHost:"):
            protocol, transport = _protocol()
            if sent:
                protocol.data_received(sent)
            await transport.closed.wait()
            assert transport.written[:12] == (b"HTTP/1.1 408" if sent else b"")

    asyncio.run(run())


def test_a_request_that_has_begun_has_no_such_limit() -> None:
    async def run() -> None:
        protocol, transport = _protocol()
        assert protocol._deadline is not None
        protocol.data_received(b"GET /health HTTP/1.1\r\nHost: x\r\n")
        assert protocol._deadline is not None
        protocol.data_received(b"\r\n")
        assert protocol._deadline is None
        assert not transport.is_closing()
        for task in protocol.tasks:
            task.cancel()

    asyncio.run(run())
