"""Words: Moses punctuation normalisation, tokenisation and detokenisation, by sacremoses.

sacremoses gives no offsets. They are found by a scan of the raw line: a piece that occurs at the position of the scan
has its span there; pieces that normalisation has changed (… to ...) or moved share the span up to the next piece that
does occur.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

from dragoman.text.languages import base_language
from dragoman.text.raw_lines import printable
from dragoman.text.scripts import character_class
from dragoman.text.segmentation.base import NONE, Entries, Segments, save_description

# The normaliser does not change a line with none of these; its fifty substitutions cost as much as all the rest.
_NORMALISED = re.compile("[()`\"„“”–—´‘‚’…«»\xa0%:;]|''|  ")

# The normaliser's changes of single characters; the scan compares pieces with the raw line so changed.
_FOLDED = str.maketrans("„“”«»–—´‘‚’`\xa0", '"' * 5 + "-" * 2 + "'" * 5 + " ")

# Some of sacremoses' expressions take time quadratic in the length of what they match ("." * 100000 would take
# minutes), so a long line is processed in stretches of this many characters, split at a space if there is one.
_STRETCH = 1000

_ANCHORS = 8  # pieces ahead that the scan searches for


class _Tokenizer(MosesTokenizer):  # type: ignore[misc]
    """The tokeniser without its two slow operations.

    Its tests for letters build a set of 100,000 characters on every call, and its expression for Chinese, Japanese and
    Korean lists as many characters one by one, which takes a millisecond for each character of the text.
    """

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._alphabetic = frozenset(self.IsAlpha)
        self._lower = frozenset(self.IsLower)
        if language in ("zh", "ja", "ko"):
            letters = character_class(map(ord, self.IsAlnum))
            self.PAD_NOT_ISALNUM = re.compile(rf"([^{letters}\s\.'`,\-])"), r" \1 "

    def islower(self, text: str) -> bool:
        return self._lower.issuperset(text)

    def isanyalpha(self, text: str) -> bool:
        return not self._alphabetic.isdisjoint(text)


class WordSegmentation:
    """Words and punctuation marks as the Moses scripts separate them; nothing is escaped, hyphens are not split."""

    def __init__(self, language: str) -> None:
        """`language` is an ISO 639 code; a language without Moses rules gets those of English."""
        self.language = language
        rules = base_language(language)
        self._normalizer = MosesPunctNormalizer(rules)
        self._tokenizer = _Tokenizer(rules)
        self._detokenizer = MosesDetokenizer(rules)

    def __reduce__(self) -> tuple[type[WordSegmentation], tuple[str]]:
        return WordSegmentation, (self.language,)

    def segment(self, line: str) -> Segments:
        line = printable(line)
        if len(line) <= _STRETCH:
            pieces = self._tokenise(line)
            return Segments(pieces, _locate(pieces, line))
        segments = Segments([], [])
        for start, end in _stretches(line):
            pieces = self._tokenise(line[start:end])
            segments.pieces.extend(pieces)
            segments.offsets.extend((start + a, start + b) for a, b in _locate(pieces, line[start:end]))
        return segments

    def join(self, pieces: Sequence[str]) -> str:
        try:
            return str(self._detokenizer.detokenize(pieces, unescape=False))
        except TypeError:  # sacremoses 0.2.0 calls next() on a list at Czech "x' - mail"
            return " ".join(pieces)

    def detokenise(self, words: Sequence[str]) -> str:
        """Raw text of tokenised words, in which what the tokeniser of Moses escapes, such as `&apos;`, is undone."""
        return self.join([self._detokenizer.unescape_xml(word) for word in words])

    def save(self, path: Path, entries: Entries = NONE) -> None:
        save_description(path, "words", {"language": self.language, **entries})

    def _tokenise(self, line: str) -> list[str]:
        if _NORMALISED.search(line):
            line = self._normalizer.normalize(line)
        pieces: list[str] = self._tokenizer.tokenize(line, escape=False)
        return pieces


def _stretches(line: str) -> Iterator[tuple[int, int]]:
    """Split a long line into [start, end) of at most _STRETCH characters each."""
    start = 0
    while start < len(line):
        end = start + _STRETCH
        if end < len(line):
            space = line.rfind(" ", start, end)
            end = space + 1 if space >= 0 else end
        yield start, min(end, len(line))
        start = end


def _locate(pieces: Sequence[str], line: str) -> list[tuple[int, int]]:
    """The span of each piece in the raw line."""
    line = line.translate(_FOLDED) if _NORMALISED.search(line) else line
    offsets: list[tuple[int, int]] = []
    position = 0
    while len(offsets) < len(pieces):
        while position < len(line) and line[position].isspace():
            position += 1
        piece = pieces[len(offsets)]
        if line.startswith(piece, position):
            offsets.append((position, position + len(piece)))
            position += len(piece)
        else:
            lost, end = _next_anchor(pieces, len(offsets), line, position)
            offsets.extend(_share(line, position, end, lost))
            position = end
    return offsets


def _next_anchor(pieces: Sequence[str], first: int, line: str, position: int) -> tuple[int, int]:
    """The number of pieces from `first` on that do not occur in the line, and the position of the one after them.

    Normalisation changes the length of a piece by a few characters at most, so only near positions are searched, and
    the anchor that skips the fewest characters and pieces is chosen.
    """
    anchors = []
    reach = position
    for index in range(first, min(first + _ANCHORS, len(pieces))):
        reach += 2 * len(pieces[index]) + 4
        start = line.find(pieces[index], position, reach)
        if start >= 0:
            anchors.append((start - position + index - first, first - index, start))
    if anchors:
        _, lost, end = min(anchors)
        return -lost, end
    if first + _ANCHORS >= len(pieces):
        return len(pieces) - first, len(line)
    return 1, min(position + len(pieces[first]), len(line))


def _share(line: str, start: int, end: int, parts: int) -> list[tuple[int, int]]:
    """Divide line[start:end] among `parts` pieces: by its words if it has as many, else evenly."""
    words = [(start + word.start(), start + word.end()) for word in re.finditer(r"\S+", line[start:end])]
    if len(words) == parts:
        return words
    length = len(line[start:end].rstrip())
    cuts = [start + length * index // max(parts, 1) for index in range(parts + 1)]
    return list(pairwise(cuts))
