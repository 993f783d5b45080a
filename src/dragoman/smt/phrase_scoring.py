"""Phrase extraction, phrase counts, lexical weights, and the two tables that Moses reads (Koehn et al. 2003).

A pair of spans is consistent if no link leads from inside one of them to outside the other, and at least one link lies
inside both. Phrases may be extended over unaligned words at their edges, so that one link can give several pairs. The
limits are those of Moses' program `extract`; a pair that occurs several times in a sentence counts each time. Lexical
weights of phrase pairs are made from word translation probabilities (section 3.3).

All pairs are counted in memory, about 1 GB for a million distinct ones; the tables, the phrase table and the
lexicalised reordering table, are sorted by source and target, as Moses requires.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dragoman.scoring.nbest import BARS
from dragoman.smt.reordering import ORIENTATIONS, Orientation, probabilities, training_orientation
from dragoman.text.links import Link
from dragoman.text.words import words_in


class ExtractedPhrase(NamedTuple):
    """Spans [start, end) of a phrase pair in its sentence pair, with its orientations."""

    source: tuple[int, int]
    target: tuple[int, int]
    previous: Orientation
    """Orientation towards the previous target phrase."""
    following: Orientation
    """Orientation towards the next target phrase."""


def consistent_pairs(
    source_length: int, target_length: int, links: Sequence[Link], limit: int
) -> Iterator[ExtractedPhrase]:
    """Yield the phrase pairs of one sentence pair by target span, with at most `limit` words on either side."""
    sources_of, targets_of = _linked_words(source_length, target_length, links)
    linked = set(links)
    for start in range(target_length):
        first, last = source_length, -1
        lowest, highest = target_length, -1  # range of the target words linked to the source span
        for end in range(start, min(target_length, start + limit)):
            for source in sources_of[end]:
                first, last = min(first, source), max(last, source)
            if last < 0 or last - first >= limit:
                continue
            inside = [target for source in range(first, last + 1) for target in targets_of[source]]
            lowest, highest = min(inside), max(inside)
            if lowest < start or highest > end:
                continue
            for span in _extended_spans(first, last, targets_of, limit):
                yield ExtractedPhrase(
                    span,
                    (start, end + 1),
                    training_orientation(linked, span, start, before=True, lengths=(source_length, target_length)),
                    training_orientation(linked, span, end + 1, before=False, lengths=(source_length, target_length)),
                )


def _linked_words(
    source_length: int, target_length: int, links: Sequence[Link]
) -> tuple[list[list[int]], list[list[int]]]:
    """The source words linked to each target word, and the target words linked to each source word."""
    sources_of: list[list[int]] = [[] for _ in range(target_length)]
    targets_of: list[list[int]] = [[] for _ in range(source_length)]
    for source, target in links:
        sources_of[target].append(source)
        targets_of[source].append(target)
    return sources_of, targets_of


def _extended_spans(
    first: int, last: int, targets_of: Sequence[Sequence[int]], limit: int
) -> Iterator[tuple[int, int]]:
    """Source spans [start, end) that contain `first` to `last`, extended over unaligned words on both sides."""
    start = first
    while start >= 0 and start > last - limit and (start == first or not targets_of[start]):
        end = last
        while end < len(targets_of) and end < start + limit and (end == last or not targets_of[end]):
            yield start, end + 1
            end += 1
        start -= 1


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
