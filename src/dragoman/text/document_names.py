"""The names of documents: what is more than lines, and is translated with all that belongs to it."""

from __future__ import annotations

from pathlib import Path

DOCUMENTS = (".docx", ".htm", ".html", ".pptx", ".srt", ".vtt", ".xlsx")
"""The endings of documents."""


def is_document(name: str | Path) -> bool:
    """Whether a file is a document by its name."""
    return Path(name).suffix.lower() in DOCUMENTS
