"""Every page says which kind of page it is."""

from __future__ import annotations

from pathlib import Path

from docs.site_builder.kinds import kind_of
from docs.site_builder.korean import WORDS, word

DOCS = Path(__file__).parents[2] / "docs"
FIRST = {"index", "ko/index"}


def pages() -> set[str]:
    found = [path.relative_to(DOCS) for path in DOCS.rglob("*") if path.suffix in (".md", ".ipynb")]
    return {path.with_suffix("").as_posix() for path in found if not {"_build", ".ipynb_checkpoints"} & set(path.parts)}


def test_every_page_but_the_first_has_a_kind() -> None:
    assert len(pages()) > 80
    assert {page for page in pages() if kind_of(page) is None} == FIRST


def test_kinds_of_korean_pages_are_korean() -> None:
    korean = pages() - FIRST
    assert not [page for page in korean if (kind_of(page) or "").isascii() == page.startswith("ko/")]


def test_words_of_the_theme_that_have_no_translation_stay() -> None:
    assert word("Search") == WORDS["Search"] == "검색"
    assert word("Made with %(name)s", name="Sphinx") == "Made with Sphinx"
