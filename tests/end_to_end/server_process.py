"""`dragoman serve` as a process, for the tests that talk to it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from contextlib import closing, suppress
from dataclasses import dataclass
from urllib.request import Request, urlopen

COMMAND = [sys.executable, "-m", "dragoman", "serve", "--port", "0", "--threads", "1"]


@dataclass
class Server:
    process: subprocess.Popen[str]
    url: str
    log: list[dict[str, object]]
    reader: threading.Thread

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=30)

    def send(self, data: bytes) -> bytes:
        """What is answered to `data`, after which the client says no more, until the connection is closed."""
        received = b""
        with closing(self.connect()) as connection, suppress(ConnectionError):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(65536):
                received += more
        return received

    def translate(self, text: str) -> str:
        body = json.dumps({"q": text, "source": "de", "target": "en"}).encode()
        request = Request(f"{self.url}/translate", body, {"Content-Type": "application/json"})
        with urlopen(request, timeout=60) as answer:
            found: str = json.load(answer)["translatedText"]
        return found


def start_server(*arguments: str, descriptors: int | None = None) -> Server:
    """With `descriptors`, the process can have no more open files than these."""
    limited = [] if descriptors is None else ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh"]
    process = subprocess.Popen([*limited, *COMMAND, *arguments], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    first = process.stderr.readline()
    log = [json.loads(first)]

    def read() -> None:
        assert process.stderr is not None
        log.extend(map(json.loads, process.stderr))

    reader = threading.Thread(target=read, daemon=True)  # a test that fails must not wait for it
    reader.start()
    return Server(process, str(log[0]["url"]), log, reader)


def end_server(server: Server) -> int:
    server.process.send_signal(signal.SIGTERM)
    code = server.process.wait(60)
    server.reader.join(30)
    assert server.process.stderr is not None
    server.process.stderr.close()
    return code
