"""A process that applies a function to items: `python -m dragoman.data.worker`, started by `worker_processes.py`.

It imports what the function needs and nothing of the program that started it. A process of multiprocessing imports
that program's main script again, and runs it again where the script has no `if __name__ == "__main__":`.

Standard input has messages: the function, then the items. Standard output has a message for each of them, in order:
`READY`, then for each item whether the function succeeded, and its value. A message is a pickled object after its
length, so that it can be read whole before it is unpickled, which may import modules for seconds.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, BinaryIO

from dragoman.systems import ENDING_SIGNALS

READY = "ready"
_LENGTH = struct.Struct("<Q")


def message(content: object) -> bytes:
    """The bytes of a message."""
    data = pickle.dumps(content, protocol=5)
    return _LENGTH.pack(len(data)) + data


def read_message(file: BinaryIO) -> Any:
    """The content of the next message.

    Raises:
        EOFError: the file ends before the end of the message.
    """
    return pickle.loads(_exactly(file, _LENGTH.unpack(_exactly(file, _LENGTH.size))[0]))


def _exactly(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise EOFError("the message is not complete")
    return data


def main() -> None:
    """Compute until standard input ends."""
    for ignored in ENDING_SIGNALS:  # sent to a whole group: the parent decides
        signal.signal(ignored, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints does not get between the messages
    received: SimpleQueue[Any] = SimpleQueue()
    answered: SimpleQueue[bytes] = SimpleQueue()
    for task in (lambda: _receive(received), lambda: _answer(answered, answers)):
        threading.Thread(target=task, daemon=True).start()
    function: Callable[[Any], Any] = received.get()
    answered.put(message(READY))
    while True:
        answered.put(message(_result(function, received.get())))


def _receive(received: SimpleQueue[Any]) -> None:
    """Read in a thread of its own: the process ends with its parent, however that ends, and in the midst of an item."""
    try:
        while True:
            received.put(read_message(sys.stdin.buffer))
    except EOFError:
        os._exit(0)
    except BaseException:  # the function or an item cannot be unpickled: the parent sees that the process has ended
        os._exit(1)


def _answer(answered: SimpleQueue[bytes], answers: BinaryIO) -> None:
    """Write in a thread of its own: the next item need not wait until the parent has read the last result."""
    try:
        while True:
            answers.write(answered.get())
            answers.flush()
    except OSError:
        os._exit(1)


def _result(function: Callable[[Any], Any], item: object) -> tuple[bool, Any]:
    try:
        return True, function(item)
    except Exception:  # the parent computes the item itself, and raises the error in its own process
        return False, None


if __name__ == "__main__":
    main()
