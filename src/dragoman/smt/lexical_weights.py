"""Lexical weights of phrase pairs, from word translation probabilities (Koehn et al. 2003, section 3.3)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dragoman.text.links import Link

NULL = "NULL"
"""The partner of a word without a link, in Moses' spelling."""


@dataclass(frozen=True)
class LexicalTable:
    """Word translation probabilities in both directions: relative frequencies of links.

    A word pair that was never linked has probability 1, as in Moses' program `score`; this happens only with links
    that the table was not estimated from.
    """

    target_given_source: Mapping[tuple[str, str], float]
    """w(target | source) by (target, source)."""
    source_given_target: Mapping[tuple[str, str], float]
    """w(source | target) by (source, target)."""

    def weights(self, source: Sequence[str], target: Sequence[str], links: Iterable[Link]) -> tuple[float, float]:
        """Return lex(source | target) and lex(target | source) of a phrase pair."""
        links = list(links)
        reversed_links = [(j, i) for i, j in links]
        return (
            _weight(self.source_given_target, source, target, reversed_links),
            _weight(self.target_given_source, target, source, links),
        )


def _weight(
    table: Mapping[tuple[str, str], float], words: Sequence[str], given: Sequence[str], links: Iterable[Link]
) -> float:
    """Product over `words` of the mean probability given their linked words; `links` are (given, word)."""
    partners: dict[int, list[str]] = defaultdict(list)
    for given_index, word_index in links:
        partners[word_index].append(given[given_index])
    product = 1.0
    for number, word in enumerate(words):
        linked = partners.get(number, (NULL,))
        product *= sum(table.get((word, partner), 1.0) for partner in linked) / len(linked)
    return product


def count_lexical_table(sentences: Iterable[tuple[Sequence[str], Sequence[str], Sequence[Link]]]) -> LexicalTable:
    """Estimate the table from (source words, target words, links); words without a link count as linked to NULL."""
    pairs: Counter[tuple[str, str]] = Counter()
    for source, target, links in sentences:
        linked_source, linked_target = {i for i, _ in links}, {j for _, j in links}
        pairs.update((source[i], target[j]) for i, j in links)
        pairs.update((word, NULL) for i, word in enumerate(source) if i not in linked_source)
        pairs.update((NULL, word) for j, word in enumerate(target) if j not in linked_target)
    sources: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    for (one, other), count in pairs.items():
        sources[one] += count
        targets[other] += count
    return LexicalTable(
        {(other, one): count / sources[one] for (one, other), count in pairs.items()},
        {(one, other): count / targets[other] for (one, other), count in pairs.items()},
    )
