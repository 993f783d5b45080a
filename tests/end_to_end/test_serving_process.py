"""`dragoman serve` as a process: real clients, bad ones, and its end."""

from __future__ import annotations

import io
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPResponse
from pathlib import Path
from select import select
from socket import socket
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import deepl
import pytest
from deep_translator import LibreTranslator
from deep_translator.exceptions import ServerException
from libretranslatepy import LibreTranslateAPI

from dragoman.cli.main import main
from tests.end_to_end.server_process import COMMAND, Server, end_server, start_server


def _head(length: int) -> bytes:
    """The head of a request with a body of JSON."""
    kind = "Content-Type: application/json"
    return f"POST /translate HTTP/1.1\r\nHost: localhost\r\n{kind}\r\nContent-Length: {length}\r\n\r\n".encode()


def _answered(connection: socket) -> tuple[int, object]:
    """The status and the JSON of the answer to what was sent."""
    with HTTPResponse(connection) as response:
        response.begin()
        return response.status, json.load(response)


@pytest.fixture(scope="module")
def server(light: Path) -> Iterator[Server]:
    server = start_server(f"de:en={light}", f"en:de={light}")
    yield server
    assert end_server(server) == 0
    assert server.log[-1]["event"] == "stopped"
    assert not [line for line in server.log if line["event"] == "request failed"]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_the_client_of_libretranslate_works(server: Server) -> None:
    client = LibreTranslateAPI(server.url)
    assert client.translate("ab c", "de", "en") == "AB C"
    assert [language["code"] for language in client.languages()] == ["de", "en"]
    assert client.detect("Das ist ein deutscher Satz.")[0]["language"] == "de"
    with pytest.raises(HTTPError) as error:
        client.translate("ab c", "de", "xx")
    assert (error.value.code, json.load(error.value)) == (400, {"error": "xx is not supported"})
    error.value.close()


def test_a_client_that_sends_its_fields_in_the_query_string_works(server: Server) -> None:
    """deep-translator does, to /translate."""
    client = LibreTranslator(source="de", target="en", api_key="key", custom_url=f"{server.url}/")
    assert client.translate("ab c") == "AB C"
    assert client.translate_batch(["ab", "c"]) == ["AB", "C"]
    with pytest.raises(ServerException):
        LibreTranslator(source="de", target="ja", api_key="key", custom_url=f"{server.url}/").translate("ab")


def test_the_client_of_deepl_works(server: Server) -> None:
    with closing(deepl.DeepLClient("key", server_url=server.url, send_platform_info=False)) as client:
        found = client.translate_text(["ab", "c"], source_lang="DE", target_lang="EN-US")
        assert [(one.text, one.detected_source_lang) for one in found] == [("AB", "DE"), ("C", "DE")]
        html = client.translate_text("<b>ab</b> c", source_lang="DE", target_lang="EN-GB", tag_handling="html")
        assert html.text == "<b>AB</b> C"
        assert [language.code for language in client.get_target_languages()] == ["DE", "EN"]
        assert client.get_usage().character.valid
        with pytest.raises(deepl.DeepLException, match="not supported"):
            client.translate_text("ab", target_lang="XX")


@pytest.fixture
def _many_descriptors() -> Iterator[None]:
    """As many open files as the system allows, for clients of many connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _resident_memory(server: Server) -> int:
    """Bytes of memory that the server's process holds; 0 where the system has no /proc."""
    status = Path(f"/proc/{server.process.pid}/status")
    found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else 0


@pytest.mark.usefixtures("_many_descriptors")
def test_slow_and_idle_clients_hold_up_nobody(server: Server) -> None:
    before = _resident_memory(server)
    idle = [server.connect() for _ in range(1000)]
    slow = server.connect()
    slow.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nq")
    head = server.connect()
    head.sendall(b"GET /health HT")
    for letter in b"=ab":
        slow.sendall(bytes([letter]))
        assert server.translate("ab c") == "AB C"
    assert _resident_memory(server) < before + 64 * 2**20
    for connection in (*idle, slow, head):
        connection.close()


