"""Pages of one job are short, and their lines fit a terminal and a diff."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SHORT = [*sorted((DOCS / "how-to").glob("*.md")), *sorted((DOCS / "start").glob("*.md"))]
SHORT += sorted(DOCS.glob("serving*.md"))
SHORT += [
    DOCS / f"{name}.md"
    for name in ("browser", "comparison", "faq", "performance", "recipe", "reliability", "reproduction")
]
WRAPPED = [page for page in SHORT if page.stem != "recipe"]
LINE = 100


@pytest.mark.parametrize("page", SHORT, ids=lambda page: page.stem)
def test_a_page_has_40_to_120_lines(page: Path) -> None:
    lines = len(page.read_text(encoding="utf-8").splitlines())
    assert 40 <= lines <= 120, f"{page.name} has {lines} lines: divide it, or put it together with another"


def long_lines(text: str) -> Iterator[str]:
    """Lines of sentences that are too long; tables, code, pictures and links that fill a line have their own length."""
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        own = fenced or line.startswith(("|", "    ", "`", "![")) or re.search(r"\]\([^)]{30,}\)", line)
        if len(line) > LINE and not own:
            yield line


def test_sentences_are_wrapped() -> None:
    found = [f"{page.name}: {line}" for page in WRAPPED for line in long_lines(page.read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)
    assert list(long_lines("short\n" + "a " * 51 + "\n```\n" + "b " * 60 + "\n```\n")) == ["a " * 51]
