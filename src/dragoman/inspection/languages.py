"""Finds lines that do not look like their side, with a classifier trained on the corpus itself.

A naive Bayes classifier over letter trigrams (after Cavnar and Trenkle 1994) is trained on the two sides: it compares
the probability of a line's trigrams on its own side with that on the other. It needs no model and no list of
languages, only that most lines of a side are in its language. Scripts are counted separately.

It finds lines in the other side's language, pairs that are the wrong way round, lines in a script that the side does
not use, and lines whose trigrams are much rarer than usual on the side: mostly other languages, also names and codes.
It cannot name the language of a line, classify lines of a few letters, tell the sides apart where both are in one
language (it reports this and labels nothing), or notice that most of a side is in the wrong language.

All functions process thousands of lines at a time as arrays of code points. Shape letters of this file: L lines,
C characters of all lines together, N trigrams of all lines together, M buckets that trigrams are hashed to.
"""

from __future__ import annotations

import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BUCKETS = 1 << 18
"""M; two trigrams in one bucket are not distinguished, which is rare."""

PRIOR = 0.5
"""Added to every count (additive smoothing)."""

SHORTEST = 8
"""Trigrams, about as many as characters, that a line must have to be classified."""

MARGIN = 0.5
"""Nats per trigram by which the other side must be more probable."""

TELLING = 0.95
"""Share of lines that must be more probable on their own side, for both; below it the sides are too similar."""

FEWEST = 100
"""Lines that a side must have for reliable trigram statistics."""

UNUSUAL = 6.0
"""Robust standard deviations below the median log-probability from which on a line is unusual for its side."""

OWN_SCRIPT = 0.05
"""Share of a side's letters from which on a script counts as one of the side's own."""

_JAPANESE = {"hiragana", "katakana", "cjk"}
"""Used together: a line of katakana is not foreign where there is hiragana, however rare katakana is."""

_MULTIPLIERS = np.array([2654435761, 2246822519, 3266489917], np.uint32)  # odd; from Knuth and xxHash
_BOUNDARY = 10  # the code of the line end
_CODES = sys.maxunicode + 1
_NO_SCRIPT = frozenset(
    ("MODIFIER", "MASCULINE", "FEMININE", "MICRO", "FULLWIDTH", "HALFWIDTH", "MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT")
)
"""First words of the Unicode names of letters that belong to no script, or to several."""


class _Trigrams(NamedTuple):
    """The trigrams of L lines; the boundary of a line counts as a letter on both of its ends."""

    buckets: NDArray[np.uint32]
    """[N] bucket of each trigram."""
    starts: NDArray[np.int64]
    """[L] index of each line's first trigram; a line without trigrams has the index of the next line."""
    lengths: NDArray[np.int64]
    """[L] number of trigrams."""


def _trigrams(lines: Sequence[str]) -> _Trigrams:
    codes = _codes(f"\n{_joined(lines).lower()}\n").copy()  # [C + L + 1]: a boundary before, between and after
    codes[(codes > ord("0")) & (codes <= ord("9"))] = ord("0")
    # [C + L + 1] -> [C + L - 1]: three neighbours each
    mixed = sum(codes[offset : len(codes) - 2 + offset] * factor for offset, factor in enumerate(_MULTIPLIERS))
    inside = codes[1:-1] != _BOUNDARY  # the middle letter is none of the boundaries
    ends = np.flatnonzero(~inside)  # one after each line but the last
    total = np.concatenate(([0], np.cumsum(inside)))
    starts = total[np.concatenate(([0], ends + 1))]
    lengths = np.diff(np.append(starts, total[-1]))
    # [C + L - 1] -> [N]
    buckets = (np.asarray(mixed)[inside] >> np.uint32(32 - BUCKETS.bit_length() + 1)).astype(np.uint32)
    return _Trigrams(buckets, starts, lengths)


class SideCounts:
    """Trigram and character counts of one side, accumulated while it is read."""

    def __init__(self) -> None:
        self.trigrams = np.zeros(BUCKETS, np.int64)
        self.characters = np.zeros(_CODES, np.int64)
        """[0x110000] by code point."""

    def add(self, lines: Sequence[str]) -> None:
        """Count some lines."""
        self.trigrams += np.bincount(_trigrams(lines).buckets, minlength=BUCKETS)
        codes = _codes("".join(lines))
        if len(codes):
            counted = np.bincount(codes)
            self.characters[: len(counted)] += counted

    def scripts(self) -> dict[str, int]:
        """Return the letters of each script, the most frequent script first."""
        counts: Counter[str] = Counter()
        for code, script in self._letters():
            counts[script] += int(self.characters[code])
        return dict(counts.most_common())

    def letters_by_script(self) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Return for each code point [0x110000], as 1 or 0, whether it is a letter of any script, and of a script that
        is not one of the side's own."""
        scripts = self.scripts()
        own = {script for script, count in scripts.items() if count >= OWN_SCRIPT * sum(scripts.values())}
        if "hiragana" in own:
            own |= _JAPANESE
        any_script, foreign = np.zeros(_CODES, np.int8), np.zeros(_CODES, np.int8)
        for code, script in self._letters():
            any_script[code] = 1
            foreign[code] = script not in own
        return any_script, foreign

    def _letters(self) -> Iterator[tuple[int, str]]:
        """Yield the code points that occur and have a script, with the script."""
        for code in np.flatnonzero(self.characters).tolist():
            script = script_of(chr(code))
            if script is not None:
                yield code, script


