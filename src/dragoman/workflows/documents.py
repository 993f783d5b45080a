"""Translates documents: a file in, the same with its text translated out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from dragoman.corpora.encodings import find_encoding, refuse_undecodable, require_encoding
from dragoman.documents.catalogues import encoding_note
from dragoman.documents.document import Document, Languages
from dragoman.documents.files import open_document
from dragoman.documents.translation import TranslatedDocument, sentences_in, translate_document
from dragoman.errors import InputError
from dragoman.progress import Console
from dragoman.requests.translation import TranslationRequest
from dragoman.stored_files import read_regular
from dragoman.text.document_names import DOCUMENTS, document_kind
from dragoman.text.lines import not_found, read_lines, replace_file
from dragoman.translation.translator import Translator
from dragoman.workflows.loading import LoadedTranslator, load
from dragoman.workflows.translation import (
    count_empty,
    open_translator,
    warn_of_empty,
    warn_of_searched_again,
    warn_of_truncated,
)
from dragoman.workflows.unexpected_text import checked_lines, warn_of_declared

log = logging.getLogger(__name__)

LARGEST = 1 << 28
"""Bytes of a document, which is held in memory."""
UNSURE = 0.5
"""Confidence below which a sentence is unsure."""
MOST_UNSURE = 20
"""Unsure sentences that are listed."""
_ANY_ENCODING = (".md", ".srt")
"""Kinds of documents that neither say their encoding nor have a certain one."""


def translate_document_file(request: TranslationRequest) -> None:
    """Translate the document that a request names, and say what was translated.

    Raises:
        ConfigError, InputError, RunError: as for `open_models` and `Translator.with_options`; the document cannot be
            read, or has no text.
    """
    console = Console(quiet=request.general.quiet)
    path = Path(request.files.input)
    content = _content(path, request.corpora.encoding, console)
    if _opened(path, content, Languages()).is_tracked:  # a damaged file is refused before a model is loaded
        console.info(f"{path}: has tracked changes: insertions are translated, deleted text stays")
    translator, first = open_translator(request)
    languages = Languages(*(code or "" for code in first.config.text.languages))
    document = _opened(path, content, languages)
    declared = document.declared
    warn_of_declared(path, {"source": declared.source, "target": declared.target}, request.runs[0], first.config)
    sentences = sentences_in(document, translator, languages.source)
    for _ in checked_lines(sentences, path, request.runs[0], first):
        pass
    translated = _translated(path, content, document, translator, languages.source, console)
    with replace_file(request.files.output, binary=True) as file:
        file.write(translated.content)
    warn_of_searched_again(sum(one.searched_again for one in translated.sentences), len(translated.sentences))
    warn_of_truncated(sum(not one.finished for one in translated.sentences), len(translated.sentences))
    warn_of_empty(count_empty(translated.sentences), len(translated.sentences))
    if translated.untranslated:
        log.warning("%s: %s", path, _untranslated(translated.untranslated))
    for line in _unsure(translated):
        console.info(line)
    console.info(f"{request.files.output}: {_summary(translated)}")


def translate_file(
    translator: Translator | str | Path,
    document: str | Path,
    output: str | Path,
    *,
    source: str | None = None,
    target: str | None = None,
    encoding: str | None = None,
) -> TranslatedDocument:
    """Translate a document to another file of the same kind, which its name says.

    Args:
        translator: of `dragoman.load`, or the folder of a run.
        document: the file; `dragoman translate --help` lists the kinds.
        output: where the translation goes; it appears when it is complete.
        source, target: codes of the languages; None for those of the run, if `dragoman.load` opened it.
        encoding: of subtitles or Markdown that are not UTF-8; None to recognise it where it is clear.

    Returns:
        the translated document, with the number of its sentences and words and the translation of each.

    Raises:
        InputError: the document cannot be read, or has no text; the output cannot be written.
        RunError: as for `dragoman.load`.

    >>> from pathlib import Path
    >>> _ = Path("page.html").write_text("<p>ab <b>c</b></p>")
    >>> found = dragoman.translate_file("RUN", "page.html", "page.upper.html")
    >>> Path("page.upper.html").read_text(), found.segments
    ('<p>AB <b>C</b></p>', 1)
    """
    path, console = Path(document), Console(quiet=True)
    content = _content(path, encoding, console)
    _opened(path, content, Languages())
    if not isinstance(translator, Translator):
        translator = load(translator)
    if isinstance(translator, LoadedTranslator):
        own_source, own_target = translator.languages
        source, target = source or own_source, target or own_target
    opened = _opened(path, content, Languages(source or "", target or ""))
    translated = _translated(path, content, opened, translator, source or "", console)
    with replace_file(output, binary=True) as file:
        file.write(translated.content)
    return translated


def _content(path: Path, encoding: str | None, console: Console) -> bytes:
    """The content of a document. It becomes UTF-8 if its kind has no certain encoding and the encoding of the file is
    known.

    Raises:
        InputError: it is no document, cannot be read, is too large, or is not text in the given encoding.
        ConfigError: there is no such encoding.
    """
    kind = document_kind(path)
    if kind is None:
        raise InputError(f"{path}: is no document by its name; these are: {' '.join(DOCUMENTS)}")
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path}: has more than {LARGEST >> 20} MiB; divide it")
        content = read_regular(path)
    except FileNotFoundError:
        raise not_found(path) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if kind not in _ANY_ENCODING:
        return content
    recognised = find_encoding(path, encoding and require_encoding(encoding))
    if recognised is None:
        try:
            content.decode()
        except UnicodeDecodeError:  # the line says in which encodings it can be read
            for _ in read_lines(path, refuse_undecodable):
                pass
        return content
    if recognised.name.startswith("utf"):
        return content
    try:
        text = content.decode(recognised.name)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start + 1} is not {recognised.name}") from None
    how = "" if recognised.evidence is None else f" ({recognised.evidence}); --encoding NAME chooses another"
    console.info(f"{path}: read as {recognised.name}, written as UTF-8{how}")
    return text.encode()


def _opened(path: Path, content: bytes, languages: Languages) -> Document:
    """The document of a file with some content.

    Raises:
        InputError: it cannot be read.
    """
    kind = document_kind(path)
    assert kind is not None
    try:
        return open_document(kind, content, languages)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _translated(
    path: Path, content: bytes, document: Document, translator: Translator, language: str, console: Console
) -> TranslatedDocument:
    """Translate the document of a file.

    Raises:
        InputError: it has no text.
    """
    total = len(set(sentences_in(document, translator, language)))
    if not total:
        raise InputError(f"{path}: has no text to translate")
    with console.counter("sentences", total) as progress:
        try:
            translated = translate_document(document, translator, language, progress)
        except InputError as error:  # what shows only when it is written
            raise InputError(f"{path}: {error}") from None
    if document_kind(path) == ".po" and (note := encoding_note(content, translated.content)):
        log.warning("%s: %s", path, note)
    return translated


def _unsure(translated: TranslatedDocument) -> list[str]:
    """A line for each unsure sentence: where it stands, how sure its translation is, and what speaks against it."""
    placed = zip(translated.places, translated.sentences, strict=True)
    unsure = [(place, one) for place, one in placed if one.confidence is not None and one.confidence < UNSURE]
    lines = [
        f"unsure: {place}: {one.source} ({one.confidence:.2f}, {one.doubt})" for place, one in unsure[:MOST_UNSURE]
    ]
    return [*lines, *([f"and {len(unsure) - MOST_UNSURE:,} more"] if len(unsure) > MOST_UNSURE else [])]


def _summary(translated: TranslatedDocument) -> str:
    parts = [f"{translated.segments:,} sentences", f"{translated.words:,} words", f"{translated.repeated:,} repeated"]
    confidences = [one.confidence for one in translated.sentences if one.confidence is not None]
    unsure = sum(confidence < UNSURE for confidence in confidences)
    if translated.untranslated:
        parts.append(f"{len(translated.untranslated):,} texts left as they are")
    return ", ".join([*parts, *([f"{unsure:,} unsure"] if confidences else [])])


def _untranslated(places: Sequence[str]) -> str:
    """What to say of texts that were not translated."""
    shown = ", ".join(places[:MOST_UNSURE]) + ("" if len(places) <= MOST_UNSURE else " ...")
    return (
        f"{len(places):,} texts stay as they are (messages of ICU with cases, text in other languages than the rest, "
        f"what cannot be put back): {shown}"
    )
