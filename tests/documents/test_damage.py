"""Documents that are damaged are read or refused, and never with another exception."""

from __future__ import annotations

import io
import random
import zipfile
from contextlib import suppress

import pytest

from dragoman.errors import InputError
from tests.documents.test_catalogues import PO
from tests.documents.test_markdown import TEXT
from tests.documents.test_office import PARAGRAPHS, _with_body
from tests.documents.test_open_document import BOOK, _archive, _content
from tests.documents.test_resources import FILES
from tests.documents.translators import translated, with_parts

DOCUMENTS: dict[str, tuple[bytes, str | None]] = {
    **{f".{kind}": (before.encode(), None) for kind, (before, _) in FILES.items()},
    ".po": (PO.encode(), None),
    ".md": (TEXT.encode(), None),
    ".tmx": (b'<tmx><tu><tuv xml:lang="de"><seg>a <ph>x</ph> b</seg></tuv></tu></tmx>', None),
    ".xliff": (b'<xliff><trans-unit><source>a <g id="1">b</g><x/></source><target/></trans-unit></xliff>', None),
    ".odt": (
        _content("<text:p>a <text:span>b</text:span><text:note><text:p>c</text:p></text:note></text:p>"),
        "content.xml",
    ),
    ".epub": (_archive(BOOK), "OEBPS/a.opf"),
}
"""A document of each kind, and of archives the part that is damaged as well."""


def _altered(content: bytes, draw: random.Random) -> bytes:
    """A file with some bytes changed, or a part of it missing or repeated."""
    data = bytearray(content)
    for _ in range(draw.choice((0, 1, 5))):
        data[draw.randrange(len(data))] = draw.randrange(256)
    start, end = sorted(draw.choices(range(len(data)), k=2))
    return bytes(draw.choice((data, data[:end], data[:start] + data[end:], data[:end] + data[start:])))


@pytest.mark.slow
def test_damaged_documents_are_read_or_refused() -> None:
    draw = random.Random(7)
    word = _with_body("".join(f"<w:p>{one}</w:p>" for one in PARAGRAPHS.values())), "word/document.xml"
    for kind, (content, name) in {**DOCUMENTS, ".docx": word}.items():
        translated(kind, content)
        for number in range(40):
            if name is None or number % 4 == 0:
                altered = _altered(content, draw)
            else:
                with zipfile.ZipFile(io.BytesIO(content)) as archive:
                    altered = with_parts(content, {name: _altered(archive.read(name), draw)})
            with suppress(InputError):
                translated(kind, altered)