@pytest.mark.usefixtures("_many_descriptors")
def test_more_half_heads_than_connections_hold_up_nobody(light: Path) -> None:
    server = start_server(f"de:en={light}", descriptors=300)
    half: list[socket] = []
    try:
        for _ in range(400):
            half.append(server.connect())
            with suppress(ConnectionError):
                half[-1].sendall(b"GET /health HTTP/1.1\r\nHost: loc")
        assert server.translate("ab c") == "AB C"
    finally:
        for connection in half:
            connection.close()
        assert end_server(server) == 0


def test_a_request_that_arrives_too_slowly_is_answered_408(light: Path) -> None:
    server = start_server(f"de:en={light}", "--body-timeout", "1.5")
    try:
        with closing(server.connect()) as slow:
            slow.sendall(_head(1000) + b"{")
            while not select([slow], [], [], 1)[0]:
                slow.sendall(b" ")
                assert server.translate("ab c") == "AB C"
            assert _answered(slow) == (408, {"error": "The request did not arrive within 1.5 seconds"})
            assert slow.recv(1) == b""  # closed: what would still come is the rest of that request
    finally:
        assert end_server(server) == 0


def _file(name: str, content: bytes) -> bytes:
    """A request to translate a file."""
    part = b'--x\r\nContent-Disposition: form-data; name="%b"'
    fields = b"".join(
        part % name + b"\r\n\r\n%b\r\n" % value for name, value in ((b"source", b"de"), (b"target", b"en"))
    )
    body = fields + part % b"file" + b'; filename="%b"\r\n\r\n%b\r\n--x--\r\n' % (name.encode(), content)
    head = "POST /translate_file HTTP/1.1\r\nHost: [::1]\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_small_files_that_take_long_hold_up_nobody(server: Server) -> None:
    paragraphs = io.BytesIO()
    with zipfile.ZipFile(paragraphs, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<w:p/>" * 1_500_000)
    for name, content, status in (
        ("a.srt", b"-->" * 150_000, 200),
        ("a.srt", b"-->\nx\n" * 20_000, 200),
        ("a.html", b"<!--" * 250_000 + b">", 200),
        ("a.docx", paragraphs.getvalue(), 400),
    ):
        with closing(server.connect()) as connection:
            connection.sendall(_file(name, content))
            assert server.translate("ab c") == "AB C"
            assert _answered(connection)[0] == status, name


def test_very_long_and_very_many_lines_are_answered(server: Server) -> None:
    """While they are computed, others are answered too: a long request that waits is none of theirs."""
    for text, status, answer in (
        ("a" * 1_000_000, 400, "Invalid request: request (1000000) exceeds text limit (20000)"),
        ("ab\n" * 5000, 200, "AB\n" * 5000),
        ("ab" * 600, 200, None),  # one line without a space, longer than a model takes
        (["ab"] * 1001, 400, "Invalid request: request (1001) exceeds text limit (1000)"),
        (["ab", ""] * 500, 200, ["AB", ""] * 500),
    ):
        body = json.dumps({"q": text, "source": "de", "target": "en"}).encode()
        with closing(server.connect()) as connection:
            connection.sendall(_head(len(body)) + body)
            assert server.translate("ab c") == "AB C"
            found = _answered(connection)
        assert found[0] == status, answer
        if answer is not None:
            assert found[1] == {"translatedText" if status == 200 else "error": answer}


def test_only_this_machine_is_served_unless_told_otherwise(server: Server) -> None:
    assert server.address[0] == "127.0.0.1"


def test_a_page_of_another_site_can_not_use_the_server(server: Server) -> None:
    """Whether its browser says so, or takes the server for that site, whose name leads to this machine."""
    form = b"--x\r\nContent-Disposition: form-data; name=q\r\n\r\nab\r\n--x--\r\n"
    kinds = (
        (b"application/json", b'{"q": "ab", "source": "de", "target": "en"}'),
        (b"multipart/form-data; boundary=x", form),
    )
    for header in (b"Origin: https://evil.example", b"Sec-Fetch-Site: cross-site", b"Host: evil.example"):
        host = b"" if header.startswith(b"Host") else b"Host: localhost\r\n"
        for kind, body in kinds:
            head = b"POST /translate HTTP/1.1\r\n%b%b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
            answer = server.send(head % (host, header, kind, len(body)) + body)
            assert answer.startswith(b"HTTP/1.1 403 "), (header, answer[:80])


def test_paths_lead_to_no_files_and_keys_to_no_prototypes(server: Server) -> None:
    for path in (
        b"/../../etc/passwd",
        b"/..%2f..%2fetc/passwd",
        b"/%2e%2e/%2e%2e/etc/passwd",
        b"//etc/passwd",
        b"/download_file/../../etc/passwd",
        b"/download_file/..%2f..%2f..%2fetc%2fpasswd",
        b"/style.css/../../files.py",
        b"/..\\..\\etc\\passwd",
        b"/style.css%00.js",
    ):
        answer = server.send(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 ")), (path, answer[:80])
    wanted = {"q": "ab c", "source": "de", "target": "en"}
    keys = {"__proto__": {"q": "de"}, "constructor": {"prototype": {"target": "xx"}}, "__class__": 1, "": None}
    for fields in (wanted | keys, keys | wanted):
        body = json.dumps(fields).encode()
        with closing(server.connect()) as connection:
            connection.sendall(_head(len(body)) + body)
            assert _answered(connection) == (200, {"translatedText": "AB C"})


@pytest.mark.processes
def test_requests_made_from_the_description_are_answered_as_described(server: Server, tmp_path: Path) -> None:
    """Valid and invalid ones, by Schemathesis: no answer is an error of the server, or has a status, a type or a body
    that the description does not have."""
    options = ["--seed", "1", "--max-examples", "20", "--generation-database", "none", "--phases", "coverage,fuzzing"]
    checks = ["not_a_server_error", "status_code_conformance", "content_type_conformance"]
    options += ["--checks", ",".join([*checks, "response_schema_conformance"]), "--suppress-health-check", "all"]
    done = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/spec", "--no-color", *options],
        capture_output=True,
        text=True,
        cwd=tmp_path,  # it keeps what it has found in the current folder
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    made = re.search(r"(\d+) generated", done.stdout)
    assert made is not None, done.stdout
    assert int(made[1]) > 100
    assert server.translate("ab c") == "AB C"


def _waiting_sentences(server: Server) -> float:
    with urlopen(f"{server.url}/metrics", timeout=30) as answer:
        found = re.search(r"^dragoman_waiting_sentences (.*)$", answer.read().decode(), re.MULTILINE)
    assert found is not None
    return float(found[1])


def test_a_connection_goes_on_after_a_request_that_was_refused_before_it_was_read(light: Path) -> None:
    server = start_server(f"de:en={light}", "--max-waiting", "1")
    with closing(server.connect()) as first, closing(server.connect()) as connection:
        body = json.dumps({"q": ["ab c de f\n" * 50] * 1000, "source": "de", "target": "en"}).encode()
        first.sendall(_head(len(body)) + body)
        while not _waiting_sentences(server):
            pass
        connection.sendall(_head(100))
        assert _answered(connection) == (503, {"error": "The server is busy; try again later"})
        for part in (b"x" * 60, b"x" * 40):
            connection.sendall(part)
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert _answered(connection) == (200, {"status": "ok"})
    assert end_server(server) == 0


@pytest.mark.slow
def test_no_request_is_lost_while_new_weights_are_taken_up(light: Path, run_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(light, tmp_path / "served"))
    server = start_server(f"de:en={folder}")
    enough = threading.Event()

    def ask() -> set[str]:
        answers = {server.translate("ab c")}
        while not enough.is_set():
            answers.add(server.translate("ab c"))
        return answers

    try:
        with ThreadPoolExecutor(4) as clients:
            asking = [clients.submit(ask) for _ in range(4)]
            try:
                for times in (1, 2):
                    assert main(["export", str(run_folder), "--out", str(folder), "--overwrite", "--quiet"]) == 0
                    for _ in range(600):
                        if [line["event"] for line in server.log].count("model reloaded") == times:
                            break
                        enough.wait(0.1)
                    else:
                        raise AssertionError(server.log[-5:])
            finally:
                enough.set()
            assert [one.result() for one in asking] == [{"AB C"}] * 4
        answered = [line["status"] for line in server.log if line["event"] == "request"]
        assert len(answered) > 8
        assert set(answered) == {200}
    finally:
        assert end_server(server) == 0


def test_a_client_that_leaves_is_dropped(server: Server) -> None:
    body = json.dumps({"q": ["ab c de f"] * 1000, "source": "de", "target": "en"}).encode()
    for _ in range(3):
        with closing(server.connect()) as connection:
            connection.sendall(_head(len(body)) + body)
    assert server.translate("ab c") == "AB C"
    while _waiting_sentences(server):
        pass


SMUGGLED = [
    b"POST /translate HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nq=abcd",
    b"POST /translate HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /",
    b"POST /translate HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    b"POST /translate HTTP/1.1\r\nHost: [::1]\r\nContent-Length: -1\r\n\r\n",
    b"POST /translate HTTP/1.1\r\nHost: [::1]\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: [::1]\r\nA: " + b"a" * 200_000 + b"\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: [::1]\r\nA\x00: b\r\n\r\n",
    b"GET /health HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\r\n" * 100,
    b"GET " + b"/" * 60_000 + b" HTTP/1.1\r\nHost: [::1]\r\n\r\n",
]


def test_malformed_requests_are_answered_400_or_closed(server: Server) -> None:
    draw = random.Random(5)
    body = b'{"q": "ab", "source": "de", "target": "en"}'
    whole = _head(len(body)) + body
    fuzzed = []
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 8)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        fuzzed.append(bytes(data[: draw.randint(1, len(data))]))
    for data in (*SMUGGLED, *fuzzed):
        answer = server.send(data)
        assert not answer or answer.startswith(b"HTTP/1.1 "), data[:80]
        assert answer.count(b"HTTP/1.1 2") <= 1, data[:80]
        assert not answer.startswith(b"HTTP/1.1 500"), data[:200]
    for data in SMUGGLED[:3]:
        with closing(server.connect()) as connection:
            connection.sendall(data)
            assert connection.recv(65536)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 501"), data
    assert server.translate("ab c") == "AB C"


def test_the_log_has_no_text_and_no_key(server: Server) -> None:
    body = json.dumps({"q": "abcabcabc", "source": "de", "target": "en", "api_key": "very-secret"}).encode()
    urlopen(Request(f"{server.url}/translate?q=in-the-url", body, {"Content-Type": "application/json"})).close()
    for _ in range(1000):
        if [line for line in server.log if line["event"] == "request" and line["route"] == "/translate"]:
            break
    text = json.dumps(server.log)
    for secret in ("abcabcabc", "very-secret", "in-the-url"):
        assert secret not in text


def test_on_sigterm_what_has_begun_is_finished(light: Path) -> None:
    server = start_server(f"de:en={light}")
    assert server.translate("ab") == "AB"
    with closing(server.connect()) as connection:
        body = b'{"q": "ab c", "source": "de", "target": "en"}'
        connection.sendall(_head(len(body)) + body[:10])
        assert server.translate("ab") == "AB"  # so the first request has been read
        server.process.send_signal(signal.SIGTERM)
        while True:  # until it refuses new connections
            try:
                server.connect().close()
            except ConnectionError:  # refused; or reset, where it was waiting to be accepted
                break
        connection.sendall(body[10:])
        answer = b""
        while more := connection.recv(65536):
            answer += more
        assert b'{"translatedText":"AB C"}' in answer
    assert server.process.wait(60) == 0
    assert _end_of(server)[-1]["event"] == "stopped"


def _end_of(server: Server) -> list[dict[str, object]]:
    server.reader.join(30)
    assert server.process.stderr is not None
    server.process.stderr.close()
    return server.log


def test_what_cannot_be_served_is_one_line(light: Path, server: Server) -> None:
    host, port = server.address
    for arguments, message in (
        ([f"de:en={light}", "--port", str(port)], f"cannot listen on {host}, port {port}: Address already in use"),
        ([str(light)], "does not name its languages"),
    ):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert done.stderr.startswith("dragoman: error: ") or '"listening"' not in done.stderr
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_without_the_extra_one_line_says_what_to_install(light: Path) -> None:
    program = (
        "import sys\n"
        "sys.modules['starlette'] = sys.modules['uvicorn'] = None\n"
        "from dragoman.cli.main import main\n"
        f"sys.exit(main(['serve', {str(light)!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 2
    assert "pip install 'dragoman[serve]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
