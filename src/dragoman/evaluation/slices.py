"""Divisions of a corpus into slices, such as sentence lengths; each is scored by itself.

A slicing lists the sentences of each slice. The score of a slice is the corpus score of its sentences, never a mean of
sentence scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from dragoman.errors import InputError
from dragoman.text.lines import parse_count, read_lines, shown_name
from dragoman.text.scripts import LengthUnit, line_lengths
from dragoman.text.words import words_in

LENGTH_BINS: dict[LengthUnit, tuple[int, ...]] = {
    "words": (0, 5, 10, 15, 20, 30, 40, 50, 60),
    "characters": (0, 10, 20, 30, 40, 60, 80, 100, 120),
}
"""Smallest length of each bin; fixed, so that runs and corpora are comparable. The last bin is open-ended. Characters
count in scripts without spaces, in which a word has about two."""

GROUP = 200
"""Sentences per group, as in the script of Luong et al. 2015 (figure 6)."""

WINDOW: dict[LengthUnit, int] = {"words": 10, "characters": 20}
"""Width of the window over lengths; 10 words in the curve of Cho et al. 2014b."""

Side = Literal["source", "reference"]


@dataclass(frozen=True, slots=True)
class Slicing:
    """A division of a corpus."""

    name: str
    """The property that defines the slices, with its unit."""
    labels: tuple[str, ...]
    """All slices, in the order in which they are shown."""
    members: tuple[tuple[int, ...], ...]
    """The sentences of each label, from 0; a sentence may belong to several slices, or to none."""
    sentences: int
    """Number of sentences in the corpus."""


def partition(name: str, labels: Sequence[str], slice_of: Sequence[int]) -> Slicing:
    """Return a slicing with each sentence in one slice; `slice_of` has the index of its label."""
    members: list[list[int]] = [[] for _ in labels]
    for sentence, index in enumerate(slice_of):
        members[index].append(sentence)
    return Slicing(name, tuple(labels), tuple(map(tuple, members)), len(slice_of))


def by_length(lines: Sequence[str], side: Side) -> Slicing:
    """Slice by length of the raw line, in space-separated words, in bins that are the same for every corpus.

    Lines of a script without spaces are measured in characters, here and in the other slicings by length; the name of
    the slicing says which.
    """
    unit, lengths = line_lengths(lines)
    bins = LENGTH_BINS[unit]
    labels = (*(f"{start}-{following - 1}" for start, following in pairwise(bins)), f"{bins[-1]}+")
    slice_of = [sum(length >= start for start in bins) - 1 for length in lengths]
    return partition(f"{side} length in {unit}", labels, slice_of)


def by_length_groups(lines: Sequence[str], side: Side, size: int = GROUP) -> Slicing:
    """Sort by length and cut into groups of `size`, the last one smaller; labels are the lengths in the group.

    Luong et al. 2015, figure 6, with lengths of references (their axis shows the last length of each group);
    Sutskever et al. 2014, figure 3, left, with the lengths of sources.
    """
    unit, lengths = line_lengths(lines)
    return _groups(f"{side} length in {unit}, groups of {size}", lengths, size, str)


def by_length_window(lines: Sequence[str], side: Side) -> Slicing:
    """Return for each length L the sentences of lengths L - width / 2 + 1 to L + width / 2: overlapping slices.

    The width is that of `WINDOW` for the unit of length. Cho et al. 2014b smooth their curve with a window of 10; they
    do not state where its centre lies.
    """
    unit, lengths = line_lengths(lines)
    width = WINDOW[unit]
    starts = range(min(lengths, default=0), max(lengths, default=-1) + 1)
    first, last = 1 - width // 2, width - width // 2
    return Slicing(
        f"{side} length in {unit}, window of {width}",
        tuple(map(str, starts)),
        tuple(
            tuple(sentence for sentence, length in enumerate(lengths) if start + first <= length <= start + last)
            for start in starts
        ),
        len(lengths),
    )


def by_rarity(mean_ranks: Sequence[float], size: int = GROUP) -> Slicing:
    """Sort by the mean frequency rank of the words, the most frequent first, and cut into groups of `size`.

    Sutskever et al. 2014, figure 3, right. Labels are the lowest and the highest mean rank in the group.
    """
    return _groups(
        f"mean frequency rank of source words, groups of {size}", mean_ranks, size, lambda rank: f"{rank:.0f}"
    )


def mean_ranks(sentences: Iterable[Sequence[str]], ranks: Mapping[str, int]) -> list[float]:
    """Return the mean rank of the words of each sentence; rank 1 is the most frequent word, 0 an empty sentence.

    Words without a rank are taken as rarer than all others.
    """
    unknown = len(ranks) + 1
    return [sum(ranks.get(word, unknown) for word in words) / len(words) if words else 0.0 for words in sentences]


def read_ranks(path: str | Path) -> dict[str, int]:
    """Read frequency ranks, from 1, from a file with a word per line, optionally followed by a space and its count.

    Without counts the order of lines is the rank; with counts it only orders words of equal counts.

    Raises:
        InputError: the file cannot be read, is empty, or a line of it is neither a word nor a word and its count.
    """
    counts: dict[str, int] = {}
    fields = 0
    for number, line in enumerate(read_lines(path), 1):
        parts = words_in(line)
        if not parts:
            continue
        fields = fields or len(parts)
        count = parse_count(parts[-1]) if fields == 2 else 0
        if len(parts) != fields or fields > 2 or count is None:
            raise InputError(f"{shown_name(path)}:{number}: {line!r} is neither a word nor a word and its count")
        counts[parts[0]] = counts.get(parts[0], 0) + count
    if not counts:
        raise InputError(f"{shown_name(path)}: contains no words; each line must be a word, optionally with its count")
    by_frequency = sorted(counts, key=lambda word: -counts[word])
    return {word: rank for rank, word in enumerate(by_frequency, 1)}


def _groups(name: str, keys: Sequence[float], size: int, show: Callable[[float], str]) -> Slicing:
    order = sorted(range(len(keys)), key=lambda sentence: keys[sentence])
    groups = [tuple(order[start : start + size]) for start in range(0, len(order), size)]
    ends = [(show(keys[group[0]]), show(keys[group[-1]])) for group in groups]
    labels = tuple(low if low == high else f"{low}-{high}" for low, high in ends)
    return Slicing(name, labels, tuple(groups), len(keys))
