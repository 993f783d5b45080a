"""Runs `dragoman` commands in forked children of a process that has imported torch: starting one costs no seconds.

python command_server.py SOCKET            serves until its standard input ends
python command_server.py SOCKET WORD ...   runs the command in the current folder, through the server
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading


def serve(path: str) -> None:
    """Fork a child for each connection."""

    import dragoman.cli.main
    import dragoman.projection.drawing
    import dragoman.projection.reduction
    import dragoman.report.page
    import dragoman.smt.system_training
    import dragoman.workflows.language_model
    import dragoman.workflows.reports
    import dragoman.workflows.training  # noqa: F401

    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    print("ready", flush=True)
    while True:
        connection, _ = server.accept()
        if os.fork() == 0:
            server.close()
            _answer(connection)
            os._exit(0)
        connection.close()


def _answer(connection: socket.socket) -> None:
    """Run a command with the client's output, and send its exit code."""
    data, descriptors, _, _ = socket.recv_fds(connection, 1 << 16, 1)
    request = json.loads(data)
    os.chdir(request["folder"])
    for descriptor in (1, 2):
        os.dup2(descriptors[0], descriptor)
    from dragoman.cli.main import main

    code = 1
    try:
        code = main(request["command"])
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdout.flush()
        connection.sendall(bytes([code]))


def ask(path: str, command: list[str]) -> int:
    """Have the server run a command; its exit code."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    request = json.dumps({"folder": os.getcwd(), "command": command}).encode()
    socket.send_fds(connection, [request], [2])
    return connection.recv(1)[0]


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        import signal

        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are not waited for
        threading.Thread(target=_end_with_input, daemon=True).start()
        serve(sys.argv[1])
    sys.exit(ask(sys.argv[1], sys.argv[2:]))
