"""The segments of a document for people who translate them one by one, and the finished document.

Nothing is kept in between: the file is read again when it is written.
"""

from __future__ import annotations

import io
import json
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.corpora.writing import WRITERS
from dragoman.documents.document import Document, Languages, RatedText, Review, decoded
from dragoman.documents.files import open_document, require_limits
from dragoman.documents.inline import NOT_XML
from dragoman.documents.markup import MAX_SENTENCES, markup_paragraphs, sentences_of, translated_markup
from dragoman.documents.rendering import AlignedTranslation
from dragoman.errors import InputError
from dragoman.text.raw_lines import is_blank
from dragoman.text.sentences import replace_sentences


class HowRead(NamedTuple):
    """How a file is divided into segments."""

    kind: str
    """`.txt`, or one of `documents.files.KINDS`."""
    languages: Languages
    separate: bool
    """Whether every tag ends a segment."""
    most_texts: int
    most_characters: int


class Segment(NamedTuple):
    """A sentence of a document, or a unit that has its translation."""

    source: str
    paragraph: int
    """The number of the text that it stands in, from 0."""
    target: str | None
    """Its translation, where the file has one."""
    text: int
    """The index in `Document.texts`; -1 for a unit that has its translation."""
    plain: bool
    """Whether no element stands in its paragraph, so that words need not be linked."""
    fuzzy: bool = False
    """Whether the file says of its translation that somebody has to look at it, so that a person may change it."""


class FinishedSegment(NamedTuple):
    """What has become of a segment."""

    target: str | None
    """None where the file keeps what it has: the source, or the translation of a unit."""
    confirmed: bool


def file_segments(content: bytes, how: HowRead) -> list[Segment]:
    """The segments of a file, in order.

    Raises:
        InputError: the file is damaged, or has too many texts or characters.
    """
    if how.kind == ".txt":
        return _segments_of_text(_text(content, how), how)
    document = open_document(how.kind, content, how.languages)
    require_limits(document.texts, how.most_texts, how.most_characters)
    return _segments_of(document, how)


def read_finished(content: bytes, how: HowRead, targets: str, confirmed: str) -> list[tuple[Segment, FinishedSegment]]:
    """The segments of a file with the translations that a request brings.

    Args:
        targets: JSON, for each segment a string or null.
        confirmed: JSON, for each segment whether a person has confirmed it; "" for none.

    Raises:
        InputError: `targets` or `confirmed` is not a JSON list with an entry for each segment; or as for
        `file_segments`.
    """
    segments = file_segments(content, how)
    given = _json_list("targets", targets, len(segments), (str, type(None)))
    sure = _json_list("confirmed", confirmed, len(segments), (bool,)) if confirmed else [False] * len(segments)
    return [
        (segment, FinishedSegment(None if target is None or is_blank(target) else _given(segment, target), one))
        for segment, target, one in zip(segments, given, sure, strict=True)
    ]


def finished_file(
    content: bytes, how: HowRead, targets: list[AlignedTranslation | None], confirmed: list[bool]
) -> bytes:
    """A file with a translation, or None, for each of its segments.

    Raises:
        InputError: the file is damaged, or cannot be written.
    """
    if how.kind == ".txt":
        text = _text(content, how)
        [spans] = sentences_of([text], how.languages.source, MAX_SENTENCES)
        sources = [text[slice(*span)] for span in spans]
        shown = [source if one is None else one.text for source, one in zip(sources, targets, strict=True)]
        return replace_sentences(text, spans, shown).encode()
    document = open_document(how.kind, content, how.languages)
    segments = _segments_of(document, how)
    finished = list(zip(segments, targets, confirmed, strict=True))
    own = [one for one in finished if one[0].text >= 0]
    texts = translated_markup(
        document.texts, how.languages.source, how.separate, [target for _, target, _ in own], None
    )
    if document.units is None:
        return document.write(texts)
    sure = set()
    for number, parts in groupby(own, key=lambda one: one[0].text):
        of_text = list(parts)
        if any(target is None for _, target, _ in of_text):
            texts[number] = RatedText("", None)
        elif all(one for *_, one in of_text):
            sure.add(number)
    done = [one for one in finished if one[0].text < 0]
    reviews = {
        index: Review(target.text, is_confirmed)
        for index, (segment, target, is_confirmed) in enumerate(done)
        if segment.fuzzy and target is not None
    }
    return document.units.write(texts, sure, reviews)


def pairs_file(kind: str, pairs: list[tuple[str, str]], languages: Languages) -> bytes:
    """Pairs as a file of a kind, `.xliff` or `.tmx`.

    Raises:
        InputError: the languages are not known, or the same.
    """
    file = io.StringIO()
    with contextmanager(WRITERS[kind])(Path(kind), file, languages) as writer:
        for pair in pairs:
            writer.write(*pair)
    return file.getvalue().encode()


def _given(segment: Segment, target: str) -> str | None:
    """The translation that a segment gets. A fuzzy unit may have lines; what is not fuzzy is left."""
    writable = target if target == segment.target else NOT_XML.sub(" ", target)  # such as half a surrogate pair
    if segment.target is None:
        return " ".join(writable.split())
    return writable if segment.fuzzy else None


def _text(content: bytes, how: HowRead) -> str:
    text, _ = decoded(content)
    require_limits([text], how.most_texts, how.most_characters)
    return text


def _segments_of_text(text: str, how: HowRead) -> list[Segment]:
    """The sentences of plain text, whose lines are paragraphs."""
    [spans] = sentences_of([text], how.languages.source, MAX_SENTENCES)
    segments: list[Segment] = []
    paragraph, before = 0, 0
    for start, end in spans:
        paragraph += bool(segments) and len(f"{text[before:start]}.".splitlines()) > 1
        segments.append(Segment(text[start:end], paragraph, None, 0, plain=True))
        before = end
    return segments


def _segments_of(document: Document, how: HowRead) -> list[Segment]:
    done = [] if document.units is None else document.units.done
    segments: list[Segment] = []
    paragraph = 0
    texts = markup_paragraphs(document.texts, how.languages.source, how.separate, MAX_SENTENCES, None)
    for number, paragraphs in enumerate([*texts, []]):
        for unit in (one for one in done if one.texts_before == number):
            segments.append(Segment(unit.source, paragraph, unit.target, -1, plain=True, fuzzy=unit.fuzzy))
            paragraph += 1
        for own in paragraphs:
            segments += (Segment(sentence, paragraph, None, number, own.plain) for sentence in own.sentences)
            paragraph += bool(own.sentences)
    return segments


def _json_list(name: str, given: str, count: int, kinds: tuple[type, ...]) -> list[Any]:
    try:
        values = json.loads(given)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or not all(isinstance(one, kinds) for one in values):
        raise InputError(f"{name} must be a JSON list of {' or '.join(_NAMES[kind] for kind in kinds)}")
    if len(values) != count:
        raise InputError(f"{name} has {len(values)} entries, but the document has {count} segments")
    return values


_NAMES = {str: "strings", type(None): "null", bool: "true or false"}
