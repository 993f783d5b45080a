"""Lines in, translations out: cut into segments, search in batches of like length, join, align.

As many answers come out as lines go in, in the same order, whatever the lines hold, and memory does not grow with
their number. A line longer than a model can sensibly be given is cut for the model (its first `LONGEST` segments
are translated, with one warning), and is still one line.
"""

from __future__ import annotations

import html
import itertools
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import segment_weights, surface_spans, word_links
from dragoman.alignment.heat_map import heat_map_html, segment_heat_map
from dragoman.config.schema import SearchConfig
from dragoman.engines.ensemble import Ensemble
from dragoman.engines.protocol import Engine, LimitedEngine
from dragoman.errors import ConfigError, InputError
from dragoman.search.beam import beam_search
from dragoman.search.constraints import Demand, Rules
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.sampling import Sampling, sample
from dragoman.search.stochastic import stochastic_beam_search
from dragoman.text.links import Link
from dragoman.text.side import TextSide, raw_words
from dragoman.text.vocabulary import UNK
from dragoman.translation.length_batching import in_length_order
from dragoman.translation.source_encoding import ModelReader, Read, Reader
from dragoman.translation.unknown_words import Replacement, UnknownWords

ROWS = 320
"""Rows of a batch in search: sentences times the beam, or times the samples of each."""
GRID = 8
"""With phrases that must appear a sentence has a beam for each segment of these; this many are reckoned with."""
SHOWN = 60
"""Segments of either side up to which a notebook shows the heat map."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of the translation of one line, as raw text of the target."""

    prefix: str = ""
    """How it begins."""
    phrases: Sequence[str] = ()
    """Words and phrases that must appear in it."""


@dataclass(frozen=True, eq=False)
class Translation:
    """A translation of one line, with what there is to know about it. A blank line has a blank one."""

    source: str
    """The line as it was given."""
    text: str
    """Its translation; raw text without line ends."""
    score: float
    """What hypotheses are ranked by: the log-probability after length normalisation."""
    log_probability: float
    """Natural logarithm, end of sentence included."""
    tokens: list[str]
    """T target segments, end of sentence not included."""
    source_tokens: list[str]
    """S source segments, end of sentence not included; for an ensemble the words of the line."""
    attention: NDArray[np.float32] | None
    """[T + 1, S], or [T + 1, S + 1] if the model reads an end of sentence: row t was in use when segment t (last:
    the end of sentence) was predicted. None for a model without attention, and for a blank line."""
    links: Callable[[], list[Link]] = field(repr=False)
    """Works `alignment` out."""
    finished: bool
    """False if the translation was cut off at the longest length."""
    replacements: list[Replacement] = field(default_factory=list)
    """The unknown words that were replaced in `text`; `tokens` has them as the model wrote them."""

    @cached_property
    def alignment(self) -> list[Link]:
        """(source word, target word) between the words of the raw lines, from 0; one for each target word.

        Worked out when first asked for: it takes longer than everything else that is done to the text.
        """
        return self.links()

    def _repr_html_(self) -> str:
        """For notebooks: the text, and the alignment weights as a heat map."""
        text = f'<p style="font-size:1.1em">{html.escape(self.text)}</p>'
        if self.attention is None or not self.tokens or max(len(self.tokens), len(self.source_tokens)) > SHOWN:
            return text
        return text + heat_map_html(segment_heat_map(self.attention, self.source_tokens, self.tokens))


class _Line(NamedTuple):
    """A line on its way."""

    number: int
    """From 0."""
    text: str
    read: Read
    demand: Demand
    prefix: list[str]
    """The segments of the demanded prefix, those that the model does not know included."""
    phrases: Sequence[str]
    """The demanded phrases."""


