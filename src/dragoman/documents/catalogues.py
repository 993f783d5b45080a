"""Files of translators (.po, .xliff, .tmx): units without a translation get one that is marked as a machine's.

A unit that has a translation is never touched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dragoman.documents.archives import local_name, parsed, serialised
from dragoman.documents.document import Document, DoneUnit, Languages, RatedText, Units, as_html, as_text, decoded
from dragoman.documents.inline import NOT_XML
from dragoman.documents.mixed import MixedText, Role
from dragoman.errors import InputError
from dragoman.text.languages import base_language
from dragoman.translation_memory.memory import MemoryMatch

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_WRAPPERS = frozenset(("g", "mrk", "pc", "hi", "sub"))
"""Elements of the sentence; all others of XLIFF and TMX stand for tags."""


def read_catalogue(content: bytes, languages: Languages) -> Document:
    """Read a catalogue of gettext; new translations are fuzzy, and of a plural all forms are translated.

    All lines but those of the new translations stay as they are.

    Raises:
        InputError: it is damaged, or not UTF-8.
    """
    import polib

    text, encoding = decoded(content)
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
        return "".join([*result, *lines[place:]]).encode(encoding)

    return Document(texts, write, places, Units(done, write))


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
    root = _root(content, "xliff", "XLIFF")
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
        numbered = enumerate(zip(found, translations, strict=True))
        for number, ((text, unit, source), (translated, confidence, matches)) in numbered:
            if not translated:
                continue
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
            elif number in confirmed:
                target.set("state", "translated")
            else:
                is_kept = bool(matches) and matches[0].score == 1
                target.set("state", "needs-review-translation")
                target.set("state-qualifier", "exact-match" if is_kept else "mt-suggestion")
                _add_alternatives(target, matches[is_kept:])
            if confidence is not None and number not in confirmed:
                _add_note(unit, target, _remark(confidence))
        _name_target(root, languages)
        return serialised(root)

    return Document(
        [text.inline.markup for text, _, _ in found],
        write,
        [_unit_name(unit) for _, unit, _ in found],
        Units(done, write),
    )


def _words(element: Element) -> str:
    """The text of an element, with plain spaces."""
    return " ".join("".join(element.itertext()).split())


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
    above = unit.getparent()
    assert above is not None
    notes = above.find(f"{name}notes")
    if notes is None:
        notes = target.makeelement(f"{name}notes")
        notes.tail = above.text
        above.insert(0, notes)
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
        for side, text in (("source", match.source), ("target", match.target)):
            part = target.makeelement(f"{name}{side}")
            part.text = NOT_XML.sub("", text)
            found.append(part)
        found.tail = target.tail
        target.addnext(found)


def _is_locked(unit: Element) -> bool:
    """Whether a unit must not be translated."""
    nearest = next((one.get("translate") for one in (unit, *unit.iterancestors()) if one.get("translate")), "yes")
    return nearest == "no" or unit.get("approved") == "yes"


def _name_target(root: Element, languages: Languages) -> None:
    """Name the target language where none is named."""
    if not languages.target:
        return
    if root.get("srcLang") and not root.get("trgLang"):
        root.set("trgLang", languages.target)
    for file in root.iter("{*}file"):
        if file.get("source-language") and not file.get("target-language"):
            file.set("target-language", languages.target)


def read_memory(content: bytes, languages: Languages) -> Document:
    """Read a translation memory (TMX); units without the target language get it.

    Raises:
        InputError: it is not TMX, or damaged; where it is written, the target language is not known.
    """
    root = _root(content, "tmx", "TMX")
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
        for (text, variant, target), (translated, *_) in zip(found, translations, strict=True):
            if not translated:
                continue
            if target is None:
                new = variant.makeelement(variant.tag, {_XML_LANGUAGE: languages.target})
                target = text.element.makeelement(text.element.tag)
                new.append(target)
                new.tail = variant.tail
                variant.getparent().append(new)
            text.write_to(target, translated, copies=True)
        return serialised(root)

    places = [f"line {text.element.sourceline}" for text, _, _ in found]
    return Document([text.inline.markup for text, _, _ in found], write, places, Units(done, write))


def _root(content: bytes, name: str, kind: str) -> Element:
    root = parsed(content)
    if local_name(root) != name:
        raise InputError(f"the file is not {kind}: its outermost element is {local_name(root)}")
    return root


def _role(element: Element) -> Role:
    return "wrapper" if local_name(element) in _WRAPPERS else "leaf"
