"""Word files (.docx): paragraphs whose runs keep their formatting; needs the library python-docx (extra `files`)."""

from __future__ import annotations

import copy
import html
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

from docx import Document
from docx.oxml.ns import qn
from docx.text.run import Run

from dragoman.documents import document as documents
from dragoman.errors import InputError

MAX_UNPACKED = 64 << 20
"""Bytes of the parts of a file, unpacked."""
MAX_PARTS = 5000
MAX_NODES = 1_000_000
"""Tags and attributes of all parts: 300 pages have about half as many."""
_DAMAGED = "the file is not a Word document, or is damaged"


def read_word_file(content: bytes, languages: documents.Languages) -> documents.Document:
    """Read a Word file.

    Raises:
        InputError: it cannot be read, or is too large.
    """
    file = WordFile(content)

    def write(translations: list[str]) -> bytes:
        file.replace(translations)
        return file.save()

    return documents.Document(file.paragraphs, write)


class WordFile:
    """A file in memory."""

    def __init__(self, content: bytes) -> None:
        """Read a file.

        Raises:
            InputError: it cannot be read, or is too large.
        """
        try:
            _require_bounded(content)
            self._document = Document(io.BytesIO(content))
            self._runs = [runs for runs in map(_runs, self._elements()) if any(run.text.strip() for run in runs)]
        except InputError:
            raise
        except Exception as error:  # the libraries raise whatever they meet: lxml's, zlib's, AttributeError, TypeError
            raise InputError(_DAMAGED) from error

    @property
    def paragraphs(self) -> list[str]:
        """Each paragraph as markup: runs are elements `r`, those without text (images, say) are empty ones."""
        return ["".join(_as_markup(number, run) for number, run in enumerate(runs)) for runs in self._runs]

    def replace(self, translations: Sequence[str]) -> None:
        """Put the translated paragraphs, in the same markup, in the place of the old ones."""
        for runs, text in zip(self._runs, translations, strict=True):
            first = runs[0]._r
            for found in re.finditer(r'<r id="(\d+)"(?:/>|>(.*?)</r>)|([^<]+)', text, re.DOTALL):
                number, inside, outside = found.groups()
                element = copy.deepcopy(runs[int(number or 0)]._r)
                if inside is not None or outside is not None:
                    Run(element, runs[0]._parent).text = html.unescape(inside or outside or "")
                first.addprevious(element)
            for run in runs:
                run._r.getparent().remove(run._r)

    def save(self) -> bytes:
        """The file.

        Raises:
            InputError: it is damaged where only writing it shows.
        """
        content = io.BytesIO()
        try:
            self._document.save(content)
        except Exception as error:
            raise InputError(_DAMAGED) from error
        return content.getvalue()

    def _elements(self) -> Iterator[Any]:
        """The paragraphs of the text, of tables, headers and footers."""
        sections = [part for section in self._document.sections for part in (section.header, section.footer)]
        for part in (self._document, *(part for part in sections if not part.is_linked_to_previous)):
            yield from part._element.iter(qn("w:p"))


def _runs(paragraph: Any) -> list[Run]:
    """The runs that are directly in a paragraph; those of its hyperlinks and fields stay as they are."""
    return [Run(element, None) for element in paragraph.iterchildren(qn("w:r"))]  # type: ignore[arg-type]


def _as_markup(number: int, run: Run) -> str:
    return f'<r id="{number}">{html.escape(run.text, quote=False)}</r>' if run.text else f'<r id="{number}"/>'


def _require_bounded(content: bytes) -> None:
    """Refuse a file before its parts are unpacked and read.

    `zipfile` unpacks no more of a part than it declares. A part of XML that declares entities is none of Word's.

    Raises:
        InputError: it has too many parts, bytes, tags or attributes, or is unlike any that Word writes.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
        if len(parts) > MAX_PARTS or sum(part.file_size for part in parts) > MAX_UNPACKED:
            raise InputError("the file is too large when unpacked")
        if any(part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for part in parts):
            raise InputError(_DAMAGED)
        nodes = 0
        for part in parts:
            if not part.filename.lower().endswith((".xml", ".rels")):
                continue
            xml = archive.read(part)
            if b"<!DOCTYPE" in xml or b"<!ENTITY" in xml:
                raise InputError(_DAMAGED)
            nodes += xml.count(b"<") + xml.count(b"=")
        if nodes > MAX_NODES:
            raise InputError(f"the file has more than {MAX_NODES:,} tags and attributes")
