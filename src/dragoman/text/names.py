"""Names that a model never saw: words inside a line with a capital, which its training sources have in no case.

In a line of a script without case, such as Hangul, words with a capital may also begin a sentence, and may be all that
there are of European letters.

Where such words are mostly the same in source and target, as names are, they are protected. The training text itself
shows it: of its own words that occur once, how many does the target have as they are? About 60 % in English, French and
Czech text, 5 % in German, which writes nouns with capitals; there no word is a name by its capital.

The words of the training sources are kept in a filter (Bloom 1970): 10 bits a word. It takes 1 % of words that
were never seen for known ones. In the web site, names.js does the same.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

Span = tuple[int, int]

LETTERS = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0370-\u0373\u0376-\u058f\u1e00-\u1fff\u0300-\u036f"
"""Letters and accents of European scripts, as the inside of a regular expression's [...]."""
HIDDEN = "\u00ad\u200b-\u200d\u2060\ufeff"
"""Invisible characters that words may have inside."""
_OTHER_LETTERS = (
    "\u0590-\u1cff\u2d00-\u2ddf\u3005-\u3007\u3040-\u31ff\u3400-\u9fff\ua000-\ua63f\ua800-\uab2f\uab70-\ud7ff"
    "\uf900-\ufaff\ufb1d-\ufdff\ufe70-\ufefc\uff66-\uffdc\U00020000-\U0003ffff"
)
OTHER_WORD = f"[{_OTHER_LETTERS}](?:[\u200c\u200d]?[{_OTHER_LETTERS}])*"
"""A word of a script that is not European, with its marks and punctuation, as a regular expression."""
_WORD = re.compile(f"[{LETTERS}][{LETTERS}{HIDDEN}]*")
_INVISIBLE = re.compile(f"[{HIDDEN}]")
_BEGINNING = re.compile("(?:^|[.!?:\u2026])[^A-Za-z0-9\u00c0-\u1fff\u3040-\ufefe\uff00-\uffff]*$")
"""What stands before a word that begins a sentence, and so has a capital whatever it is."""
_WITHOUT_CASE = re.compile("[\u0590-\u109f\u1100-\u1c7f\u3040-\ua63f\ua960-\uab2f\uac00-\ufaff]")
"""Letters of scripts without case, or nearly all of them."""
_TITLE = re.compile(
    "(?:^|[^A-Za-z0-9\u00c0-\u1fff])"
    "((?:Prof|[B-DF-HJ-NP-TV-XZ][b-df-hj-np-tv-xz]{1,3})\\.[ \u00a0\u2000-\u200a\u202f\u3000]?)$"
)
"""An abbreviation before a name that ends no sentence: "Dr. ", "Mrs. ", "St. ", or any other without a vowel."""
_BEFORE = 20
"""Characters before a word that are looked at."""
_SHORTEST = 3
"""Letters of a name."""
_MOST = 0.7
"""Share of the words inside a line that may have a capital; more have it in headings."""
_COPIED = 0.4
"""Share of the rare words with a capital that the targets must have as they are."""
_FEWEST = 20
"""Rare words that show it."""
_BITS = 10
_HASHES = 7
_SEEDS = (0x811C9DC5, 0x01000193)


class WordFilter:
    """The words of the training sources."""

    def __init__(self, bits: bytes) -> None:
        """`bits` are the bits of the filter, beginning with the lowest one of the first byte."""
        self.bits = bits

    @classmethod
    def of(cls, words: Iterable[str]) -> WordFilter:
        """The filter of some words in lower case."""
        known = list(words)
        return cls(bytes(1 + len(known) * _BITS // 8)).with_text(known)

    @classmethod
    def of_text(cls, text: str) -> WordFilter:
        """Read what `text` gave.

        Raises:
            ValueError: it is damaged.
        """
        return cls(base64.b64decode(text, validate=True))

    def with_text(self, lines: Iterable[str]) -> WordFilter:
        """The filter with the words of more lines, in as many bits: it takes more new words for known ones."""
        bits = bytearray(self.bits)
        for word in {_plain(word) for line in lines for word in _WORD.findall(line)}:
            for bit in _bits(word, 8 * len(bits)):
                bits[bit >> 3] |= 1 << (bit & 7)
        return WordFilter(bytes(bits))

    def text(self) -> str:
        """The filter in base 64."""
        return base64.b64encode(self.bits).decode()

    def __contains__(self, word: str) -> bool:
        size = 8 * len(self.bits)
        return all(self.bits[bit >> 3] >> (bit & 7) & 1 for bit in _bits(word, size))

    def names(self, line: str) -> list[Span]:
        """The words of a line that are names and that the sources never had."""
        if not (candidates := _candidates(line)):
            return []
        names = [(start, end) for start, end in candidates if _plain(line[start:end]) not in self]
        return [(self._with_title(line, start), end) for start, end in names]

    def _with_title(self, line: str, start: int) -> int:
        """Where a name begins: with the title before it, if the sources never had that either."""
        title = _title(line, start)
        return start if title is None or _plain(title[1].partition(".")[0]) in self else title.start(1)


def _title(line: str, start: int) -> re.Match[str] | None:
    """The title before a word, as group 1."""
    return _TITLE.search(line, max(0, start - _BEFORE), start)


def known_words(pairs: Iterable[tuple[str, str]]) -> WordFilter | None:
    """The words of training sources; None where words with a capital are no names.

    The pairs are read once, so their rare words are remembered with whether the targets have them.
    """
    counts: Counter[str] = Counter()
    rare: dict[str, bool] = {}
    for source, target in pairs:
        candidates = _candidates(source)
        targets = set(_WORD.findall(target)) if candidates else set[str]()
        for start, end in candidates:
            if (word := _plain(source[start:end])) not in counts:
                rare[word] = source[start:end] in targets
        counts.update(map(_plain, _WORD.findall(source)))
    copied = [is_copied for word, is_copied in rare.items() if counts[word] == 1]
    if len(copied) < _FEWEST or sum(copied) < _COPIED * len(copied):
        return None
    return WordFilter.of(sorted(counts))


def composed(word: str) -> str:
    """A word in normal form: composed, without invisible characters."""
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", word))


def _plain(word: str) -> str:
    """A word as the filter has it."""
    return composed(word).lower()


def _candidates(line: str) -> list[Span]:
    """The words with a capital that do not begin a sentence; none in a line in capitals or in title case."""
    words = [match.span() for match in _WORD.finditer(line)]
    with_case = bool(words) and not _WITHOUT_CASE.search(line)
    inside = [(start, end) for start, end in words if not (with_case and _begins_sentence(line, start))]
    capitals = [(start, end) for start, end in inside if line[start:end] != line[start:end].lower()]
    if with_case and len(inside) >= _SHORTEST and len(capitals) > _MOST * len(inside):
        return []
    return [(start, end) for start, end in capitals if len(composed(line[start:end])) >= _SHORTEST]


def _begins_sentence(line: str, start: int) -> bool:
    return bool(_BEGINNING.search(line[max(0, start - _BEFORE) : start])) and not _title(line, start)


def _bits(word: str, size: int) -> Iterator[int]:
    """The bits of a word: two hashes (FNV-1a), combined (Kirsch and Mitzenmacher 2006)."""
    first, second = (_hash(word, seed) for seed in _SEEDS)
    for number in range(_HASHES):
        yield (first + number * (second | 1)) % size


def _hash(word: str, seed: int) -> int:
    value = seed
    for byte in word.encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
