"""Neural scores as features of n-best lists: lists in, the same lists with more features out, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import tee
from typing import NamedTuple

import numpy as np

from dragoman.errors import InputError
from dragoman.scoring.nbest import Entry
from dragoman.scoring.rescoring import Rescorer, TokenScores, Translations

List = Sequence[Entry]
"""The entries of one sentence."""


class Sentence(NamedTuple):
    """A source line and the entries of its list."""

    source: str
    entries: List


Feature = Callable[[Iterable[Sentence]], Iterator[list[float]]]
"""Lists to a value for each of their entries, list by list."""


def with_sources(lists: Iterable[List], sources: Iterable[str], name: str) -> Iterator[Sentence]:
    """Each list with its source line; ids count lines of the file `name` from 0.

    Raises:
        InputError: the file has fewer lines than the lists ask for.
    """
    lines = enumerate(sources)
    for entries in lists:
        wanted = entries[0].sentence
        source = next((line for number, line in lines if number == wanted), None)
        if source is None:
            raise InputError(f"{name}: ends before sentence {wanted} (counted from 0), which the list has")
        yield Sentence(source, entries)


def forward(rescorer: Rescorer, value: Callable[[TokenScores], float]) -> Feature:
    """The probability of each hypothesis given the source."""

    def feature(sentences: Iterable[Sentence]) -> Iterator[list[float]]:
        return ([value(one) for one in scores] for scores in rescorer.score(map(_translations, sentences)))

    return feature


def ensemble(rescorers: Sequence[Rescorer], value: Callable[[TokenScores], float]) -> Feature:
    """The same by several models of one target vocabulary, the mean of their probabilities of each word."""

    def feature(sentences: Iterable[Sentence]) -> Iterator[list[float]]:
        copies = tee(map(_translations, sentences), len(rescorers))
        models = (rescorer.score(copy) for rescorer, copy in zip(rescorers, copies, strict=True))
        for lists in zip(*models, strict=True):
            yield [value(_mean_probability(answers)) for answers in zip(*lists, strict=True)]

    return feature


def reverse(rescorer: Rescorer, value: Callable[[TokenScores], float]) -> Feature:
    """The probability of the source given each hypothesis, by a model of the other direction."""

    def feature(sentences: Iterable[Sentence]) -> Iterator[list[float]]:
        for_pairs, for_lists = tee(sentences)
        pairs = (
            (text, sentence.source) for sentence in for_pairs for text in dict.fromkeys(map(_text, sentence.entries))
        )
        scores = rescorer.score_pairs(pairs)
        for sentence in for_lists:
            found = {text: value(next(scores)) for text in dict.fromkeys(map(_text, sentence.entries))}
            yield [found[entry.text] for entry in sentence.entries]

    return feature


def add_features(
    sentences: Iterable[Sentence], features: Sequence[tuple[str, Sequence[Feature]]], place: str
) -> Iterator[list[Entry]]:
    """The lists with one more name for each of `features`, which has as many values as it has functions.

    `place` is what an error calls the list.

    Raises:
        InputError: an entry has a feature of this name already.
    """
    functions = [function for _, group in features for function in group]
    for_lists, *for_features = tee(_free_of(sentences, [name for name, _ in features], place), 1 + len(functions))
    answers = [function(copy) for function, copy in zip(functions, for_features, strict=True)]
    for sentence, *values in zip(for_lists, *answers, strict=True):
        changed = list(sentence.entries)
        for name, group in features:
            mine, values = values[: len(group)], values[len(group) :]
            changed = [entry.adding(name, row) for entry, *row in zip(changed, *mine, strict=True)]
        yield changed


def _free_of(sentences: Iterable[Sentence], names: Sequence[str], place: str) -> Iterator[Sentence]:
    for sentence in sentences:
        for entry in sentence.entries:
            for name in names:
                if name in entry.features:
                    raise InputError(
                        f"{place}: sentence {entry.sentence} has a feature {name} already; give another name (--add)"
                    )
        yield sentence


def _translations(sentence: Sentence) -> Translations:
    return Translations(sentence.source, [entry.text for entry in sentence.entries])


def _text(entry: Entry) -> str:
    return entry.text


def _mean_probability(answers: Sequence[TokenScores]) -> TokenScores:
    """Word by word, [T + 1]; the mean of probabilities, not of their logarithms."""
    summed: TokenScores = np.logaddexp.reduce(np.stack(answers), axis=0)
    return summed - np.float32(np.log(len(answers)))
