"""The process: socket, signals, and connections that may not stay idle."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from dragoman.errors import ConfigError, reason_of
from dragoman.requests.serving import ServingRequest
from dragoman.serving.application import create_app
from dragoman.serving.key_file import KeyFile
from dragoman.serving.learning import LearningModel, start_learning
from dragoman.serving.logs import configure, event
from dragoman.serving.memories import read_memories
from dragoman.serving.models import LanguagePair, Models, ServedFolder
from dragoman.serving.origins import host_name, proxy_address, web_origin
from dragoman.serving.settings import Settings
from dragoman.systems import ENDING_SIGNALS, processors, raise_open_files_limit
from dragoman.translation_memory.memory import LayeredMemory, Memory

HEADER_SECONDS = 10.0
"""The longest time in which a client that has connected sends the head of a request."""
KEEP_ALIVE_SECONDS = 60
STOP_SECONDS = 30
"""The longest time in which requests that have begun are finished after SIGTERM."""
RECEIVING_SECONDS = 60.0
"""The longest time in which a client receives an answer after which its connection is closed."""
READ_BYTES = 16384
"""What is read of a connection at a time: the parser may take 40 ms for as much, in chunks of one byte."""
CONNECTIONS = 4096
"""The largest number of connections."""
DESCRIPTORS = 65536
RESERVED_DESCRIPTORS = 128
"""Descriptors that are no connections: models, libraries, worker processes."""
BACKLOG = 2048
_SENTENCE = b'{"error":"The head of the request did not arrive within %g seconds"}' % HEADER_SECONDS
_TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(_SENTENCE), _SENTENCE)
)


def serve_folders(request: ServingRequest) -> None:
    """Serve the models of folders until a signal.

    Raises:
        ConfigError, InputError, RunError: as for `serve`, `KeyFile`, `read_memories`, `start_learning` and `Models`.
    """
    folders = [ServedFolder.named(name) for name in request.folders]
    address, wanted, access, device = request.address, request.models, request.access, request.general.device
    key_file = None if access.api_keys is None else KeyFile(access.api_keys)
    settings = Settings(
        threads=request.general.threads or processors(),
        budget=None if wanted.keep_loaded is None else wanted.keep_loaded * 10**6,
        keys=None if key_file is None else key_file.keys,
        key_file=key_file,
        cors_origins=tuple(map(web_origin, address.cors)),
        host_names=tuple(map(host_name, address.host_name)),
        trusted_proxies=tuple(map(proxy_address, address.trusted_proxy)),
        **access.limits.values(),
    )
    given = read_memories(wanted.memory, folders)
    learning = start_learning(folders, device) if wanted.learn else {}
    memories: dict[LanguagePair, Memory] = {**given}
    for pair, model in learning.items():
        memories[pair] = LayeredMemory(model.memory, *([given[pair]] if pair in given else []))
    models = Models(
        folders,
        threads=settings.threads,
        budget=settings.budget,
        device=device,
        memories=memories,
        learning=learning.keys(),
    )
    configure(quiet=request.general.quiet)
    serve(models, settings, address.host, address.port, learning=learning, preload=wanted.preload)


def serve(
    models: Models,
    settings: Settings,
    host: str,
    port: int,
    *,
    learning: Mapping[LanguagePair, LearningModel] | None = None,
    preload: bool = False,
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP: then no new connection is accepted, and what has begun is finished.

    Raises:
        ConfigError: the address cannot be used.
    """
    descriptors = raise_open_files_limit(DESCRIPTORS)
    with _listening(host, port) as sock:
        address, number = sock.getsockname()[:2]
        shown = f"[{address}]" if ":" in address else address
        config = uvicorn.Config(
            create_app(models, settings, learning=learning, preload=preload),
            http=partial(_Protocol, answer_seconds=settings.answer_seconds + RECEIVING_SECONDS),  # type: ignore[arg-type]
            limit_concurrency=max(min(CONNECTIONS, descriptors - RESERVED_DESCRIPTORS), 2),
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
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = addresses[0]
        with socket.socket(family, kind, protocol) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(address)
            sock.listen(BACKLOG)  # from now on clients that connect are answered
            yield sock
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            f"cannot listen on {host}, port {port}: {reason_of(error)}; give another --host or --port"
        ) from None


class _Server(uvicorn.Server):
    """Ends without repeating the signal, so that the exit code is 0."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in ENDING_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Protocol(H11Protocol):
    """A connection that does not last for ever, whatever its client does.

    It is closed when the head of a request, the first or a later one, takes too long, when an answer is not received,
    and, where the server has as many connections as it may have, when it has waited longest for a head.
    """

    _waiting: ClassVar[dict[_Protocol, None]] = {}
    """The connections that wait for the head of a request, in the order in which they began to."""

    def __init__(self, *args: Any, answer_seconds: float, **options: Any) -> None:
        """`answer_seconds` is the longest time from the head of a request to the end of its answer."""
        super().__init__(*args, **options)
        self._answer_seconds = answer_seconds
        self._deadline: asyncio.TimerHandle | None = None
        self._answering: RequestResponseCycle | None = None
        """The request that the deadline is about."""
        self._begun = False
        """Whether a part of a head has arrived."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.max_size = READ_BYTES  # type: ignore[attr-defined]  # asyncio's, of one call of data_received
        most = self.config.limit_concurrency
        if most is not None and len(self.connections) >= most and self._waiting:
            next(iter(self._waiting))._give_up()
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        if self._deadline is None and not self._is_answering():
            self._expect_head()
        self._begun = True
        super().data_received(data)
        self._watch_answer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._stop_waiting()
        super().on_response_complete()
        self._watch_answer()  # of a request that was sent before this one was answered
        if self.transport.is_closing():
            self._abort_later()
        elif not self._is_answering():
            self._waiting[self] = None

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._abort_later()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_head(self) -> None:
        self._begun = False
        self._waiting[self] = None
        self._deadline = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _watch_answer(self) -> None:
        if self._is_answering() and self._answering is not self.cycle:
            self._stop_waiting()
            self._answering = self.cycle
            self._deadline = self.loop.call_later(self._answer_seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        self._waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        """Close a connection on which no whole head has arrived."""
        self._stop_waiting()
        if not self.transport.is_closing():
            if self._begun and self.conn.our_state is h11.IDLE:
                self.transport.write(_TOO_SLOW)
            self.transport.close()
        self._abort_later()

    def _abort_later(self) -> None:
        """Drop what the client does not receive; nothing happens where the connection has ended by then."""
        self._stop_waiting()
        self._deadline = self.loop.call_later(RECEIVING_SECONDS, self.transport.abort)
