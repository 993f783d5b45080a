"""Find the sentences of texts and of HTML, and put their translations in their place.

Nothing is kept between reading and writing: HTML is read again when it is written, so another process can write it.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.documents.document import RatedText
from dragoman.documents.html_text import Markup, Text, Xml
from dragoman.documents.rendering import AlignedTranslation, edited, original, render, unchanged
from dragoman.errors import InputError
from dragoman.text.raw_lines import has_letter
from dragoman.text.sentences import Span, sentence_spans
from dragoman.translation_memory.memory import MemoryMatch

MAX_SENTENCES = 50_000
"""Sentences of a request."""


def sentences_of(texts: Sequence[str], language: str, most: int) -> list[list[Span]]:
    """The spans of the sentences of each text.

    Raises:
        InputError: there are more than `most`.
    """
    spans, count = [], 0
    for text in texts:
        spans.append(sentence_spans(text, language))
        count += len(spans[-1])
        if count > most:
            raise InputError(f"request has more than {most} sentences")
    return spans


def markup_sentences(texts: Sequence[str], language: str, separate: bool, most: int, xml: Xml | None) -> list[str]:
    """The sentences of HTML, of all texts in order; with `separate` every tag ends one; with `xml` of XML.

    Raises:
        InputError: there are more than `most`.
    """
    paragraphs = [one for own in markup_paragraphs(texts, language, separate, most, xml) for one in own]
    return [sentence for paragraph in paragraphs for sentence in paragraph.sentences]


class Paragraph(NamedTuple):
    """A text between two block tags."""

    sentences: list[str]
    plain: bool
    """Whether no element stands in it."""


def markup_paragraphs(
    texts: Sequence[str], language: str, separate: bool, most: int, xml: Xml | None
) -> list[list[Paragraph]]:
    """The paragraphs of each text of HTML; otherwise as `markup_sentences`."""
    parts = [_document(text, separate, xml).texts for text in texts]
    spans = iter(sentences_of([part.text for own in parts for part in own], language, most))
    return [
        [Paragraph([part.text[slice(*span)] for span in next(spans)], not part.elements) for part in own]
        for own in parts
    ]


def lines_of_sentences(text: str, language: str, separate: bool) -> list[int]:
    """The lines, from 1, in which the sentences of HTML begin, in the order of `markup_sentences`."""
    lines: list[int] = []
    line = 1
    for part in _document(text, separate, None).parts:
        if isinstance(part, str):
            line += part.count("\n")
            continue
        if has_letter(part.text):
            lines += [line + _line_breaks_before(part, start) for start, _ in sentence_spans(part.text, language)]
        line += original(part).count("\n")
    return lines


def _line_breaks_before(text: Text, position: int) -> int:
    """The line breaks before a position of a text, also those in tags and in elements that are not translated."""
    marks = [(one.end, one.kept) if one.kept is not None else (one.start, one.open) for one in text.elements]
    marks += [(one.end, one.close) for one in text.elements]
    before = [*text.raw[:position], *(mark for at, mark in marks if at <= position)]
    return "".join(before).count("\n")


def translated_markup(
    texts: list[str], language: str, separate: bool, sentences: Sequence[AlignedTranslation | None], xml: Xml | None
) -> list[RatedText]:
    """HTML with the translations of `markup_sentences` in their place; a sentence without one stays."""
    translated, answers = [], iter(sentences)
    for text in texts:
        document = _document(text, separate, xml)
        pieces: list[str] = []
        confidences: list[float | None] = []
        matches: list[Sequence[MemoryMatch]] = []
        for part in document.parts:
            spans = [] if isinstance(part, str) else sentence_spans(part.text, language)
            own = [next(answers) for _ in spans]
            confidences += [None if one is None else one.confidence for one in own]
            matches += [() if one is None else one.matches for one in own]
            if isinstance(part, str):
                pieces.append(part)
            elif not any(own):
                pieces.append(original(part))
            else:
                given = [one or unchanged(part.text[slice(*span)]) for one, span in zip(own, spans, strict=True)]
                pieces.append(render(document, part, spans, given))
        known = [one for one in confidences if one is not None]
        lowest = min(known) if known and len(known) == len(confidences) else None
        translated.append(RatedText("".join(pieces), lowest, matches[0] if len(matches) == 1 else ()))
    return translated


def edited_markup(markup: str, text: str) -> str:
    """HTML of one text with that text edited; its elements stay around the words that stay."""
    document = _document(markup, separate=False, xml=None)
    texts = [part for part in document.parts if not isinstance(part, str)]
    if len(texts) != 1:  # so many elements that they end texts
        return html.escape(text, quote=False)
    [before] = texts
    span = len(before.text) - len(before.text.lstrip()), len(before.text.rstrip())
    new = edited(before.text[slice(*span)], text)
    parts = (part if isinstance(part, str) else render(document, part, [span], [new]) for part in document.parts)
    return "".join(parts)


def _document(text: str, separate: bool, xml: Xml | None) -> Markup:
    document = Markup(text, xml)
    if separate:
        document.separate()
    return document
