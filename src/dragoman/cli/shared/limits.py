"""Limits of the process and of the machine: told before a library fails on them, recognised where one has."""

from __future__ import annotations

import errno
import os
import resource
import sys
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
        with _limited_address_space():
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
def _limited_address_space() -> Iterator[None]:
    """Refuse to load a library for which the address space of the process is too small.

    Such libraries do not raise errors that could be caught: they print their own messages, end the process or crash.

    Raises:
        ConfigError: the address space is limited (ulimit -v), and a library that is imported needs more.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        yield
        return
    finder = _Finder(limit)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder:
    """Finds no module itself, but is asked first for each."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Raise ConfigError for a library that needs more address space than there is; otherwise find nothing."""
        if name in ADDRESS_SPACE:
            needed = ADDRESS_SPACE[name] + PER_THREAD * (os.cpu_count() or 1)
            if self._limit < needed:
                raise ConfigError(
                    f"{name} needs {needed // MIB:,} MiB of address space, but the limit is {self._limit // MIB:,} "
                    f"MiB; raise it (ulimit -v {needed // 1024})"
                )
        return None


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
