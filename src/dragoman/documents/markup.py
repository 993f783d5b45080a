"""Sentences of texts and of HTML, and HTML with their translations in their place.

Nothing is kept between reading and writing: HTML is read again where it is written, so that another process can do it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.documents.html_text import Markup, Text, Xml
from dragoman.documents.rendering import AlignedTranslation, original, render
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
    parts = [part.text for text in texts for part in _document(text, separate, xml).texts]
    found = sentences_of(parts, language, most)
    return [part[slice(*span)] for part, own in zip(parts, found, strict=True) for span in own]


def translated_markup(
    texts: list[str], language: str, separate: bool, sentences: list[AlignedTranslation], xml: Xml | None
) -> list[str]:
    """HTML with the translations of `markup_sentences` in their place."""
    found, answers = [], iter(sentences)

    def translated(document: Markup, part: Text) -> str:
        own = sentence_spans(part.text, language)
        return render(document, part, own, [next(answers) for _ in own]) if own else original(part)

    for text in texts:
        document = _document(text, separate, xml)
        found.append("".join(part if isinstance(part, str) else translated(document, part) for part in document.parts))
    return found


def _document(text: str, separate: bool, xml: Xml | None) -> Markup:
    document = Markup(text, xml)
    if separate:
        document.separate()
    return document
