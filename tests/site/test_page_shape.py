"""Pages are short, their lines fit a terminal and a diff, their links lead to files, and each says its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.site_builder.kinds import kind_of
from tests.cli.test_documented_commands import PAGES, ROOT

DOCS = ROOT / "docs"
LINE = 100
WITHOUT_LENGTH = {
    "index.md": "the first page, most of which are lists for the site",
    "learn/README.md": "a list of the pages below it",
    "papers/results.md": "printed by bench/reproduction_page.py",
}
"""Pages that may be shorter than 40 lines or longer than 120; so may those of the lab book, which is a diary."""

WITHOUT_WRAPPING = {"papers/results.md": "printed by bench/reproduction_page.py"}

ENGLISH = [page for page in PAGES if DOCS in page.parents and DOCS / "ko" not in page.parents]
NAMES = [page.relative_to(DOCS).as_posix() for page in ENGLISH]


def _lines(page: Path) -> list[str]:
    """The lines of a page without comments for the tests and lists of pages for the site."""
    text = re.sub(r"^```\{toctree\}\n.*?^```\n", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [line for line in text.splitlines() if not line.startswith("<!-- ")]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT_LENGTH and "lab-book/" not in name])
def test_a_page_has_40_to_120_lines(name: str) -> None:
    lines = len("\n".join(_lines(DOCS / name)).strip().splitlines())
    assert 40 <= lines <= 120, f"{name} has {lines} lines: divide it, or put it together with another"


def long_lines(lines: list[str]) -> Iterator[str]:
    """Lines of sentences that are too long; tables, code, pictures and links that fill a line have their own length."""
    fenced = False
    for line in lines:
        fenced ^= line.startswith("```")
        own = fenced or line.startswith(("|", "    ", "`", "![")) or re.search(r"\]\([^)]{30,}\)|`[^`]{60,}`", line)
        if len(line) > LINE and not own:
            yield line


def test_sentences_are_wrapped() -> None:
    pages = [name for name in NAMES if name not in WITHOUT_WRAPPING]
    found = [f"{name}: {line}" for name in pages for line in long_lines(_lines(DOCS / name))]
    assert not found, "\n".join(found)
    assert list(long_lines(["short", "a " * 51, "```", "b " * 60, "```"])) == ["a " * 51]


def test_every_page_says_which_kind_it_is() -> None:
    without = [name for name in NAMES if kind_of(name.removesuffix(".md")) is None]
    assert without == ["index.md"]
    assert set(WITHOUT_LENGTH) | set(WITHOUT_WRAPPING) <= set(NAMES)


def missing_targets(page: Path, text: str) -> list[str]:
    """Relative links that lead to no file; `make docs` prints the pages in reference/printed."""
    sentences = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    targets = [found for found in re.findall(r"\]\(([^)#\s]+)", sentences) if not re.match(r"[a-z]+:", found)]
    return [target for target in targets if "printed/" not in target and not (page.parent / target).is_file()]


def test_links_lead_to_files() -> None:
    pages = [page for page in PAGES if DOCS in page.parents]
    found = [
        f"{page.relative_to(DOCS)}: {target}"
        for page in pages
        for target in missing_targets(page, page.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)
    assert missing_targets(DOCS / "faq.md", "[a](index.md), [b](../bench/results), [c](none.md#d)") == [
        "../bench/results",
        "none.md",
    ]
