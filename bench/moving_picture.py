"""Make the moving pictures of the server's pages: type a sentence and point at words; translate a document at the desk.

The first begins where words are pointed at: many readers, and programs, show its first frame alone.

    python bench/moving_picture.py RUN --text "27. Januar 2035, 15:25"
    python bench/moving_picture.py RUN --text "Zwei Kinder spielen im Schnee." --still
    python bench/moving_picture.py RUN --desk "Choose a name.\nThe file has 27 pages.\nChoose a name."

starts `dragoman serve RUN`, drives a page in Chromium (Playwright, extra `dev`), and writes
docs/images/serving-page.webp, an animation of under 500 kB, or its last picture alone, serving-page.png, or desk.webp.
Run all again when the pages have changed.
"""

from __future__ import annotations

import argparse
import io
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Error, Page, sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDTH, HEIGHT = 900, 560


class Film:
    """Frames of a page, each with the milliseconds for which it is shown."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.frames: list[tuple[Image.Image, int]] = []

    def take(self, milliseconds: int, wait: int = 0) -> None:
        """Wait for so many milliseconds, and take a frame."""
        self._page.wait_for_timeout(wait)
        self.frames.append((Image.open(io.BytesIO(self._page.screenshot())).convert("RGB"), milliseconds))

    def save(self, name: str) -> None:
        """Write the frames as an animation."""
        pictures, durations = zip(*self.frames, strict=True)
        file = IMAGES / name
        pictures[0].save(file, save_all=True, append_images=pictures[1:], duration=list(durations), loop=0, quality=80)
        print(f"{file}: {len(pictures)} frames, {file.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Drive a page and write its animation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--text", help="a sentence for the page")
    what.add_argument("--desk", help="lines for the desk, divided by \\n, of which the last repeats the first")
    parser.add_argument("--still", action="store_true", help="write the last picture alone")
    options = parser.parse_args()
    with served(options.run, "" if options.text else "desk.html") as page:
        film = Film(page)
        if options.desk:
            show_desk(page, film, options.desk.replace("\\n", "\n"))
            film.frames = [*film.frames[1:], film.frames[0]]  # other words are offered at first
            film.save("desk.webp")
            return
        first = show_page(page, film, options.text)
    if options.still:
        still = IMAGES / "serving-page.png"
        film.frames[-1][0].save(still, optimize=True)
        print(f"{still}: {still.stat().st_size / 1000:.0f} kB")
        return
    film.frames = film.frames[first:] + film.frames[:first]
    film.save("serving-page.webp")


@contextmanager
def served(run: str, path: str) -> Iterator[Page]:
    """A page of a server, ready for text."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "dragoman", "serve", run, "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            for _ in range(120):
                try:
                    page.goto(f"http://127.0.0.1:{port}/{path}")
                    break
                except Error:  # the server is still loading its model
                    page.wait_for_timeout(500)
            page.locator("body[data-ready]").wait_for()
            yield page
            browser.close()
    finally:
        server.terminate()
        server.wait()


def show_page(page: Page, film: Film, text: str) -> int:
    """Type a sentence, point at its words and open the dialog; the number of the frame where words are pointed at."""
    film.take(700)
    for end in range(3, len(text), 3):
        page.fill("#source", text[:end])
        film.take(120)
    page.fill("#source", text)
    page.locator("#target .word").first.wait_for()
    film.take(1000, wait=1500)
    words = page.locator("#target .word")
    first = len(film.frames)
    for number in range(words.count()):
        words.nth(number).hover()
        film.take(800, wait=200)
    words.first.click()
    film.take(2500, wait=1500)
    return first


def show_desk(page: Page, film: Film, text: str) -> None:
    """Translate lines at the desk: another word, a confirmation that fills a repetition, typing, the end."""
    page.fill("#pasted", text)
    page.click("#begin")
    page.locator(".row").last.locator(".row-target:not(:empty)").wait_for()
    film.take(1800, wait=1500)
    field = page.locator("#target-field")
    field.click(position={"x": 20, "y": 12})
    film.take(2200, wait=1500)
    page.locator("#offers button").first.click()
    film.take(1500, wait=300)
    page.keyboard.press("Control+Enter")
    film.take(1800, wait=300)
    words = field.input_value().split(" ")
    typed = " ".join(words[:2])[:-1]
    field.fill("")
    for end in range(1, len(typed) + 1, 2):
        field.fill(typed[:end])
        film.take(120)
    field.fill(typed)
    page.locator("#offers .rest").wait_for()
    film.take(2200, wait=300)
    page.keyboard.press("Tab")
    film.take(1200, wait=200)
    for _ in range(page.locator(".row:not(.confirmed)").count()):
        field.press("Control+Enter")
        film.take(900, wait=300)
    page.click("#finish")
    film.take(2500, wait=400)


if __name__ == "__main__":
    main()
