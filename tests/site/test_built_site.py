"""The built site: its links lead somewhere, reading it asks no other host for anything, its notebooks have run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest

from tests.web import open_browser

DOCS = Path(__file__).parents[2] / "docs"
HTML = DOCS / "_build" / "html"
TUTORIALS = sorted([*DOCS.glob("tutorials/*.ipynb"), *DOCS.glob("ko/tutorials/*.ipynb")])
built = pytest.mark.skipif(not HTML.exists(), reason="the site is not built: make docs")

LOADED = {("img", "src"), ("script", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("link", "href")}
"""Attributes whose addresses a browser loads by itself; a link to another page is followed by the reader alone."""

NOT_LOADED = {"canonical", "index", "search", "next", "prev", "author", "copyright", "up", "top", "contents"}
"""Kinds of `<link>` that name a page."""


class Page(HTMLParser):
    """Addresses and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.anchors.update(attributes[name] for name in ("id", "name") if name in attributes)
        if tag == "link" and set(attributes.get("rel", "").split()) & NOT_LOADED:
            return
        self.loaded += [value for name, value in attributes.items() if (tag, name) in LOADED]
        self.linked += [attributes["href"]] if tag == "a" and "href" in attributes else []


@cache
def page_of(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def pages() -> Iterator[Path]:
    return HTML.rglob("*.html")


@built
@pytest.mark.site
def test_reading_asks_no_other_host() -> None:
    loaded = [(path, address) for path in pages() for address in page_of(path).loaded]
    assert loaded
    elsewhere = [f"{path.relative_to(HTML)}: {address}" for path, address in loaded if urlsplit(address).netloc]
    for path in HTML.rglob("*.css"):
        for address in re.findall(r"url\(([^)]*)\)|@import ([^;]*);", path.read_text(encoding="utf-8")):
            if re.search("^['\"]?(https?:)?//", "".join(address)):
                elsewhere.append(f"{path.relative_to(HTML)}: {''.join(address)}")
    assert not elsewhere


@built
@pytest.mark.site
def test_every_link_leads_to_a_page_and_a_place_that_exist() -> None:
    broken, checked = [], 0
    for path in pages():
        for link in page_of(path).linked:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            checked += 1
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            anchors = page_of(target).anchors if target.is_file() and target.suffix == ".html" else None
            if not target.is_file() or (anchors and address.fragment and unquote(address.fragment) not in anchors):
                broken.append(f"{path.relative_to(HTML)}: {link}")
    assert not broken
    assert checked


@built
@pytest.mark.site
def test_korean_words_are_found_without_their_particles() -> None:
    """The site's own search ranks the page that is about a query among its first three."""
    with open_browser() as browser:
        page = browser.new_page()
        page.goto((HTML / "search.html").as_uri())
        page.wait_for_function("Search.hasIndex()")
        for query, expected in (
            ("번역기", "ko/first-translator"),  # there 번역기가, 번역기를
            ("말뭉치", "ko/how-to/prepare-text"),  # 말뭉치를, 말뭉치에서
            ("빔", "ko/learn/beam-size"),  # 빔이
            ("정렬 오류", "ko/how-to/measure-alignments"),  # 정렬 오류율은
        ):
            # The search shows results from the end of its list.
            ranked = page.evaluate(
                "query => Search._performSearch(...Search._parseQuery(query)).map(([name]) => name)", query
            )
            first = list(dict.fromkeys(reversed(ranked)))[:3]
            assert expected in first, (query, first)


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)


@built
@pytest.mark.site
def test_notebooks_show_their_outputs_without_progress_bars() -> None:
    for path in TUTORIALS:
        text = (HTML / path.relative_to(DOCS).with_suffix(".html")).read_text(encoding="utf-8")
        assert "cell_output" in text, path
        assert not re.search(r"%\||it/s|\x1b", text), path
    beside = [path.name for path in (DOCS / "tutorials").iterdir() if not path.name.startswith(".")]
    assert [name for name in beside if not name.endswith(".ipynb")] == []


@built
@pytest.mark.site
def test_the_first_notebook_trains_a_model_that_has_learnt_something() -> None:
    """Building the site runs it; the build leaves it with its outputs."""
    executed = nbformat.read(DOCS / "_build" / "jupyter_execute" / "tutorials" / "train-and-look.ipynb", as_version=4)

    def shown(beginning: str, kind: str = "text/plain") -> str:
        (cell,) = (cell for cell in executed.cells if cell.cell_type == "code" and beginning in cell.source)
        return "".join(out.get("text") or out.get("data", {}).get(kind, "") for out in cell.outputs)

    assert "<table" in shown("translator = dragoman.load", "text/html")  # a translation with its heat map
    table = shown("dragoman.measure")
    assert float(table.split()[1]) > 20, table  # BLEU
    right, turned = (float(line.split()[0]) for line in shown("turned =").splitlines())
    assert right > turned
