"""Sentences of running text, as spans: what lies outside them (line breaks, spaces, lines without words) stays as it
is.

A line break always ends a sentence, so that a translation has as many lines as its source. Lines are cut into sentences
by the library sentencex, which knows the abbreviations and marks of some 250 languages and falls back on related ones.
A sentence of more than `MAX_CHARACTERS` is cut after a clause or a word, because models read no more than
`translation.source_encoding.MAX_SEGMENTS` segments.

Three things that the library cuts are put together again: numbers with the full stop of an ordinal (German "am 2.
Mai"), quotations between Chinese and Japanese brackets, and names with a full stop inside ("OpenOffice.org").
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sentencex import segment

from dragoman.text.languages import base_language
from dragoman.text.raw_lines import has_letter
from dragoman.text.scripts import LETTER_WITHOUT_SPACES

Span = tuple[int, int]
"""[start, end) in characters."""

MAX_CHARACTERS = 800
"""The longest sentence that is not cut. A sentence of parliament has up to 600."""

WINDOW = 2000
"""Characters that the library is given at a time: it takes quadratic time for a long line, such as one of Chinese."""

_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_CLAUSE = re.compile(r".*[,;:，；：、](?=\s|[^\x00-\x7f])|.*\s", re.DOTALL)  # 10,000 and 10:30 are not cut

_ORDINAL = re.compile(r"(?:^|[\s(–-])[0-9]{1,2}\.$")
_ORDINAL_NAMES = "cs da de et fi fo hr hsb hu is lb lv nb nn no pl sk sl sr tr"
_ORDINAL_LANGUAGES = frozenset(_ORDINAL_NAMES.split())
"""Languages that write an ordinal number with a full stop."""
_QUOTES = str.maketrans({**dict.fromkeys("「『（【《〈［〔", "("), **dict.fromkeys("」』）】》〉］〕", ")")})
_LONGEST_QUOTATION = 400
"""Characters within which a bracket that was opened is looked for its partner."""


def sentence_spans(text: str, language: str | None) -> list[Span]:
    """The spans of the sentences of a text, in order; spaces around them and what has no letter, such as a number
    alone, are left out.

    `language` is a code such as `de` or `pt-BR`; None stands for English.
    """
    return [
        part
        for line in _LINE.finditer(text)
        if not line[0].isspace()
        for sentence in _sentences(text, line.span(), language or "en")
        for part in _parts(text, sentence)
        if has_letter(text[slice(*part)])
    ]


def replace_sentences(text: str, spans: Sequence[Span], translations: Sequence[str]) -> str:
    """The text with `translations` in the place of the sentences at `spans`.

    Where two sentences touch, as in Chinese and Japanese, and their translations are in a script with spaces, a space
    is put between them.
    """
    result: list[str] = []
    position = 0
    for (start, end), translation in zip(spans, translations, strict=True):
        between = text[position:start]
        if not between and result and touches(result[-1], translation):
            between = " "
        result += [between, translation]
        position = end
    return "".join([*result, text[position:]])


def touches(before: str, after: str) -> bool:
    """Whether two sentences would touch each other in a script with spaces."""
    if not before or not after or before[-1].isspace() or after[0].isspace():
        return False
    return not (_has_no_spaces(before[-1]) or _has_no_spaces(after[0]))


def _sentences(text: str, line: Span, language: str) -> list[Span]:
    """The sentences of a line, without the spaces around them."""
    spans: list[Span] = []
    position = line[0]
    while position < line[1]:
        window = text[position : min(position + WINDOW, line[1])]
        sentences = segment(base_language(language), window)
        if position + len(window) < line[1]:  # the last sentence may go on, and the next window begins with it
            last = sentences.pop()
            if not sentences:  # of one that fills the window, with its last part
                sentences = [last[: _parts(text, (position, position + len(window)))[-1][0] - position]]
        for sentence in sentences:
            span = _stripped(text, (position, position + len(sentence)))
            if spans and _goes_on(text, spans[-1], span, language):
                span = spans.pop()[0], span[1]
            spans.append(span)
            position += len(sentence)
    return spans


def _goes_on(text: str, before: Span, after: Span, language: str) -> bool:
    """Whether what the library took for two sentences is one."""
    first, next_character = text[slice(*before)] or " ", text[after[0] : after[0] + 1]
    if next_character in tuple(",;:)]"):
        return True
    if before[1] == after[0] and not _has_no_spaces(first[-1]) and not _has_no_spaces(next_character):
        return True
    if base_language(language) in _ORDINAL_LANGUAGES and _ORDINAL.search(first[-4:]):
        return True
    if first[-1] in "」』" and "\u3041" <= next_character <= "\u3096":  # hiragana: 「行く！」と叫んだ。
        return True
    if len(first) > _LONGEST_QUOTATION:
        return False
    brackets = first.translate(_QUOTES)
    return brackets.count("(") > brackets.count(")")


def _stripped(text: str, span: Span) -> Span:
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _parts(text: str, sentence: Span) -> list[Span]:
    """A sentence, in several parts if it is too long."""
    start, end = sentence
    parts = []
    while end - start > MAX_CHARACTERS:
        window = text[start : start + MAX_CHARACTERS]
        clause = _CLAUSE.match(window, MAX_CHARACTERS // 2)
        cut = start + (clause.end() if clause else MAX_CHARACTERS)
        parts.append(_stripped(text, (start, cut)))
        start = _stripped(text, (cut, end))[0]
    return [*parts, (start, end)]


def _has_no_spaces(character: str) -> bool:
    """Whether a character is a letter or a mark of a script without spaces."""
    return (
        LETTER_WITHOUT_SPACES.match(character) is not None or "\u3000" <= character <= "\u303f" or character >= "\uff00"
    )
