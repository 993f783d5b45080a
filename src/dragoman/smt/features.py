"""The feature functions of the log-linear model: their names, their order in n-best lists, and their weights.

All are those of Moses. Scores of phrases, orientations and the language model are natural logarithms; the word penalty
is minus the number of words, the phrase penalty the number of phrases, distortion minus the sum of the distances
between phrases, and the unknown word penalty minus 100 for each unknown word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.smt.reordering import ORIENTATIONS
from dragoman.tuning.feature_weights import Weights, as_vector, as_weights

UNKNOWN_COST = 100.0
"""Cost of a word that the phrase table cannot translate."""
LOWEST = -100.0
"""Floor of logarithms of probabilities, as in Moses."""
TRANSLATION_SCORES = 4
"""Scores of a phrase pair in the tables that `smt train` writes."""


class FeatureNames(NamedTuple):
    """A system's names of its features, in the order that Moses gives them in n-best lists."""

    reordering: str = "LexicalReordering0"
    distortion: str = "Distortion0"
    language_model: str = "LM0"
    word_penalty: str = "WordPenalty0"
    phrase_penalty: str = "PhrasePenalty0"
    translation: str = "TranslationModel0"
    unknown_penalty: str = "UnknownWordPenalty0"


INITIAL_WEIGHTS = (0.3, 0.3, 0.5, -1.0, 0.2, 0.2, 1.0)
"""Initial weight of each value of a feature, in the order of `FeatureNames`: those of Moses' training program."""


@dataclass(frozen=True)
class Features:
    """The features of one system."""

    names: FeatureNames
    translation_scores: int
    """Scores of a phrase pair in the phrase table."""
    reordering: bool
    """Whether there is a lexicalised reordering model."""

    @property
    def shape(self) -> dict[str, int]:
        """Number of values of each feature, in order."""
        sizes = {
            self.names.reordering: 2 * ORIENTATIONS if self.reordering else 0,
            self.names.translation: self.translation_scores,
        }
        return {name: sizes.get(name, 1) for name in self.names if sizes.get(name, 1)}

    def initial_weights(self) -> Weights:
        """Return the weights that tuning starts from."""
        first = dict(zip(self.names, INITIAL_WEIGHTS, strict=True))
        return {name: (first[name],) * size for name, size in self.shape.items()}

    def feature_weights(self, weights: Weights, origin: str) -> FeatureWeights:
        """Weights by the role of their features; `origin` names the weights in error messages.

        Raises:
            InputError: the weights do not match the features in name or number.
        """
        given = as_weights(as_vector(weights, self.shape, origin), self.shape)
        names = self.names
        return FeatureWeights(
            given.get(names.reordering, (0.0,) * (2 * ORIENTATIONS)),
            given[names.distortion][0],
            given[names.language_model][0],
            given[names.word_penalty][0],
            given[names.phrase_penalty][0],
            given[names.translation],
            given[names.unknown_penalty][0],
        )


class FeatureWeights(NamedTuple):
    """The weight of each feature; `reordering` has the orientations to the previous phrase, then to the next."""

    reordering: Sequence[float]
    distortion: float
    language_model: float
    word_penalty: float
    phrase_penalty: float
    translation: Sequence[float]
    unknown_penalty: float

    @property
    def magnitude(self) -> float:
        """L1 norm without the unknown word penalty, which is equal for nearly all translations of a sentence."""
        single = (self.distortion, self.language_model, self.word_penalty, self.phrase_penalty)
        return sum(map(abs, (*self.reordering, *self.translation, *single)))


def total(values: Mapping[str, Sequence[float]], weights: Weights) -> float:
    """Compute the weighted sum of feature values."""
    return sum(weight * value for name, row in values.items() for weight, value in zip(weights[name], row, strict=True))
