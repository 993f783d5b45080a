"""XLIFF and translation memories (TMX): units without a translation get one that is marked as a machine's.

A unit that has a translation is touched only where that is fuzzy and a person has reviewed it; of the others, only the
text changes.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dragoman.corpora.translation_units import FUZZY, UNTRANSLATED
from dragoman.corpora.xml_stream import local_name
from dragoman.documents.document import CASES, REMARK, Document, DoneUnit, Languages, RatedText, Review, Units, remark
from dragoman.documents.inline import NOT_XML
from dragoman.documents.markup import edited_markup
from dragoman.documents.mixed import Half, MixedText, Role
from dragoman.documents.xml_text import XmlText
from dragoman.errors import InputError
from dragoman.text.languages import base_language
from dragoman.text.raw_lines import has_letter
from dragoman.translation_memory.memory import MemoryMatch

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_MEMOQ_STATUS, _MEMOQ_LOCKED = "{MQXliff}status", "{MQXliff}locked"
_MATCHES = "urn:oasis:names:tc:xliff:matches:2.0"
_WRAPPERS = frozenset(("g", "mrk", "pc", "hi", "sub"))
"""Elements of the sentence; all others of XLIFF and TMX stand for tags."""
_BEGIN, _END = ("bpt", "bx", "sc"), ("ept", "ex", "ec")
"""Tags that begin and end a formatting."""


class _Segment(NamedTuple):
    """What is translated as one in XLIFF: a unit, or a sentence that is marked in it."""

    text: MixedText
    """The source; of a fuzzy segment the target."""
    unit: Element
    """The trans-unit of XLIFF 1.2, or the segment of 2."""
    number: str
    """The number of its mark; "" for a whole unit."""


def read_xliff(content: bytes, languages: Languages) -> Document:
    """Read XLIFF 1.2, also that of Trados and memoQ, or 2; a sentence that is marked in a unit is a segment.

    New translations have the state `needs-review-translation` (1.2) or `translated` (2); in files of Trados and memoQ
    they are marked as these programs mark machine translations. The file states their confidence.

    Raises:
        InputError: it is not XLIFF, or damaged.
    """
    file = _read(content, "xliff", "XLIFF", ("trans-unit", "unit", "file", "xliff"))
    root = file.root
    segments, done, fuzzy, left = _read_segments(root)
    left += [segment for segment in segments if _has_text_in_code(segment.text.element)]

    def write(
        translations: list[RatedText], confirmed: Collection[int] = (), reviews: Mapping[int, Review] | None = None
    ) -> bytes:
        reviews = reviews or {}
        changed: dict[Element, None] = {}
        unsure = [
            *(one for index, one in fuzzy.items() if index not in reviews or not reviews[index].confirmed),
            *(one for number, one in enumerate(segments) if translations[number].text and number not in confirmed),
        ]
        to_review = {one.unit for one in unsure}
        for number, (segment, translated) in enumerate(zip(segments, translations, strict=True)):
            if not translated.text:
                continue
            changed[_unit_of(segment.unit)] = None
            target = _target(segment)
            segment.text.write_to(target, translated.text, copies=True)
            _number_copies(target, _unit_of(segment.unit))
            _mark(segment, translated, is_sure=number in confirmed and _may_be_final(segment, to_review))
        for index, review in reviews.items():
            segment = fuzzy[index]
            is_edited = review.target != done[index].target
            is_sure = review.confirmed and _may_be_final(segment, to_review)
            if is_edited:
                _edit(segment, review.target)
            if is_sure:
                _mark(segment, RatedText(review.target, None), is_sure=True)
            if is_edited or is_sure:
                changed[_unit_of(segment.unit)] = None
        return file.written(changed, _names_of_target(root, languages))

    return Document(
        [segment.text.inline.markup for segment in segments],
        write,
        [_segment_name(segment) for segment in segments],
        Units(done, write),
        untranslated=[_segment_name(segment) for segment in left],
        declared=_declared(root),
    )


def _read_segments(root: Element) -> tuple[list[_Segment], list[DoneUnit], dict[int, _Segment], list[_Segment]]:
    """The segments to translate, those with a translation, the fuzzy ones of these by their index, and those left.

    Those of a file whose languages differ from those of the first are left.
    """
    first = _declared(root)
    others = {file for file in root.iter("{*}file") if _differ(_languages_of(root, file), first)}
    segments: list[_Segment] = []
    left: list[_Segment] = []
    done: list[DoneUnit] = []
    fuzzy: dict[int, _Segment] = {}
    for unit in root.iter("{*}trans-unit", "{*}segment"):
        if _child(unit, "source") is None or _is_locked(unit):
            continue
        of_other = bool(others) and next(unit.iterancestors("{*}file"), None) in others
        for number, source, target in _segments(unit):
            definition = _definition(unit, number)
            if definition is not None and definition.get("locked") == "true":
                continue
            if target is not None and _words(target) and not _is_copy(unit, source, target):
                if of_other:
                    continue
                if _is_fuzzy(unit, number):
                    fuzzy[len(done)] = _Segment(MixedText(target, _role, _half), unit, number)
                    done.append(DoneUnit(len(segments), _shown(source), _shown(target), fuzzy=True))
                else:
                    done.append(DoneUnit(len(segments), _words(source), _words(target), fuzzy=False))
                continue
            text = MixedText(source, _role, _half, lines=_keeps_lines(source))
            if text.inline.has_words:
                stays = of_other or CASES.search(_words(source))
                (left if stays else segments).append(_Segment(text, unit, number))
    return segments, done, fuzzy, left


def _may_be_final(segment: _Segment, to_review: Collection[Element]) -> bool:
    """Whether a confirmed segment can be marked so: sentences of a unit share its state, except those of Trados."""
    return segment.unit not in to_review or _definition(segment.unit, segment.number) is not None


def _edit(segment: _Segment, text: str) -> None:
    """Write an edited translation; the codes stay around the words that stay."""
    target = segment.text.element
    own = text if _keeps_lines(target) else " ".join(text.split())
    segment.text.write(edited_markup(segment.text.inline.markup, own))
    _number_copies(target, _unit_of(segment.unit))


def _declared(root: Element) -> Languages:
    """The languages that XLIFF names, for its first file."""
    return _languages_of(root, next(root.iter("{*}file"), root))


def _languages_of(root: Element, file: Element) -> Languages:
    source = root.get("srcLang") or file.get("source-language") or ""
    return Languages(source, root.get("trgLang") or file.get("target-language") or "")


def _differ(one: Languages, other: Languages) -> bool:
    """Whether both name a source or a target, and not the same language."""
    pairs = ((one.source, other.source), (one.target, other.target))
    return any(a and b and base_language(a).lower() != base_language(b).lower() for a, b in pairs)


def _child(unit: Element, name: str) -> Element | None:
    """The first element of a name in a unit."""
    return next((one for one in unit if local_name(one) == name), None)


def _marks(element: Element | None) -> dict[str, Element]:
    """The sentences that are marked in an element, by number; none if two have the same number."""
    marks = [] if element is None else [mark for mark in element.iter("{*}mrk") if mark.get("mtype") == "seg"]
    numbered = {mark.get("mid", ""): mark for mark in marks}
    return numbered if len(numbered) == len(marks) and "" not in numbered else {}


def _segments(unit: Element) -> Iterator[tuple[str, Element, Element | None]]:
    """The number, source and target of each segment of a unit; the number of a whole unit is ""."""
    marked, target = _child(unit, "seg-source"), _child(unit, "target")
    sources, targets = _marks(marked), _marks(target)
    if sources and (targets or target is None or not _words(target)):
        yield from ((number, source, targets.get(number)) for number, source in sources.items())
        return
    source = _child(unit, "source") if marked is None else marked
    assert source is not None
    yield "", source, target


def _target(segment: _Segment) -> Element:
    """The element that a translation is written to; it is created if there is none."""
    unit = segment.unit
    source = _child(unit, "seg-source")
    source = _child(unit, "source") if source is None else source
    assert source is not None
    target = _child(unit, "target")
    if target is None:
        target = source.makeelement(_namespace(source) + "target")
        target.tail = source.tail
        source.addnext(target)
    if not segment.number:
        return target
    marks = _marks(target)
    if not marks:
        marked = copy.deepcopy(source)
        marks = _marks(marked)
        for mark in marks.values():
            if MixedText(mark, _role).inline.has_words:
                _empty(mark)
        _empty(target)
        target.text = marked.text
        target.extend(list(marked))
    if segment.number not in marks:
        mark = copy.deepcopy(segment.text.element)
        mark.tail = None
        target.append(mark)
        return mark
    return marks[segment.number]


def _empty(element: Element) -> None:
    """Remove what is inside of an element."""
    element.text = None
    for child in list(element):
        element.remove(child)


def _mark(segment: _Segment, translated: RatedText, *, is_sure: bool) -> None:
    """Mark where a translation comes from, in the way of the program that has written the file."""
    unit, number = segment.unit, segment.number
    matches, confidence = ((), None) if is_sure else (translated.matches, translated.confidence)
    if is_sure:
        _remove_remarks(unit, number)
    is_kept = bool(matches) and matches[0].score == 1
    note = "" if confidence is None else remark(confidence)
    if local_name(unit) == "segment":
        unit.set("state", "reviewed" if is_sure else "translated")
        unit.attrib.pop("subState", None)
        if not is_sure:
            unit.set("subState", "dragoman:tm" if is_kept else "dragoman:mt")
        _add_matches(unit, matches)
        if note:
            _add_note_to_unit(unit, note)
        return
    definition = _definition(unit, number)
    if definition is not None:
        for name in ("percent", "struct-match", "text-match", "origin-system"):  # of what stood there before
            definition.attrib.pop(name, None)
        definition.set("conf", "Translated" if is_sure else "Draft")
        definition.set("origin", "interactive" if is_sure else "tm" if is_kept else "mt")
        if not is_sure:
            definition.set("origin-system", "Dragoman")
        if confidence is not None:
            value = definition.makeelement(_namespace(definition) + "value", {"key": "confidence"})
            value.text = f"{confidence:.2f}"
            definition.append(value)
        return
    target = _child(unit, "target")
    assert target is not None
    if unit.get(_MEMOQ_STATUS):
        unit.set(_MEMOQ_STATUS, "ManuallyConfirmed" if is_sure else "PreTranslated" if is_kept else "MachineTranslated")
    elif is_sure:
        target.set("state", "translated")
        target.attrib.pop("state-qualifier", None)
    else:
        target.set("state", "needs-review-translation")
        target.set("state-qualifier", "exact-match" if is_kept else "mt-suggestion")
    _add_alternatives(target, matches[is_kept:], number)
    if note:
        _add_note(target, f"segment {number}: {note}" if number else note)


def _remove_remarks(unit: Element, number: str) -> None:
    """Remove what the file says of the confidence of an earlier translation by a machine."""
    above, definition = _unit_of(unit), _definition(unit, number)
    of_segment = number or (unit.get("id") if above is not unit else None)
    for note in [
        *above.iterfind("{*}note[@from='Dragoman']"),
        *above.iterfind("{*}notes/{*}note[@category='confidence']"),
    ]:
        text = note.text or ""
        if REMARK.fullmatch(text.removeprefix(f"segment {of_segment}: ")):
            _remove(note)
    for value in () if definition is None else definition.findall("{*}value[@key='confidence']"):
        _remove(value)


def _remove(element: Element) -> None:
    """Remove an element, and what is around it and then empty, but not what follows it."""
    above, before = element.getparent(), element.getprevious()
    assert above is not None
    if before is None:
        above.text = element.tail
    else:
        before.tail = element.tail
    above.remove(element)
    if local_name(above) == "notes" and not len(above):
        _remove(above)


def _definition(unit: Element, number: str) -> Element | None:
    """What Trados says about a segment of a unit."""
    definitions = unit.iterfind("{*}seg-defs/{*}seg") if number else ()
    return next((one for one in definitions if one.get("id") == number), None)


def _is_fuzzy(unit: Element, number: str) -> bool:
    """Whether the state of a translation says that somebody has to look at it."""
    target, definition = _child(unit, "target"), _definition(unit, number)
    states = {unit.get("state"), unit.get("subState"), unit.get(_MEMOQ_STATUS)}
    states |= set() if target is None else {target.get("state"), target.get("state-qualifier")}
    states |= set() if definition is None else {definition.get("conf", "Unspecified")}
    return not states.isdisjoint(UNTRANSLATED | FUZZY)


def _is_copy(unit: Element, source: Element, target: Element) -> bool:
    """Whether a target is the source, in a unit whose state says that it has not been translated."""
    state = unit.get("state") if local_name(unit) == "segment" else target.get("state")
    return state in ("initial", "new", "needs-translation") and _words(source) == _words(target)


def _keeps_lines(element: Element) -> bool:
    """Whether the line breaks in an element mean something."""
    spaces = (one.get(_XML_SPACE) for one in (element, *element.iterancestors()))
    return next(filter(None, spaces), "default") == "preserve"


def _namespace(element: Element) -> str:
    """The namespace of an element in braces; "" without one."""
    return "".join(str(element.tag).rpartition("}")[:2])


def _words(element: Element) -> str:
    """The text of an element without its codes, with plain spaces."""
    return " ".join("".join(_texts(element)).split())


def _shown(element: Element) -> str:
    """The text of an element without its codes, with its own spaces where they mean something."""
    return "".join(_texts(element)).strip() if _keeps_lines(element) else _words(element)


def _texts(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if isinstance(child.tag, str) and _role(child) != "leaf":
            yield from _texts(child)
        yield child.tail or ""


def _unit_of(unit: Element) -> Element:
    """The unit of a segment of XLIFF 2; in 1.2 the unit itself."""
    above = unit.getparent() if local_name(unit) == "segment" else unit
    assert above is not None
    return above


def _segment_name(segment: _Segment) -> str:
    unit = segment.unit
    number = segment.number or unit.get("id")
    if local_name(unit) == "segment" or segment.number:
        above = _unit_of(unit) if local_name(unit) == "segment" else unit
        return f"unit {above.get('id')}" + (f", segment {number}" if number else "")
    return f"unit {number}"


def _number_copies(target: Element, unit: Element) -> None:
    """Give each second copy of an element in a translation its own number, as XLIFF and TMX require."""
    seen: set[str] = set()
    begun: dict[str, list[Element]] = {}
    copies: list[Element] = []
    for one in list(target.iter("{*}pc", "{*}mrk", *(f"{{*}}{name}" for name in (*_BEGIN, *_END)))):
        half = _half(one)
        key = f"id {one.get('id')}" if half is None else half.key
        if half is not None and not half.begins:
            first = begun[key].pop() if begun.get(key) else one
            if first in copies:
                _renumber(one, unit, first)
            continue
        if half is not None:
            begun.setdefault(key, []).append(one)
        if key in seen:
            copies.append(one)
            _renumber(one, unit)
        seen.add(key)


def _renumber(element: Element, unit: Element, first: Element | None = None) -> None:
    """Give a copy of an element numbers that are free in its unit, or the numbers of `first`, which it ends."""
    if local_name(element) in ("pc", "sc") and not any(map(element.get, ("dataRef", "dataRefStart", "dataRefEnd"))):
        element.set("copyOf", element.get("copyOf") or element.get("id") or "")
    for name in ("i", "rid", "id", "startRef"):
        number = element.get(name)
        if not number:
            continue
        shared = (
            None
            if first is None or (name == "id" and first.get("rid"))
            else first.get("id" if name == "startRef" else name)
        )
        element.set(name, shared or _free_id(unit, "" if name == "i" else f"{number}-"))


def _free_id(unit: Element, prefix: str) -> str:
    """A number that no element of a unit has."""
    others = {one.get(name) for one in unit.iter() if isinstance(one.tag, str) for name in ("id", "rid", "i")}
    return next(name for name in map(f"{prefix}{{}}".format, range(1, len(others) + 2)) if name not in others)


def _add_note(target: Element, text: str) -> None:
    """Add a note on a translation of XLIFF 1.2 behind it, and behind earlier notes."""
    note = target.makeelement(f"{_namespace(target)}note", {"from": "Dragoman", "annotates": "target"})
    last = target
    while (after := last.getnext()) is not None and after.get("from") == "Dragoman":
        last = after
    note.text, note.tail = text, last.tail
    last.addnext(note)


def _add_note_to_unit(segment: Element, text: str) -> None:
    """Add a note on a translation of XLIFF 2 at the beginning of the unit, as segments have no notes."""
    name, above = _namespace(segment), _unit_of(segment)
    notes = above.find(f"{name}notes")
    if notes is None:
        notes = segment.makeelement(f"{name}notes")
        notes.tail = above.text
        # Behind elements of other namespaces, such as matches.
        index = next((at for at, one in enumerate(above) if str(one.tag).startswith(name or str(one.tag))), 0)
        above.insert(index, notes)
    note = segment.makeelement(f"{name}note", {"appliesTo": "target", "category": "confidence"})
    number = segment.get("id")
    note.text = f"segment {number}: {text}" if number else text
    notes.append(note)


def _add_alternatives(target: Element, matches: Sequence[MemoryMatch], number: str) -> None:
    """Add near matches of a translation memory behind a translation of XLIFF 1.2, or of a sentence that is marked."""
    name = _namespace(target)
    of_mark = {"mid": number} if number else {}
    for match in reversed(matches):
        about = {"match-quality": f"{match.score:.0%}", "origin": "memory", **of_mark}
        alternative = target.makeelement(f"{name}alt-trans", about)
        _add_sides(alternative, name, match)
        alternative.tail = target.tail
        target.addnext(alternative)


def _add_matches(segment: Element, matches: Sequence[MemoryMatch]) -> None:
    """Add matches of a translation memory to the unit of a segment of XLIFF 2."""
    if not matches:
        return
    unit = _unit_of(segment)
    core = _namespace(segment)
    if not segment.get("id"):  # which a match refers to
        segment.set("id", _free_id(unit, "s"))
    listed = unit.find(f"{{{_MATCHES}}}matches")
    if listed is None:
        listed = unit.makeelement(f"{{{_MATCHES}}}matches", nsmap={"mtc": _MATCHES})
        listed.tail = unit.text
        unit.insert(0, listed)
    for match in matches:
        reference = {"ref": f"#{segment.get('id')}", "similarity": f"{100 * match.score:.1f}", "type": "tm"}
        entry = unit.makeelement(f"{{{_MATCHES}}}match", reference)
        _add_sides(entry, core, match)
        listed.append(entry)


def _add_sides(element: Element, name: str, match: MemoryMatch) -> None:
    """Add both sides of a match; `name` is the namespace in braces."""
    for side, text in (("source", match.source), ("target", match.target)):
        part = element.makeelement(f"{name}{side}")
        part.text = NOT_XML.sub("", text)
        element.append(part)


def _is_locked(unit: Element) -> bool:
    """Whether a unit must not be translated."""
    nearest = next((one.get("translate") for one in (unit, *unit.iterancestors()) if one.get("translate")), "yes")
    return nearest == "no" or unit.get("approved") == "yes" or unit.get(_MEMOQ_LOCKED, "no") not in ("no", "false")


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
    """Read a translation memory (TMX); units without the target language get a translation that names Dragoman, and a
    property states its confidence.

    Raises:
        InputError: the file is not TMX, or damaged; when it is written, the target language is not known.
    """
    file = _read(content, "tmx", "TMX", ("tu",))
    root = file.root
    header = next(root.iter("{*}header"), None)
    source = languages.source or (header.get("srclang", "") if header is not None else "")
    units: list[tuple[MixedText, Element, Element | None]] = []
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
            done.append(DoneUnit(len(units), _words(given), _words(target), fuzzy=False))
            continue
        text = MixedText(given, _role, _half)
        if text.inline.has_words:
            units.append((text, given.getparent(), target))

    def write(
        translations: list[RatedText], confirmed: Collection[int] = (), reviews: Mapping[int, Review] | None = None
    ) -> bytes:
        if not languages.target:
            raise InputError("the target language is not known, and new translations must be marked with it")
        changed: list[Element] = []
        numbered = enumerate(zip(units, translations, strict=True))
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
            _number_copies(target, unit)
            if number not in confirmed:
                target.getparent().set("creationtool", "Dragoman")
                if confidence is not None:
                    rating = target.makeelement(f"{target.tag.removesuffix('seg')}prop", {"type": "x-confidence"})
                    rating.text, rating.tail = f"{confidence:.2f}", target.getparent().text
                    target.addprevious(rating)
        return file.written(changed)

    places = [f"line {text.element.sourceline}" for text, _, _ in units]
    lost = [place for place, (text, _, _) in zip(places, units, strict=True) if _has_text_in_code(text.element)]
    return Document([text.inline.markup for text, _, _ in units], write, places, Units(done, write), untranslated=lost)


def _has_text_in_code(element: Element) -> bool:
    """Whether a tag has text of its own, such as the description of a picture."""
    return any(has_letter("".join(map(str, sub.itertext()))) for sub in element.iter("{*}sub"))


def _read(content: bytes, name: str, kind: str, names: Sequence[str]) -> XmlText:
    """Read a file whose outermost element must be called `name`; `names` are those of elements that are changed."""
    file = XmlText(content, names)
    if local_name(file.root) != name:
        raise InputError(f"the file is not {kind}: its outermost element is {local_name(file.root)}")
    return file


def _role(element: Element) -> Role:
    if local_name(element) not in _WRAPPERS:
        return "leaf"
    is_kept = element.get("translate") == "no" or element.get("mtype") == "protected"
    return "word" if is_kept else "wrapper"


def _half(element: Element) -> Half | None:
    """The half that an element of XLIFF or TMX is, if it begins or ends a formatting."""
    begins = local_name(element) in _BEGIN
    if not begins and local_name(element) not in _END:
        return None
    name = next((one for one in ("rid", "i", "startRef", "id") if element.get(one)), "")
    if not name or element.get("isolated") == "yes":
        return None
    return Half(begins, f"{'id' if name == 'startRef' else name} {element.get(name)}")