class Translator:
    """A model and the text sides that belong to it.

    for best, *others in Translator(engine, source, target, SearchConfig()).translate_lines(lines, n_best=3):
        print(best.text)
    """

    def __init__(
        self,
        engine: Engine,
        source: TextSide,
        target: TextSide,
        search: SearchConfig,
        sampling: Sampling | None = None,
        *,
        banned: Iterable[str] = (),
        unknown: UnknownWords | None = None,
    ) -> None:
        """With `sampling` translations are drawn instead of looked for, and `n_best` says how many.

        `banned` words and phrases are never written, as `target` segments them; with `unknown` the unknown word is
        replaced.

        Raises:
            ConfigError: a banned word cannot be told from any other unknown word.
        """
        assert engine.vocabulary_size == len(target.vocabulary)
        self._reader: Reader = ModelReader(engine, source)
        self._target = target
        self._search = search
        self._sampling = sampling
        self._banned = [self._banned_ids(word) for word in banned if word.strip()]
        self._unknown = unknown
        self._surfaces: dict[int, str] = {}
        self._said_hidden = False

    @classmethod
    def of_ensemble(
        cls,
        ensemble: Ensemble,
        target: TextSide,
        search: SearchConfig,
        sampling: Sampling | None = None,
        *,
        banned: Iterable[str] = (),
        unknown: UnknownWords | None = None,
    ) -> Translator:
        """The translator of several models, which have one `target` side."""
        first = ensemble.members[0]
        translator = cls(first.engine, first.source, target, search, sampling, banned=banned, unknown=unknown)
        translator._reader = ensemble
        return translator

    def translate(self, text: str) -> Translation:
        """The best translation of one line; what is translated often is better given to `translate_lines`.

        Raises:
            RunError: the model's answers are not numbers.
        """
        return next(self.translate_lines([text]))[0]

    def translate_lines(
        self,
        lines: Iterable[str],
        n_best: int = 1,
        *,
        wishes: Iterable[Wish] | None = None,
        read_ahead: int | None = None,
    ) -> Iterator[list[Translation]]:
        """For each line its translations, best first (samples: in the order drawn).

        There are `n_best` of them, fewer if fewer hypotheses finished, never none; a blank line has one, blank.
        Of `wishes` there is one for each line, if any. Lines are read ahead by a window of `read_ahead` lines (None:
        see streaming.py).

        Raises:
            ConfigError: `n_best` is not from 1 to the beam; a coverage penalty is asked of a model without attention.
            InputError: there are more or fewer wishes than lines, or one that the model cannot meet.
            RunError: the model's answers are not numbers.
        """
        if n_best < 1:
            raise ConfigError(f"n-best is {n_best}, but must be at least 1")
        if self._sampling is None and n_best > self._search.beam:
            raise ConfigError(
                f"n-best is {n_best}, but a beam of {self._search.beam} keeps no more than {self._search.beam} "
                f"translations; set the beam to {n_best} or more"
            )
        rows = (self._search.beam if self._sampling is None else n_best) * (1 if wishes is None else GRID)
        # What is wished may not be on a shortlist; and samples are to be the model's own.
        any_word = wishes is not None or self._sampling is not None
        return in_length_order(
            (self._prepare(number, line, wish) for number, (line, wish) in enumerate(_together(lines, wishes))),
            lambda batch: self._translate_batch(batch, n_best, any_word=any_word),
            length=lambda line: line.read.segments,
            characters=lambda line: len(line.text),
            sentences=max(1, ROWS // rows),
            read_ahead=read_ahead,
            workers=self._reader.workers,
        )

    def _prepare(self, number: int, text: str, wish: Wish) -> _Line:
        """Cut a line into segments, and off where it becomes too long for a model; the same for what is wished."""
        prefix = self._target.encode(wish.prefix)
        phrases = [self._phrase_ids(phrase, number) for phrase in wish.phrases]
        demand = Demand(prefix.ids, phrases)
        read = self._reader.read(text, f"line {number + 1}")
        return _Line(number, text, read, demand, prefix.pieces, wish.phrases)

    def _translate_batch(self, batch: list[_Line], n_best: int, *, any_word: bool) -> list[list[Translation]]:
        """Search for the lines that have segments; the others are blank."""
        full = [line for line in batch if line.read.segments]
        found = iter(self._search_batch(full, n_best, any_word=any_word) if full else [])
        return [
            [self._translation(line, hypothesis) for hypothesis in next(found)]
            if line.read.segments
            else [_blank(line)]
            for line in batch
        ]

    def _search_batch(self, batch: Sequence[_Line], n_best: int, *, any_word: bool) -> list[list[Hypothesis]]:
        engine, source, lengths, segments = self._reader.batch([line.read for line in batch])
        if any_word and isinstance(engine, LimitedEngine):
            engine = engine.unlimited()
        demands = [line.demand for line in batch]
        rules = Rules.from_config(self._search, engine.vocabulary_size, segments, demands, self._banned)
        if self._sampling is None:
            return beam_search(engine, source, lengths, self._search, n_best, rules)
        numbers = np.array([line.number for line in batch], dtype=np.int64)
        draw = stochastic_beam_search if self._sampling.distinct else sample
        return draw(engine, source, lengths, self._search, self._sampling, numbers, n_best, rules)

    def _translation(self, line: _Line, hypothesis: Hypothesis) -> Translation:
        segments, attention = hypothesis.tokens[:-1], hypothesis.attention
        weights = None
        if attention is not None:
            weights = segment_weights(attention, self._reader.attention_shift, len(line.read.pieces))
        replacements = self._replacements(line, segments, weights)
        # What the model calls unknown, but we know: the beginning that was given, and replaced words.
        known = {place: piece for place, piece in enumerate(line.prefix[: len(segments)]) if segments[place] == UNK}
        known |= {replacement.segment: replacement.target for replacement in replacements}
        tokens = self._target.vocabulary.pieces(segments)
        pieces = [known.get(place, piece) for place, piece in enumerate(tokens)]
        text = " ".join(self._target.segmentation.join(pieces).splitlines())
        self._warn_of_hidden_phrases(line, text)
        return Translation(
            source=line.text,
            text=text,
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            tokens=tokens,
            source_tokens=line.read.pieces,
            attention=attention,
            links=list if weights is None else partial(self._links, line, segments, known, text, weights),
            finished=hypothesis.finished,
            replacements=replacements,
        )

    def _links(
        self,
        line: _Line,
        segments: Sequence[int],
        known: Mapping[int, str],
        text: str,
        weights: NDArray[np.float32],
    ) -> list[Link]:
        """Between the words of the line and those of `text`; `known` segments stand in it as they are."""
        # A dictionary may give several words for one segment; each is linked as it is.
        surfaces = [
            known[place].split() if place in known else [self._surface(segment)]
            for place, segment in enumerate(segments)
        ]
        spans = surface_spans([word for words in surfaces for word in words], text)
        rows = np.array([place for place, words in enumerate(surfaces) for _ in words], dtype=np.int64)
        return word_links(weights[rows], line.read.offsets, raw_words(line.text), spans, raw_words(text))

    def _replacements(
        self, line: _Line, segments: Sequence[int], weights: NDArray[np.float32] | None
    ) -> list[Replacement]:
        """What stands for the unknown words, those of a given beginning left out."""
        unknown = [place for place, segment in enumerate(segments) if segment == UNK and place >= len(line.prefix)]
        if self._unknown is None or weights is None or not unknown:
            return []
        words = self._reader.copied_words(line.text, line.read)
        return self._unknown.replace(unknown, weights, line.read.offsets, line.text, words)

    def _banned_ids(self, word: str) -> list[int]:
        """A word or phrase that is never to be written."""
        ids, pieces, _ = self._target.encode(word)
        if UNK in ids:
            raise ConfigError(
                f"banned word {word!r}: the model does not know {pieces[ids.index(UNK)]!r}, so it never writes that; "
                "leave it out"
            )
        return ids

    def _phrase_ids(self, phrase: str, number: int) -> list[int]:
        """A phrase that must appear in the translation of line `number`, from 0."""
        ids, pieces, _ = self._target.encode(phrase)
        if UNK in ids:
            raise InputError(
                f"line {number + 1}: {phrase!r} cannot appear in its translation: the model does not know "
                f"{pieces[ids.index(UNK)]!r}; leave it out, or give a word of the target vocabulary"
            )
        for banned in self._banned:
            if any(ids[at : at + len(banned)] == banned for at in range(len(ids))):
                raise InputError(f"line {number + 1}: {phrase!r} must appear in its translation, but is banned as well")
        return ids

    def _warn_of_hidden_phrases(self, line: _Line, text: str) -> None:
        """Say once if a phrase was written only as a part of longer words: its segments may go on."""
        for phrase in line.phrases:
            if not self._said_hidden and not re.search(rf"(?<!\w){re.escape(phrase.strip())}(?!\w)", text):
                log.warning(
                    "line %d: %r was written only as a part of other words: %r (said once)",
                    line.number + 1,
                    phrase,
                    text,
                )
                self._said_hidden = True

    def _surface(self, segment: int) -> str:
        """A segment joined on its own; remembered, because joining costs more than all the rest of an alignment."""
        if segment not in self._surfaces:
            self._surfaces[segment] = self._target.decode([segment])
        return self._surfaces[segment]


def _together(lines: Iterable[str], wishes: Iterable[Wish] | None) -> Iterator[tuple[str, Wish]]:
    """Each line with what is wished of it."""
    if wishes is None:
        yield from ((line, Wish()) for line in lines)
        return
    for number, (line, wish) in enumerate(itertools.zip_longest(lines, wishes)):
        if line is None or wish is None:
            raise InputError(
                f"prefixes and constraints go on after the input has ended at line {number}"
                if line is None
                else f"prefixes or constraints end at line {number}, but the input goes on; give a line, blank or not, "
                "for each of the input"
            )
        yield line, wish


def _blank(line: _Line) -> Translation:
    """What a line without segments becomes."""
    return Translation(line.text, "", 0.0, 0.0, [], [], None, list, True)
