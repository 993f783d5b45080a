"""Make the picture of a report: a line with its heat map, pointed at.

    dragoman evaluate RUN test.de test.en --report figures
    python bench/report_picture.py figures/report.html --find "22. September 1978"

opens the report in Chromium (Playwright, extra `dev`), shows the first line that has the text, opens its heat map,
points at a word, and writes docs/images/report.png. Run it again when reports have changed.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "report.png"
WIDTH = 640


def main() -> None:
    """Open the report and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path)
    parser.add_argument("--find", required=True, metavar="TEXT", help="text that the line has")
    parser.add_argument("--word", type=int, default=0, metavar="N", help="the word of its translation, from 0")
    options = parser.parse_args()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        page.goto(options.report.resolve().as_uri())
        page.fill("#find", options.find)
        sample = page.locator("#list article.sample").first
        sample.wait_for()
        sample.get_by_role("button", name="Heat map").click()
        sample.scroll_into_view_if_needed()
        sample.locator(".line.glossed .word").nth(options.word).hover()
        page.wait_for_timeout(500)
        page.screenshot(path=PICTURE, clip=sample.bounding_box())
        browser.close()
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
