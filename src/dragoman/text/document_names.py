"""The names of documents: what is more than lines, and is translated with all that belongs to it."""

from __future__ import annotations

from pathlib import Path

_ENDINGS = ".docx .epub .htm .html .odp .ods .odt .po .pptx .srt .tmx .vtt .xlf .xliff .xlsx"
DOCUMENTS = tuple(_ENDINGS.split())
"""The endings of documents."""


def is_document(name: str | Path) -> bool:
    """Whether a file is a document by its name."""
    return Path(name).suffix.lower() in DOCUMENTS
