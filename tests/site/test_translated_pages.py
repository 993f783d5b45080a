"""Translated pages follow their sources: each records the digest of the English page that it was translated from."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
RECORD = DOCS / "ko" / "translated.json"


def digest(page: Path) -> str:
    """The first digits of the SHA-256 of a page."""
    return hashlib.sha256(page.read_bytes()).hexdigest()[:16]


def test_no_source_has_changed_since_it_was_translated() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    changed = [
        f"{source} has changed: mend {page} and write {digest(DOCS / source)} into {RECORD.name}"
        for page, (source, known) in record.items()
        if digest(DOCS / source) != known
    ]
    assert not changed, "\n".join(changed)


def test_every_translated_page_is_recorded() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    pages = {path.relative_to(DOCS).as_posix() for path in (DOCS / "ko").rglob("*.md")}
    assert pages == set(record)


def test_the_glossary_has_sixty_terms_and_one_korean_word_for_each() -> None:
    rows = [line.split("|")[1:3] for line in (DOCS / "ko" / "terms.md").read_text(encoding="utf-8").splitlines()]
    terms = [(row[0].strip(), row[1].strip()) for row in rows if len(row) == 2][2:]
    assert len(terms) >= 60
    assert len({english for english, _ in terms}) == len(terms)
    assert len({korean for _, korean in terms}) == len(terms)
