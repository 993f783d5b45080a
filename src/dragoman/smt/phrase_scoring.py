"""Phrase counts, and the two tables that Moses reads: the phrase table and the lexicalised reordering table.

All pairs are counted in memory, about 1 GB for a million distinct ones; the tables are sorted by source and target, as
Moses requires.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.scoring.nbest import BARS
from dragoman.smt.extraction import consistent_pairs
from dragoman.smt.lexical_weights import LexicalTable
from dragoman.smt.reordering import ORIENTATIONS, probabilities
from dragoman.text.links import Link
from dragoman.text.words import words_in

AlignedPair = tuple[Sequence[str], Sequence[str], Sequence[Link]]
"""Source words, target words, links."""
PhrasePair = tuple[str, str]
"""Source and target phrase, words separated by single spaces."""


@dataclass(slots=True)
class PhraseCounts:
    """Counts of one phrase pair."""

    alignments: Counter[tuple[Link, ...]] = field(default_factory=Counter)
    """Count of each internal alignment; links count from the starts of the phrases, sorted by target, then source."""
    orientations: list[int] = field(default_factory=lambda: [0] * (2 * ORIENTATIONS))
    """Count of each orientation towards the previous phrase, then towards the next."""

    @property
    def count(self) -> int:
        """Count of the pair."""
        return self.alignments.total()

    @property
    def alignment(self) -> tuple[Link, ...]:
        """The most frequent alignment; ties go to the largest, compared target word by target word, as in Moses."""
        if len(self.alignments) == 1:
            return next(iter(self.alignments))
        return max(self.alignments, key=lambda links: (self.alignments[links], _by_target(links)))


def _by_target(links: Sequence[Link]) -> list[list[int]]:
    """The source words linked to each target word."""
    sources: list[list[int]] = [[] for _ in range(1 + max((j for _, j in links), default=-1))]
    for i, j in links:
        sources[j].append(i)
    return sources


def count_pairs(sentences: Iterable[AlignedPair], limit: int) -> dict[PhrasePair, PhraseCounts]:
    """Extract and count the phrase pairs of sentences, with at most `limit` words on either side."""
    seen: dict[PhrasePair, PhraseCounts] = {}
    for source, target, links in sentences:
        by_target = sorted(links, key=lambda link: (link[1], link[0]))
        for pair in consistent_pairs(len(source), len(target), by_target, limit):
            (start, end), (first, last) = pair.source, pair.target
            phrases = " ".join(source[start:end]), " ".join(target[first:last])
            counts = seen.get(phrases)
            if counts is None:
                counts = seen[phrases] = PhraseCounts()
            counts.alignments[tuple((i - start, j - first) for i, j in by_target if first <= j < last)] += 1
            counts.orientations[pair.previous] += 1
            counts.orientations[ORIENTATIONS + pair.following] += 1
    return seen


def phrase_table(pairs: dict[PhrasePair, PhraseCounts], lexical_table: LexicalTable) -> Iterator[str]:
    """Yield the lines of the phrase table: four scores, links, counts of target, source and pair.

    The scores are p(source | target), lex, p(target | source), lex. Phrase translation probabilities are relative
    frequencies without smoothing, as in Moses by default.
    """
    sources: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    for (source, target), seen in pairs.items():
        sources[source] += seen.count
        targets[target] += seen.count
    for source, target in _in_order(pairs):
        seen = pairs[source, target]
        count, of_source, of_target = seen.count, sources[source], targets[target]
        links = seen.alignment
        backward, forward = lexical_table.weights(words_in(source), words_in(target), links)
        scores = _shown((count / of_target, backward, count / of_source, forward))
        alignment = " ".join(f"{i}-{j}" for i, j in links)
        yield f"{source} ||| {target} ||| {scores} ||| {alignment} ||| {of_target} {of_source} {count} ||| |||"


def reordering_table(pairs: dict[PhrasePair, PhraseCounts]) -> Iterator[str]:
    """Yield lines of the reordering table: orientation probabilities towards the previous phrase, then the next."""
    for source, target in _in_order(pairs):
        counts = pairs[source, target].orientations
        previous, following = counts[:ORIENTATIONS], counts[ORIENTATIONS:]
        yield f"{source} {BARS} {target} {BARS} {_shown((*probabilities(previous), *probabilities(following)))}"


def _in_order(pairs: Iterable[PhrasePair]) -> list[PhrasePair]:
    """Sorted by the bytes of the lines, as Moses sorts them; UTF-8 bytes sort like code points."""
    return sorted(pairs, key=lambda pair: f"{pair[0]} {BARS} {pair[1]} {BARS}")


def _shown(values: Iterable[float]) -> str:
    """Scores with six significant digits, as Moses prints them."""
    return " ".join(f"{value:.6g}" for value in values)
