"""Translated pages follow their sources: each records the digest of the English page that it was translated from.

A page in Korean that is no translation is recorded without a source; `test_command_runs.py` runs its code.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.cli.test_documented_commands import commands_of

DOCS = Path(__file__).parents[2] / "docs"
RECORD = DOCS / "ko" / "translated.json"
"""Pages, their sources, the digests of these, and words of code that stand for others; names are below docs/."""

RECORDED: dict[str, list[Any] | None] = json.loads(RECORD.read_text(encoding="utf-8"))
TRANSLATED = {page: entry for page, entry in RECORDED.items() if entry is not None}

NOT_TEXT = re.compile(rb"^(?:```\{toctree\}\n.*?^```\n|(?:<!-- [^\n]* -->\n)+\n?)", re.MULTILINE | re.DOTALL)
"""Lists of pages, and comments for the tests."""


def digest(page: Path) -> str:
    """The first digits of the SHA-256 of a page without what is not text."""
    return hashlib.sha256(NOT_TEXT.sub(b"", page.read_bytes())).hexdigest()[:16]


def test_no_source_has_changed_since_it_was_translated() -> None:
    changed = [
        f"{source} has changed: mend {page} and write {digest(DOCS / source)} into {RECORD.name}"
        for page, (source, known, *_) in TRANSLATED.items()
        if digest(DOCS / source) != known
    ]
    assert not changed, "\n".join(changed)


def test_every_translated_page_is_recorded() -> None:
    found = [path for path in (DOCS / "ko").rglob("*") if path.suffix in (".md", ".ipynb")]
    pages = {path.relative_to(DOCS).as_posix() for path in found if ".ipynb_checkpoints" not in path.parts}
    assert pages | {"../README.ko.md"} == set(RECORDED)


def _code_of(page: Path) -> list[list[str]]:
    """The lines of each block of code of a page, or cell of a notebook, without comments; directives are left out."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        blocks = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    else:
        found = re.findall(r"^```([^\n]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        blocks = [block for language, block in found if not language.startswith("{")]
    blocks.append("\n".join(command for complete, command in commands_of(text) if complete))  # also indented ones
    return [[re.sub(r"(^|\s+)# .*", "", line) for line in block.splitlines()] for block in blocks]


@pytest.mark.parametrize("page", TRANSLATED)
def test_code_is_that_of_the_source_but_for_comments(page: str) -> None:
    source, _, *words = TRANSLATED[page]
    assert _code_of(DOCS / page) == [[_replaced(line, *words) for line in block] for block in _code_of(DOCS / source)]


def _replaced(line: str, words: Mapping[str, str] = MappingProxyType({})) -> str:
    """A line of code with some words, such as codes of languages, in place of others."""
    anyone = "|".join(map(re.escape, words))
    return re.sub(rf"(?<!\w)({anyone})(?!\w)", lambda found: words[found[1]], line) if words else line


def test_the_glossary_has_one_korean_word_for_each_term() -> None:
    rows = [line.split("|")[1:3] for line in (DOCS / "ko" / "terms.md").read_text(encoding="utf-8").splitlines()]
    terms = [(row[0].strip(), row[1].strip()) for row in rows if len(row) == 2][2:]
    assert terms
    assert len({english for english, _ in terms}) == len({korean for _, korean in terms}) == len(terms)
