"""The process: socket, signals, and connections that may not stay idle."""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from dragoman.errors import ConfigError
from dragoman.serving.application import create_app
from dragoman.serving.logs import event
from dragoman.serving.models import Models
from dragoman.serving.settings import Settings

HEADER_SECONDS = 10.0
"""The longest time in which a client that has connected sends the head of a request."""
KEEP_ALIVE_SECONDS = 60
STOP_SECONDS = 30
"""The longest time in which requests that have begun are finished after SIGTERM."""
DESCRIPTORS = 65536
BACKLOG = 2048
_SENTENCE = b'{"error":"The head of the request did not arrive within %g seconds"}' % HEADER_SECONDS
_TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(_SENTENCE), _SENTENCE)
)


def serve(models: Models, settings: Settings, host: str, port: int, *, preload: bool = False) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP: then no new connection is accepted, and what has begun is finished.

    Raises:
        ConfigError: the address cannot be used.
    """
    _raise_descriptor_limit()
    with _listening(host, port) as sock:
        address, number = sock.getsockname()[:2]
        shown = f"[{address}]" if ":" in address else address
        config = uvicorn.Config(
            create_app(models, settings, preload=preload),
            http=_Protocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies),
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        event("listening", url=f"http://{shown}:{number}", models=[str(pair) for pair in models.pairs])
        _Server(config).run([sock])
        event("stopped")


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(address)
            sock.listen(BACKLOG)  # from now on clients that connect are answered
            yield sock
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"cannot listen on {host}, port {port}: {reason}; give another --host or --port") from None


def _raise_descriptor_limit() -> None:
    """Allow as many connections as the system does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Server(uvicorn.Server):
    """Ends without repeating the signal, so that the exit code is 0."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self.handle_exit) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Protocol(H11Protocol):
    """Closes connections on which the head of a request takes too long, the first or a later one."""

    _deadline: asyncio.TimerHandle | None = None
    _begun = False
    """Whether a part of a head has arrived."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._expect_head()
        self._begun = True
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._head_is_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_complete()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._begun = False
        self._deadline = self.loop.call_later(HEADER_SECONDS, self._too_slow)

    def _head_is_complete(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        if not self.transport.is_closing() and self.conn.our_state is not h11.SEND_BODY:
            if self._begun and self.conn.our_state is h11.IDLE:
                self.transport.write(_TOO_SLOW)
            self.transport.close()
