"""The names of documents: what is more than lines, and is translated with all that belongs to it."""

from __future__ import annotations

from pathlib import Path

_ENDINGS = (
    ".docx .epub .htm .html .json .md .mqxliff .odp .ods .odt .po .pptx .properties .resx .sdlxliff .srt .strings .tmx "
    ".vtt .xlf .xliff .xlsx .yaml .yml"
)
DOCUMENTS = (*_ENDINGS.split(), "strings.xml")
"""The kinds of documents: endings of names, and whole names."""


def document_kind(name: str | Path) -> str | None:
    """The kind of a document by its name; None if it is none."""
    path = Path(name)
    return next((kind for kind in (path.name.lower(), path.suffix.lower()) if kind in DOCUMENTS), None)


def is_document(name: str | Path) -> bool:
    """Whether a file is a document by its name."""
    return document_kind(name) is not None
