"""What a worker process does: it reads texts and files of strangers, and writes them with their translations.

Nothing is kept between reading and writing: a file is read again where it is written, so that any worker can do it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dragoman.errors import InputError
from dragoman.serving.html_text import Document, Text, unescaped
from dragoman.serving.rendering import AlignedTranslation, original, render
from dragoman.serving.subtitles import cue_texts, replace_cue_texts
from dragoman.text.sentences import Span, sentence_spans

MAX_SENTENCES = 50_000
"""Sentences of a request."""
MAX_FILE_TEXTS = 20_000
"""Texts of a file: paragraphs or cues."""


def require_few_values(body: bytes, most: int) -> None:
    """Refuse a JSON body of many small values before it is read; what is wrong otherwise is found where it is read.

    Raises:
        InputError: it has more than `most` strings, numbers, lists and objects.
    """
    try:
        waiting = [msgspec.json.decode(body)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    count = 0
    while waiting and count <= most:
        value = waiting.pop()
        count += 1
        if isinstance(value, (list, dict)):
            count += len(value) if isinstance(value, dict) else 0
            waiting += value.values() if isinstance(value, dict) else value
    if count > most:
        raise InputError(f"request has more than {most} values")


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


def markup_sentences(texts: Sequence[str], language: str, separate: bool, most: int) -> list[str]:
    """The sentences of HTML, of all texts in order; with `separate` every tag ends one.

    Raises:
        InputError: there are more than `most`.
    """
    parts = [part.text for text in texts for part in _document(text, separate).texts]
    found = sentences_of(parts, language, most)
    return [part[slice(*span)] for part, own in zip(parts, found, strict=True) for span in own]


def translated_markup(
    texts: list[str], language: str, separate: bool, sentences: list[AlignedTranslation]
) -> list[str]:
    """HTML with the translations of `markup_sentences` in their place."""
    found, answers = [], iter(sentences)

    def translated(document: Document, part: Text) -> str:
        own = sentence_spans(part.text, language)
        return render(document, part, own, [next(answers) for _ in own]) if own else original(part)

    for text in texts:
        document = _document(text, separate)
        found.append("".join(part if isinstance(part, str) else translated(document, part) for part in document.parts))
    return found


def file_texts(suffix: str, content: bytes, most_texts: int, most_characters: int) -> list[str]:
    """The texts of a file, as HTML unless it is plain text.

    Raises:
        InputError: the file is damaged, or has too many texts or characters.
    """
    if suffix == ".docx":
        from dragoman.serving.word_files import WordFile

        found = WordFile(content).paragraphs
    elif suffix == ".srt":  # which has a few tags and no entities
        found = [cue.replace("&", "&amp;") for cue in cue_texts(_decoded(content))]
    else:
        found = [_decoded(content)]
    for size, limit in ((len(found), most_texts), (sum(map(len, found)), most_characters)):
        if size > limit:
            raise InputError(f"request ({size}) exceeds text limit ({limit})")
    return found


def translated_file(suffix: str, content: bytes, translations: list[str]) -> bytes:
    """The file with translations of its texts in their place.

    Raises:
        InputError: the file is damaged.
    """
    if suffix == ".docx":
        from dragoman.serving.word_files import WordFile

        document = WordFile(content)
        document.replace(translations)
        return document.save()
    if suffix == ".srt":
        return replace_cue_texts(_decoded(content), list(map(unescaped, translations))).encode()
    [text] = translations
    return text.encode()


def _document(text: str, separate: bool) -> Document:
    document = Document(text)
    if separate:
        document.separate()
    return document


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8") from None
