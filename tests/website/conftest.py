"""JavaScript modules in a browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.web import open_browser

ORIGIN = "http://modules.test/"

RunScript = Callable[..., Any]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser of Playwright."""
    with open_browser() as browser:
        yield browser


@pytest.fixture
def run_script(chromium: Any, tmp_path: Path) -> Iterator[RunScript]:
    """`run_script(function, argument)`: the result of a JavaScript function, which imports our modules from `./NAME.js`
    and fetches files of `tmp_path` from `./files/NAME`."""
    modules = resources.files("dragoman.website") / "static" / "translator"
    page = chromium.new_page()

    def answer(route: Any) -> None:
        name = route.request.url.removeprefix(ORIGIN)
        if name.startswith("files/"):
            route.fulfill(body=(tmp_path / name.removeprefix("files/")).read_bytes())
        elif name:
            route.fulfill(body=(modules / name).read_bytes(), content_type="text/javascript")
        else:
            route.fulfill(body="<!doctype html>", content_type="text/html")

    page.route(f"{ORIGIN}**", answer)
    page.goto(ORIGIN)

    def run(function: str, argument: object = None) -> Any:
        # As one string: Playwright would make a description of every value.
        given = f"async (text) => JSON.stringify(await ({function})(JSON.parse(text)))"
        return json.loads(page.evaluate(given, json.dumps(argument)))

    yield run
    page.close()
