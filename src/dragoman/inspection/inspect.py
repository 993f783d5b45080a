"""The inspection of a corpus in two passes: the first counts, the second finds.

The text is read as a stream, so it may be larger than memory; what stays is the different words with their counts,
about sixty bytes a pair, and the held-out sets.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from dragoman.config.schema import CleaningConfig
from dragoman.inspection.character_issues import around, has_composed_letter, troubles
from dragoman.inspection.findings import NOT_UTF8, Findings, Found
from dragoman.inspection.languages import Judgement, SideCounts, judges
from dragoman.inspection.lengths import LengthFacts, Lengths, RatioFacts
from dragoman.inspection.overlap import HeldOut
from dragoman.inspection.reading import Chunk, FileCounts, Reader, described
from dragoman.inspection.repetition import Repetition, RepetitionFacts
from dragoman.inspection.subwords import SubwordFacts, subword_facts
from dragoman.inspection.vocabulary_coverage import Coverage, coverage
from dragoman.inspection.words import words
from dragoman.progress import ProgressCallback
from dragoman.text.corpus import Corpora, Pair

SAMPLE = 200
"""Of each chunk the pairs from which the usual is learnt."""


@dataclass(frozen=True, slots=True)
class SideFacts:
    """One side of the corpus."""

    lengths: LengthFacts
    characters: int
    """Different ones."""
    scripts: dict[str, int]
    """Letters of each script."""
    words: Coverage
    composed: int
    """Lines with letters that NFC has as one character: text with accents that is not decomposed."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What there is to know about a corpus before training; figures are of the pairs that are UTF-8."""

    pairs: int
    """All of them."""
    bad_files: dict[str, FileCounts]
    """Files of the corpus with lines that are not UTF-8, by name."""
    source: SideFacts
    target: SideFacts
    ratio: RatioFacts
    repetition: RepetitionFacts
    sides_apart: bool
    """Whether the sides could be told apart by their letters, so that lines on the wrong side were looked for."""
    found: list[Found]
    held_out: list[HeldOut]
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
    """Read everything and say what it is like.

    Args:
        held_out: dev and test sets by name.
        subwords: also learn so many subwords of both sides together, and count with them.
        examples: kept of each kind of finding; `listing` receives all (see `Findings`).
        limit: look at so many pairs of the beginning only.

    Raises:
        InputError: as for `read_pairs`, except that some lines may not be UTF-8.
        ConfigError: so few subwords cannot spell the text.
    """
    sets = [_held_out(name, files, examples, listing) for name, files in (held_out or {}).items()]
    reader, survey = Reader(corpora, limit), _Survey()
    for chunk in reader.chunks():
        survey.add(chunk)
        progress(survey.pairs)
    if not survey.places:
        assert reader.first_bad is not None
        raise reader.first_bad.error()
    findings = Findings(examples, listing)
    search = _Search(survey, sets, findings)
    for chunk in reader.chunks():
        search.add(chunk)
        progress(survey.pairs + chunk.start + chunk.size)
    held_out_words = [
        {held.name: _count_words(getattr(pair, side) for pair in held.pairs) for held in sets}
        for side in ("source", "target")
    ]
    source, target = (
        side.facts(lengths, others)
        for side, lengths, others in zip(survey.sides, survey.lengths.facts(), held_out_words, strict=True)
    )
    return Inspection(
        pairs=survey.pairs,
        bad_files=reader.bad_files(),
        source=source,
        target=target,
        ratio=survey.lengths.ratio(),
        repetition=survey.repetition.facts(),
        sides_apart=search.judges[0].tells_sides_apart,
        found=findings.found(),
        held_out=sets,
        subwords=None
        if subwords is None
        else subword_facts((pair for chunk in reader.chunks() for pair in chunk.pairs), len(survey.places), subwords),
    )


def _held_out(name: str, files: Sequence[Path], examples: int, listing: TextIO | None) -> HeldOut:
    reader, findings, pairs = Reader([files]), Findings(examples, listing), []
    for chunk in reader.chunks():
        pairs.extend(chunk.pairs)
        _note_bad(findings, chunk)
    return HeldOut(name, pairs, findings.found(), reader.bad_files())


def _note_bad(findings: Findings, chunk: Chunk) -> None:
    for pair, side, line in chunk.bad:
        findings.note(NOT_UTF8, pair, side, described(line))


def _count_words(lines: Iterator[str]) -> Counter[str]:
    return Counter(chain.from_iterable(map(words, lines)))


