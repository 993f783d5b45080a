"""Segments that no model is needed for: pieces between spaces, characters, and the letters of single words.

Letters are for pronunciation, inflection and transliteration. A word is divided into its code points, Hangul syllables
into their letters (as in the canonical decomposition, NFD), so that a syllable that the training text lacks is not
unknown; joined letters become syllables again. Other letters keep their accents
(docs/lab-book/2026-11-single-words.md has what was measured).

After a tab a line may have tags between semicolons, as the features of UniMorph: "sezieren\\tV;SBJV;SG;3;PRS". Each is
one segment, ";V", which no letter equals: a segment of a letter is a single code point.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from dragoman.text.raw_lines import printable
from dragoman.text.segmentation.base import NONE, SPACE_SYMBOL, Entries, Segments, save_description

_PIECE = re.compile("[^ ]+")
"""Only U+0020 separates: a piece may contain other whitespace (a no-break space in a number), as in other tools."""


class WhitespaceSegmentation:
    """Pieces are separated by spaces and otherwise unchanged; they are joined by one space."""

    def segment(self, line: str) -> Segments:
        pieces = list(_PIECE.finditer(printable(line)))
        return Segments([match[0] for match in pieces], [match.span() for match in pieces])

    def join(self, pieces: Sequence[str]) -> str:
        return " ".join(pieces)

    def save(self, path: Path, entries: Entries = NONE) -> None:
        save_description(path, "whitespace", entries)


class CharacterSegmentation:
    """Every character is a piece; whitespace at either end of a line is dropped, all other is kept."""

    def segment(self, line: str) -> Segments:
        line = printable(line)
        start = len(line) - len(line.lstrip())
        end = len(line.rstrip())
        pieces = list(line[start:end].replace(" ", SPACE_SYMBOL))
        return Segments(pieces, list(zip(range(start, end), range(start + 1, end + 1), strict=True)) if pieces else [])

    def join(self, pieces: Sequence[str]) -> str:
        return "".join(pieces).replace(SPACE_SYMBOL, " ").strip()

    def save(self, path: Path, entries: Entries = NONE) -> None:
        save_description(path, "characters", entries)


_HANGUL_LETTERS = re.compile("[\u1100-\u11ff]+")

TAG = ";"
"""Separates the tags of a line, and begins the piece of each."""


class LetterSegmentation:
    """Every letter of the word is a piece, a space is the piece "▁", and every tag is a piece."""

    def segment(self, line: str) -> Segments:
        word, tab, _ = line.partition("\t")
        plain = printable(line)
        pieces: list[str] = []
        offsets: list[tuple[int, int]] = []
        start = len(plain) - len(plain.lstrip())
        for position, character in enumerate(plain[start : len(word)].rstrip(), start):
            is_hangul = "\uac00" <= character <= "\ud7a3"
            for letter in unicodedata.normalize("NFD", character) if is_hangul else character:
                pieces.append(SPACE_SYMBOL if letter == " " else letter)
                offsets.append((position, position + 1))
        position = len(word + tab)
        for tag in plain[position:].split(TAG):
            if name := SPACE_SYMBOL.join(tag.split()):
                begin = position + len(tag) - len(tag.lstrip())
                pieces.append(TAG + name)
                offsets.append((begin, position + len(tag.rstrip())))
            position += len(tag) + len(TAG)
        return Segments(pieces, offsets)

    def join(self, pieces: Sequence[str]) -> str:
        letters = "".join(piece for piece in pieces if not _is_tag(piece)).replace(SPACE_SYMBOL, " ").strip()
        tags = TAG.join(piece.removeprefix(TAG) for piece in pieces if _is_tag(piece))
        composed = _HANGUL_LETTERS.sub(lambda match: unicodedata.normalize("NFC", match[0]), letters)
        return composed + (f"\t{tags}" if tags else "")

    def save(self, path: Path, entries: Entries = NONE) -> None:
        save_description(path, "letters", entries)


def _is_tag(piece: str) -> bool:
    return len(piece) > 1 and piece.startswith(TAG)
