"""Runs `dragoman` commands in forked children of a process that has imported what they need: none imports it again.

python command_server.py SOCKET            serves until its standard input ends
python command_server.py SOCKET WORD ...   runs the command in the current folder, through the server
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

NEEDED = (
    "dragoman.cli.main",
    "dragoman.alignment.formats",
    "dragoman.alignment.statistical",
    "dragoman.engines.torch_engine",
    "dragoman.evaluation.metrics",
    "dragoman.projection.drawing",
    "dragoman.projection.reduction",
    "dragoman.workflows.heatmaps",
    "dragoman.scoring.nbest",
    "dragoman.smt.system_training",
    "dragoman.text.segmentation.words",
    "dragoman.workflows.language_model",
    "dragoman.workflows.reports",
    "dragoman.workflows.training",
    "babel.dates",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "sacrebleu",
    "sacremoses",
    "sklearn.decomposition",
    "tensorboard.summary.writer.record_writer",
)
"""Modules that the commands of an experiment import."""


def serve(path: str, run: Callable[[list[str]], int] | None = None) -> None:
    """Fork a child for each connection, which calls `run` (the command itself, unless given) with its words."""
    for name in NEEDED:
        importlib.import_module(name)
    import dragoman.workflows.training

    # The reports of the trainings are no part of an experiment, and would take most of their time.
    dragoman.workflows.training.write_run_report = lambda *_: None
    signal.signal(signal.SIGCHLD, _reap)
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    print("ready", flush=True)
    while True:
        connection, _ = server.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            server.close()
            _answer(connection, run)
            os._exit(0)
        connection.close()


def _reap(*_: object) -> None:
    """Collect the children that have ended, so that their time is counted."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _answer(connection: socket.socket, run: Callable[[list[str]], int] | None) -> None:
    """Run a command with the client's input and output, and send its exit code."""
    data, descriptors, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    request = json.loads(data)
    os.chdir(request["folder"])
    for descriptor, standard in zip(descriptors, (0, 1, 2), strict=True):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, closefd=False)  # a thread of the server holds the lock of the one before
    from dragoman.cli.main import main

    code = 1
    try:
        code = (run or main)(request["command"])
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        with suppress(OSError):
            sys.stdout.flush()
        connection.sendall(bytes([code]))


def ask(path: str, command: list[str]) -> int:
    """Have the server run a command; its exit code."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    request = json.dumps({"folder": os.getcwd(), "command": command}).encode()
    socket.send_fds(connection, [request], [0, 1, 2])
    return (connection.recv(1) or b"\1")[0]


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        threading.Thread(target=_end_with_input, daemon=True).start()
        serve(sys.argv[1])
    sys.exit(ask(sys.argv[1], sys.argv[2:]))
