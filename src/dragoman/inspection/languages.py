"""Which lines do not look like the side they stand on, learnt from the corpus itself.

Each side's letter trigrams are counted, and a line is asked how much more probable its trigrams are on its own side
than on the other (a naive Bayes classifier after Cavnar and Trenkle 1994, taught by the two sides). Most lines of a
side being in its language is all that is needed: no model, no list of languages. Scripts are counted beside it.

What this can tell: lines of the other side's language, pairs that are the wrong way round, lines in a script that the
side does not use, and lines whose trigrams are far rarer than the side's usually are: mostly other languages, also
names and codes. What it cannot: say which language a line is in; judge lines of a few letters; tell the sides apart
where both are of one language (it says so and keeps silent); notice that most of a side is in the wrong language.

Everything is done for thousands of lines at a time on arrays of code points. Letters: L lines, C characters of
them all, M the number of buckets that trigrams are hashed to.
"""

from __future__ import annotations

import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BUCKETS = 1 << 18
"""M; two trigrams in one bucket are taken for the same, which few are."""

PRIOR = 0.5
"""Added to every count."""

SHORTEST = 8
"""Trigrams, and so about characters, of a line that is judged."""

MARGIN = 0.5
"""Nats a trigram by which the other side must be the likelier one."""

TELLING = 0.95
"""Share of the lines of both sides that must be likelier on their own side; below, the sides are too much alike."""

FEWEST = 100
"""Lines that a side must have for its trigrams to mean anything."""

UNUSUAL = 6.0
"""Robust standard deviations below the usual probability at which a line is called unusual for its side."""

OWN_SCRIPT = 0.05
"""A script with this share of a side's letters is one that the side is written in."""

_JAPANESE = {"hiragana", "katakana", "cjk"}
"""Written together: a line of katakana is no foreign one where there is hiragana, however rare it is."""

_MULTIPLIERS = np.array([2654435761, 2246822519, 3266489917], np.uint32)  # odd: of Knuth and of xxHash
_BOUNDARY = 10  # the code of the line end
_CODES = sys.maxunicode + 1
_NO_SCRIPT = frozenset(
    ("MODIFIER", "MASCULINE", "FEMININE", "MICRO", "FULLWIDTH", "HALFWIDTH", "MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT")
)
"""First words of the names of letters that belong to no script, or to several."""


class _Trigrams(NamedTuple):
    """The trigrams of L lines; each line's end counts as a letter on both of its ends."""

    buckets: NDArray[np.uint32]
    """[trigrams]"""
    starts: NDArray[np.int64]
    """[L] the place of each line's first trigram; the next line's where it has none."""
    lengths: NDArray[np.int64]
    """[L]"""


def _trigrams(lines: Sequence[str]) -> _Trigrams:
    codes = _codes(f"\n{_joined(lines).lower()}\n").copy()
    codes[(codes > ord("0")) & (codes <= ord("9"))] = ord("0")
    mixed = sum(codes[place : len(codes) - 2 + place] * factor for place, factor in enumerate(_MULTIPLIERS))
    inside = codes[1:-1] != _BOUNDARY
    ends = np.flatnonzero(~inside)  # one after each line but the last
    total = np.concatenate(([0], np.cumsum(inside)))
    starts = total[np.concatenate(([0], ends + 1))]
    lengths = np.diff(np.append(starts, total[-1]))
    buckets = (np.asarray(mixed)[inside] >> np.uint32(32 - BUCKETS.bit_length() + 1)).astype(np.uint32)
    return _Trigrams(buckets, starts, lengths)


class SideCounts:
    """The trigrams and the characters of one side, counted as it is read."""

    def __init__(self) -> None:
        self.trigrams = np.zeros(BUCKETS, np.int64)
        self.characters = np.zeros(_CODES, np.int64)
        """By code point."""

    def add(self, lines: Sequence[str]) -> None:
        """Count some lines."""
        self.trigrams += np.bincount(_trigrams(lines).buckets, minlength=BUCKETS)
        codes = _codes("".join(lines))
        if len(codes):
            counted = np.bincount(codes)
            self.characters[: len(counted)] += counted

    def scripts(self) -> dict[str, int]:
        """Letters of each script, the most frequent script first."""
        counts: Counter[str] = Counter()
        for code in np.flatnonzero(self.characters).tolist():
            script = script_of(chr(code))
            if script is not None:
                counts[script] += int(self.characters[code])
        return dict(counts.most_common())

    def _own_scripts(self) -> set[str]:
        scripts = self.scripts()
        letters = sum(scripts.values())
        own = {script for script, count in scripts.items() if count >= OWN_SCRIPT * letters}
        return own | _JAPANESE if "hiragana" in own else own

    def strange_letters(self) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """For each code point [0x110000] whether it is a letter of some script, and of one that the side is not
        written in, as 1 and 0."""
        own = self._own_scripts()
        any_script, strange = np.zeros(_CODES, np.int8), np.zeros(_CODES, np.int8)
        for code in np.flatnonzero(self.characters).tolist():
            script = script_of(chr(code))
            any_script[code] = script is not None
            strange[code] = script is not None and script not in own
        return any_script, strange


