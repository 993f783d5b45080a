"""Files of translators (.po, .xliff, .tmx): units without a translation get one that is marked as a machine's.

A unit that has a translation is never touched.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from dragoman.documents.archives import local_name, parsed, serialised
from dragoman.documents.document import Document, DoneUnit, Languages, Units, as_html, as_text, decoded
from dragoman.documents.mixed import MixedText, Role
from dragoman.errors import InputError
from dragoman.text.languages import base_language

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_WRAPPERS = frozenset(("g", "mrk", "pc", "hi", "sub"))
"""Elements of the sentence; all others of XLIFF and TMX stand for tags."""


def read_catalogue(content: bytes, languages: Languages) -> Document:
    """Read a catalogue of gettext; new translations are fuzzy, and of a plural all forms are translated.

    Raises:
        InputError: it is damaged, or not UTF-8.
    """
    import polib

    text, encoding = decoded(content)
    try:
        catalogue = polib.pofile(f"{text}\n")
    except (OSError, ValueError, IndexError, UnicodeError) as error:
        raise InputError(f"the file is not a catalogue, or is damaged: {error}") from None
    texts: list[str] = []
    entries: list[Any] = []
    done: list[DoneUnit] = []
    for entry in catalogue:
        translated = entry.msgstr or next(filter(None, entry.msgstr_plural.values()), "")
        if entry.obsolete or not entry.msgid.strip():
            continue
        if translated:
            done.append(DoneUnit(len(texts), entry.msgid, translated))
            continue
        texts += [as_html(one) for one in (entry.msgid, entry.msgid_plural) if one]
        entries.append(entry)

    def write(translations: list[str], confirmed: Collection[int] = ()) -> bytes:
        left = iter(enumerate(map(as_text, translations)))
        for entry in entries:
            own = [next(left) for one in (entry.msgid, entry.msgid_plural) if one]
            if all(text for _, text in own):
                _fill(entry, [text for _, text in own], fuzzy=any(number not in confirmed for number, _ in own))
        return str(catalogue).encode(encoding)

    return Document(texts, write, Units(done, write))


def _fill(entry: Any, translations: list[str], *, fuzzy: bool) -> None:
    """Give an entry its translations."""
    if entry.msgid_plural:
        one, several = translations
        forms = entry.msgstr_plural or {0: "", 1: ""}
        entry.msgstr_plural = {number: one if number == min(forms) and len(forms) > 1 else several for number in forms}
    else:
        [entry.msgstr] = translations
    if fuzzy and "fuzzy" not in entry.flags:
        entry.flags.append("fuzzy")


def read_xliff(content: bytes, languages: Languages) -> Document:
    """Read XLIFF 1.2 or 2; new translations have the state `needs-review-translation` or `translated`.

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

    def write(translations: list[str], confirmed: Collection[int] = ()) -> bytes:
        for number, ((text, unit, source), translated) in enumerate(zip(found, translations, strict=True)):
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
                target.set("state", "needs-review-translation")
                target.set("state-qualifier", "mt-suggestion")
        _name_target(root, languages)
        return serialised(root)

    return Document([text.inline.markup for text, _, _ in found], write, Units(done, write))


def _words(element: Element) -> str:
    """The text of an element, with plain spaces."""
    return " ".join("".join(element.itertext()).split())


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

    def write(translations: list[str], confirmed: Collection[int] = ()) -> bytes:
        if not languages.target:
            raise InputError("the target language is not known, which new translations are marked with")
        for (text, variant, target), translated in zip(found, translations, strict=True):
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

    return Document([text.inline.markup for text, _, _ in found], write, Units(done, write))


def _root(content: bytes, name: str, kind: str) -> Element:
    root = parsed(content)
    if local_name(root) != name:
        raise InputError(f"the file is not {kind}: its outermost element is {local_name(root)}")
    return root


def _role(element: Element) -> Role:
    return "wrapper" if local_name(element) in _WRAPPERS else "leaf"
