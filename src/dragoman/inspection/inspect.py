"""The inspection of a corpus in two passes: the first counts, the second finds unusual pairs.

The text is read as a stream, so it may be larger than memory; what is kept is the distinct words with their counts,
about sixty bytes per pair, and the held-out sets.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TextIO

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dragoman.config.schema import CleaningConfig
from dragoman.inspection.character_issues import around, character_issues, has_composed_letter
from dragoman.inspection.corpus_reader import Chunk, CorpusReader, FileCounts, describe_bad_line
from dragoman.inspection.findings import NOT_UTF8, Finding, Findings
from dragoman.inspection.languages import LineLabels, SideCounts, train_classifiers
from dragoman.inspection.lengths import LengthFacts, LengthRatio, Lengths
from dragoman.inspection.overlap import HeldOutSet, known_words
from dragoman.inspection.repetition import Repetition, RepetitionFacts
from dragoman.inspection.words import SubwordFacts, VocabularyCoverage, split_words, subword_facts, vocabulary_coverage
from dragoman.progress import ProgressCallback
from dragoman.text.corpus import Corpora, Pair
from dragoman.text.words import is_blank

SAMPLE = 200
"""Pairs of each chunk from which the classifiers learn what is usual."""


class SideFacts(Struct, frozen=True):
    """Figures of one side of the corpus. The field names are the keys of the JSON output."""

    lengths: LengthFacts
    characters: int
    """Distinct ones."""
    scripts: dict[str, int]
    """Letters of each script."""
    lines_with_composed_letters: int
    """Lines with letters that NFC has as one character: text with accents that is not decomposed."""
    words: VocabularyCoverage


class Inspection(Struct, frozen=True):
    """Figures and findings of a corpus; figures are those of the pairs in UTF-8.

    The field names are the keys of the JSON output.
    """

    pairs: int
    """All pairs, UTF-8 or not."""
    source: SideFacts
    target: SideFacts
    target_per_source: LengthRatio
    length_correlation: float
    """Pearson's, of the lengths of both sides in characters; NaN for fewer than two pairs or lines of one length."""
    repetition: RepetitionFacts
    sides_told_apart: bool
    """Whether letters distinguish the sides, so that lines on the wrong side were searched for."""
    findings: list[Finding]
    not_utf8: dict[str, FileCounts]
    """Files of the corpus with lines that are not UTF-8, by name."""
    held_out: list[HeldOutSet]
    subwords: SubwordFacts | None


def inspect_corpus(
    corpora: Corpora,
    held_out: Mapping[str, Sequence[Path]] | None = None,
    *,
    subwords: int | None = None,
    examples: int = 3,
    listing: TextIO | None = None,
    limit: int | None = None,
    progress: ProgressCallback = lambda done: None,
) -> Inspection:
    """Read a corpus twice and report on it.

    Args:
        held_out: dev and test sets by name.
        subwords: also learn this number of subwords on both sides together, and count with them.
        examples: kept of each kind of finding; `listing` receives all (see `Findings`).
        limit: inspect only this number of pairs from the beginning.
        progress: called with the number of pairs processed so far, in both passes together.

    Raises:
        InputError: as for `read_pairs`, except that some lines may not be UTF-8.
        ConfigError: there are too few subwords to spell the text.
    """
    sets = [_held_out(name, files, examples, listing) for name, files in (held_out or {}).items()]
    reader, counting = CorpusReader(corpora, limit), _CountingPass()
    for chunk in reader.chunks():
        counting.add(chunk)
        progress(counting.pairs)
    if not counting.places:
        assert reader.first_bad is not None
        raise reader.first_bad.error()
    findings = Findings(examples, listing)
    finding = _FindingPass(counting, sets, findings)
    for chunk in reader.chunks():
        finding.add(chunk)
        progress(counting.pairs + chunk.start + chunk.size)
    for held in sets:
        held.known_words = known_words(held.pairs, *(side.words for side in counting.sides))
    held_out_words = [
        {held.name: Counter(chain.from_iterable(map(split_words, held.sides[side].lines))) for held in sets}
        for side in ("source", "target")
    ]
    source, target = (
        side.facts(lengths, others)
        for side, lengths, others in zip(counting.sides, counting.lengths.facts(), held_out_words, strict=True)
    )
    return Inspection(
        pairs=counting.pairs,
        source=source,
        target=target,
        target_per_source=counting.lengths.ratio(),
        length_correlation=counting.lengths.correlation(),
        repetition=counting.repetition.facts(),
        sides_told_apart=finding.classifiers[0].tells_sides_apart,
        findings=findings.summary(),
        not_utf8=reader.not_utf8(),
        held_out=sets,
        subwords=None
        if subwords is None
        else subword_facts((pair for chunk in reader.chunks() for pair in chunk.pairs), len(counting.places), subwords),
    )


def _held_out(name: str, files: Sequence[Path], examples: int, listing: TextIO | None) -> HeldOutSet:
    reader, findings, pairs = CorpusReader([files]), Findings(examples, listing), []
    for chunk in reader.chunks():
        pairs.extend(chunk.pairs)
        _add_bad_pairs(findings, chunk)
    return HeldOutSet(name, pairs, findings.summary(), reader.not_utf8())


def _add_bad_pairs(findings: Findings, chunk: Chunk) -> None:
    for pair, side, line in chunk.bad:
        findings.add(NOT_UTF8, pair, side, describe_bad_line(line))


