"""A server of the part of the S3 protocol that reads: objects, ranges of them, and lists of a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest

MODIFIED = "Tue, 03 Nov 2026 10:00:00 GMT"


class ObjectStorage:
    """Buckets with objects; `objects` has their bytes by "bucket/name"."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def list(self, bucket: str, prefix: str) -> str:
        """The objects and folders of a bucket right below a prefix, as XML."""
        names = [name.removeprefix(f"{bucket}/") for name in self.objects if name.startswith(f"{bucket}/{prefix}")]
        keys = sorted(key for key in names if "/" not in key.removeprefix(prefix))
        folders = {prefix + key.removeprefix(prefix).partition("/")[0] + "/" for key in names if key not in keys}
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-11-03T10:00:00.000Z</LastModified>"
            f"<Size>{len(self.objects[f'{bucket}/{key}'])}</Size></Contents>"
            for key in keys
        )
        below = "".join(f"<CommonPrefixes><Prefix>{escape(key)}</Prefix></CommonPrefixes>" for key in sorted(folders))
        return (
            f"<ListBucketResult><Name>{bucket}</Name><KeyCount>{len(keys) + len(folders)}</KeyCount>"
            f"<IsTruncated>false</IsTruncated>{contents}{below}</ListBucketResult>"
        )


def _handler(storage: ObjectStorage) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            name, query = unquote(parts.path).strip("/"), parse_qs(parts.query)
            if "list-type" in query:
                body = storage.list(name, query.get("prefix", [""])[0]).encode()
                self._answer(200, body, {"Content-Type": "application/xml"})
            elif name in storage.objects:
                self._give(storage.objects[name])
            else:
                self._answer(404, b"")

        do_HEAD = do_GET

        def _give(self, content: bytes) -> None:
            headers = {"Last-Modified": MODIFIED, "ETag": '"1"', "Content-Type": "application/octet-stream"}
            if found := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")):
                first, last = int(found[1]), min(int(found[2]), len(content) - 1)
                headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
                self._answer(206, content[first : last + 1], headers)
            else:
                self._answer(200, content, headers)

        def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for key, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    return Handler


@contextmanager
def object_storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStorage]:
    """Run the server for a block, as the one that s3:// means."""
    storage = ObjectStorage()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(storage))
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": "reader",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    try:
        yield storage
    finally:
        server.shutdown()
        server.server_close()
