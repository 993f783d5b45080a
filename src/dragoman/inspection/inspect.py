"""The inspection of a corpus in two passes: the first counts, the second finds unusual pairs.

The text is read as a stream, so it may be larger than memory; what is kept is the distinct words with their counts,
about sixty bytes per pair, and the held-out sets.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TextIO

import numpy as np
from msgspec import Struct

from dragoman.config.schema import CleaningConfig
from dragoman.corpora.encodings import refuse_undecodable
from dragoman.corpora.pairs import Corpora, Pair
from dragoman.inspection.corpus_reader import (
    Chunk,
    CorpusReader,
    FileCounts,
    around,
    character_issues,
    has_composed_letter,
)
from dragoman.inspection.findings import Finding, Findings
from dragoman.inspection.languages import SideCounts, train_classifiers
from dragoman.inspection.lengths import LengthFacts, LengthRatio, Lengths
from dragoman.inspection.overlap import HeldOutSet, prepare
from dragoman.inspection.repetition import Repetition, RepetitionFacts
from dragoman.inspection.words import SubwordFacts, VocabularyCoverage, split_words, subword_facts, vocabulary_coverage
from dragoman.progress import ProgressCallback
from dragoman.text.raw_lines import has_letter, is_blank
from dragoman.text.side import SideName

SAMPLE = 200
"""Pairs of each chunk from which the classifiers learn what is usual."""

LONGEST = CleaningConfig().max_length
"""Words; a longer line also has more tokens than training accepts by default."""


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
    """Figures and findings of a corpus; only pairs in UTF-8 count in the figures.

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

    @property
    def sides(self) -> dict[SideName, SideFacts]:
        """Both sides by name."""
        return {"source": self.source, "target": self.target}


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
    sets = [_read_held_out(name, files, Findings(examples, listing)) for name, files in (held_out or {}).items()]
    reader, counting = CorpusReader(corpora, limit), _CountingPass()
    for chunk in reader.chunks():
        counting.add(chunk)
        progress(counting.pairs)
    if not counting.positions:
        assert reader.first_bad is not None
        refuse_undecodable(reader.first_bad)
    source, target = counting.sides
    prepare(sets, source.words, target.words)
    findings = Findings(examples, listing)
    finding = _FindingPass(counting, sets, findings)
    for chunk in reader.chunks():
        finding.add(chunk)
        progress(counting.pairs + chunk.start + chunk.size)
    source_lengths, target_lengths = counting.lengths.facts()
    return Inspection(
        pairs=counting.pairs,
        source=source.facts(source_lengths, {held.name: held.sides["source"].running_words() for held in sets}),
        target=target.facts(target_lengths, {held.name: held.sides["target"].running_words() for held in sets}),
        target_per_source=counting.lengths.ratio(),
        length_correlation=counting.lengths.correlation(),
        repetition=counting.repetition.facts(),
        sides_told_apart=finding.sides_told_apart,
        findings=findings.summary(),
        not_utf8=reader.not_utf8(),
        held_out=sets,
        subwords=None
        if subwords is None
        else subword_facts(
            (pair for chunk in reader.chunks() for pair in chunk.pairs), len(counting.positions), subwords
        ),
    )


def _read_held_out(name: str, files: Sequence[Path], findings: Findings) -> HeldOutSet:
    reader, pairs = CorpusReader([files]), []
    for chunk in reader.chunks():
        pairs.extend(chunk.pairs)
        findings.add_bad_pairs(chunk)
    return HeldOutSet(name, pairs, findings.summary(), reader.not_utf8())