@dataclass(slots=True)
class _CountedSide:
    """The counts of one side in the first pass."""

    words: Counter[str] = field(default_factory=Counter)
    letters: SideCounts = field(default_factory=SideCounts)
    composed: int = 0
    sample: list[str] = field(default_factory=list)

    def add(self, lines: Sequence[str]) -> list[int]:
        """Count some lines; return the number of words in each."""
        words = [split_words(line) for line in lines]
        self.words.update(chain.from_iterable(words))
        self.letters.add(lines)
        self.composed += sum(map(has_composed_letter, lines))
        self.sample.extend(lines[:: max(1, len(lines) // SAMPLE)])
        return list(map(len, words))

    def facts(self, lengths: LengthFacts, held_out: dict[str, Counter[str]]) -> SideFacts:
        """Summarise the counts."""
        characters = int(np.count_nonzero(self.letters.characters))
        words = vocabulary_coverage(self.words, held_out)
        return SideFacts(lengths, characters, self.letters.scripts(), self.composed, words)


class _CountingPass:
    """The first pass."""

    def __init__(self) -> None:
        self.pairs = 0
        self.places = array("q")
        """Places in the corpus of the pairs in UTF-8; all other counts are of these pairs alone."""
        self.sides = _CountedSide(), _CountedSide()
        self.lengths, self.repetition = Lengths(), Repetition()

    def add(self, chunk: Chunk) -> None:
        pairs = chunk.pairs
        self.pairs += chunk.size
        self.places.extend(chunk.places)
        counts = (
            self.sides[0].add([pair.source for pair in pairs]),
            self.sides[1].add([pair.target for pair in pairs]),
        )
        for pair, source_words, target_words in zip(pairs, *counts, strict=True):
            self.lengths.add(pair.source, source_words, pair.target, target_words)
            self.repetition.add(pair.source, pair.target)


class _FindingPass:
    """The second pass: compares each pair with what is usual in the corpus."""

    def __init__(self, counting: _CountingPass, held_out: Sequence[HeldOutSet], findings: Findings) -> None:
        source, target = counting.sides
        self._done = 0  # pairs in UTF-8
        self._places = counting.places
        self.classifiers = train_classifiers((source.letters, target.letters), (source.sample, target.sample))
        self._findings, self._held_out = findings, held_out
        self._unlikely = counting.lengths.unlikely()
        self._longest = counting.lengths.longest_words()
        self._first = counting.repetition.first_places()
        if held_out:
            source_counts, target_counts = _folded(source.words), _folded(target.words)
            for held in held_out:
                held.sides["source"].prepare(source_counts)
                held.sides["target"].prepare(target_counts)

    def add(self, chunk: Chunk) -> None:
        """Check the pairs of a chunk."""
        _add_bad_pairs(self._findings, chunk)
        pairs = chunk.pairs
        source = self.classifiers[0].classify([pair.source for pair in pairs])
        target = self.classifiers[1].classify([pair.target for pair in pairs])
        explained = np.zeros(len(pairs), np.bool_)
        for row, pair in enumerate(pairs):
            self._check_pair(self._done + row, pair)
            explained[row] = self._check_characters(pair)
        # A line with wrong characters has unusual trigrams, too: one finding is enough.
        source, target = (labels._replace(unusual=labels.unusual & ~explained) for labels in (source, target))
        for row in np.flatnonzero(_any(source) | _any(target)).tolist():
            self._check_languages(pairs[row], [labels[row] for labels in source], [labels[row] for labels in target])
        self._done += len(pairs)

    def _check_pair(self, number: int, pair: Pair) -> None:
        """`number` counts the pairs in UTF-8, from 0."""
        add = self._findings.add
        empty = is_blank(pair.source), is_blank(pair.target)
        if any(empty):
            add("empty side", pair, _sides(*empty))
        elif pair.source == pair.target and any(map(str.isalpha, pair.source)):
            add("copied", pair)
        if self._first[number] != number:
            add("repeated pair", pair, detail=f"first as pair {self._places[self._first[number]] + 1}")
        if self._longest[number] > LONGEST:
            add("too long", pair, detail=f"{self._longest[number]} words")
        if self._unlikely[number]:
            add("unlikely lengths", pair, detail=f"{len(pair.source)} and {len(pair.target)} characters")
        for held in self._held_out:
            held.sides["source"].compare(self._places[number], pair.source)
            held.sides["target"].compare(self._places[number], pair.target)

    def _check_characters(self, pair: Pair) -> bool:
        """Return whether there was a finding."""
        source, target = character_issues(pair.source), character_issues(pair.target)
        for kind in source.keys() | target.keys():
            place = (pair.source, source[kind]) if kind in source else (pair.target, target[kind])
            self._findings.add(kind, pair, _sides(kind in source, kind in target), around(*place))
        return bool(source or target)

    def _check_languages(self, pair: Pair, source: Sequence[bool], target: Sequence[bool]) -> None:
        """The arguments are the `LineLabels` of this pair."""
        (other_side, unusual, script), (target_other_side, target_unusual, target_script) = source, target
        if script or target_script:
            self._findings.add("other script", pair, _sides(script, target_script))
        elif other_side and target_other_side:
            self._findings.add("wrong way round", pair)
        elif other_side or target_other_side:
            self._findings.add("other side's language", pair, _sides(other_side, target_other_side))
        elif unusual or target_unusual:
            self._findings.add("unusual", pair, _sides(unusual, target_unusual))


LONGEST = CleaningConfig().max_length
"""Words; a longer line also has more tokens than training accepts by default."""


def _folded(counts: Counter[str]) -> Counter[str]:
    folded: Counter[str] = Counter()
    for word, count in counts.items():
        folded[word.casefold()] += count
    return folded


def _any(labels: LineLabels) -> NDArray[np.bool_]:
    return labels.other_side | labels.unusual | labels.other_script


def _sides(source: bool, target: bool) -> str:
    return "both" if source and target else "source" if source else "target"
