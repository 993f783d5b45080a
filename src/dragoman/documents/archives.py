"""Documents that are ZIP archives of XML: read within bounds, and written with some of their parts changed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from dragoman.corpora.xml_stream import local_name
from dragoman.errors import InputError

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

MAX_UNPACKED = 64 << 20
"""Most bytes of the unpacked parts beyond the size of the file; pictures hardly grow."""
MAX_PARTS = 5000
MAX_NODES = 1_000_000
"""Tags and attributes of all parts: 300 pages have about half as many."""
_COMPOUND = b"\xd0\xcf\x11\xe0"
"""The first bytes of Office files from before 2007, and of Office files with a password."""


class Archive:
    """The parts of a document."""

    def __init__(self, content: bytes, kind: str) -> None:
        """Read an archive; messages name `kind` as what it should be.

        Raises:
            InputError: the content is no archive, is encrypted or damaged, or has too many parts, bytes, tags or
            attributes.
        """
        self._damaged = InputError(f"the file is not {kind}, or is damaged")
        if content.startswith(_COMPOUND):
            raise InputError("the file is encrypted, or from before 2007; save it in the new format without a password")
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                self._infos = archive.infolist()
                self._require_bounded(len(content))
                self._parts = {info.filename: archive.read(info) for info in self._infos}
        except InputError:
            raise
        except Exception as error:  # zipfile raises whatever it meets: BadZipFile, zlib.error, EOFError, ValueError
            raise self._damaged from error
        xml = [part for name, part in self._parts.items() if name.lower().endswith((".xml", ".rels"))]
        if sum(part.count(b"<") + part.count(b"=") for part in xml) > MAX_NODES:
            raise InputError(f"the file has more than {MAX_NODES:,} tags and attributes")

    def _require_bounded(self, size: int) -> None:
        """Refuse what grows too much; `zipfile` unpacks no more of a part than it declares."""
        if len(self._infos) > MAX_PARTS or sum(info.file_size for info in self._infos) > size + MAX_UNPACKED:
            raise InputError("the file is too large when unpacked")
        if any(info.flag_bits & 1 for info in self._infos):
            raise InputError("the file is encrypted; save it without a password")
        if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in self._infos):
            raise self._damaged

    @property
    def names(self) -> list[str]:
        """The names of the parts, in their order."""
        return list(self._parts)

    def part(self, name: str) -> bytes:
        """The content of a part.

        Raises:
            InputError: the archive has no such part.
        """
        if name not in self._parts:
            raise self._damaged
        return self._parts[name]

    def xml(self, name: str, roots: Iterable[str] = ()) -> Element:
        """The outermost element of a part; if `roots` are given, its name must be one of them.

        Raises:
            InputError: the part is not XML, has another root, or declares a document type, which these documents never
            do.
        """
        content = self.part(name)
        try:
            root = parsed(content)
        except InputError:
            raise self._damaged from None
        if b"<!DOCTYPE" in content:
            raise self._damaged
        wanted = list(roots)
        if wanted and local_name(root) not in wanted:
            raise self._damaged
        return root

    def written(self, changed: Mapping[str, Element | bytes]) -> bytes:
        """The file with some parts changed; the others keep their bytes, their order and their times."""
        result = io.BytesIO()
        with zipfile.ZipFile(result, "w") as archive:
            for info in self._infos:
                part = changed.get(info.filename, self._parts[info.filename])
                archive.writestr(info, part if isinstance(part, bytes) else serialised(part))
        return result.getvalue()


def parsed(content: bytes) -> Element:
    """The outermost element of XML.

    Raises:
        InputError: the content is not XML, or declares entities.
    """
    from lxml import etree

    try:
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True, strip_cdata=False))
    except (etree.XMLSyntaxError, ValueError) as error:
        reason = getattr(error, "msg", None) or error  # `msg` leaves out the name of the file, which is not known here
        raise InputError(f"the file is not XML, or is damaged: {reason}") from None
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and next(declared.iterentities(), None) is not None:
        raise InputError("the file declares entities, which are not read; replace them by their text")
    return root


def serialised(root: Element) -> bytes:
    """XML as a file in the encoding that it had."""
    from lxml import etree

    tree = root.getroottree()
    encoding = tree.docinfo.encoding or "UTF-8"
    alone = ' standalone="yes"' if tree.docinfo.standalone else ""
    text = etree.tostring(tree, encoding="unicode")
    return f'<?xml version="1.0" encoding="{encoding}"{alone}?>\n{text}'.encode(encoding, "xmlcharrefreplace")
