"""Replacement of unknown words: by a dictionary's translation of the aligned source word, or by a copy of it.

The aligned source word is the one with most alignment weight in the step of the unknown word (`segment_weights`; one
step later in Luong et al. 2015 than in Bahdanau et al. 2015), EOS left out. There are the three heuristics of the code
of Jean et al. 2015:

    copy                    the source word itself (0)
    dictionary              its translation, else the word itself (1); also Luong et al. 2015
    lowercase-dictionary    its translation if it begins in lower case, else the word itself (2): names are copied
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from dragoman.alignment.dictionary import read_dictionary
from dragoman.alignment.extract import Span, words_of
from dragoman.errors import ConfigError
from dragoman.requests.translation import UnknownRule

UNKNOWN_RULES: tuple[str, ...] = get_args(UnknownRule)


class Replacement(NamedTuple):
    """An unknown word that was replaced."""

    segment: int
    """Its position among the target segments, from 0."""
    source: str
    """The source word."""
    target: str
    """Its replacement."""
    how: Literal["dictionary", "copy"]


@dataclass(frozen=True)
class UnknownWordReplacer:
    """The rule, and the dictionary that it uses: source word -> target word."""

    rule: UnknownRule = "dictionary"
    dictionary: Mapping[str, str] = field(default_factory=dict)

    def replace(
        self,
        unknown: Sequence[int],
        weights: NDArray[np.float32],
        segments: Sequence[Span],
        text: str,
        words: list[Span],
    ) -> list[Replacement]:
        """The replacements of the target segments `unknown`.

        `weights` [T, S] has a row for each target segment; the S source segments have the spans `segments` in the raw
        line `text`, and its words the spans `words`. Without words there is no replacement.
        """
        owners = words_of(segments, words)[: weights.shape[1]]
        if not (owners >= 0).any():
            return []
        by_word = np.zeros((len(weights), len(words) + 1))  # the last column is for segments of no word
        np.add.at(by_word.T, owners, weights[:, : len(owners)].T.astype(np.float64))
        read = np.isin(np.arange(len(words)), owners)
        heaviest = np.where(read, by_word[:, :-1], -np.inf).argmax(axis=1)
        return [self._replacement(position, text[slice(*words[heaviest[position]])]) for position in unknown]

    def _replacement(self, position: int, word: str) -> Replacement:
        looks_up = self.rule == "dictionary" or (self.rule == "lowercase-dictionary" and word[:1].islower())
        if looks_up and word in self.dictionary:
            return Replacement(position, word, self.dictionary[word], "dictionary")
        return Replacement(position, word, word, "copy")


def changed_replacer(replacer: UnknownWordReplacer | None, options: Mapping[str, Any]) -> UnknownWordReplacer:
    """A replacer like `replacer`, if there is one, with other options `unk_rule` and `dictionary`.

    Raises:
        ConfigError: the rule does not exist.
        InputError: the dictionary is a file that cannot be read.
    """
    replacer = replacer or UnknownWordReplacer()
    rule, dictionary = options.get("unk_rule", replacer.rule), options.get("dictionary", replacer.dictionary)
    if rule not in UNKNOWN_RULES:
        raise ConfigError(f"unk_rule is {rule!r}, but must be one of {', '.join(UNKNOWN_RULES)}")
    return UnknownWordReplacer(rule, dictionary if isinstance(dictionary, Mapping) else read_dictionary(dictionary))
