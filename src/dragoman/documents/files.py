"""The texts of a document, and the document with their translations in their place."""

from __future__ import annotations

from dragoman.documents.html_text import unescaped
from dragoman.documents.subtitles import cue_texts, replace_cue_texts
from dragoman.errors import InputError

MAX_FILE_TEXTS = 20_000
"""Texts of a file: paragraphs or cues."""


def file_texts(suffix: str, content: bytes, most_texts: int, most_characters: int) -> list[str]:
    """The texts of a file, as HTML unless it is plain text.

    Raises:
        InputError: the file is damaged, or has too many texts or characters.
    """
    if suffix == ".docx":
        from dragoman.documents.word_files import WordFile

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
        from dragoman.documents.word_files import WordFile

        document = WordFile(content)
        document.replace(translations)
        return document.save()
    if suffix == ".srt":
        return replace_cue_texts(_decoded(content), list(map(unescaped, translations))).encode()
    [text] = translations
    return text.encode()


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8") from None
