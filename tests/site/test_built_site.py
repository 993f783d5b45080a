"""The built site: its links lead somewhere, and reading it asks no other host for anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.web import open_browser

HTML = Path(__file__).parents[2] / "docs" / "_build" / "html"
pytestmark = [pytest.mark.site, pytest.mark.skipif(not HTML.exists(), reason="the site is not built: make docs")]

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
        self.viewport = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.anchors.update(attributes[name] for name in ("id", "name") if name in attributes)
        self.viewport |= attributes.get("name") == "viewport" and "width=device-width" in attributes["content"]
        if tag == "link" and set(attributes.get("rel", "").split()) & NOT_LOADED:
            return
        self.loaded += [value for name, value in attributes.items() if (tag, name) in LOADED]
        self.linked += [attributes["href"]] if tag == "a" and "href" in attributes else []


@cache
def page_of(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def pages() -> Iterator[Path]:
    return HTML.rglob("*.html")


def test_reading_asks_no_other_host() -> None:
    elsewhere = [
        f"{path.relative_to(HTML)}: {address}"
        for path in pages()
        for address in page_of(path).loaded
        if urlsplit(address).netloc
    ]
    for path in HTML.rglob("*.css"):
        for address in re.findall(r"url\(([^)]*)\)|@import ([^;]*);", path.read_text(encoding="utf-8")):
            if re.search("^['\"]?(https?:)?//", "".join(address)):
                elsewhere.append(f"{path.relative_to(HTML)}: {''.join(address)}")
    assert not elsewhere
    assert any(page_of(path).loaded for path in pages())


def test_every_link_leads_to_a_page_and_a_place_that_exist() -> None:
    broken, checked = [], 0
    for path in pages():
        for link in page_of(path).linked:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            checked += 1
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            if not target.is_file():
                broken.append(f"{path.relative_to(HTML)}: {link}")
            elif address.fragment and target.suffix == ".html":
                known = page_of(target).anchors
                if unquote(address.fragment) not in known:
                    broken.append(f"{path.relative_to(HTML)}: {link}")
    assert not broken
    assert checked > 1000


def test_tutorials_show_their_outputs_without_progress_bars() -> None:
    shown = list((HTML / "tutorials").glob("*.html"))
    assert len(shown) == len(list((HTML.parents[1] / "tutorials").glob("*.ipynb")))
    for path in shown:
        text = path.read_text(encoding="utf-8")
        assert text.count("cell_output") >= 5, path.name
        assert not re.search(r"%\||it/s|\x1b", text), path.name


def test_pages_fit_a_phone() -> None:
    assert not [path for path in pages() if not page_of(path).viewport]


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
            ("균등", "ko/learn/uniform-attention"),  # 균등한
            ("핍홀", "ko/papers/sutskever2014"),  # 핍홀이
            ("정렬 오류", "ko/how-to/measure-alignments"),  # 정렬 오류율은
            ("용어 사전", "ko/how-to/terminology"),  # 용어 사전에는
            ("서버", "ko/serving"),  # 서버의, 서버와
        ):
            # The search shows results from the end of its list.
            ranked = page.evaluate(
                "query => Search._performSearch(...Search._parseQuery(query)).map(([name]) => name)", query
            )
            first = list(dict.fromkeys(reversed(ranked)))[:3]
            assert expected in first, (query, first)
