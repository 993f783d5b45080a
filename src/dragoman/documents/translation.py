"""The translation of a document in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.documents.document import Document
from dragoman.documents.markup import lines_of_sentences, markup_sentences, translated_markup
from dragoman.documents.rendering import aligned
from dragoman.translation.result import Translation
from dragoman.translation.translator import Translator

MOST = 10**9
"""Sentences of a document, in practice without limit."""


@dataclass(frozen=True)
class TranslatedDocument:
    """A translated document, and what was translated."""

    content: bytes
    segments: int
    """Sentences of the document; those that come several times count as often."""
    words: int
    """Words of these, between spaces."""
    sentences: list[Translation]
    """The translation of each different sentence, in the order of the document."""
    places: list[str]
    """Where each of these sentences stands first."""
    untranslated: Sequence[str] = ()
    """Where texts stand that stay as they are, because a translation cannot be put there."""

    @property
    def repeated(self) -> int:
        """Sentences that repeat an earlier one."""
        return self.segments - len(self.sentences)


def sentences_in(document: Document, translator: Translator, language: str) -> list[str]:
    """The sentences of a document, in order."""
    return [one for own in _by_text(document, translator, language) for one in own]


def _by_text(document: Document, translator: Translator, language: str) -> list[list[str]]:
    separate = not translator.attends
    return [markup_sentences([text], language, separate, MOST, None) for text in document.texts]


def translate_document(
    document: Document, translator: Translator, language: str, progress: Callable[[int], object] = lambda done: None
) -> TranslatedDocument:
    """Translate the sentences of a document, each once.

    Args:
        language: the code of the source language, whose rules divide sentences.
        progress: receives the number of sentences that are done.

    Raises:
        ConfigError, RunError: as for `Translator.translate_lines`.
    """
    by_text = _by_text(document, translator, language)
    sentences = [one for own in by_text for one in own]
    places: dict[str, str] = {}
    """Each different sentence -> where it stands first."""
    firsts = document.lines or [0] * len(document.texts)
    for text, own, place, first in zip(document.texts, by_text, document.places, firsts, strict=True):
        of_sentences = [place] * len(own)
        if first:
            lines = [first + line - 1 for line in lines_of_sentences(text, language, not translator.attends)]
            of_sentences = [", ".join(filter(None, (place, f"line {line}"))) for line in lines]
        for one, its_place in zip(own, of_sentences, strict=True):
            places.setdefault(one, its_place)
    translations: dict[str, Translation] = {}
    for sentence, [best] in zip(places, translator.translate_lines(places, origins=places.values()), strict=True):
        translations[sentence] = best
        progress(len(translations))
    has_units = document.units is not None
    rendered = {sentence: aligned([best], matches=has_units) for sentence, best in translations.items()}
    texts = translated_markup(
        document.texts, language, not translator.attends, [rendered[sentence] for sentence in sentences], None
    )
    words = sum(len(sentence.split()) for sentence in sentences)
    return TranslatedDocument(
        document.write(texts),
        len(sentences),
        words,
        list(translations.values()),
        list(places.values()),
        document.untranslated,
    )
