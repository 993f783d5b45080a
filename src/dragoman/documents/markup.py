"""Sentences of texts and of HTML, and HTML with their translations in their place.

Nothing is kept between reading and writing: HTML is read again where it is written, so that another process can do it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dragoman.documents.html_text import Markup, Text, Xml
from dragoman.documents.rendering import AlignedTranslation, original, render, unchanged
from dragoman.errors import InputError
from dragoman.text.sentences import Span, sentence_spans

MAX_SENTENCES = 50_000
"""Sentences of a request."""


def sentences_of(texts: Sequence[str], language: str, most: int) -> list[list[Span]]:
    """The spans of the sentences of each text.

    Raises:
        InputError: there are more than `most`.
    """
    found, count = [], 0
    for text in texts:
        found.append(sentence_spans(text, language))
        count += len(found[-1])
        if count > most:
            raise InputError(f"request has more than {most} sentences")
    return found


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


def translated_markup(
    texts: list[str], language: str, separate: bool, sentences: Sequence[AlignedTranslation | None], xml: Xml | None
) -> list[str]:
    """HTML with the translations of `markup_sentences` in their place; a sentence without one stays."""
    found, answers = [], iter(sentences)

    def translated(document: Markup, part: Text) -> str:
        own = sentence_spans(part.text, language)
        given = [next(answers) for _ in own]
        if not any(given):
            return original(part)
        return render(
            document,
            part,
            own,
            [one or unchanged(part.text[slice(*span)]) for one, span in zip(given, own, strict=True)],
        )

    for text in texts:
        document = _document(text, separate, xml)
        found.append("".join(part if isinstance(part, str) else translated(document, part) for part in document.parts))
    return found


def _document(text: str, separate: bool, xml: Xml | None) -> Markup:
    document = Markup(text, xml)
    if separate:
        document.separate()
    return document
