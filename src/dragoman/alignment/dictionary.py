"""Bilingual dictionary from aligned text: for each source word the target word that it is most often linked to.

The file has one line for each source word: source word, target word and number of links, separated by tabs. Words are
separated by spaces and stripped of punctuation at their ends; what is nothing but punctuation is never paired with a
word. The dictionary of Luong et al. 2015 keeps pairs with at least 10 links (their code; 100 in Luong et al. 2015b).
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import InputError
from dragoman.text.lines import parse_count, read_lines, shown_name, write_lines
from dragoman.text.links import Link
from dragoman.text.words import bare_words

MINIMUM, SENTENCES = 10, 10_000
"""Minimum number of links of a pair, and the sentences from which on it is not lowered."""

CHANCE = 2.0
"""A pair is no better than chance if it has fewer than this many times the links that chance would give it."""


class LearnedDictionary(NamedTuple):
    """A dictionary, and how far it can be trusted."""

    words: dict[str, tuple[str, int]]
    """Source word -> (target word, number of links)."""
    by_chance: int
    """How many of these pairs are linked less than `CHANCE` times as often as words linked at random: their number of
    links is below `CHANCE` times links of the source word times links of the target word by all links. The attention
    of an undertrained model links every word to the same few words."""
    minimum: int
    """Fewest links of a pair."""
    sentences: int
    """Sentences that the links were counted in."""
    most: int
    """Links of the most frequent pair of two words, with as many as `minimum` or fewer."""


def fitting_minimum(sentences: int) -> int:
    """Return the minimum number of links for a corpus: 10, of fewer than 10,000 sentences one for each thousand."""
    return max(1, min(MINIMUM, MINIMUM * sentences // SENTENCES))


def learn_dictionary(
    sentences: Iterable[tuple[str, str, Sequence[Link]]], minimum: int | None = None
) -> LearnedDictionary:
    """Count the links of (source line, target line, links).

    Pairs of words with fewer than `minimum` links are left out; None: `fitting_minimum` of the number of sentences.
    Ties go to the first translation in code point order; source words are in code point order, too.
    """
    counts: Counter[tuple[str, str]] = Counter()
    read = most = 0
    for source, target, links in sentences:
        read += 1
        left, right = ([line[slice(*span)] for span in bare_words(line)] for line in (source, target))
        counts.update((left[i], right[j]) for i, j in links)
    minimum = fitting_minimum(read) if minimum is None else minimum
    best: dict[str, tuple[str, int]] = {}
    links_of: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for (source_word, target_word), count in sorted(
        counts.items(), key=lambda item: (item[0][0], -item[1], item[0][1])
    ):
        links_of[0][source_word] += count
        links_of[1][target_word] += count
        if is_punctuation(source_word) == is_punctuation(target_word):
            most = max(most, count)
            if count >= minimum:
                best.setdefault(source_word, (target_word, count))
    by_chance = sum(
        count * counts.total() < CHANCE * links_of[0][source_word] * links_of[1][target_word]
        for source_word, (target_word, count) in best.items()
    )
    return LearnedDictionary(best, by_chance, minimum, read, most)


def is_punctuation(word: str) -> bool:
    """Whether a word has nothing but punctuation (Unicode categories P)."""
    return all(unicodedata.category(character).startswith("P") for character in word)


def write_dictionary(path: str | Path, words: Mapping[str, tuple[str, int]]) -> None:
    """Write the dictionary file.

    Raises:
        InputError: the file cannot be written.
    """
    write_lines(path, (f"{source}\t{target}\t{count}" for source, (target, count) in words.items()))


def read_dictionary(path: str | Path) -> dict[str, str]:
    """Read a dictionary: source word -> target word; of several lines for a word the first with the highest count.

    A line without a count has count 1; empty lines are skipped.

    Raises:
        InputError: the file cannot be read or has a malformed line.
    """
    best: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        source, *rest = line.split("\t")
        count = 1 if len(rest) == 1 else parse_count(rest[-1]) if len(rest) == 2 else None
        if not source or count is None or not rest[0]:
            raise InputError(
                f"{shown_name(path)}:{number}: {line[:60]!r} is not a dictionary line; expected source word, target "
                "word and optionally a count, separated by tabs"
            )
        if source not in best or count > best[source][0]:
            best[source] = count, rest[0]
    return {source: target for source, (_, target) in best.items()}
