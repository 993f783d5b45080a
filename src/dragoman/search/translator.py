"""Lines in, translations out: cut into segments, search in batches of like length, join, align.

As many answers come out as lines go in, in the same order, whatever the lines hold, and memory does not grow with
their number. A line longer than a model can sensibly be given is cut for the model (its first `LONGEST` segments
are translated, with one warning), and is still one line.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.extract import segment_weights, surface_spans, word_links
from dragoman.alignment.links import Link
from dragoman.config.schema import SearchConfig
from dragoman.errors import ConfigError
from dragoman.search.beam import beam_search
from dragoman.search.engine import Engine
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.sampling import Sampling, sample
from dragoman.search.streaming import Shortener, in_length_order, source_batch
from dragoman.text.side import Encoded, TextSide, raw_words

ROWS = 320
"""Rows of a batch in search: sentences times the beam, or times the samples of each."""
SHOWN = 60
"""Segments of either side up to which a notebook shows the heat map."""


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
    """S source segments, end of sentence not included."""
    attention: NDArray[np.float32] | None
    """[T + 1, S], or [T + 1, S + 1] if the model reads an end of sentence: row t was in use when segment t (last:
    the end of sentence) was predicted. None for a model without attention, and for a blank line."""
    alignment: list[Link]
    """(source word, target word) between the words of the raw lines, from 0; one for each target word."""
    finished: bool
    """False if the translation was cut off at the longest length."""

    def _repr_html_(self) -> str:
        """For notebooks: the text, and the alignment weights as a heat map."""
        text = f'<p style="font-size:1.1em">{html.escape(self.text)}</p>'
        if self.attention is None or not self.tokens or max(len(self.tokens), len(self.source_tokens)) > SHOWN:
            return text
        return text + _heat_map(self.attention, self.source_tokens, self.tokens)


class _Line(NamedTuple):
    """A line on its way."""

    number: int
    """From 0."""
    text: str
    encoded: Encoded


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
    ) -> None:
        """With `sampling` translations are drawn instead of looked for, and `n_best` says how many."""
        assert engine.vocabulary_size == len(target.vocabulary)
        self._engine = engine
        self._source = source
        self._target = target
        self._search = search
        self._sampling = sampling
        self._surfaces: dict[int, str] = {}
        self._shorten = Shortener()

    def translate(self, text: str) -> Translation:
        """The best translation of one line; what is translated often is better given to `translate_lines`.

        Raises:
            RunError: the model's answers are not numbers.
        """
        return next(self.translate_lines([text]))[0]

    def translate_lines(
        self, lines: Iterable[str], n_best: int = 1, *, read_ahead: int | None = None
    ) -> Iterator[list[Translation]]:
        """For each line its translations, best first (samples: in the order drawn).

        There are `n_best` of them, fewer if fewer hypotheses finished, never none; a blank line has one, blank.
        Lines are read ahead by a window of `read_ahead` lines (None: see streaming.py).

        Raises:
            ConfigError: `n_best` is not from 1 to the beam.
            RunError: the model's answers are not numbers.
        """
        if n_best < 1:
            raise ConfigError(f"n-best is {n_best}, but must be at least 1")
        if self._sampling is None and n_best > self._search.beam:
            raise ConfigError(
                f"n-best is {n_best}, but a beam of {self._search.beam} keeps no more than {self._search.beam} "
                f"translations; set the beam to {n_best} or more"
            )
        return in_length_order(
            (self._prepare(number, line) for number, line in enumerate(lines)),
            lambda batch: self._translate_batch(batch, n_best),
            length=lambda line: len(line.encoded.ids),
            characters=lambda line: len(line.text),
            sentences=max(1, ROWS // (self._search.beam if self._sampling is None else n_best)),
            read_ahead=read_ahead,
        )

    def _prepare(self, number: int, text: str) -> _Line:
        """Cut a line into segments, and off where it becomes too long for a model."""
        return _Line(number, text, self._shorten(self._source.encode(text), f"line {number + 1}"))

    def _translate_batch(self, batch: list[_Line], n_best: int) -> list[list[Translation]]:
        """Search for the lines that have segments; the others are blank."""
        full = [line for line in batch if line.encoded.ids]
        found = iter(self._search_batch(full, n_best) if full else [])
        return [
            [self._translation(line, hypothesis) for hypothesis in next(found)] if line.encoded.ids else [_blank(line)]
            for line in batch
        ]

    def _search_batch(self, batch: Sequence[_Line], n_best: int) -> list[list[Hypothesis]]:
        source, lengths = source_batch(self._engine, [line.encoded.ids for line in batch])
        if self._sampling is None:
            return beam_search(self._engine, source, lengths, self._search, n_best)
        numbers = np.array([line.number for line in batch], dtype=np.int64)
        return sample(self._engine, source, lengths, self._search, self._sampling, numbers, n_best)

    def _translation(self, line: _Line, hypothesis: Hypothesis) -> Translation:
        segments = hypothesis.tokens[:-1]
        text = " ".join(self._target.decode(segments).splitlines())
        return Translation(
            source=line.text,
            text=text,
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            tokens=self._target.vocabulary.pieces(segments),
            source_tokens=line.encoded.pieces,
            attention=hypothesis.attention,
            alignment=self._alignment(line, segments, text, hypothesis.attention),
            finished=hypothesis.finished,
        )

    def _alignment(
        self, line: _Line, segments: list[int], text: str, attention: NDArray[np.float32] | None
    ) -> list[Link]:
        """Links between the words of the line and those of `text`."""
        if attention is None:
            return []
        return word_links(
            segment_weights(attention, self._engine.attention_shift, len(line.encoded.ids)),
            line.encoded.offsets,
            raw_words(line.text),
            surface_spans([self._surface(segment) for segment in segments], text),
            raw_words(text),
        )

    def _surface(self, segment: int) -> str:
        """A segment joined on its own; remembered, because joining costs more than all the rest of an alignment."""
        if segment not in self._surfaces:
            self._surfaces[segment] = self._target.decode([segment])
        return self._surfaces[segment]


def _blank(line: _Line) -> Translation:
    """What a line without segments becomes."""
    return Translation(line.text, "", 0.0, 0.0, [], [], None, [], True)


def _heat_map(attention: NDArray[np.float32], source: Sequence[str], target: Sequence[str]) -> str:
    """A table, a row for each target segment, a column for each source segment, darker for more weight."""
    names = [*source, "&lt;/s&gt;"][: attention.shape[1]]
    names = [html.escape(name) if index < len(source) else name for index, name in enumerate(names)]
    upright = "writing-mode:vertical-rl;transform:rotate(180deg);font-weight:normal;text-align:left"
    head = "".join(f'<th style="{upright}">{name}</th>' for name in names)
    rows = []
    for name, weights in zip([*map(html.escape, target), "&lt;/s&gt;"], attention.tolist(), strict=True):
        cells = "".join(
            f'<td style="width:1.2em;background:rgba(31,78,140,{weight:.2f})" title="{weight:.3f}"></td>'
            for weight in weights
        )
        rows.append(f'<tr><th style="font-weight:normal;text-align:right">{name}</th>{cells}</tr>')
    return f'<table style="border-collapse:collapse"><tr><th></th>{head}</tr>{"".join(rows)}</table>'
