"""A trained system at work: lines in, translations and lists of them out, with the value of each feature.

Words stand between blanks, tokenised and cased as the text that the system was trained on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.scoring.nbest import BARS, ESCAPED_BARS, format_value
from dragoman.smt.features import total
from dragoman.smt.kenlm_model import LanguageModel
from dragoman.smt.moses_ini import Configuration, read_configuration
from dragoman.smt.phrase_decoder import Decoder
from dragoman.smt.search_graph import Derivation, Hypothesis, n_best
from dragoman.smt.settings import Beam
from dragoman.smt.translation_options import Options, Tables
from dragoman.text.links import Link, format_links
from dragoman.tuning.feature_weights import Weights

PATIENCE = 20
"""Paths looked at for each distinct translation asked for, as in Moses (n-best-factor)."""


@dataclass(frozen=True)
class Translation:
    """One of the translations of a line."""

    text: str
    alignment: Sequence[Link]
    """Between words of the source and of the text."""
    features: dict[str, tuple[float, ...]]
    """The values of each name as lists print them."""
    total: float
    """Their weighted sum."""

    def entry(self, sentence: int, *, alignment: bool) -> str:
        """A line of a Moses n-best list; with the alignment behind it if wanted."""
        values = " ".join(f"{name}= {' '.join(map(format_value, row))}" for name, row in self.features.items())
        line = f"{sentence} {BARS} {self.text} {BARS} {values} {BARS} {format_value(self.total)}"
        return f"{line} {BARS} {format_links(self.alignment)}" if alignment else line


class System:
    """A phrase-based system with its tables in memory."""

    def __init__(self, configuration: Configuration) -> None:
        """Load the tables and the language model.

        Raises:
            InputError: one cannot be read or is malformed.
        """
        self.configuration = configuration
        features = configuration.features
        self._language_model = LanguageModel(configuration.language_model)
        self._tables = Tables(configuration.phrase_table, configuration.reordering_table, features.translation_scores)

    @classmethod
    def open(cls, path: str | Path) -> System:
        """From a folder with a moses.ini, or such a file.

        Raises:
            InputError: a file cannot be read or is malformed.
        """
        return cls(read_configuration(path))

    def searcher(self, weights: Weights, place: str, beam: Beam) -> Searcher:
        """Search with weights; `place` is what an error calls them.

        Raises:
            InputError: the weights do not fit the features.
        """
        weighing = self.configuration.features.weighing(weights, place)
        options = Options(self._tables, self._language_model, weighing, self.configuration.table_limit)
        decoder = Decoder(self._language_model, weighing, self.configuration.distortion_limit, beam)
        return Searcher(self.configuration, weights, options, decoder)


class Searcher:
    """A system under certain weights."""

    def __init__(self, configuration: Configuration, weights: Weights, options: Options, decoder: Decoder) -> None:
        self._features = configuration.features
        self._weights = weights
        self._options = options
        self._decoder = decoder

    def translate(self, lines: Iterable[str]) -> Iterator[Translation]:
        """The best translation of each line, as a stream."""
        for (best,) in self.n_best(lines, 1, distinct=False):
            yield best

    def n_best(self, lines: Iterable[str], size: int, *, distinct: bool) -> Iterator[list[Translation]]:
        """The best translations of each line, at most `size` of them; with `distinct` no text twice."""
        for line in lines:
            final = self._search(line.split())
            derivations = n_best(final, size, distinct=distinct, patience=PATIENCE)
            # Rounding to what is printed may make equals of two totals or swap them.
            yield sorted(map(self._translation, derivations), key=lambda translation: -translation.total)

    def _search(self, words: Sequence[str]) -> Hypothesis:
        return self._decoder.search(len(words), self._options.of(words))

    def _translation(self, derivation: Derivation) -> Translation:
        values = {
            name: tuple(float(format_value(value)) for value in row)
            for name, row in derivation.values(self._features).items()
        }
        text = " ".join(derivation.words).replace(BARS, ESCAPED_BARS)
        return Translation(text, derivation.links, values, total(values, self._weights))
