"""The translation of a document in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dragoman.documents.document import Document
from dragoman.documents.markup import markup_sentences, translated_markup
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

    @property
    def repeated(self) -> int:
        """Sentences that were there before."""
        return self.segments - len(self.sentences)


def sentences_in(document: Document, translator: Translator, language: str) -> list[str]:
    """The sentences of a document, in order."""
    return markup_sentences(document.texts, language, not translator.attends, MOST, None)


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
    sentences = sentences_in(document, translator, language)
    different = dict.fromkeys(sentences)
    found: list[Translation] = []
    for [best] in translator.translate_lines(different):
        found.append(best)
        progress(len(found))
    rendered = dict(zip(different, (aligned([best]) for best in found), strict=True))
    texts = translated_markup(
        document.texts, language, not translator.attends, [rendered[sentence] for sentence in sentences], None
    )
    words = sum(len(sentence.split()) for sentence in sentences)
    return TranslatedDocument(document.write(texts), len(sentences), words, found)
