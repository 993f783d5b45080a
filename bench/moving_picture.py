"""Make the moving picture of the server's page: type a sentence, point at words, open the dialog of other words.

The picture begins where words are pointed at: many readers, and programs, show its first frame alone.

    python bench/moving_picture.py RUN --text "27. Januar 2035, 15:25"
    python bench/moving_picture.py RUN --text "Zwei Kinder spielen im Schnee." --still

starts `dragoman serve RUN`, drives its page in Chromium (Playwright, extra `dev`), and writes
docs/images/serving-page.webp, an animation of under 500 kB, or its last picture alone, serving-page.png. Run both again
when the page has changed.
"""

from __future__ import annotations

import argparse
import io
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Error, sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "serving-page.webp"
STILL = PICTURE.with_suffix(".png")
WIDTH, HEIGHT = 900, 560


def main() -> None:
    """Drive the page and write the animation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--text", required=True)
    parser.add_argument("--still", action="store_true", help="write the last picture alone")
    options = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "dragoman", "serve", options.run, "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    frames: list[tuple[Image.Image, int]] = []
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            for _ in range(120):
                try:
                    page.goto(f"http://127.0.0.1:{port}/")
                    break
                except Error:  # the server is still loading its model
                    page.wait_for_timeout(500)
            page.locator("body[data-ready]").wait_for()

            def take(milliseconds: int) -> None:
                frames.append((Image.open(io.BytesIO(page.screenshot())).convert("RGB"), milliseconds))

            take(700)
            for end in range(3, len(options.text), 3):
                page.fill("#source", options.text[:end])
                take(120)
            page.fill("#source", options.text)
            page.locator("#target .word").first.wait_for()
            page.wait_for_timeout(1500)
            take(1000)
            words = page.locator("#target .word")
            first = len(frames)
            for number in range(words.count()):
                words.nth(number).hover()
                page.wait_for_timeout(200)
                take(800)
            words.first.click()
            page.wait_for_timeout(1500)
            take(2500)
            browser.close()
    finally:
        server.terminate()
        server.wait()
    if options.still:
        frames[-1][0].save(STILL, optimize=True)
        print(f"{STILL}: {STILL.stat().st_size / 1000:.0f} kB")
        return
    frames = frames[first:] + frames[:first]
    pictures, durations = [frame for frame, _ in frames], [duration for _, duration in frames]
    pictures[0].save(PICTURE, save_all=True, append_images=pictures[1:], duration=durations, loop=0, quality=80)
    print(f"{PICTURE}: {len(frames)} frames, {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
