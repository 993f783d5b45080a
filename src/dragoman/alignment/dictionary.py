"""A dictionary of words learnt from aligned text: for each source word the target word it is most often linked to.

The file has a line for each source word: source, target, and how often they were linked, between tabs. Words are what
stands between blanks, without the punctuation around them. The dictionary of Luong et al. 2015 keeps pairs linked at
least 10 times (their code; 100 in Luong et al. 2015b).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dragoman.errors import InputError
from dragoman.text.lines import read_lines, write_lines
from dragoman.text.links import Link

MINIMUM = 10
"""Links that a pair needs."""


def learn_dictionary(
    sentences: Iterable[tuple[str, str, Sequence[Link]]], minimum: int = MINIMUM
) -> dict[str, tuple[str, int]]:
    """Source word -> target word and how often they were linked, from (source line, target line, links).

    Of equally frequent translations the first in the order of code points is taken. Source words are in order of
    code points too.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for source, target, links in sentences:
        left, right = source.split(), target.split()
        counts.update((strip_punctuation(left[i]), strip_punctuation(right[j])) for i, j in links)
    best: dict[str, tuple[str, int]] = {}
    for (source_word, target_word), count in sorted(
        counts.items(), key=lambda item: (item[0][0], -item[1], item[0][1])
    ):
        if count >= minimum:
            best.setdefault(source_word, (target_word, count))
    return best


def strip_punctuation(word: str) -> str:
    """The word without the characters at either end that are neither letters nor digits, if any are left."""
    kept = [index for index, character in enumerate(word) if character.isalnum()]
    return word[kept[0] : kept[-1] + 1] if kept else word


def write_dictionary(path: str | Path, words: Mapping[str, tuple[str, int]]) -> None:
    """Write the file.

    Raises:
        InputError: it cannot be written.
    """
    write_lines(path, (f"{source}\t{target}\t{count}" for source, (target, count) in words.items()))


def read_dictionary(path: str | Path) -> dict[str, str]:
    """Source word -> target word; of several lines for a word the one with the highest count, then the first.

    A line without a count counts 1; blank lines are left out.

    Raises:
        InputError: the file cannot be read, or a line of it is none of a dictionary.
    """
    best: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        source, *rest = line.split("\t")
        if not source or len(rest) not in (1, 2) or not rest[0] or (len(rest) == 2 and not rest[1].isdecimal()):
            raise InputError(
                f"{path}:{number}: {line[:60]!r} is no line of a dictionary; give source word, target word and, if you "
                "like, a count, with tabs between them"
            )
        count = int(rest[1]) if len(rest) == 2 else 1
        if source not in best or count > best[source][0]:
            best[source] = count, rest[0]
    return {source: target for source, (_, target) in best.items()}
