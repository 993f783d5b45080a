"""What tests in a browser share: the browser, pages that are watched, and a host of static files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from dragoman.errors import InputError
from dragoman.website.runtime import runtime_files

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HEADERS = {"Content-Security-Policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'"}
"""As a careful host sends them; without, a worker has no policy."""


@contextmanager
def open_browser() -> Iterator[Any]:
    """A browser of Playwright in a `with` block; the test is skipped where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra `dev`)")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser on this system: none of {', '.join(BROWSERS)} (apt-get install chromium)")
    with sync_api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()


@contextmanager
def watched_pages(browser: Any) -> Iterator[Callable[..., Any]]:
    """A function that opens pages; at the end of the block none of them has done what no page may.

    No request leaves their host, and nothing is written on the console, as violations of the security policy are.
    """
    contexts: list[Any] = []
    wrong: list[str] = []

    def opened(
        url: str,
        *,
        expected: str = " ",
        prepare: Callable[[Any], None] | None = None,
        ready: bool = True,
        **settings: Any,
    ) -> Any:
        """What is written on the console may begin with `expected`; `prepare` sets up the page before it is loaded."""
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, "locale": "en-GB", **settings})
        context.set_default_timeout(30_000)
        contexts.append(context)
        page, host = context.new_page(), "/".join(url.split("/")[:3])
        page.on("console", lambda message: message.text.startswith(expected) or wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on(
            "request",
            lambda request: request.url.startswith((f"{host}/", f"blob:{host}/")) or wrong.append(request.url),
        )
        if prepare is not None:
            prepare(page)
        page.goto(url)
        if ready:
            page.locator("body[data-ready]").wait_for()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def require_runtime() -> None:
    """Skip the test where the runtime for browsers has not been fetched."""
    try:
        runtime_files()
    except InputError as error:
        pytest.skip(str(error))


class _Handler(SimpleHTTPRequestHandler):
    server: Host

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def copyfile(self, source: Any, outputfile: Any) -> None:
        if self.path in self.server.broken_off:
            outputfile.write(source.read(1000))
            self.close_connection = True
        else:
            super().copyfile(source, outputfile)

    def log_message(self, *_: object) -> None:
        pass


class Host(ThreadingHTTPServer):
    """The server; of the paths in `broken_off` it sends the first 1,000 bytes."""

    broken_off: set[str]

    @property
    def address(self) -> str:
        return f"http://localhost:{self.server_port}/"

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a browser may leave


@contextmanager
def serving(folder: Path) -> Iterator[Host]:
    """A host that serves a folder in a `with` block."""
    with Host(("localhost", 0), partial(_Handler, directory=str(folder))) as host:
        host.broken_off = set()
        thread = Thread(target=host.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield host
        finally:
            host.shutdown()
            thread.join()
