"""Translation options: the phrase pairs that match each span of a sentence, with all context-independent scores.

Tables are kept as lines and parsed on demand: a source phrase that occurs in no sentence is never parsed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dragoman.errors import InputError
from dragoman.scoring.nbest import BARS
from dragoman.scoring.phrases import parse_row
from dragoman.smt.features import LOWEST, UNKNOWN_COST, FeatureWeights
from dragoman.smt.kenlm_model import KenlmModel
from dragoman.smt.reordering import ORIENTATIONS
from dragoman.text.lines import read_lines
from dragoman.text.links import Link, parse_links
from dragoman.text.words import words_in

_NO_SCORES = (0.0,) * (2 * ORIENTATIONS)
"""Orientation scores of a phrase pair that the reordering table lacks."""


class TranslationOption:
    """A translation of a source phrase; `weigh` sets its weighted scores."""

    __slots__ = (
        "backward",
        "estimate",
        "following",
        "forward",
        "links",
        "orientations",
        "score",
        "scores",
        "unknown",
        "words",
    )

    def __init__(
        self,
        words: tuple[str, ...],
        scores: Sequence[float],
        orientations: Sequence[float],
        links: Sequence[Link],
        *,
        unknown: bool = False,
    ) -> None:
        self.words = words
        self.scores = scores
        """Logarithms of the phrase table's probabilities."""
        self.orientations = orientations
        """Logarithms of the orientation probabilities, towards the previous phrase, then towards the next."""
        self.following = tuple(orientations[ORIENTATIONS:])
        """Those towards the next phrase: all of an option that recombination must tell apart."""
        self.links = links
        self.unknown = unknown
        self.score = 0.0
        """Weighted score without language model and reordering."""
        self.estimate = 0.0
        """The same plus the weighted language model score of the words without context."""
        self.backward: Sequence[float] = ()
        """Weighted score of each orientation towards the previous phrase."""
        self.forward: Sequence[float] = ()
        """Weighted score of each orientation towards the next phrase."""

    def weigh(self, weights: FeatureWeights, language_model: KenlmModel) -> None:
        """Compute the weighted scores."""
        self.score = (
            sum(weight * value for weight, value in zip(weights.translation, self.scores, strict=True))
            + weights.phrase_penalty
            - weights.word_penalty * len(self.words)
            - (weights.unknown_penalty * UNKNOWN_COST if self.unknown else 0.0)
        )
        self.estimate = self.score + weights.language_model * language_model.without_context(self.words)
        weighted = [weight * value for weight, value in zip(weights.reordering, self.orientations, strict=True)]
        self.backward, self.forward = weighted[:ORIENTATIONS], weighted[ORIENTATIONS:]


class SystemTables:
    """The phrase table of a system and its reordering table, if any."""

    def __init__(self, phrases: Path, reordering: Path | None, scores: int) -> None:
        """Read the files; `scores` is the expected number of scores of a phrase pair.

        Raises:
            InputError: a file cannot be read, or the rows of a source phrase are not consecutive.
        """
        self.scores = scores
        self._phrases = _IndexedTable(phrases)
        self._reordering = None if reordering is None else _IndexedTable(reordering)
        self.longest = self._phrases.longest

    def options(self, source: str) -> list[TranslationOption]:
        """List the translations of a source phrase, words separated by single spaces; empty if the table lacks it.

        Raises:
            InputError: a row is malformed.
        """
        orientations = dict(self._orientations(source))
        options = []
        for origin, line in self._phrases.rows(source):
            row = parse_row(line, origin)
            if len(row.scores) != self.scores:
                raise InputError(f"{origin}: {len(row.scores)} scores, but moses.ini has num-features={self.scores}")
            words = tuple(words_in(row.escaped_target))
            links = parse_links(row.fields[3], origin) if len(row.fields) > 3 else []
            _require_inside(links, source.count(" ") + 1, len(words), origin)
            scores = _logarithms(row.scores, origin)
            options.append(TranslationOption(words, scores, orientations.get(row.escaped_target, _NO_SCORES), links))
        return options

    def _orientations(self, source: str) -> Iterator[tuple[str, Sequence[float]]]:
        """(target phrase, log-probabilities) of a source phrase in the reordering table."""
        if self._reordering is None:
            return
        for origin, line in self._reordering.rows(source):
            row = parse_row(line, origin)
            if len(row.scores) != 2 * ORIENTATIONS:
                raise InputError(f"{origin}: {len(row.scores)} scores, not {2 * ORIENTATIONS} of msd-bidirectional-fe")
            yield row.escaped_target, _logarithms(row.scores, origin)


