"""A loaded phrase-based system: translations and n-best lists, with feature values, from lines.

Words are separated by spaces; lines are tokenised and cased like the training text. What Moses gives a meaning is
escaped in the tables only, see `scoring.nbest`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.requests.smt import DecoderSettings
from dragoman.scoring.nbest import BARS, escape_bars, escape_word, format_value, unescape_words
from dragoman.smt.features import total
from dragoman.smt.kenlm_model import KenlmModel
from dragoman.smt.moses_ini import MosesConfiguration, read_configuration
from dragoman.smt.phrase_decoder import PhraseDecoder
from dragoman.smt.search_graph import Derivation, n_best
from dragoman.smt.translation_options import PhraseOptions, SystemTables
from dragoman.text.links import Link, format_links
from dragoman.text.words import words_in
from dragoman.tuning.feature_weights import Weights

PATIENCE = 20
"""Derivations searched for each requested distinct translation, as in Moses (n-best-factor)."""


@dataclass(frozen=True)
class SmtTranslation:
    """One translation of a line."""

    text: str
    alignment: Sequence[Link]
    """Links between the words of the source and of the text."""
    features: dict[str, tuple[float, ...]]
    """The values of each feature, rounded as n-best lists print them."""
    total: float
    """The weighted sum of the features."""

    def entry(self, sentence: int, *, alignment: bool) -> str:
        """Format a line of a Moses n-best list, optionally with the alignment as its last column."""
        values = " ".join(f"{name}= {' '.join(map(format_value, row))}" for name, row in self.features.items())
        line = f"{sentence} {BARS} {escape_bars(self.text)} {BARS} {values} {BARS} {format_value(self.total)}"
        return f"{line} {BARS} {format_links(self.alignment)}" if alignment else line


class PhraseSystem:
    """A phrase-based system with its tables in memory."""

    def __init__(self, configuration: MosesConfiguration) -> None:
        """Load the tables and the language model.

        Raises:
            InputError: a file cannot be read or is malformed.
        """
        self.configuration = configuration
        features = configuration.features
        self._language_model = KenlmModel(configuration.language_model)
        self._tables = SystemTables(
            configuration.phrase_table, configuration.reordering_table, features.translation_scores
        )

    @classmethod
    def open(cls, path: str | Path) -> PhraseSystem:
        """Load the system of a folder with a moses.ini, or of such a file.

        Raises:
            InputError: a file cannot be read or is malformed.
        """
        return cls(read_configuration(path))

    def searcher(self, weights: Weights, origin: str, settings: DecoderSettings) -> Searcher:
        """The system under given weights; `origin` names the weights in error messages.

        Raises:
            InputError: the weights do not match the features.
        """
        feature_weights = self.configuration.features.feature_weights(weights, origin)
        options = PhraseOptions(self._tables, self._language_model, feature_weights, self.configuration.table_limit)
        decoder = PhraseDecoder(self._language_model, feature_weights, self.configuration.distortion_limit, settings)
        return Searcher(self.configuration, weights, options, decoder)


class Searcher:
    """A system under given weights."""

    def __init__(
        self, configuration: MosesConfiguration, weights: Weights, options: PhraseOptions, decoder: PhraseDecoder
    ) -> None:
        self._features = configuration.features
        self._weights = weights
        self._options = options
        self._decoder = decoder

    def translate(self, lines: Iterable[str]) -> Iterator[SmtTranslation]:
        """Yield the best translation of each line."""
        for (best,) in self.n_best(lines, 1, distinct=False):
            yield best

    def n_best(self, lines: Iterable[str], size: int, *, distinct: bool) -> Iterator[list[SmtTranslation]]:
        """Yield the `size` best translations of each line; with `distinct`, only the best one of each text."""
        for line in lines:
            words = [escape_word(word) for word in words_in(line)]
            final = self._decoder.search(len(words), self._options.of(words))
            derivations = n_best(final, size, distinct=distinct, patience=PATIENCE)
            # Rounding the features as they are printed may make two totals equal or swap their order.
            yield sorted(map(self._translation, derivations), key=lambda translation: -translation.total)

    def _translation(self, derivation: Derivation) -> SmtTranslation:
        values = {
            name: tuple(float(format_value(value)) for value in row)
            for name, row in derivation.values(self._features).items()
        }
        text = unescape_words(" ".join(derivation.words))
        return SmtTranslation(text, derivation.links, values, total(values, self._weights))
