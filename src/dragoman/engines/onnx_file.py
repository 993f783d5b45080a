"""What is checked in a file of an ONNX graph before ONNX Runtime opens it, without the onnx library.

A tensor may lie in another file, which ONNX Runtime would read from wherever the graph says. Such a tensor has an entry
with the key "location" (TensorProto.external_data, a StringStringEntryProto). An exported graph has all its tensors in
itself, and no such string.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.stored_files import open_regular

_KEY = b"location"
_LENGTHS = (len(_KEY), 0)
"""The last byte of the length before the key: 8, or 0 if the number is written with more bytes than it needs."""


def refers_to_files(graph: bytes | Path) -> bool:
    """Whether a graph has a tensor in another file.

    Raises:
        OSError: the file cannot be read, or is no regular file.
    """
    with _content(graph) as content:
        place = content.find(_KEY)
        while place >= 0:
            if place and content[place - 1] in _LENGTHS:
                return True
            place = content.find(_KEY, place + 1)
    return False


@contextmanager
def _content(graph: bytes | Path) -> Iterator[bytes | mmap.mmap]:
    if isinstance(graph, bytes):
        yield graph
        return
    with open_regular(graph) as file:
        if not file.read(1):
            yield b""  # an empty file cannot be mapped
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield content