def _require_inside(links: Sequence[Link], source: int, target: int, origin: str) -> None:
    """Refuse links outside a phrase pair of `source` and `target` words."""
    for i, j in links:
        if i >= source or j >= target:
            raise InputError(
                f"{origin}: the link {i}-{j} leads out of the phrases, which have {source} and {target} words"
            )


def _logarithms(scores: Sequence[float], origin: str) -> tuple[float, ...]:
    if min(scores) < 0:
        raise InputError(f"{origin}: the score {min(scores):g} is below 0; tables hold probabilities")
    return tuple(max(LOWEST, math.log(score)) if score > 0 else LOWEST for score in scores)


class _IndexedTable:
    """The lines of a table, indexed by source phrase."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = list(read_lines(path))
        self._first: dict[str, int] = {}
        """Index of the first line of each source phrase. A list of lines for each would double memory and time."""
        self.longest = 0
        """Number of words of the longest source phrase."""
        before = None
        for index, line in enumerate(self._lines):
            source, bars, _ = line.partition(BARS)
            if source == before:
                continue
            if not bars:
                raise InputError(f"{path}:{index + 1}: no triple bar; expected `source {BARS} target {BARS} scores`")
            before, phrase = source, source.strip(" \t")
            if phrase in self._first:
                raise InputError(
                    f"{path}:{index + 1}: the phrase {phrase!r} stands also in line {self._first[phrase] + 1}, with "
                    "others between; sort the table (LC_ALL=C sort)"
                )
            self._first[phrase] = index
            self.longest = max(self.longest, phrase.count(" ") + 1)
        if not self._lines:
            raise InputError(f"{path}: no phrases in it")

    def rows(self, source: str) -> Iterator[tuple[str, str]]:
        """Yield (`file:line`, row) for each row of a source phrase."""
        first = self._first.get(source)
        if first is None:
            return
        for index in range(first, len(self._lines)):
            line = self._lines[index]
            if line.partition(BARS)[0].strip(" \t") != source:
                return
            yield f"{self._path}:{index + 1}", line


class SpanOptions:
    """The options of words [start, end) of a sentence, best estimates first."""

    __slots__ = ("end", "mask", "options", "start")

    def __init__(self, start: int, end: int, options: Sequence[TranslationOption]) -> None:
        self.start = start
        self.end = end
        self.mask = (1 << end) - (1 << start)
        """A bit for each word, the lowest for the first word."""
        self.options = options


class PhraseOptions:
    """Collects the translation options of sentences under given weights, with a cache by source phrase."""

    def __init__(self, tables: SystemTables, language_model: KenlmModel, weights: FeatureWeights, limit: int) -> None:
        """`limit` is the maximum number of translations of a phrase, 0 for all."""
        self._tables = tables
        self._language_model = language_model
        self._weights = weights
        self._limit = limit
        self._known: dict[str, Sequence[TranslationOption]] = {}

    def of(self, words: Sequence[str]) -> list[SpanOptions]:
        """List all spans of a sentence that can be translated.

        A word without an entry of its own is copied, even where a longer phrase contains it (as in Moses).
        """
        spans = []
        for start in range(len(words)):
            for end in range(start + 1, min(len(words), start + self._tables.longest) + 1):
                options = self._of_phrase(" ".join(words[start:end]))
                if options:
                    spans.append(SpanOptions(start, end, options))
                elif end == start + 1:
                    scores = (0.0,) * self._tables.scores
                    copy = TranslationOption((words[start],), scores, _NO_SCORES, [(0, 0)], unknown=True)
                    spans.append(SpanOptions(start, end, self._best([copy])))
        return spans

    def _of_phrase(self, source: str) -> Sequence[TranslationOption]:
        options = self._known.get(source)
        if options is None:
            options = self._best(self._tables.options(source))
            if options:
                self._known[source] = options
        return options

    def _best(self, options: Iterable[TranslationOption]) -> list[TranslationOption]:
        weighed = list(options)
        for option in weighed:
            option.weigh(self._weights, self._language_model)
        weighed.sort(key=lambda option: -option.estimate)
        return weighed[: self._limit] if self._limit else weighed
