"""Features added to n-best lists, most of them neural scores; lists go out in the order in which they came in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import tee
from typing import NamedTuple

import numpy as np

from dragoman.errors import InputError
from dragoman.scoring.given_targets import TokenScores
from dragoman.scoring.nbest import NBestEntry
from dragoman.scoring.scorer import CandidateTranslations, ListScorer, Scorer
from dragoman.text.words import words_in

EntryList = Sequence[NBestEntry]
"""The entries of one sentence."""


class NBestSentence(NamedTuple):
    """A source line and the entries of its list."""

    source: str
    entries: EntryList


Feature = Callable[[Iterable[NBestSentence]], Iterator[list[float]]]
"""A function from lists to a value for each of their entries, list by list."""


def with_sources(lists: Iterable[EntryList], sources: Iterable[str], name: str) -> Iterator[NBestSentence]:
    """Each list with its source line; ids count lines of the file `name` from 0.

    Raises:
        InputError: the file has fewer lines than the lists refer to.
    """
    lines = enumerate(sources)
    for entries in lists:
        wanted = entries[0].sentence
        source = next((line for number, line in lines if number == wanted), None)
        if source is None:
            raise InputError(f"{name}: ends before sentence {wanted} (counted from 0), which the list has")
        yield NBestSentence(source, entries)


def probability_feature(score: ListScorer, value: Callable[[TokenScores], float]) -> Feature:
    """The probability of each hypothesis given the source (`Scorer.score_lists`), or the reverse (`score_sources`)."""

    def feature(sentences: Iterable[NBestSentence]) -> Iterator[list[float]]:
        return ([value(one) for one in scores] for scores in score(map(_candidates, sentences)))

    return feature


def ensemble_feature(scorers: Sequence[Scorer], value: Callable[[TokenScores], float]) -> Feature:
    """The probability of each hypothesis by several models of one target vocabulary, averaged for each segment."""

    def feature(sentences: Iterable[NBestSentence]) -> Iterator[list[float]]:
        copies = tee(map(_candidates, sentences), len(scorers))
        models = (scorer.score_lists(copy) for scorer, copy in zip(scorers, copies, strict=True))
        for lists in zip(*models, strict=True):
            yield [value(_mean_probability(scores)) for scores in zip(*lists, strict=True)]

    return feature


def of_joined_words(feature: Feature, join: Callable[[Sequence[str]], str]) -> Feature:
    """The feature of hypotheses that are tokenised, for a model of raw text: `join` makes raw text of words."""

    def joined(sentences: Iterable[NBestSentence]) -> Iterator[list[float]]:
        return feature(
            NBestSentence(
                sentence.source, [_with_text(entry, join(words_in(entry.text))) for entry in sentence.entries]
            )
            for sentence in sentences
        )

    return joined


def _with_text(entry: NBestEntry, text: str) -> NBestEntry:
    return replace(entry, fields=(entry.fields[0], text, *entry.fields[2:]))


def length_feature(sentences: Iterable[NBestSentence]) -> Iterator[list[float]]:
    """The number of words of each hypothesis, which has the opposite sign of Moses' word penalty."""
    for sentence in sentences:
        yield [float(len(words_in(entry.text))) for entry in sentence.entries]


def add_features(
    sentences: Iterable[NBestSentence], features: Sequence[tuple[str, Sequence[Feature]]], origin: str
) -> Iterator[list[NBestEntry]]:
    """The lists with a feature added for each of `features`, which has as many values as it has functions.

    `origin` is the name of the list in an error.

    Raises:
        InputError: an entry already has a feature of this name.
    """
    functions = [function for _, group in features for function in group]
    for_lists, *for_features = tee(_free_of(sentences, [name for name, _ in features], origin), 1 + len(functions))
    columns = [function(copy) for function, copy in zip(functions, for_features, strict=True)]
    for sentence, *values in zip(for_lists, *columns, strict=True):
        changed = list(sentence.entries)
        for name, group in features:
            mine, values = values[: len(group)], values[len(group) :]
            changed = [entry.adding(name, row) for entry, *row in zip(changed, *mine, strict=True)]
        yield changed


def _free_of(sentences: Iterable[NBestSentence], names: Sequence[str], origin: str) -> Iterator[NBestSentence]:
    for sentence in sentences:
        for entry in sentence.entries:
            for name in names:
                if name in entry.features:
                    raise InputError(
                        f"{origin}: sentence {entry.sentence} has a feature {name} already; "
                        "give another name (--feature)"
                    )
        yield sentence


def _candidates(sentence: NBestSentence) -> CandidateTranslations:
    return CandidateTranslations(sentence.source, [entry.text for entry in sentence.entries])


def _mean_probability(scores: Sequence[TokenScores]) -> TokenScores:
    """The logarithm of the mean probability of each segment, [T + 1]."""
    summed: TokenScores = np.logaddexp.reduce(np.stack(scores), axis=0)
    return summed - np.float32(np.log(len(scores)))
