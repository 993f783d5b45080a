"""Files of translators (.po, .xliff, .tmx): units without a translation get one that is marked as a machine's.

A unit that has a translation is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dragoman.documents.archives import local_name, parsed, serialised
from dragoman.documents.document import Document, Languages, as_html, as_text, decoded
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
    filled: list[Callable[[Iterator[str]], None]] = []
    for entry in catalogue:
        if entry.obsolete or entry.msgstr or any(entry.msgstr_plural.values()) or not entry.msgid.strip():
            continue
        texts += [as_html(one) for one in (entry.msgid, entry.msgid_plural) if one]
        filled.append(_filling(entry))

    def write(translations: list[str]) -> bytes:
        left = iter(map(as_text, translations))
        for fill in filled:
            fill(left)
        return str(catalogue).encode(encoding)

    return Document(texts, write)


def _filling(entry: Any) -> Callable[[Iterator[str]], None]:
    """What gives an entry its translations."""

    def fill(translations: Iterator[str]) -> None:
        one = next(translations)
        if entry.msgid_plural:
            several = next(translations)
            forms = entry.msgstr_plural or {0: "", 1: ""}
            entry.msgstr_plural = {
                number: one if number == min(forms) and len(forms) > 1 else several for number in forms
            }
        else:
            entry.msgstr = one
        if "fuzzy" not in entry.flags:
            entry.flags.append("fuzzy")

    return fill


def read_xliff(content: bytes, languages: Languages) -> Document:
    """Read XLIFF 1.2 or 2; new translations have the state `needs-review-translation` or `translated`.

    Raises:
        InputError: it is not XLIFF, or damaged.
    """
    root = _root(content, "xliff", "XLIFF")
    found: list[tuple[MixedText, Element, Element]] = []
    for unit in root.iter("{*}trans-unit", "{*}segment"):
        source = next((one for one in unit if local_name(one) == "seg-source"), None)
        source = source if source is not None else next((one for one in unit if local_name(one) == "source"), None)
        target = next((one for one in unit if local_name(one) == "target"), None)
        if source is None or (target is not None and "".join(target.itertext()).strip()) or _is_locked(unit):
            continue
        text = MixedText(source, _role)
        if text.inline.has_words:
            found.append((text, unit, source))

    def write(translations: list[str]) -> bytes:
        for (text, unit, source), translated in zip(found, translations, strict=True):
            target = next((one for one in unit if local_name(one) == "target"), None)
            if target is None:
                target = source.makeelement(
                    source.tag.rpartition("}")[0] + "}target" if "}" in source.tag else "target"
                )
                target.tail = source.tail
                source.addnext(target)
            text.write_to(target, translated, copies=True)
            if local_name(unit) == "segment":
                unit.set("state", "translated")
            else:
                target.set("state", "needs-review-translation")
                target.set("state-qualifier", "mt-suggestion")
        _name_target(root, languages)
        return serialised(root)

    return Document([text.inline.markup for text, _, _ in found], write)


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
        if given is None or (target is not None and "".join(target.itertext()).strip()):
            continue
        text = MixedText(given, _role)
        if text.inline.has_words:
            found.append((text, given.getparent(), target))

    def write(translations: list[str]) -> bytes:
        if not languages.target:
            raise InputError("the target language is not known, which new translations are marked with")
        for (text, variant, target), translated in zip(found, translations, strict=True):
            if target is None:
                new = variant.makeelement(variant.tag, {_XML_LANGUAGE: languages.target})
                target = text.element.makeelement(text.element.tag)
                new.append(target)
                new.tail = variant.tail
                variant.getparent().append(new)
            text.write_to(target, translated, copies=True)
        return serialised(root)

    return Document([text.inline.markup for text, _, _ in found], write)


def _root(content: bytes, name: str, kind: str) -> Element:
    root = parsed(content)
    if local_name(root) != name:
        raise InputError(f"the file is not {kind}: its outermost element is {local_name(root)}")
    return root


def _role(element: Element) -> Role:
    return "wrapper" if local_name(element) in _WRAPPERS else "leaf"
