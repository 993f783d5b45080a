"""Translation options: what each span of a sentence can become, with all scores that do not depend on its neighbours.

The tables are kept as lines and read where they are needed: a source phrase that no sentence has costs no parsing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dragoman.errors import InputError
from dragoman.scoring.nbest import BARS
from dragoman.scoring.phrases import parse_row
from dragoman.smt.features import LOWEST, UNKNOWN_COST, Weighing
from dragoman.smt.kenlm_model import LanguageModel
from dragoman.smt.reordering import ORIENTATIONS
from dragoman.text.lines import read_lines
from dragoman.text.links import Link, parse_links

Words = tuple[str, ...]

_NO_SCORES = (0.0,) * (2 * ORIENTATIONS)
"""Of orientations where the reordering table has nothing to say."""


class Option:
    """A translation of a source phrase. Weighted scores are those of the weights it was made with."""

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
        words: Words,
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
        """Logarithms, first to what stands before, then to what follows."""
        self.following = tuple(orientations[ORIENTATIONS:])
        """Those to what follows alone: all of an option that matters later."""
        self.links = links
        self.unknown = unknown
        self.score = 0.0
        """Weighted, without language model and reordering."""
        self.estimate = 0.0
        """The same with the language model's opinion of the words alone."""
        self.backward: Sequence[float] = ()
        """Weighted, of each orientation to what stands before."""
        self.forward: Sequence[float] = ()
        """Weighted, of each orientation to what follows."""

    def weigh(self, weighing: Weighing, language_model: LanguageModel) -> None:
        """Compute the weighted scores."""
        self.score = (
            sum(weight * value for weight, value in zip(weighing.translation, self.scores, strict=True))
            + weighing.phrase_penalty
            - weighing.word_penalty * len(self.words)
            - (weighing.unknown_penalty * UNKNOWN_COST if self.unknown else 0.0)
        )
        self.estimate = self.score + weighing.language_model * language_model.alone(self.words)
        weighted = [weight * value for weight, value in zip(weighing.reordering, self.orientations, strict=True)]
        self.backward, self.forward = weighted[:ORIENTATIONS], weighted[ORIENTATIONS:]


class Tables:
    """The phrase table of a system, and its reordering table if it has one."""

    def __init__(self, phrases: Path, reordering: Path | None, scores: int) -> None:
        """Read both.

        Raises:
            InputError: one cannot be read, or the rows of a source phrase do not stand together.
        """
        self.scores = scores
        self._phrases = _Grouped(phrases)
        self._reordering = None if reordering is None else _Grouped(reordering)
        self.longest = self._phrases.longest

    def options(self, source: str) -> list[Option]:
        """The translations of a source phrase, words between single blanks; none if the table lacks it.

        Raises:
            InputError: a row is malformed.
        """
        orientations = dict(self._orientations(source))
        options = []
        for place, line in self._phrases.rows(source):
            row = parse_row(line, place)
            if len(row.scores) != self.scores:
                raise InputError(f"{place}: {len(row.scores)} scores, where moses.ini says num-features={self.scores}")
            words = tuple(row.target.split())
            links = parse_links(row.fields[3], place) if len(row.fields) > 3 else []
            _require_inside(links, source.count(" ") + 1, len(words), place)
            scores = _logarithms(row.scores, place)
            options.append(Option(words, scores, orientations.get(row.target, _NO_SCORES), links))
        return options

    def _orientations(self, source: str) -> Iterator[tuple[str, Sequence[float]]]:
        """(target phrase, logarithms) of the rows of a source phrase in the reordering table."""
        if self._reordering is None:
            return
        for place, line in self._reordering.rows(source):
            row = parse_row(line, place)
            if len(row.scores) != 2 * ORIENTATIONS:
                raise InputError(f"{place}: {len(row.scores)} scores, not {2 * ORIENTATIONS} of msd-bidirectional-fe")
            yield row.target, _logarithms(row.scores, place)


