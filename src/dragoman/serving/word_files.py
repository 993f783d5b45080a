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

from dragoman.serving.refusals import invalid

MAX_UNPACKED = 64 << 20
"""Bytes of the parts of a file, unpacked."""


class WordFile:
    """A file in memory."""

    def __init__(self, content: bytes) -> None:
        """Read a file.

        Raises:
            Refusal: it cannot be read.
        """
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as parts:
                if sum(part.file_size for part in parts.infolist()) > MAX_UNPACKED:
                    raise invalid("the file is too large when unpacked")
            self._document = Document(io.BytesIO(content))
        except (zipfile.BadZipFile, KeyError, ValueError, OSError):
            raise invalid("the file is not a Word document") from None
        self._runs = [runs for runs in map(_runs, self._elements()) if any(run.text.strip() for run in runs)]

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
        """The file."""
        content = io.BytesIO()
        self._document.save(content)
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
