"""Ways to divide a corpus, so that a score can be shown for each part.

A slicing says which sentences belong to each slice; whoever scores adds up their statistics. Scores of slices are
corpus scores of the sentences inside, never means of sentence scores (papers.md, pitfall 25).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from dragoman.errors import InputError
from dragoman.text.lines import read_lines
from dragoman.text.side import raw_words

LENGTH_BINS = (0, 5, 10, 15, 20, 30, 40, 50, 60)
"""Smallest length of each bin. Fixed, so that runs and corpora can be compared; the last bin has no upper end."""

GROUP = 200
"""Sentences of a group, as in the script of Luong et al. 2015 (figure 6)."""

WINDOW = 10
"""Lengths that are taken together in the curve of Cho et al. 2014b."""

Side = Literal["source", "reference"]


@dataclass(frozen=True, slots=True)
class Slicing:
    """A division of a corpus."""

    name: str
    """What divides it, with its unit."""
    labels: tuple[str, ...]
    """All slices, in the order in which they are shown."""
    members: tuple[tuple[int, ...], ...]
    """For each label its sentences, from 0; a sentence may belong to several slices, or to none."""
    sentences: int
    """Of the corpus."""


def divided(name: str, labels: Sequence[str], slice_of: Sequence[int]) -> Slicing:
    """A slicing in which each sentence belongs to one slice, `slice_of` being the index of its label."""
    members: list[list[int]] = [[] for _ in labels]
    for sentence, index in enumerate(slice_of):
        members[index].append(sentence)
    return Slicing(name, tuple(labels), tuple(map(tuple, members)), len(slice_of))


def by_source_length(sources: Sequence[str]) -> Slicing:
    """Sentences by length of the source, in words between blanks of the raw line."""
    return by_length(sources, "source")


def by_length(lines: Sequence[str], side: Side) -> Slicing:
    """Sentences by length, in words between blanks of the raw line, in bins that are the same for every corpus."""
    labels = (*(f"{start}-{following - 1}" for start, following in pairwise(LENGTH_BINS)), f"{LENGTH_BINS[-1]}+")
    slice_of = [sum(length >= start for start in LENGTH_BINS) - 1 for length in _lengths(lines)]
    return divided(f"{side} length in words", labels, slice_of)


def by_length_groups(lines: Sequence[str], side: Side, size: int = GROUP) -> Slicing:
    """Sentences sorted by length and cut into groups of `size`, the last one smaller; a group shows its lengths.

    Luong et al. 2015, figure 6, with lengths of references (their axis shows the last length of each group);
    Sutskever et al. 2014, figure 3, left, with those of sources.
    """
    lengths = _lengths(lines)
    return _groups(f"{side} length in words, groups of {size}", lengths, size, str)


def by_length_window(lines: Sequence[str], side: Side, width: int = WINDOW) -> Slicing:
    """For each length L the sentences of L - width / 2 + 1 to L + width / 2 words: a curve smoothed by overlap.

    Cho et al. 2014b smooth theirs with a window of 10; where its middle lies they do not say.
    """
    lengths = _lengths(lines)
    places = range(min(lengths, default=0), max(lengths, default=-1) + 1)
    first, last = 1 - width // 2, width - width // 2
    return Slicing(
        f"{side} length in words, window of {width}",
        tuple(map(str, places)),
        tuple(
            tuple(sentence for sentence, length in enumerate(lengths) if place + first <= length <= place + last)
            for place in places
        ),
        len(lengths),
    )


def by_rarity(mean_ranks: Sequence[float], size: int = GROUP) -> Slicing:
    """Sentences sorted by the mean frequency rank of their words, the commonest first, and cut into groups of `size`.

    Sutskever et al. 2014, figure 3, right. A group shows its lowest and its highest mean rank.
    """
    return _groups(
        f"mean frequency rank of source words, groups of {size}", mean_ranks, size, lambda rank: f"{rank:.0f}"
    )


def mean_ranks(sentences: Iterable[Sequence[str]], ranks: Mapping[str, int]) -> list[float]:
    """The mean rank of the words of each sentence, the most frequent word having rank 1; 0 for a blank one.

    A word that has no rank is taken to be rarer than all that have one.
    """
    unknown = len(ranks) + 1
    return [sum(ranks.get(word, unknown) for word in words) / len(words) if words else 0.0 for words in sentences]


def read_ranks(path: str | Path) -> dict[str, int]:
    """Frequency ranks, from 1, out of a file with a word on each line, and perhaps its count after a blank.

    With counts the order of lines means nothing, and words of equal counts keep it; without, it is the rank.

    Raises:
        InputError: the file cannot be read, is empty, or a line of it is neither a word nor a word and its count.
    """
    counts: dict[str, int] = {}
    fields = 0
    for number, line in enumerate(read_lines(path), 1):
        parts = line.split()
        if not parts:
            continue
        fields = fields or len(parts)
        if len(parts) != fields or fields > 2 or (fields == 2 and not parts[1].isdecimal()):
            raise InputError(f"{path}:{number}: {line!r} is not a word, or a word and its count, as every line must be")
        counts[parts[0]] = counts.get(parts[0], 0) + (int(parts[1]) if fields == 2 else 0)
    if not counts:
        raise InputError(f"{path}: no words in it; each line must hold a word, and may hold its count")
    by_frequency = sorted(counts, key=lambda word: -counts[word])
    return {word: rank for rank, word in enumerate(by_frequency, 1)}


def _lengths(lines: Sequence[str]) -> list[int]:
    return [len(raw_words(line)) for line in lines]


def _groups(name: str, keys: Sequence[float], size: int, show: Callable[[float], str]) -> Slicing:
    order = sorted(range(len(keys)), key=lambda sentence: keys[sentence])
    groups = [tuple(order[start : start + size]) for start in range(0, len(order), size)]
    ends = [(show(keys[group[0]]), show(keys[group[-1]])) for group in groups]
    labels = tuple(low if low == high else f"{low}-{high}" for low, high in ends)
    return Slicing(name, labels, tuple(groups), len(keys))