def _require_inside(links: Sequence[Link], source: int, target: int, place: str) -> None:
    """Refuse links that lead out of a phrase pair of so many words."""
    for i, j in links:
        if i >= source or j >= target:
            raise InputError(
                f"{place}: the link {i}-{j} leads out of the phrases, which have {source} and {target} words"
            )


def _logarithms(scores: Sequence[float], place: str) -> tuple[float, ...]:
    if min(scores) < 0:
        raise InputError(f"{place}: the score {min(scores):g} is below 0; tables hold probabilities")
    return tuple(max(LOWEST, math.log(score)) if score > 0 else LOWEST for score in scores)


class _Grouped:
    """The lines of a table by their source phrases."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = list(read_lines(path))
        self._first: dict[str, int] = {}
        """Where the lines of a source phrase begin. A list for each would take twice the memory and time."""
        self.longest = 0
        """Words of the longest source phrase."""
        before = None
        for place, line in enumerate(self._lines):
            source, bars, _ = line.partition(BARS)
            if source != before:
                if not bars:
                    raise InputError(
                        f"{path}:{place + 1}: no triple bar; expected `source {BARS} target {BARS} scores`"
                    )
                self._begin(source, place)
                before = source
        if not self._lines:
            raise InputError(f"{path}: no phrases in it")

    def _begin(self, source: str, place: int) -> None:
        source = source.strip()
        if source in self._first:
            raise InputError(
                f"{self._path}:{place + 1}: the phrase {source!r} stands also in line {self._first[source] + 1}, with "
                "others between; sort the table (LC_ALL=C sort)"
            )
        self._first[source] = place
        self.longest = max(self.longest, source.count(" ") + 1)

    def rows(self, source: str) -> Iterator[tuple[str, str]]:
        """(what an error calls it, line) for each row of a source phrase."""
        first = self._first.get(source)
        if first is None:
            return
        for place in range(first, len(self._lines)):
            line = self._lines[place]
            if line.partition(BARS)[0].strip() != source:
                return
            yield f"{self._path}:{place + 1}", line


class Span:
    """Words [start, end) of a sentence and their options, best estimates first."""

    __slots__ = ("end", "mask", "options", "start")

    def __init__(self, start: int, end: int, options: Sequence[Option]) -> None:
        self.start = start
        self.end = end
        self.mask = (1 << end) - (1 << start)
        """A bit for each word, the first lowest."""
        self.options = options


class Options:
    """The options of sentences under given weights; those of phrases that come again are kept."""

    def __init__(self, tables: Tables, language_model: LanguageModel, weighing: Weighing, limit: int) -> None:
        """`limit`: translations of a phrase, 0 for all."""
        self._tables = tables
        self._language_model = language_model
        self._weighing = weighing
        self._limit = limit
        self._known: dict[str, Sequence[Option]] = {}

    def of(self, words: Sequence[str]) -> list[Span]:
        """All spans of a sentence that can be translated.

        A word without a translation of its own becomes itself, also where a longer phrase has it, as in Moses.
        """
        spans = []
        for start in range(len(words)):
            for end in range(start + 1, min(len(words), start + self._tables.longest) + 1):
                options = self._of_phrase(" ".join(words[start:end]))
                if options:
                    spans.append(Span(start, end, options))
                elif end == start + 1:
                    spans.append(Span(start, end, self._unknown(words[start])))
        return spans

    def _of_phrase(self, source: str) -> Sequence[Option]:
        found = self._known.get(source)
        if found is None:
            found = self._best(self._tables.options(source))
            if found:
                self._known[source] = found
        return found

    def _unknown(self, word: str) -> Sequence[Option]:
        return self._best([Option((word,), (0.0,) * self._tables.scores, _NO_SCORES, [(0, 0)], unknown=True)])

    def _best(self, options: Iterable[Option]) -> list[Option]:
        weighed = list(options)
        for option in weighed:
            option.weigh(self._weighing, self._language_model)
        weighed.sort(key=lambda option: -option.estimate)
        return weighed[: self._limit] if self._limit else weighed