def script_of(character: str) -> str | None:
    """The script of a letter, as the first word of its Unicode name has it; None for what has none of its own."""
    if not character.isalpha():
        return None
    name = unicodedata.name(character, "").partition(" ")[0]
    return name.lower() if name and name not in _NO_SCRIPT else None


class Judgement(NamedTuple):
    """Of L lines, all bool [L]."""

    others: NDArray[np.bool_]
    """Look like the other side's language."""
    unusual: NDArray[np.bool_]
    """Look like neither side."""
    strange_script: NDArray[np.bool_]
    """Are mostly in a script of which the side has little."""


class SideJudge:
    """Tells which lines of one side do not look like it."""

    def __init__(self, own: SideCounts, other: SideCounts, sample: Sequence[str]) -> None:
        """`sample` is of the side's lines, from all over the corpus: what is usual is learnt from them."""
        # Without the line itself: a trigram that stands nowhere else says nothing for the side.
        without = np.maximum(own.trigrams - 1, 0) + PRIOR
        self._own = np.log(without) - np.log((own.trigrams + PRIOR).sum())
        self._odds = self._own - np.log(other.trigrams + PRIOR) + np.log((other.trigrams + PRIOR).sum())
        self._any_script, self._strange = own.strange_letters()
        self.own_share, self._usual, self._spread = self._learn(sample)
        self.tells_sides_apart = False
        """Whether the other side's language is looked for; set by who knows both judges."""

    def _learn(self, sample: Sequence[str]) -> tuple[float, float, float]:
        """The share of the sample that is likelier on its own side; median and spread of log-probabilities."""
        trigrams = _trigrams(sample)
        judged = trigrams.lengths >= SHORTEST
        if judged.sum() < FEWEST:
            return 0.0, 0.0, np.inf
        own = _means(self._own, trigrams)[judged]
        usual = float(np.median(own))
        off = np.abs(own - usual) * np.sqrt(trigrams.lengths[judged])
        spread = max(1.4826 * float(np.median(off)), 1e-6)
        return float((_means(self._odds, trigrams)[judged] > 0).mean()), usual, spread

    def judge(self, lines: Sequence[str]) -> Judgement:
        """Judge some lines."""
        trigrams = _trigrams(lines)
        judged = trigrams.lengths >= SHORTEST
        others = judged & (_means(self._odds, trigrams) < -MARGIN) & self.tells_sides_apart
        # A mean over n letters strays by the square root of n less.
        deviation = (_means(self._own, trigrams) - self._usual) * np.sqrt(trigrams.lengths) / self._spread
        return Judgement(others, judged & ~others & (deviation < -UNUSUAL), self._in_strange_script(lines))

    def _in_strange_script(self, lines: Sequence[str]) -> NDArray[np.bool_]:
        codes = _codes(_joined(lines))
        starts = np.concatenate(([0], np.flatnonzero(codes == _BOUNDARY) + 1))
        codes = np.append(codes, _BOUNDARY)  # so that the last start has something to sum
        letters = np.add.reduceat(self._any_script[codes], starts, dtype=np.int64)
        strange = np.add.reduceat(self._strange[codes], starts, dtype=np.int64)
        return np.asarray((2 * strange > letters) & (letters >= SHORTEST))


def judges(
    counts: tuple[SideCounts, SideCounts], samples: tuple[Sequence[str], Sequence[str]]
) -> tuple[SideJudge, SideJudge]:
    """Those of the source and of the target."""
    source, target = SideJudge(counts[0], counts[1], samples[0]), SideJudge(counts[1], counts[0], samples[1])
    apart = min(source.own_share, target.own_share) >= TELLING
    source.tells_sides_apart = target.tells_sides_apart = apart
    return source, target


def _means(values: NDArray[np.float64], trigrams: _Trigrams) -> NDArray[np.float64]:
    """[L] the mean value of each line's trigrams; 0 for a line without any."""
    if not len(trigrams.buckets):
        return np.zeros(len(trigrams.lengths))
    sums = np.add.reduceat(values[trigrams.buckets], np.minimum(trigrams.starts, len(trigrams.buckets) - 1))
    return np.where(trigrams.lengths > 0, sums / np.maximum(trigrams.lengths, 1), 0.0)


def _joined(lines: Sequence[str]) -> str:
    """The lines with a line end between two; one inside a line, which JSON can hold, counts as a blank."""
    text = "\n".join(lines)
    if text.count("\n") < len(lines):
        return text
    return "\n".join(line.replace("\n", " ") for line in lines)


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