class _CountedSide:
    """The counts of one side in the first pass."""

    def __init__(self) -> None:
        self.words: Counter[str] = Counter()
        self.letters = SideCounts()
        self.sample: list[str] = []
        self._composed = 0

    def add(self, lines: Sequence[str]) -> list[int]:
        """Count some lines; return the number of words in each."""
        words = [split_words(line) for line in lines]
        self.words.update(chain.from_iterable(words))
        self.letters.add(lines)
        self._composed += sum(map(has_composed_letter, lines))
        self.sample.extend(lines[:: max(1, len(lines) // SAMPLE)])
        return list(map(len, words))

    def facts(self, lengths: LengthFacts, held_out: dict[str, Counter[str]]) -> SideFacts:
        """Summarise the counts."""
        characters = int(np.count_nonzero(self.letters.characters))
        words = vocabulary_coverage(self.words, held_out)
        return SideFacts(lengths, characters, self.letters.scripts(), self._composed, words)


class _CountingPass:
    """The first pass."""

    def __init__(self) -> None:
        self.pairs = 0
        self.positions = array("q")
        """Places in the corpus of the pairs in UTF-8; all other counts are of these pairs alone."""
        self.sides = _CountedSide(), _CountedSide()
        self.lengths, self.repetition = Lengths(), Repetition()

    def add(self, chunk: Chunk) -> None:
        self.pairs += chunk.size
        self.positions.extend(chunk.positions)
        source_words = self.sides[0].add([pair.source for pair in chunk.pairs])
        target_words = self.sides[1].add([pair.target for pair in chunk.pairs])
        for pair, source, target in zip(chunk.pairs, source_words, target_words, strict=True):
            self.lengths.add(pair.source, source, pair.target, target)
            self.repetition.add(pair.source, pair.target)


class _FindingPass:
    """The second pass: compares each pair with what is usual in the corpus."""

    def __init__(self, counting: _CountingPass, held_out: Sequence[HeldOutSet], findings: Findings) -> None:
        source, target = counting.sides
        self._source, self._target = train_classifiers((source.letters, target.letters), (source.sample, target.sample))
        self._findings, self._held_out = findings, held_out
        self._positions = counting.positions
        self._unlikely = counting.lengths.unlikely()
        self._longest = counting.lengths.longest_words()
        self._first = counting.repetition.first_positions()
        self._done = 0  # pairs in UTF-8

    @property
    def sides_told_apart(self) -> bool:
        return self._source.tells_sides_apart

    def add(self, chunk: Chunk) -> None:
        """Check the pairs of a chunk."""
        self._findings.add_bad_pairs(chunk)
        if not chunk.pairs:
            return
        wrong_characters = []
        for number, pair in enumerate(chunk.pairs, self._done):
            self._check_pair(number, pair)
            wrong_characters.append(self._check_characters(pair))
            for held in self._held_out:
                held.compare(self._positions[number], pair)
        self._done += len(chunk.pairs)
        source = self._source.classify([pair.source for pair in chunk.pairs])
        target = self._target.classify([pair.target for pair in chunk.pairs])
        # A line with wrong characters has unusual trigrams, too: one finding is enough.
        explained = np.array(wrong_characters, np.bool_)
        source, target = (labels._replace(unusual=labels.unusual & ~explained) for labels in (source, target))
        for row in np.flatnonzero(np.any([*source, *target], axis=0)).tolist():
            self._check_languages(
                chunk.pairs[row], [labels[row] for labels in source], [labels[row] for labels in target]
            )

    def _check_pair(self, number: int, pair: Pair) -> None:
        """`number` counts the pairs in UTF-8, from 0."""
        add = self._findings.add
        empty = is_blank(pair.source), is_blank(pair.target)
        if any(empty):
            add("empty side", pair, _sides(*empty))
        elif pair.source == pair.target and has_letter(pair.source):
            add("copied", pair)
        if self._first[number] != number:
            add("repeated pair", pair, detail=f"first as pair {self._positions[self._first[number]] + 1}")
        if self._longest[number] > LONGEST:
            add("too long", pair, detail=f"{self._longest[number]} words")
        if self._unlikely[number]:
            add("unlikely lengths", pair, detail=f"{len(pair.source)} and {len(pair.target)} characters")

    def _check_characters(self, pair: Pair) -> bool:
        """Return whether there was a finding."""
        source, target = character_issues(pair.source), character_issues(pair.target)
        for kind in source.keys() | target.keys():
            position = (pair.source, source[kind]) if kind in source else (pair.target, target[kind])
            self._findings.add(kind, pair, _sides(kind in source, kind in target), around(*position))
        return bool(source or target)

    def _check_languages(self, pair: Pair, source: Sequence[bool], target: Sequence[bool]) -> None:
        """The arguments are the `LineLabels` of this pair."""
        other_side, unusual, script = zip(source, target, strict=True)
        if any(script):
            self._findings.add("other script", pair, _sides(*script))
        elif all(other_side):
            self._findings.add("wrong way round", pair)
        elif any(other_side):
            self._findings.add("other side's language", pair, _sides(*other_side))
        else:
            self._findings.add("unusual", pair, _sides(*unusual))


def _sides(source: bool, target: bool) -> str:
    return "both" if source and target else "source" if source else "target"
