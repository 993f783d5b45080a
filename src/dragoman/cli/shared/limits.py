"""Limits of the process and of the machine: told before a library fails on them, recognised where one has."""

from __future__ import annotations

import errno
import os
import resource
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec

from dragoman.errors import ConfigError, DragomanError

DESCRIPTORS = 32
"""Files that a command may need to have open at once."""

MIB = 1 << 20

ADDRESS_SPACE = {"numpy": 64 * MIB, "onnxruntime": 384 * MIB, "torch": 768 * MIB}
"""Bytes of address space that a library needs to be loaded and to run a small model, without those of its threads."""

PER_THREAD = 64 * MIB
"""Bytes of address space that libraries reserve for each thread, of which they start one for each core."""

THREADS = 16
"""Threads that libraries such as SentencePiece and ONNX Runtime may start besides those of matrix products, of which
OpenBLAS and OpenMP each have one for each core."""

_STACK = 128 << 10
"""Bytes of address space of a thread that does nothing."""

_OUT_OF_MEMORY = (
    "can't allocate memory",
    "cannot allocate memory",
    "out of memory",
    "bad_alloc",
    "bad allocation",
    "failed to allocate",
    "failed to map segment",
    "storage size calculation overflowed",
)
"""What libraries say, in lower case, where memory or address space is missing."""

_REMEDIES = {
    "train": "lower training.batch.size, the sizes of the model (--scale) or the vocabularies",
    "lm train": "lower training.batch.size, the sizes of the model or the vocabulary",
    "demo": "close other programs",
    "translate": "lower --beam, --nbest or --chunk-size",
    "evaluate": "lower --beam, or give fewer lines at a time",
    "tree": "lower --beam",
}
"""What to lower, by command."""


def _require_descriptors() -> None:
    """Refuse to start where a command may lack file descriptors midway.

    Raises:
        ConfigError: the limit is too low; the message says how to raise it.
    """
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft != resource.RLIM_INFINITY and soft < DESCRIPTORS:
        raise ConfigError(
            f"only {soft} files may be open at once here, and {DESCRIPTORS} are needed; raise the limit (ulimit -n)"
        )


@contextmanager
def resources_checked(command: str) -> Iterator[None]:
    """Turn failures for lack of memory, file descriptors or threads into errors of one line.

    Raises:
        DragomanError: a resource is lacking; the message names the command, the resource, and what to lower or raise.
    """
    _require_descriptors()
    try:
        with _libraries_checked():
            yield
    except Exception as error:
        message = lack_of_resources(error, command)
        if message is None:
            raise
        told = DragomanError(message)
        for note in getattr(error, "__notes__", ()):
            told.add_note(note)
        raise told from error


@contextmanager
def _libraries_checked() -> Iterator[None]:
    """Refuse to load a library for which the process may have too little address space or too few threads.

    Such libraries do not raise errors that could be caught: they print their own messages, end the process or crash.

    Raises:
        ConfigError: address space (ulimit -v) or threads (ulimit -u) are limited, and a library that is imported needs
            more.
    """
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder:
    """Finds no module itself, but is asked first for each."""

    def __init__(self) -> None:
        self._has_threads = False

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Raise ConfigError for a library that needs more than there is; otherwise find nothing."""
        if name in ADDRESS_SPACE:
            _require_address_space(name)
            if not self._has_threads:
                _require_threads()
            self._has_threads = True
        return None


def _require_address_space(library: str) -> None:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    needed = ADDRESS_SPACE[library] + PER_THREAD * (os.cpu_count() or 1)
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise ConfigError(
            f"{library} needs {needed // MIB:,} MiB of address space, but the limit is {limit // MIB:,} MiB; raise it "
            f"(ulimit -v {needed // 1024})"
        )


def _require_threads() -> None:
    """Start as many threads as libraries may, and end them: no count says how many the system still allows.

    Not where address space is limited: the C library reserves some of it for each thread, and keeps it.

    Raises:
        ConfigError: they cannot be started; the message says what to raise.
    """
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    needed = THREADS + 2 * cores
    end = threading.Event()
    started: list[threading.Thread] = []
    before = threading.stack_size(_STACK)
    try:
        for _ in range(needed):
            thread = threading.Thread(target=end.wait)
            thread.start()
            started.append(thread)
    except RuntimeError:
        raise ConfigError(
            f"only {len(started)} more threads can be started here, and {needed} are needed; raise the limit "
            "(ulimit -u)"
        ) from None
    finally:
        threading.stack_size(before)
        end.set()
        for thread in started:
            thread.join()


def lack_of_resources(error: BaseException, command: str) -> str | None:
    """The message for an error that comes from too little memory, or too few files or threads; None for any other.

    Args:
        command: the verb, which decides what could be lowered.
    """
    for each in _causes(error):
        if isinstance(each, DragomanError):
            continue  # its words may be those of a user
        text = str(each).lower()
        if isinstance(each, OSError) and each.filename is None and each.errno in (errno.EMFILE, errno.ENFILE):
            return f"{command}: too many files are open; raise the limit (ulimit -n)"
        if "can't start new thread" in text:
            return f"{command}: no further thread can be started; raise the limit (ulimit -u) or lower --threads"
        if isinstance(each, MemoryError) or any(words in text for words in _OUT_OF_MEMORY):
            remedy = _REMEDIES.get(command, "give less input at a time, or use a machine with more memory")
            return f"{command}: not enough memory{_limit()}; {remedy}"
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and those that it was raised from or while."""
    found: BaseException | None = error
    for _ in range(10):
        if found is None:
            return
        yield found
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)


def _limit() -> str:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return (
        "" if limit == resource.RLIM_INFINITY else f" (the limit of address space is {limit // MIB:,} MiB, ulimit -v)"
    )
