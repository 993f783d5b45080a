"""Bilingual dictionary from aligned text: for each source word the target word that it is most often linked to.

The file has one line for each source word: source word, target word and number of links, separated by tabs. Words are
separated by spaces and stripped of punctuation at their ends. The dictionary of Luong et al. 2015 keeps pairs with at
least 10 links (their code; 100 in Luong et al. 2015b).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dragoman.errors import InputError
from dragoman.text.lines import read_lines, write_lines
from dragoman.text.links import Link
from dragoman.text.words import words_in

MINIMUM = 10
"""Minimum number of links of a pair."""


def learn_dictionary(
    sentences: Iterable[tuple[str, str, Sequence[Link]]], minimum: int = MINIMUM
) -> dict[str, tuple[str, int]]:
    """Count links of (source line, target line, links): source word -> (target word, number of links).

    Ties go to the first translation in code point order; source words are in code point order, too.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for source, target, links in sentences:
        left, right = words_in(source), words_in(target)
        counts.update((strip_punctuation(left[i]), strip_punctuation(right[j])) for i, j in links)
    best: dict[str, tuple[str, int]] = {}
    for (source_word, target_word), count in sorted(
        counts.items(), key=lambda item: (item[0][0], -item[1], item[0][1])
    ):
        if count >= minimum:
            best.setdefault(source_word, (target_word, count))
    return best


def strip_punctuation(word: str) -> str:
    """The word without leading and trailing characters other than letters and digits; unchanged if it has none."""
    kept = [index for index, character in enumerate(word) if character.isalnum()]
    return word[kept[0] : kept[-1] + 1] if kept else word


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
        if not source or len(rest) not in (1, 2) or not rest[0] or (len(rest) == 2 and not rest[1].isdecimal()):
            raise InputError(
                f"{path}:{number}: {line[:60]!r} is not a dictionary line; expected source word, target word and "
                "optionally a count, separated by tabs"
            )
        count = int(rest[1]) if len(rest) == 2 else 1
        if source not in best or count > best[source][0]:
            best[source] = count, rest[0]
    return {source: target for source, (_, target) in best.items()}
