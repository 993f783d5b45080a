"""Files of translators (.po, .xliff, .tmx): units without a translation get one that is marked as a machine's.

A unit that has a translation is never touched, and only the text of the others changes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dragoman.documents.archives import local_name
from dragoman.documents.document import Document, DoneUnit, Languages, RatedText, Units, as_html, as_text, decoded
from dragoman.documents.inline import NOT_XML
from dragoman.documents.mixed import MixedText, Role
from dragoman.documents.xml_text import XmlText
from dragoman.errors import InputError
from dragoman.text.languages import base_language
from dragoman.translation_memory.memory import MemoryMatch

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_CHARSET = re.compile(rb"charset=([\w-]+)")
_MATCHES = "urn:oasis:names:tc:xliff:matches:2.0"
_WRAPPERS = frozenset(("g", "mrk", "pc", "hi", "sub"))
"""Elements of the sentence; all others of XLIFF and TMX stand for tags."""


def read_catalogue(content: bytes, languages: Languages) -> Document:
    """Read a catalogue of gettext; new translations are fuzzy, and of a plural all forms are translated.

    All lines but those of the new translations stay as they are.

    Raises:
        InputError: it is damaged, or not in the encoding that it names.
    """
    import polib

    text, encoding = _text(content)
    try:
        catalogue = polib.pofile(f"{text}\n")
    except (OSError, ValueError, IndexError, UnicodeError) as error:
        raise InputError(f"the file is not a catalogue, or is damaged: {error}") from None
    lines = text.splitlines(keepends=True)
    starts = [*(max(entry.linenum - 1, 0) for entry in catalogue), len(lines)]
    texts: list[str] = []
    places: list[str] = []
    done: list[DoneUnit] = []
    found: list[tuple[Any, int, int]] = []
    for entry, start, end in zip(catalogue, starts, starts[1:], strict=False):
        translated = entry.msgstr or next(filter(None, entry.msgstr_plural.values()), "")
        if entry.obsolete or not entry.msgid.strip():
            continue
        if translated:
            done.append(DoneUnit(len(texts), entry.msgid, translated))
            continue
        own = [as_html(one) for one in (entry.msgid, entry.msgid_plural) if one]
        texts += own
        places += [f"line {start + 1}"] * len(own)
        found.append((entry, start, end))

    def write(translations: list[RatedText], confirmed: Collection[int] = ()) -> bytes:
        left = iter(enumerate(translations))
        result: list[str] = []
        place = 0
        for entry, start, end in found:
            own = [next(left) for one in (entry.msgid, entry.msgid_plural) if one]
            if all(one.text for _, one in own):
                is_sure = all(number in confirmed for number, _ in own)
                filled = _filled(entry, lines[start:end], [one for _, one in own], is_sure=is_sure)
                result += [*lines[place:start], *filled]
                place = end
        try:
            return "".join([*result, *lines[place:]]).encode(encoding)
        except UnicodeEncodeError as error:
            letter = error.object[error.start]
            raise InputError(f"{encoding}, in which the file is, lacks {letter!r}; convert it to UTF-8") from None

    return Document(texts, write, places, Units(done, write))


def _text(content: bytes) -> tuple[str, str]:
    """A catalogue, and the encoding in which it is written again: UTF-8, or what its header names."""
    try:
        return decoded(content)
    except InputError:
        named = _CHARSET.search(content)
        if named is None:
            raise
    encoding = named[1].decode()
    try:
        return content.decode(encoding), encoding
    except (UnicodeDecodeError, LookupError):
        raise InputError(f"the file is not {encoding}, which its header names") from None


def _filled(entry: Any, lines: list[str], translations: list[RatedText], *, is_sure: bool) -> Iterator[str]:
    """The lines of an entry with its translations, which make it fuzzy unless they are sure."""
    from polib import POEntry

    one, several = as_text(translations[0].text), as_text(translations[-1].text)
    new = POEntry(msgid="a", msgstr=one)
    if entry.msgid_plural:
        forms = entry.msgstr_plural or {0: "", 1: ""}
        new = POEntry(msgid="a", msgid_plural="a")
        new.msgstr_plural = {number: one if number == min(forms) and len(forms) > 1 else several for number in forms}
    confidences = [one.confidence for one in translations if one.confidence is not None and not is_sure]
    first = next((number for number, line in enumerate(lines) if _is_translation(line)), len(lines))
    last = first
    while last < len(lines) and (_is_translation(lines[last]) or lines[last].startswith('"')):
        last += 1
    is_flagged = is_sure or any(line.startswith("#,") for line in lines[:first])
    end_of_line = "\r\n" if lines[0].endswith("\r\n") else "\n"
    remark = [f"# {_remark(min(confidences))}{end_of_line}"] if confidences else []
    for line in lines[:first]:
        if remark and not line.startswith(("# ", "#\n", "#\r")):
            yield remark.pop()
        if line.startswith("#,") and not is_sure:
            line = line if "fuzzy" in line else f"{line.rstrip()}, fuzzy{end_of_line}"
        elif not is_flagged and not line.startswith(("# ", "#.", "#:", "#\n", "#\r")):
            yield f"#, fuzzy{end_of_line}"
            is_flagged = True
        yield line
    written = str(new).splitlines()
    yield from (f"{line}{end_of_line}" for line in written[[*map(_is_translation, written)].index(True) :] if line)
    yield from lines[last:]


def _is_translation(line: str) -> bool:
    return line.startswith("msgstr")


def _remark(confidence: float) -> str:
    return f"machine translation, confidence {confidence:.2f}"


def read_xliff(content: bytes, languages: Languages) -> Document:
    """Read XLIFF 1.2 or 2; new translations have the state `needs-review-translation` or `translated`, and a note says
    how far they can be trusted.

    Raises:
        InputError: it is not XLIFF, or damaged.
    """
    file = _read(content, "xliff", "XLIFF", ("trans-unit", "unit", "file", "xliff"))
    root = file.root
    found: list[tuple[MixedText, Element, Element]] = []
    done: list[DoneUnit] = []
    for unit in root.iter("{*}trans-unit", "{*}segment"):
        source = next((one for one in unit if local_name(one) == "seg-source"), None)
        source = source if source is not None else next((one for one in unit if local_name(one) == "source"), None)
        target = next((one for one in unit if local_name(one) == "target"), None)
        if source is None or _is_locked(unit):
            continue
        if target is not None and _words(target):
            done.append(DoneUnit(len(found), _words(source), _words(target)))
            continue
        text = MixedText(source, _role)
        if text.inline.has_words:
            found.append((text, unit, source))

    def write(translations: list[RatedText], confirmed: Collection[int] = ()) -> bytes:
        changed: dict[Element, None] = {}
        numbered = enumerate(zip(found, translations, strict=True))
        for number, ((text, unit, source), (translated, confidence, matches)) in numbered:
            if not translated:
                continue
            changed[_unit_of(unit)] = None
            target = next((one for one in unit if local_name(one) == "target"), None)
            if target is None:
                target = source.makeelement(
                    source.tag.rpartition("}")[0] + "}target" if "}" in source.tag else "target"
                )
                target.tail = source.tail
                source.addnext(target)
            text.write_to(target, translated, copies=True)
            if local_name(unit) == "segment":
                unit.set("state", "reviewed" if number in confirmed else "translated")
                _add_matches(unit, matches if number not in confirmed else ())
            elif number in confirmed:
                target.set("state", "translated")
            else:
                is_kept = bool(matches) and matches[0].score == 1
                target.set("state", "needs-review-translation")
                target.set("state-qualifier", "exact-match" if is_kept else "mt-suggestion")
                _add_alternatives(target, matches[is_kept:])
            if confidence is not None and number not in confirmed:
                _add_note(unit, target, _remark(confidence))
        return file.written(changed, _names_of_target(root, languages))

    return Document(
        [text.inline.markup for text, _, _ in found],
        write,
        [_unit_name(unit) for _, unit, _ in found],
        Units(done, write),
    )


def _words(element: Element) -> str:
    """The text of an element, with plain spaces."""
    return " ".join("".join(element.itertext()).split())


def _unit_of(unit: Element) -> Element:
    """The unit of a segment of XLIFF 2; of 1.2 the unit itself."""
    above = unit.getparent() if local_name(unit) == "segment" else unit
    assert above is not None
    return above


def _unit_name(unit: Element) -> str:
    above = unit.getparent()
    number = unit.get("id")
    if local_name(unit) != "segment" or above is None:
        return f"unit {number}"
    return f"unit {above.get('id')}" + (f", segment {number}" if number else "")


def _add_note(unit: Element, target: Element, text: str) -> None:
    """Add a note on a translation: in 1.2 behind it; in 2, whose segments have none, at the beginning of the unit."""
    name = target.tag.rpartition("}")[0]
    name += "}" if name else ""
    if local_name(unit) != "segment":
        note = target.makeelement(f"{name}note", {"from": "Dragoman", "annotates": "target"})
        note.text, note.tail = text, target.tail
        target.addnext(note)
        return
    above = _unit_of(unit)
    notes = above.find(f"{name}notes")
    if notes is None:
        notes = target.makeelement(f"{name}notes")
        notes.tail = above.text
        # Behind what is of other namespaces, as the matches are.
        place = next((at for at, one in enumerate(above) if str(one.tag).startswith(name or str(one.tag))), 0)
        above.insert(place, notes)
    note = target.makeelement(f"{name}note", {"appliesTo": "target", "category": "confidence"})
    segment = unit.get("id")
    note.text = f"segment {segment}: {text}" if segment else text
    notes.append(note)


def _add_alternatives(target: Element, matches: Sequence[MemoryMatch]) -> None:
    """Add near matches of a translation memory behind a translation of XLIFF 1.2."""
    name = target.tag.rpartition("}")[0]
    name += "}" if name else ""
    for match in reversed(matches):
        found = target.makeelement(f"{name}alt-trans", {"match-quality": f"{match.score:.0%}", "origin": "memory"})
        _add_sides(found, name, match)
        found.tail = target.tail
        target.addnext(found)


def _add_matches(segment: Element, matches: Sequence[MemoryMatch]) -> None:
    """Add matches of a translation memory to the unit of a segment of XLIFF 2."""
    if not matches:
        return
    unit = _unit_of(segment)
    core = segment.tag.rpartition("}")[0]
    core += "}" if core else ""
    if not segment.get("id"):  # which a match refers to
        others = {one.get("id") for one in unit.iter() if isinstance(one.tag, str)}
        segment.set("id", next(name for name in map("s{}".format, range(1, len(others) + 2)) if name not in others))
    listed = unit.find(f"{{{_MATCHES}}}matches")
    if listed is None:
        listed = unit.makeelement(f"{{{_MATCHES}}}matches", nsmap={"mtc": _MATCHES})
        listed.tail = unit.text
        unit.insert(0, listed)
    for match in matches:
        reference = {"ref": f"#{segment.get('id')}", "similarity": f"{100 * match.score:.1f}", "type": "tm"}
        found = unit.makeelement(f"{{{_MATCHES}}}match", reference)
        _add_sides(found, core, match)
        listed.append(found)


def _add_sides(element: Element, name: str, match: MemoryMatch) -> None:
    """Add both sides of a match; `name` is the namespace in braces."""
    for side, text in (("source", match.source), ("target", match.target)):
        part = element.makeelement(f"{name}{side}")
        part.text = NOT_XML.sub("", text)
        element.append(part)


def _is_locked(unit: Element) -> bool:
    """Whether a unit must not be translated."""
    nearest = next((one.get("translate") for one in (unit, *unit.iterancestors()) if one.get("translate")), "yes")
    return nearest == "no" or unit.get("approved") == "yes"


def _names_of_target(root: Element, languages: Languages) -> Iterator[tuple[Element, str, str]]:
    """The elements that get the target language, where none is named, with the attribute and its value."""
    if not languages.target:
        return
    if root.get("srcLang") and not root.get("trgLang"):
        yield root, "trgLang", languages.target
    for file in root.iter("{*}file"):
        if file.get("source-language") and not file.get("target-language"):
            yield file, "target-language", languages.target


def read_memory(content: bytes, languages: Languages) -> Document:
    """Read a translation memory (TMX); units without the target language get it, from a tool that is named, and a
    property says how far it can be trusted.

    Raises:
        InputError: it is not TMX, or damaged; where it is written, the target language is not known.
    """
    file = _read(content, "tmx", "TMX", ("tu",))
    root = file.root
    header = next(root.iter("{*}header"), None)
    source = languages.source or (header.get("srclang", "") if header is not None else "")
    found: list[tuple[MixedText, Element, Element | None]] = []
    done: list[DoneUnit] = []
    for unit in root.iter("{*}tu"):
        own = {
            base_language(one.get(_XML_LANGUAGE) or one.get("lang") or "").lower(): one
            for one in unit
            if local_name(one) == "tuv"
        }
        segments = {
            code: next((one for one in variant if local_name(one) == "seg"), None) for code, variant in own.items()
        }
        given, target = (
            segments.get(base_language(source).lower()),
            segments.get(base_language(languages.target).lower()),
        )
        if given is None:
            continue
        if target is not None and _words(target):
            done.append(DoneUnit(len(found), _words(given), _words(target)))
            continue
        text = MixedText(given, _role)
        if text.inline.has_words:
            found.append((text, given.getparent(), target))

    def write(translations: list[RatedText], confirmed: Collection[int] = ()) -> bytes:
        if not languages.target:
            raise InputError("the target language is not known, which new translations are marked with")
        changed: list[Element] = []
        numbered = enumerate(zip(found, translations, strict=True))
        for number, ((text, given, target), (translated, confidence, *_)) in numbered:
            if not translated:
                continue
            unit = given.getparent()
            changed.append(unit)
            if target is None:
                target = text.element.makeelement(text.element.tag)
                variant = given.makeelement(given.tag, {_XML_LANGUAGE: languages.target})
                variant.append(target)
                last = unit[-1]
                variant.tail, last.tail = last.tail, unit.text
                unit.append(variant)
            text.write_to(target, translated, copies=True)
            if number not in confirmed:
                target.getparent().set("creationtool", "Dragoman")
                if confidence is not None:
                    rating = target.makeelement(f"{target.tag.removesuffix('seg')}prop", {"type": "x-confidence"})
                    rating.text, rating.tail = f"{confidence:.2f}", target.getparent().text
                    target.addprevious(rating)
        return file.written(changed)

    places = [f"line {text.element.sourceline}" for text, _, _ in found]
    return Document([text.inline.markup for text, _, _ in found], write, places, Units(done, write))


def _read(content: bytes, name: str, kind: str, names: Sequence[str]) -> XmlText:
    """A file whose outermost element has a name; `names` are those of elements that are changed."""
    file = XmlText(content, names)
    if local_name(file.root) != name:
        raise InputError(f"the file is not {kind}: its outermost element is {local_name(file.root)}")
    return file


def _role(element: Element) -> Role:
    return "wrapper" if local_name(element) in _WRAPPERS else "leaf"
