"""Connections end, whatever their clients do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from dragoman.serving import server
from dragoman.serving.server import _Protocol

HEAD = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"


class Transport(asyncio.Transport):
    """A connection without a network, to a client that receives everything or nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.closed, self.aborted = asyncio.Event(), asyncio.Event()
        self.written = b""

    def close(self) -> None:
        self.closed.set()

    def abort(self) -> None:
        self.aborted.set()

    def is_closing(self) -> bool:
        return self.closed.is_set()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _no_connections_of_other_tests() -> Iterator[None]:
    _Protocol._waiting.clear()
    yield
    _Protocol._waiting.clear()


async def _silent(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.get_running_loop().create_future()


async def _answering(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def _protocol(
    app: Any = _silent, *, state: ServerState | None = None, most: int | None = None, answer_seconds: float = 60.0
) -> tuple[_Protocol, Transport]:
    config = uvicorn.Config(app, log_config=None, limit_concurrency=most, timeout_keep_alive=0)
    config.load()
    protocol = _Protocol(config, state or ServerState(), {}, answer_seconds=answer_seconds)
    transport = Transport()
    protocol.connection_made(transport)
    return protocol, transport


async def _end(*protocols: _Protocol) -> None:
    for protocol in protocols:
        for task in protocol.tasks:
            task.cancel()
        protocol.connection_lost(None)
    await asyncio.sleep(0)


def test_a_connection_without_a_whole_head_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.0)

    async def run() -> None:
        for sent in (b"", b"GET /health HTTP/1.1\r\nHost:"):
            protocol, transport = _protocol()
            if sent:
                protocol.data_received(sent)
            await transport.closed.wait()
            assert transport.written[:12] == (b"HTTP/1.1 408" if sent else b"")
            await _end(protocol)

    asyncio.run(run())


def test_a_request_that_has_begun_has_no_such_limit() -> None:
    async def run() -> None:
        protocol, transport = _protocol()
        assert protocol in _Protocol._waiting
        protocol.data_received(HEAD[:-2])
        assert protocol in _Protocol._waiting
        protocol.data_received(b"\r\n")
        assert protocol not in _Protocol._waiting
        assert not transport.is_closing()
        await _end(protocol)

    asyncio.run(run())


def test_the_connection_that_has_waited_longest_gives_way_to_a_new_one() -> None:
    async def run() -> None:
        state = ServerState()
        busy, idle, half = (_protocol(state=state, most=4) for _ in range(3))
        busy[0].data_received(HEAD)
        half[0].data_received(HEAD[:20])
        new = _protocol(state=state, most=4)
        assert [transport.is_closing() for _, transport in (busy, idle, half, new)] == [False, True, False, False]
        another = _protocol(state=state, most=4)
        assert half[1].written.startswith(b"HTTP/1.1 408")
        assert [transport.is_closing() for _, transport in (busy, half, new, another)] == [False, True, False, False]
        await _end(busy[0], idle[0], half[0], new[0], another[0])

    asyncio.run(run())


def test_answers_that_are_not_received_end_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "RECEIVING_SECONDS", 0.0)

    async def run() -> None:
        never, transport = _protocol(answer_seconds=0.0)
        never.data_received(HEAD)
        await transport.aborted.wait()
        last, transport = _protocol(_answering)
        last.data_received(HEAD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        await transport.aborted.wait()
        assert transport.written.endswith(b"ok")
        idle, transport = _protocol(_answering)
        idle.data_received(HEAD)
        await transport.closed.wait()
        await transport.aborted.wait()
        await _end(never, last, idle)

    asyncio.run(run())


def test_an_answered_connection_waits_again_and_may_give_way() -> None:
    async def run() -> None:
        protocol, transport = _protocol(_answering)
        for _ in range(3):
            protocol.data_received(HEAD)
            assert protocol not in _Protocol._waiting
            while protocol._is_answering():
                await asyncio.sleep(0)
            assert protocol in _Protocol._waiting
        protocol.data_received(HEAD + HEAD)  # the second before the first is answered
        while transport.written.count(b"ok") < 5:
            await asyncio.sleep(0)
        assert protocol in _Protocol._waiting
        await _end(protocol)

    asyncio.run(run())
