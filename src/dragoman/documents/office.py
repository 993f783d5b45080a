"""Files of Microsoft Office (.docx, .pptx, .xlsx), on their XML: text is translated in the runs of its paragraphs.

Runs that look alike are one, whatever cut them. Links, insertions and content controls are elements of the sentence;
pictures, notes, formulas, deletions and the ends of bookmarks and comments stay beside their words. Tabs and breaks
divide a text. Links and tables of contents are the only fields that are translated; the program computes the result of
any other, such as a page number.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dragoman.corpora.xml_stream import local_name
from dragoman.documents.archives import Archive
from dragoman.documents.document import Document, Languages, texts_alone
from dragoman.documents.inline import Inline, Piece
from dragoman.errors import InputError
from dragoman.text.raw_lines import has_letter

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_PROPERTIES = "docProps/core.xml"
_FORMATTED = re.compile(r"(html)?(source)?code|(html)?preformatted(text)?|macrotext", re.IGNORECASE)
"""Names of styles of code."""
_CELL_BREAK = re.compile(r"((?:_x000[Dd]_)?\n|_x000[Dd]_)")
"""A line break in a cell; Excel writes a carriage return as _x000D_."""
_TRACKED = tuple(f"{_W}{name}" for name in ("ins", "del", "moveFrom", "moveTo"))
_TRANSLATED_FIELDS = (["HYPERLINK"], ["TOC"])


@dataclass(frozen=True)
class _Dialect:
    """The names of the elements of text; empty where there are none."""

    paragraph: str
    run: str
    properties: str
    """Of a run."""
    text: str
    first: frozenset[str]
    """Properties of the paragraph, which stay where they are."""
    wrappers: frozenset[str] = frozenset()
    """Elements of paragraphs that have runs of the same sentence."""
    breaks: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    """Elements that mean nothing for the translation."""
    ignored: frozenset[str] = frozenset()
    """Properties in which runs that look alike may differ."""


def _names(namespace: str, names: str) -> frozenset[str]:
    return frozenset(f"{namespace}{name}" for name in names.split())


_WORD = _Dialect(
    f"{_W}p", f"{_W}r", f"{_W}rPr", f"{_W}t",
    first=_names(_W, "pPr"),
    wrappers=_names(_W, "hyperlink ins moveTo smartTag customXml sdt dir bdo"),
    breaks=_names(_W, "tab ptab br cr"),
    dropped=_names(_W, "proofErr lastRenderedPageBreak"),
    ignored=_names(_W, "lang noProof"),
)  # fmt: skip
_DRAWING = _Dialect(
    f"{_A}p", f"{_A}r", f"{_A}rPr", f"{_A}t", first=_names(_A, "pPr"), breaks=_names(_A, "br tab"),
    dropped=_names(_A, "endParaRPr"),
)  # fmt: skip
_PHONETIC = _names(_S, "phoneticPr rPh")
_CELL = _Dialect(f"{_S}si", f"{_S}r", f"{_S}rPr", f"{_S}t", first=frozenset(), dropped=_PHONETIC)
_INLINE_CELL = _Dialect(f"{_S}is", f"{_S}r", f"{_S}rPr", f"{_S}t", first=frozenset(), dropped=_PHONETIC)


def read_word_file(content: bytes, languages: Languages) -> Document:
    """Read a Word file: text, tables, headers and footers, notes, text boxes, diagrams, the title; no comments.

    Raises:
        InputError: it cannot be read, or is too large.
    """
    archive = Archive(content, "a Word document")
    archive.xml("[Content_Types].xml", ["Types"])
    main = filter(re.compile(r"word/document\d*\.xml").fullmatch, archive.names)
    _require_transitional(archive, next(main, "word/document.xml"), "document")
    parts = r"word/(document|header|footer|footnotes|endnotes|diagrams/\w+|charts/\w+)\d*\.xml"
    return _document(archive, parts, (_WORD, _DRAWING))


def read_presentation(content: bytes, languages: Languages) -> Document:
    """Read a presentation: slides with tables, diagrams and texts of charts, notes, the title.

    Raises:
        InputError: it cannot be read, or is too large.
    """
    archive = Archive(content, "a presentation")
    _require_transitional(archive, "ppt/presentation.xml", "presentation")
    return _document(archive, r"ppt/(slides|notesSlides|diagrams|charts)/\w+\.xml", (_DRAWING,))


def read_spreadsheet(content: bytes, languages: Languages) -> Document:
    """Read a spreadsheet: texts of cells and drawings. Formulas, names of sheets and headers of tables, to which
    formulas refer, stay.

    Raises:
        InputError: it cannot be read, or is too large.
    """
    archive = Archive(content, "a spreadsheet")
    _require_transitional(archive, "xl/workbook.xml", "workbook")
    headers = {
        _without_escapes(str(column.get("name")))
        for name in archive.names
        if re.fullmatch(r"xl/(tables/\w+|pivotCache/pivotCacheDefinition\d*)\.xml", name)
        for column in archive.xml(name).iter(f"{_S}tableColumn", f"{_S}cacheField")
    }
    parts = r"xl/(sharedStrings|worksheets/\w+|drawings/\w+|charts/\w+)\.xml"
    return _document(archive, parts, (_CELL, _INLINE_CELL, _DRAWING), headers, _cells_of_strings(archive))


def _require_transitional(archive: Archive, name: str, root: str) -> None:
    """Refuse a file without its main part, or in the strict form, whose elements have other namespaces.

    Raises:
        InputError: it is one.
    """
    if "purl.oclc.org" in str(archive.xml(name, [root]).tag):
        raise InputError("the file is Strict Open XML, which is not read; save it in the usual form of Office")


def _cells_of_strings(archive: Archive) -> dict[tuple[str, int], str]:
    """For each shared string, from 1, the first cell that has it."""
    cells: dict[tuple[str, int], str] = {}
    for name in sorted(archive.names, key=_in_order):
        if re.fullmatch(r"xl/worksheets/\w+\.xml", name):
            for cell in archive.xml(name).iter(f"{_S}c"):
                number = cell.findtext(f"{_S}v", "") if cell.get("t") == "s" else ""
                if number.isdecimal():
                    location = f"{name}, cell {cell.get('r')}"
                    cells.setdefault(("xl/sharedStrings.xml", int(number) + 1), location)
    return cells


def _document(
    archive: Archive,
    pattern: str,
    dialects: Sequence[_Dialect],
    untouched: Iterable[str] = (),
    cells: Mapping[tuple[str, int], str] = MappingProxyType({}),
) -> Document:
    """The paragraphs of the parts of a file; a paragraph whose text is one of `untouched` stays.

    `cells` maps the part and number of a paragraph to its place in the file, if that is another one.
    """
    kept = frozenset(untouched)
    by_name = {dialect.paragraph: dialect for dialect in dialects}
    paragraphs: list[tuple[str, Callable[[str], None], str]] = []
    places: list[str] = []
    roots: dict[str, Element] = {}
    try:
        for name in sorted(filter(re.compile(pattern).fullmatch, archive.names), key=_in_order):
            roots[name] = archive.xml(name)
            for number, element in enumerate(roots[name].iter(*by_name), 1):
                paragraph = _Paragraph(element, by_name[element.tag])
                if paragraph.inline.has_words and _without_escapes(paragraph.plain) not in kept:
                    paragraphs.append((name, paragraph.write, paragraph.inline.markup))
                    cell = element.getparent().get("r") if element.tag == _INLINE_CELL.paragraph else None
                    location = f"{name}, cell {cell}" if cell else f"{name}, paragraph {number}"
                    places.append(cells.get((name, number), location))
        if _PROPERTIES in archive.names:
            roots[_PROPERTIES] = archive.xml(_PROPERTIES)
            for element in roots[_PROPERTIES].iter(f"{_DC}title", f"{_DC}subject"):
                if element.text and has_letter(element.text):
                    title = _Title(element)
                    paragraphs.append((_PROPERTIES, title.write, title.inline.markup))
                    places.append(_PROPERTIES)
    except (AttributeError, TypeError, ValueError, RecursionError):  # XML of other elements than such a file has
        raise InputError("the file is damaged") from None

    def write(translations: list[str]) -> bytes:
        for (_, write_one, _), translated in zip(paragraphs, translations, strict=True):
            write_one(translated)
        return archive.written({name: roots[name] for name, _, _ in paragraphs})

    is_tracked = any(True for root in roots.values() for _ in root.iter(*_TRACKED))
    return Document([markup for _, _, markup in paragraphs], texts_alone(write), places, is_tracked=is_tracked)


def _without_escapes(text: str) -> str:
    """A text of a spreadsheet without the escapes of Excel: the header of a table has _x000a_ for a line break."""
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda escape: chr(int(escape[1], 16)), text)


def _in_order(name: str) -> tuple[str, ...]:
    """A sort key that orders names by the numbers in them: slide2 before slide10."""
    return tuple(part.zfill(9) if part.isdigit() else part for part in re.split(r"(\d+)", name))


class _Title:
    """A property of a document, which is one text."""

    def __init__(self, element: Element) -> None:
        self._element = element
        self.inline = Inline()
        self.inline.text(element.text or "")

    def write(self, translated: str) -> None:
        self._element.text = "".join(piece.payload for piece in self.inline.pieces(translated))


@dataclass
class _Atom:
    """A piece of a paragraph: the begin or end of a wrapper, a text, or an element that is not taken apart."""

    kind: str
    """open, close, text, break, leaf"""
    element: Any = None
    properties: Element | None = None
    """Of its run."""
    in_run: bool = True
    text: str = ""


@dataclass
class _Field:
    """A field whose result is translated: what stands before the result, and what stands behind it."""

    begin: list[_Atom] = field(default_factory=list)
    end: list[_Atom] = field(default_factory=list)


class _Paragraph:
    """A paragraph of a dialect."""

    def __init__(self, element: Element, dialect: _Dialect) -> None:
        self._element, self._dialect = element, dialect
        self.inline = Inline()
        atoms = list(self._atoms(element))
        self.plain = "".join(atom.text for atom in atoms)
        if not has_letter(self.plain) or self._is_code():
            return
        lengths: dict[str, int] = {}
        for atom in atoms:
            if atom.kind == "text":
                key = self._look(atom.properties)
                lengths[key] = lengths.get(key, 0) + len(atom.text)
        self._base_look = max(lengths, key=lambda key: lengths[key], default="")
        self._base = next(
            (one.properties for one in atoms if one.kind == "text" and self._look(one.properties) == self._base_look),
            None,
        )
        self._plain_run = all(not atom.in_run for atom in atoms if atom.kind == "text")
        self._build(atoms)

    def _is_code(self) -> bool:
        style = self._element.find(f"{_W}pPr/{_W}pStyle")
        return style is not None and bool(_FORMATTED.fullmatch(re.sub(r"[\s_-]|20", "", style.get(f"{_W}val", ""))))

    def _look(self, properties: Element | None) -> str:
        """What a run looks like, as text."""
        from lxml import etree

        if properties is None:
            return ""
        own = {
            name: value for name, value in properties.attrib.items() if name not in ("lang", "dirty", "err", "altLang")
        }
        parts = [
            etree.tostring(one, encoding="unicode", with_tail=False)
            for one in properties
            if one.tag not in self._dialect.ignored
        ]
        return "".join([*(f"{name}={own[name]};" for name in sorted(own)), *parts])

    def _atoms(self, parent: Element) -> Iterator[_Atom]:
        """The pieces of an element of the paragraph, in order."""
        names = self._dialect
        for child in parent:
            tag = child.tag
            if tag in names.first or tag in names.dropped:
                continue
            if tag == names.run:
                properties = child.find(names.properties)
                for one in child:
                    if one.tag != names.properties and one.tag not in names.dropped:
                        yield from self._in_run(one, properties)
            elif tag == names.text:
                yield from self._text(child.text or "", None, in_run=False)
            elif tag in names.wrappers or _is_translated_field(child.get(f"{_W}instr") or ""):
                yield _Atom("open", child)
                inside = child.find(f"{_W}sdtContent") if tag == f"{_W}sdt" else child
                yield from self._atoms(child if inside is None else inside)
                yield _Atom("close", child)
            else:
                yield _Atom("break" if tag in names.breaks else "leaf", child, in_run=False)

    def _in_run(self, one: Element, properties: Element | None) -> Iterator[_Atom]:
        names = self._dialect
        if one.tag == names.text:
            yield from self._text(one.text or "", properties, in_run=True)
        elif one.tag == f"{_W}noBreakHyphen":
            yield _Atom("text", properties=properties, text="\u2011")
        elif one.tag == f"{_W}softHyphen":
            yield _Atom("text", properties=properties, text="\u00ad")
        else:
            yield _Atom("break" if one.tag in names.breaks else "leaf", one, properties)

    def _text(self, text: str, properties: Element | None, *, in_run: bool) -> Iterator[_Atom]:
        """A text; in cells, line breaks divide it."""
        lines = _CELL_BREAK.split(text) if self._dialect in (_CELL, _INLINE_CELL) else [text]
        for number, line in enumerate(lines):
            if line:
                yield _Atom("break" if number % 2 else "text", None, properties, in_run, line)

    def _build(self, atoms: list[_Atom]) -> None:
        """Add atoms to the inline text; runs that look alike are one."""
        inline = self.inline
        opened: list[int] = []
        look, number = self._base_look, -1
        ends = self._field_ends(atoms)
        closing: dict[int, int] = {}
        """Index of the atom that ends a translated field -> number of the field."""
        index = 0

        def plain() -> None:
            nonlocal look, number
            if number >= 0:
                inline.close(number)
            look, number = self._base_look, -1

        while index < len(atoms):
            atom = atoms[index]
            if atom.kind == "text":
                if self._look(atom.properties) != look:
                    plain()
                    if self._look(atom.properties) != self._base_look:
                        look = self._look(atom.properties)
                        number = inline.open(atom.properties, index=_is_index(atom.properties))
                inline.text(atom.text)
            elif atom.kind == "open":
                plain()
                opened.append(inline.open(atom.element))
            elif atom.kind == "close":
                plain()
                inline.close(opened.pop())
            elif atom.kind == "break":
                plain()
                inline.divide([atom])
            elif index in closing:
                plain()
                inline.close(closing.pop(index))
            elif index in ends:
                plain()
                end, separate, translated = ends[index]
                if translated:
                    closing[end] = inline.open(_Field(atoms[index : separate + 1], [atoms[end]]))
                    index = separate
                else:
                    words = "".join(one.text for one in atoms[separate + 1 : end])
                    inline.leaf(atoms[index : end + 1], words)
                    index = end
            else:
                words = (
                    "".join(atom.element.itertext()).strip() if local_name(atom.element) in ("fldSimple", "fld") else ""
                )
                last = index  # parts of a field that goes on in another paragraph stay together
                while (
                    last + 1 not in ends
                    and last + 1 not in closing
                    and all(map(_is_field_part, atoms[last : last + 2]))
                    and last + 1 < len(atoms)
                ):
                    last += 1
                inline.leaf(atoms[index : last + 1], words)
                index = last
            index += 1
        plain()

    def _field_ends(self, atoms: list[_Atom]) -> dict[int, tuple[int, int, bool]]:
        """Index of the atom that begins a field -> index of its end, index before its result, whether that is
        translated. The caller leaves out fields inside of untranslated fields.
        """
        ends: dict[int, tuple[int, int, bool]] = {}
        begun: list[list[int]] = []
        for index, atom in enumerate(atoms):
            kind = (
                atom.element.get(f"{_W}fldCharType")
                if atom.kind == "leaf" and local_name(atom.element) == "fldChar"
                else None
            )
            if kind == "begin":
                begun.append([index, -1])
            elif kind == "separate" and begun:
                begun[-1][1] = index
            elif kind == "end" and begun:
                start, separate = begun.pop()
                separate = index - 1 if separate < 0 else separate
                depth = [{"open": 1, "close": -1}.get(one.kind, 0) for one in atoms[start:index]]
                if sum(depth) or any(sum(depth[:end]) < 0 for end in range(len(depth))):
                    continue  # it begins inside of an element and ends outside
                code = "".join(
                    one.element.text or ""
                    for one in atoms[start:separate]
                    if one.kind == "leaf" and local_name(one.element) == "instrText"
                )
                head = any(one.kind in ("open", "close") for one in atoms[start:separate])
                translated = _is_translated_field(code) and separate < index - 1 and not head
                ends[start] = (index, separate, translated)
        return ends

    def write(self, translated: str) -> None:
        """Put the translated text in the place of the old one."""
        element, names = self._element, self._dialect
        last = element.find(f"{_A}endParaRPr")
        for child in list(element):
            if child.tag not in names.first:
                element.remove(child)
        writer = _Writer(element, names, self._base, plain=self._plain_run)
        for piece in self.inline.pieces(translated):
            writer.write(piece)
        if last is not None:
            element.append(last)


class _Writer:
    """Writes the pieces of a translated paragraph into it."""

    def __init__(self, paragraph: Element, names: _Dialect, base: Element | None, *, plain: bool) -> None:
        self._names, self._base = names, base
        self._plain = plain
        """Whether text stands without runs, as in cells."""
        self._parents = [paragraph]
        self._looks: list[Element | None] = []
        self._used: set[int] = set()
        self._run: Element | None = None
        """The run that may go on, and its properties."""
        self._run_properties: Element | None = None

    def write(self, piece: Piece) -> None:
        """Write the next piece."""
        payload = piece.payload
        if piece.kind == "text":
            self._text(payload, self._looks[-1] if self._looks else self._base)
        elif piece.kind == "leaf":
            self._atoms(payload)
        elif isinstance(payload, _Field):
            self._atoms(payload.begin if piece.kind == "open" else payload.end)
        elif payload is None or payload.tag == self._names.properties:
            if piece.kind == "open":
                self._looks.append(payload)
            else:
                self._looks.pop()
        elif piece.kind == "open":
            self._open(payload)
        else:
            self._parents.pop()
            self._run = None

    def _open(self, wrapper: Element) -> None:
        """Begin a wrapper; the second time as a copy without the number of its content control."""
        shell = copy.deepcopy(wrapper)
        inside = shell
        for child in list(shell):
            if child.tag == f"{_W}sdtContent":
                inside = child
            elif child.tag != f"{_W}sdtPr":
                shell.remove(child)
        if inside is not shell:
            for child in list(inside):
                inside.remove(child)
        if id(wrapper) in self._used:
            for number in shell.findall(f"{_W}sdtPr/{_W}id"):
                number.getparent().remove(number)
        self._used.add(id(wrapper))
        shell.tail = None
        self._parents[-1].append(shell)
        self._parents.append(inside)
        self._run = None

    def _atoms(self, atoms: list[_Atom]) -> None:
        """Write pieces as they were; the second time as copies."""
        for atom in atoms:
            if atom.kind == "text":
                self._text(atom.text, atom.properties)
            elif atom.kind == "open":
                self._open(atom.element)
            elif atom.kind == "close":
                self._parents.pop()
                self._run = None
            elif atom.element is None:
                self._text(atom.text, atom.properties)
            else:
                one = copy.deepcopy(atom.element) if id(atom.element) in self._used else atom.element
                self._used.add(id(atom.element))
                one.tail = None
                self._run = None if _is_field_part(atom) else self._run  # as programs write them: a run for each
                if atom.in_run:
                    self._in_run(atom.properties).append(one)
                    self._run = None if _is_field_part(atom) else self._run
                else:
                    self._parents[-1].append(one)
                    self._run = None

    def _text(self, text: str, properties: Element | None) -> None:
        parent = self._parents[-1] if self._plain and properties is None else self._in_run(properties)
        last = parent[-1] if len(parent) else None
        if last is None or last.tag != self._names.text:
            last = parent.makeelement(self._names.text)
            parent.append(last)
        last.text = (last.text or "") + text
        if last.text != last.text.strip() and self._names is not _DRAWING:
            last.set(_SPACE, "preserve")

    def _in_run(self, properties: Element | None) -> Element:
        """The run in which the next piece stands."""
        if self._run is None or self._run_properties is not properties:
            self._run = self._parents[-1].makeelement(self._names.run)
            self._run_properties = properties
            self._parents[-1].append(self._run)
            if properties is not None:
                own = copy.deepcopy(properties)
                own.tail = None
                for language in own.findall(f"{_W}lang"):
                    own.remove(language)
                own.attrib.pop("lang", None)
                self._run.append(own)
        return self._run


def _is_index(properties: Element | None) -> bool:
    """Whether a run is raised or lowered."""
    if properties is None:
        return False
    aligned = {one.get(f"{_W}val") or one.get("val") for one in properties if local_name(one) == "vertAlign"}
    return bool(aligned & {"superscript", "subscript"}) or properties.get("baseline", "0") != "0"


def _is_translated_field(code: str) -> bool:
    """Whether the result of a field, such as `HYPERLINK "https://..."`, is translated."""
    return code.upper().split()[:1] in _TRANSLATED_FIELDS


def _is_field_part(atom: _Atom) -> bool:
    return atom.kind == "leaf" and local_name(atom.element) in ("fldChar", "instrText")
