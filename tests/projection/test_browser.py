"""The page of a map in a real browser; skipped where there is none."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from dragoman.projection.drawing import write_map
from dragoman.projection.reduction import Projection
from dragoman.projection.vectors import LabelledText

pytestmark = pytest.mark.browser

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra `dev`)")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def test_hovering_shows_the_text_and_nothing_is_fetched(tmp_path: Path) -> None:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser on this system: none of {', '.join(BROWSERS)} (apt-get install chromium)")
    path = tmp_path / "map.html"
    lines = [LabelledText("dog", "animals"), LabelledText("</script>", "signs"), LabelledText("cat", "animals")]
    write_map(path, "3 words", lines, Projection(np.array([[0.0, 1.0], [2.0, 2.0], [3.0, 0.0]]), ("across", "up")))
    said: list[str] = []
    fetched: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 900, "height": 800})
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: fetched.append(request.url))
        page.goto(path.as_uri())
        points = page.locator(".mark-symbol.role-mark path")
        points.nth(1).hover()
        assert "</script>" in page.locator("#vg-tooltip-element").inner_text()
        page.locator("input[type=search]").fill("^DOG")
        page.wait_for_function(
            "document.querySelectorAll('.mark-symbol.role-mark path')[1].getAttribute('opacity') < 0.5"
        )
        assert points.nth(0).get_attribute("opacity") == "1"
        browser.close()
    assert said == []
    assert fetched == [path.as_uri()]
