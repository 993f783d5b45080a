"""The features of a translation: what they are called, their order in n-best lists, and their weights.

All are those of Moses. Scores of phrases, orientations and the language model are natural logarithms; the word penalty
is minus the number of words, the phrase penalty the number of phrases, distortion minus the sum of the jumps, and an
unknown word costs 100.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.smt.reordering import ORIENTATIONS
from dragoman.tuning.feature_weights import Weights, as_vector, as_weights

UNKNOWN_COST = 100.0
"""Of each word that the phrase table cannot translate."""
LOWEST = -100.0
"""The logarithm of probabilities that are too small for one, as in Moses."""
TRANSLATION_SCORES = 4
"""Of a phrase pair in tables of ours."""


class Names(NamedTuple):
    """What a system calls its features, in the order of its n-best lists: that of Moses."""

    reordering: str = "LexicalReordering0"
    distortion: str = "Distortion0"
    language_model: str = "LM0"
    word_penalty: str = "WordPenalty0"
    phrase_penalty: str = "PhrasePenalty0"
    translation: str = "TranslationModel0"
    unknown_penalty: str = "UnknownWordPenalty0"


FIRST_WEIGHTS = Names(
    reordering="0.3",
    distortion="0.3",
    language_model="0.5",
    word_penalty="-1",
    phrase_penalty="0.2",
    translation="0.2",
    unknown_penalty="1",
)
"""What tuning starts from, for each value of a feature: the defaults of Moses' training program."""


@dataclass(frozen=True)
class Features:
    """The features that a system has."""

    names: Names
    translation_scores: int
    """Values of a phrase pair in the phrase table."""
    reordering: bool
    """Whether there is a model of lexicalised reordering."""

    @property
    def shape(self) -> dict[str, int]:
        """How many values each name has, in order."""
        sizes = {
            self.names.reordering: 2 * ORIENTATIONS if self.reordering else 0,
            self.names.translation: self.translation_scores,
        }
        return {name: sizes.get(name, 1) for name in self.names if sizes.get(name, 1)}

    def first_weights(self) -> Weights:
        """To start tuning from."""
        shape = self.shape
        first = dict(zip(self.names, map(float, FIRST_WEIGHTS), strict=True))
        return {name: (first[name],) * size for name, size in shape.items()}

    def weighing(self, weights: Weights, place: str) -> Weighing:
        """Weights by what they weigh; `place` is what an error calls them.

        Raises:
            InputError: names or numbers of values do not fit.
        """
        given = as_weights(as_vector(weights, self.shape, place), self.shape)
        names = self.names
        return Weighing(
            given.get(names.reordering, (0.0,) * (2 * ORIENTATIONS)),
            given[names.distortion][0],
            given[names.language_model][0],
            given[names.word_penalty][0],
            given[names.phrase_penalty][0],
            given[names.translation],
            given[names.unknown_penalty][0],
        )


class Weighing(NamedTuple):
    """The weight of each feature; of each orientation to what stands before, then to what follows."""

    reordering: Sequence[float]
    distortion: float
    language_model: float
    word_penalty: float
    phrase_penalty: float
    translation: Sequence[float]
    unknown_penalty: float

    @property
    def size(self) -> float:
        """The sum of the magnitudes, but for the unknown word penalty, which is the same for nearly all translations
        of a sentence."""
        single = (self.distortion, self.language_model, self.word_penalty, self.phrase_penalty)
        return sum(map(abs, (*self.reordering, *self.translation, *single)))


def total(values: Mapping[str, Sequence[float]], weights: Weights) -> float:
    """The weighted sum of features."""
    return sum(weight * value for name, row in values.items() for weight, value in zip(weights[name], row, strict=True))
