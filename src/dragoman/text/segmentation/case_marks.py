"""Inline case marks: words in lower case behind marks of how they were written (Etchegoyhen and Gete 2020).

"Der NATO-Hund" becomes "⇧der ⇪nato-⇧hund", so that a word has the same segments however it is written. A mark stands
before what it describes:

    ⇧ ⇪    a word that begins with a capital, a word in capitals
    ⟪ ⤊    several words in capitals, several words that all begin with one; up to ⟫
    ⤋      a line of several words without any capital

A word in mixed case ("iPhone") stays as it is, and has no mark. The marks of several words prevail over those of single
ones between them, so that "⟪⇧der ⇧hund⟫" is DER HUND: a model that is to answer in capitals puts two marks around what
it would write anyway.

Words are runs of letters; a SentencePiece model that was trained here begins a piece with each. Lower case is taken
letter by letter, and only where upper case restores the letter. So restoring gives back every line but for two things:
characters of the text that are marks become arrows and quotation marks that look like them, and a letter that is two in
capitals becomes these, so that STRAßE is read as ⇪straße, and written STRASSE. In the web site, case_marks.js does the
same.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dragoman.text.segmentation.base import SPACE_SYMBOL, SegmentedLines, Segments, in_order_of_appearance

MARKS = CAPITAL, CAPITALS, ALL_CAPITALS, TITLE_CASE, LOWER_CASE, END = ("⇧", "⇪", "⟪", "⤊", "⤋", "⟫")
OF_TEXT = str.maketrans(dict(zip((*MARKS, SPACE_SYMBOL), "↑↑«↑↓» ", strict=True)))
"""What the characters of a text become that have a meaning in pieces."""
_LETTERS = r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f])*"  # with the accents that combine with them
_WORD = re.compile(_LETTERS)
_MARK_OR_WORD = re.compile(f"([{''.join(MARKS)}])|{_LETTERS}")
JOINED = f"^[{''.join(MARKS)}]."
"""What a piece is that is a mark and a piece."""
SEVERAL = {ALL_CAPITALS: 3, TITLE_CASE: 4, LOWER_CASE: 3}
"""Words, one after the other, from which on one mark describes them all; fewer than four capitals are often a name."""


class Marked(NamedTuple):
    """A line with its words in lower case, character for character, and the marks that restore them."""

    text: str
    marks: list[tuple[int, str]]
    """(position, mark): the position of the character that the mark stands before, ascending."""


class _Word(NamedTuple):
    lower: str
    """The word in lower case; as it is written if that does not restore it."""
    marks: tuple[str, ...]
    """The marks that restore it: alone, then among several words."""


def mark_case(line: str) -> Marked:
    """Write the words of a line in lower case, and say where marks restore it."""
    line = line.translate(OF_TEXT)
    words = [(match.start(), match.end(), _word(match[0])) for match in _WORD.finditer(line)]
    if line == line.lower():
        is_lower = len(words) >= SEVERAL[LOWER_CASE] and line != line.upper()
        return Marked(line, [(words[0][0], LOWER_CASE)] if is_lower else [])
    pieces, marks, end, number = [], [], 0, 0
    while number < len(words):
        mark, after = next(iter(words[number][2].marks), None), number + 1
        for several in (ALL_CAPITALS, TITLE_CASE):
            stop = number
            while stop < len(words) and several in words[stop][2].marks:
                stop += 1
            if stop - number >= SEVERAL[several]:
                mark, after = several, stop
                break
        if mark is not None:
            marks.append((words[number][0], mark))
        for start, stop, word in words[number:after]:
            pieces += [line[end:start], word.lower]
            end = stop
        if mark in SEVERAL:
            marks.append((end, END))
        number = after
    return Marked("".join((*pieces, line[end:])), marks)


def restore_case(text: str) -> str:
    """The text with its words written as the marks before them say, and without marks.

    Any text is read: a mark without a word has no effect, and one of several words holds up to ⟫ or the end.
    """
    if not any(mark in text for mark in MARKS):
        return text
    pieces, end, mark, several = [], 0, "", ""
    for match in _MARK_OR_WORD.finditer(text):
        pieces.append(text[end : match.start()])
        end = match.end()
        if match[1] is None:
            pieces.append(_restored(match[0], several, mark))
            mark = ""
        elif match[1] in SEVERAL or match[1] == END:
            several = match[1]
        else:
            mark = match[1]
    return "".join((*pieces, text[end:]))


def _restored(word: str, several: str, mark: str) -> str:
    if several == LOWER_CASE:
        return _lower(word)
    if several == ALL_CAPITALS or mark == CAPITALS:
        return word.upper()
    return _upper(word[0]) + word[1:] if several == TITLE_CASE or mark else word


@lru_cache(maxsize=65536)
def _word(word: str) -> _Word:
    lower = _lower(word)
    if lower == word:
        return _Word(word, ())
    if _upper(lower[0]) + lower[1:] == word:
        return _Word(lower, (CAPITAL, TITLE_CASE, *((ALL_CAPITALS,) if len(word) == 1 else ())))
    return _Word(lower, (CAPITALS, ALL_CAPITALS)) if _upper(lower) == word else _Word(word, ())


def _lower(word: str) -> str:
    """The word in lower case, each letter that upper case restores; whole words know more (a final sigma)."""
    if word.isascii():
        return word.lower()
    return "".join(one.lower() if len(one.lower()) == 1 and one.lower().upper() == one else one for one in word)


def _upper(word: str) -> str:
    """The word in upper case, each letter for which that is one letter."""
    upper = word.upper()
    return upper if len(upper) == len(word) else "".join(one.upper() if len(one.upper()) == 1 else one for one in word)


class CaseMarks:
    """Puts marks among the pieces of a line; a mark and the piece behind it may be one piece."""

    def __init__(self, joined: Sequence[str] = ()) -> None:
        self.joined = tuple(joined)
        """Pieces that are a mark and a piece: "⇧▁the"."""
        self._joined = frozenset(joined)

    def insert(self, segments: Segments, marks: Sequence[tuple[int, str]]) -> Segments:
        """The segments of a line with marks before the pieces at their positions; the span of a mark is empty."""
        pieces, offsets = list(segments.pieces), list(segments.offsets)
        starts = [start for start, _ in offsets]
        for position, mark in reversed(marks):
            at = bisect_left(starts, position)
            if at < len(starts) and mark + pieces[at] in self._joined:
                pieces[at] = mark + pieces[at]
            else:
                pieces.insert(at, mark)
                offsets.insert(at, (position, position))
        return Segments(pieces, offsets)

    def insert_all(self, lines: SegmentedLines, marked: Sequence[Marked]) -> SegmentedLines | None:
        """The same for many lines; None if the pieces of one are not all of its text, as after a removed space."""
        sizes = np.fromiter(map(len, lines.pieces), np.int64, len(lines.pieces))[lines.ids]  # [segments]
        spaces = np.fromiter((piece.startswith(SPACE_SYMBOL) for piece in lines.pieces), np.int64, len(lines.pieces))
        bounds = np.concatenate(([0], np.cumsum(lines.lengths)))
        ends = np.concatenate(([0], np.cumsum(sizes)))  # [segments + 1] in characters, the space before a line counted
        length = np.fromiter((len(line.text) for line in marked), np.int64, len(marked))
        first = ends[bounds[:-1]]  # [lines]
        if (ends[bounds[1:]] - first != length + (lines.lengths > 0)).any():
            return None
        stride = int(length.max(initial=0)) + 2  # numbers the characters of all lines, and orders them
        line_of = np.repeat(np.arange(len(marked)), lines.lengths)  # [lines] -> [segments]
        starts = line_of * stride + ends[:-1] - first[line_of] - 1 + spaces[lines.ids]
        counts = np.fromiter((len(line.marks) for line in marked), np.int64, len(marked))
        flat = [mark for line in marked for mark in line.marks]
        mark_lines = np.repeat(np.arange(len(marked)), counts)  # [lines] -> [marks]
        positions = np.fromiter((position for position, _ in flat), np.int64, len(flat))
        kinds = np.fromiter((MARKS.index(mark) for _, mark in flat), np.int64, len(flat))
        at = np.searchsorted(starts, mark_lines * stride + positions)  # [marks] the segment that each stands before
        # Numbers: the pieces, then the marks, then the joined pieces.
        marks_from = len(lines.pieces)
        known = {piece: number for number, piece in enumerate(lines.pieces)}
        joined_ids = np.full((len(MARKS), marks_from + 1), -1, np.int64)  # by mark and piece; none behind the last one
        for number, piece in enumerate(self.joined):
            if piece[1:] in known:
                joined_ids[MARKS.index(piece[0]), known[piece[1:]]] = marks_from + len(MARKS) + number
        ids = np.append(lines.ids.astype(np.int64), marks_from)
        # A mark at the end of its line stands before no segment of it.
        joined = joined_ids[kinds, ids[at]] * (at < bounds[mark_lines + 1])
        joins = joined > 0
        ids[at[joins]] = joined[joins]
        ids = np.insert(ids[:-1], at[~joins], marks_from + kinds[~joins])  # [segments + marks apart]
        lengths = lines.lengths + np.bincount(mark_lines[~joins], minlength=len(marked))
        return in_order_of_appearance([*lines.pieces, *MARKS, *self.joined], ids, lengths)

    @staticmethod
    def split(pieces: Iterable[str]) -> list[str]:
        """The pieces with marks apart."""
        return [part for piece in pieces for part in ((piece[0], piece[1:]) if is_joined(piece) else (piece,))]


def is_joined(piece: str) -> bool:
    """Whether a piece is a mark and a piece."""
    return len(piece) > 1 and piece[0] in MARKS