def script_of(character: str) -> str | None:
    """Return the script of a letter, the first word of its Unicode name; None for a character without a script."""
    if not character.isalpha():
        return None
    name = unicodedata.name(character, "").partition(" ")[0]
    return name.lower() if name and name not in _NO_SCRIPT else None


class LineLabels(NamedTuple):
    """Labels of L lines, all bool [L]."""

    other_side: NDArray[np.bool_]
    """The line looks like the other side's language."""
    unusual: NDArray[np.bool_]
    """The line looks like neither side."""
    other_script: NDArray[np.bool_]
    """Most letters are in a script that is not one of the side's own."""


class LanguageClassifier:
    """Labels the lines of one side that do not look like it."""

    def __init__(self, own: SideCounts, other: SideCounts, sample: Sequence[str]) -> None:
        """`sample`: lines of the side from all over the corpus, for the distribution of log-probabilities."""
        # Leave one out: a trigram that occurs in this line only is no evidence for the side.
        without = np.maximum(own.trigrams - 1, 0) + PRIOR
        self._own = np.log(without) - np.log((own.trigrams + PRIOR).sum())
        self._odds = self._own - np.log(other.trigrams + PRIOR) + np.log((other.trigrams + PRIOR).sum())
        self._any_script, self._foreign = own.letters_by_script()
        self.own_share, self._usual, self._spread = self._learn(sample)
        self.tells_sides_apart = False
        """Whether `other_side` is labelled at all; `train_classifiers` sets it for both sides."""

    def _learn(self, sample: Sequence[str]) -> tuple[float, float, float]:
        """Return the share of the sample that is more probable on its own side, and median and spread of its means."""
        trigrams = _trigrams(sample)
        long_enough = trigrams.lengths >= SHORTEST
        if long_enough.sum() < FEWEST:
            return 0.0, 0.0, np.inf
        own = _means(self._own, trigrams)[long_enough]
        usual = float(np.median(own))
        off = np.abs(own - usual) * np.sqrt(trigrams.lengths[long_enough])
        spread = max(1.4826 * float(np.median(off)), 1e-6)
        return float((_means(self._odds, trigrams)[long_enough] > 0).mean()), usual, spread

    def classify(self, lines: Sequence[str]) -> LineLabels:
        """Label L lines."""
        trigrams = _trigrams(lines)
        long_enough = trigrams.lengths >= SHORTEST
        other_side = long_enough & (_means(self._odds, trigrams) < -MARGIN) & self.tells_sides_apart
        # The standard deviation of a mean over n letters falls with the square root of n.
        deviation = (_means(self._own, trigrams) - self._usual) * np.sqrt(trigrams.lengths) / self._spread
        unusual = long_enough & ~other_side & (deviation < -UNUSUAL)
        return LineLabels(other_side, unusual, self._in_other_script(lines))

    def _in_other_script(self, lines: Sequence[str]) -> NDArray[np.bool_]:
        codes = _codes(_joined(lines))  # [C + L - 1], with boundaries between lines
        starts = np.concatenate(([0], np.flatnonzero(codes == _BOUNDARY) + 1))
        codes = np.append(codes, _BOUNDARY)  # so that the last sum is not empty
        letters = np.add.reduceat(self._any_script[codes], starts, dtype=np.int64)  # [C + L] -> [L]
        foreign = np.add.reduceat(self._foreign[codes], starts, dtype=np.int64)  # [C + L] -> [L]
        return np.asarray((2 * foreign > letters) & (letters >= SHORTEST))


def train_classifiers(
    counts: tuple[SideCounts, SideCounts], samples: tuple[Sequence[str], Sequence[str]]
) -> tuple[LanguageClassifier, LanguageClassifier]:
    """Train the classifiers of the source and of the target."""
    source = LanguageClassifier(counts[0], counts[1], samples[0])
    target = LanguageClassifier(counts[1], counts[0], samples[1])
    apart = min(source.own_share, target.own_share) >= TELLING
    source.tells_sides_apart = target.tells_sides_apart = apart
    return source, target


def _means(values: NDArray[np.float64], trigrams: _Trigrams) -> NDArray[np.float64]:
    """Return the mean of `values` [M] over each line's trigrams, [L]; 0 for a line without any."""
    if not len(trigrams.buckets):
        return np.zeros(len(trigrams.lengths))
    starts = np.minimum(trigrams.starts, len(trigrams.buckets) - 1)
    sums = np.add.reduceat(values[trigrams.buckets], starts)  # [M] -> [N] -> [L]
    return np.where(trigrams.lengths > 0, sums / np.maximum(trigrams.lengths, 1), 0.0)


def _joined(lines: Sequence[str]) -> str:
    """Join lines with line ends; a line end inside a line, which JSON can hold, becomes a space."""
    text = "\n".join(lines)
    if text.count("\n") < len(lines):
        return text
    return "\n".join(line.replace("\n", " ") for line in lines)


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
