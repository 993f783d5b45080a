"""Lexical weights: how well the words of a phrase pair translate each other (Koehn et al. 2003, section 3.3)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dragoman.text.links import Link

NULL = "NULL"
"""What stands for the partner of a word without a link; Moses writes it so, too."""


@dataclass(frozen=True)
class Lexicon:
    """Translation probabilities of words in both directions, by relative frequency of links.

    A pair of words that was never linked has probability 1 where it is asked for, as in Moses' program `score`: this
    happens only with links that the lexicon was not made from.
    """

    target_given_source: Mapping[tuple[str, str], float]
    """w(target | source) by (target, source)."""
    source_given_target: Mapping[tuple[str, str], float]
    """w(source | target) by (source, target)."""

    def weights(self, source: Sequence[str], target: Sequence[str], links: Iterable[Link]) -> tuple[float, float]:
        """lex(source | target) and lex(target | source) of a phrase pair."""
        links = list(links)
        turned = [(j, i) for i, j in links]
        return (
            _weight(self.source_given_target, source, target, turned),
            _weight(self.target_given_source, target, source, links),
        )


def _weight(
    table: Mapping[tuple[str, str], float], words: Sequence[str], given: Sequence[str], links: Iterable[Link]
) -> float:
    """The product over `words` of their mean probability given what they are linked to; `links` are (given, word)."""
    partners: dict[int, list[str]] = defaultdict(list)
    for there, here in links:
        partners[here].append(given[there])
    product = 1.0
    for number, word in enumerate(words):
        found = partners.get(number, (NULL,))
        product *= sum(table.get((word, partner), 1.0) for partner in found) / len(found)
    return product


def learn_lexicon(sentences: Iterable[tuple[Sequence[str], Sequence[str], Sequence[Link]]]) -> Lexicon:
    """From (source words, target words, links); words without a link count as linked to NULL."""
    pairs: Counter[tuple[str, str]] = Counter()
    for source, target, links in sentences:
        pairs.update(_word_pairs(source, target, links))
    sources: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    for (one, other), count in pairs.items():
        sources[one] += count
        targets[other] += count
    return Lexicon(
        {(other, one): count / sources[one] for (one, other), count in pairs.items()},
        {(one, other): count / targets[other] for (one, other), count in pairs.items()},
    )


def _word_pairs(source: Sequence[str], target: Sequence[str], links: Sequence[Link]) -> Iterator[tuple[str, str]]:
    linked_source = {i for i, _ in links}
    linked_target = {j for _, j in links}
    yield from ((source[i], target[j]) for i, j in links)
    yield from ((word, NULL) for i, word in enumerate(source) if i not in linked_source)
    yield from ((NULL, word) for j, word in enumerate(target) if j not in linked_target)