@dataclass(slots=True)
class _SideSurvey:
    """What the first pass counts of one side."""

    words: Counter[str] = field(default_factory=Counter)
    letters: SideCounts = field(default_factory=SideCounts)
    composed: int = 0
    sample: list[str] = field(default_factory=list)

    def add(self, lines: Sequence[str]) -> list[int]:
        """Count some lines; return how many words each has."""
        cut = [words(line) for line in lines]
        self.words.update(chain.from_iterable(cut))
        self.letters.add(lines)
        self.composed += sum(map(has_composed_letter, lines))
        self.sample.extend(lines[:: max(1, len(lines) // SAMPLE)])
        return list(map(len, cut))

    def facts(self, lengths: LengthFacts, held_out: dict[str, Counter[str]]) -> SideFacts:
        """Sum up."""
        characters = int(np.count_nonzero(self.letters.characters))
        return SideFacts(lengths, characters, self.letters.scripts(), coverage(self.words, held_out), self.composed)


class _Survey:
    """The first pass."""

    def __init__(self) -> None:
        self.pairs = 0
        self.places = array("q")
        """In the corpus, of the pairs that are UTF-8: everything else is counted in them alone."""
        self.sides = _SideSurvey(), _SideSurvey()
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


class _Search:
    """The second pass: knows what is usual, and notes what is not."""

    def __init__(self, survey: _Survey, held_out: Sequence[HeldOut], findings: Findings) -> None:
        source, target = survey.sides
        self._seen = 0  # pairs that are UTF-8
        self._places = survey.places
        self.judges = judges((source.letters, target.letters), (source.sample, target.sample))
        self._findings, self._held_out = findings, held_out
        self._unlikely = survey.lengths.unlikely()
        self._longest = survey.lengths.longest_words()
        self._first = survey.repetition.first_places()
        if held_out:
            source_counts, target_counts = _folded(source.words), _folded(target.words)
            for held in held_out:
                held.sides["source"].prepare(source_counts)
                held.sides["target"].prepare(target_counts)

    def add(self, chunk: Chunk) -> None:
        """Look at some pairs."""
        _note_bad(self._findings, chunk)
        pairs = chunk.pairs
        source = self.judges[0].judge([pair.source for pair in pairs])
        target = self.judges[1].judge([pair.target for pair in pairs])
        explained = np.zeros(len(pairs), np.bool_)
        for row, pair in enumerate(pairs):
            self._look_at_pair(self._seen + row, pair)
            explained[row] = self._look_at_encoding(pair)
        # Wrong characters make a line unusual; that needs no saying.
        source, target = (judged._replace(unusual=judged.unusual & ~explained) for judged in (source, target))
        for row in np.flatnonzero(_any(source) | _any(target)).tolist():
            self._note_languages(pairs[row], [flags[row] for flags in source], [flags[row] for flags in target])
        self._seen += len(pairs)

    def _look_at_pair(self, number: int, pair: Pair) -> None:
        """`number` counts the pairs that are UTF-8, from 0."""
        note = self._findings.note
        if not pair.source.strip() or not pair.target.strip():
            note("empty side", pair, _sides(not pair.source.strip(), not pair.target.strip()))
        elif pair.source == pair.target and any(map(str.isalpha, pair.source)):
            note("copied", pair)
        if self._first[number] != number:
            note("repeated pair", pair, detail=f"first as pair {self._places[self._first[number]] + 1}")
        if self._longest[number] > LONGEST:
            note("too long", pair, detail=f"{self._longest[number]} words")
        if self._unlikely[number]:
            note("unlikely lengths", pair, detail=f"{len(pair.source)} and {len(pair.target)} characters")
        for held in self._held_out:
            held.sides["source"].look(self._places[number], pair.source)
            held.sides["target"].look(self._places[number], pair.target)

    def _look_at_encoding(self, pair: Pair) -> bool:
        """Whether there was something to note."""
        source, target = troubles(pair.source), troubles(pair.target)
        for kind in source.keys() | target.keys():
            where = (pair.source, source[kind]) if kind in source else (pair.target, target[kind])
            self._findings.note(kind, pair, _sides(kind in source, kind in target), around(*where))
        return bool(source or target)

    def _note_languages(self, pair: Pair, source: Sequence[bool], target: Sequence[bool]) -> None:
        (others, unusual, script), (target_others, target_unusual, target_script) = source, target
        if script or target_script:
            self._findings.note("other script", pair, _sides(script, target_script))
        elif others and target_others:
            self._findings.note("wrong way round", pair)
        elif others or target_others:
            self._findings.note("other side's language", pair, _sides(others, target_others))
        elif unusual or target_unusual:
            self._findings.note("unusual", pair, _sides(unusual, target_unusual))


LONGEST = CleaningConfig().max_length
"""Words; a line of more has more segments too than training takes by default."""


def _folded(counts: Counter[str]) -> Counter[str]:
    folded: Counter[str] = Counter()
    for word, count in counts.items():
        folded[word.casefold()] += count
    return folded


def _any(judgement: Judgement) -> NDArray[np.bool_]:
    return judgement.others | judgement.unusual | judgement.strange_script


def _sides(source: bool, target: bool) -> str:
    return "both" if source and target else "source" if source else "target"
