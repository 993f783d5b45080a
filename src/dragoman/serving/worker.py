"""A worker process: it calls the functions that the server names, with the server's texts, until its input ends.

What strangers send is read here, so that whatever it holds takes a limited time of the processor and a limited memory,
and none of the server's. Requests and replies are MessagePack with their lengths before them, on standard input and
output.
"""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, NamedTuple, get_type_hints

import msgspec

from dragoman.documents.files import file_texts, translated_file
from dragoman.documents.markup import markup_sentences, sentences_of, translated_markup
from dragoman.documents.segments import file_segments, finished_file, pairs_file, read_finished
from dragoman.errors import InputError
from dragoman.serving.forms import read_form, require_few_values
from dragoman.systems import ENDING_SIGNALS

FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        read_form,
        require_few_values,
        sentences_of,
        markup_sentences,
        translated_markup,
        file_texts,
        translated_file,
        file_segments,
        read_finished,
        finished_file,
        pairs_file,
    )
}
READY = b"ready"
"""The first message of the process."""
PROCESSOR_SECONDS = 10
"""The longest time of the processor that a call takes; the process ends at once when it is over."""
MEMORY = 1 << 30
"""Bytes of memory that a worker may have."""
KEPT_MEMORY = 200 << 20
"""A worker that has more after a call is not used again: it would not give it back."""


class Reply(NamedTuple):
    """What has become of a call."""

    result: msgspec.Raw = msgspec.Raw(b"\xc0")
    refusal: str = ""
    """Why the input cannot be read."""
    error: str = ""
    """The type of another exception, and where it was raised: a fault of ours."""
    last: bool = False
    """Whether the process ends now."""


def write(stream: IO[bytes], content: bytes) -> None:
    """Write a message."""
    stream.write(len(content).to_bytes(8, "big"))
    stream.write(content)
    stream.flush()


def read(stream: IO[bytes]) -> bytes | None:
    """The next message; None where there is none, or only the beginning of one: its writer was killed."""
    length = stream.read(8)
    content = stream.read(int.from_bytes(length, "big")) if len(length) == 8 else b""
    return content if content and len(content) == int.from_bytes(length, "big") else None


def arguments_type(function: Callable[..., Any]) -> Any:
    """The type of the arguments of a function, as a tuple."""
    hints = get_type_hints(function)
    return tuple[tuple(hint for name, hint in hints.items() if name != "return")]  # type: ignore[misc]


def main() -> None:
    """Answer calls until the server closes the input."""
    # The server decides when its workers end: what it has begun goes on after a signal to all of its processes.
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    _limit_memory()
    write(sys.stdout.buffer, READY)
    while (call := read(sys.stdin.buffer)) is not None:
        _limit_time(PROCESSOR_SECONDS)
        reply = _answer(call)._replace(last=_memory() > KEPT_MEMORY)
        _limit_time(0)
        with suppress(BrokenPipeError):
            write(sys.stdout.buffer, msgspec.msgpack.encode(reply))
        if reply.last:
            break


def _answer(call: bytes) -> Reply:
    try:
        name, arguments = msgspec.msgpack.decode(call, type=tuple[str, msgspec.Raw])
        function = FUNCTIONS[name]
        result = function(*msgspec.msgpack.decode(arguments, type=arguments_type(function)))
        return Reply(msgspec.Raw(msgspec.msgpack.encode(result)))
    except InputError as error:
        return Reply(refusal=str(error))
    except MemoryError:
        return Reply(refusal=f"reading it takes more than {MEMORY >> 20} MB of memory")
    except Exception as error:
        return Reply(error=fault_of(error))


def fault_of(error: Exception) -> str:
    """The type of an exception and where it was raised; its message may repeat what a client has sent."""
    frames = traceback.extract_tb(error.__traceback__)
    return " ".join([type(error).__name__, *(f"{one.filename}:{one.lineno}" for one in frames)])


def _limit_time(seconds: float) -> None:
    """End this process when it has used the processor for as long; 0 takes the limit away."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)  # SIGPROF, which nothing catches


def _limit_memory() -> None:
    with suppress(ImportError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard), hard))


def _memory() -> int:
    """The bytes of memory that this process has now; 0 where the system does not say."""
    with suppress(ImportError, OSError):
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    return 0
