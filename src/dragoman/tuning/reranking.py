"""Which hypothesis of a list is taken: a rule gives each entry of a sentence a number, the largest wins.

The first of equal ones wins, which in a list of Moses is the one that Moses prefers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import InputError
from dragoman.evaluation.minimum_risk import Utility, expected_utilities
from dragoman.scoring.nbest import Entry
from dragoman.tuning.feature_weights import Weights, as_vector, shape_of
from dragoman.tuning.pool import require_shape
from dragoman.tuning.tuning_metric import BLEU, Objective

Rule = Callable[[Sequence[Entry]], NDArray[np.float64]]
"""The entries of a sentence to a number for each, [K]."""


def choose(lists: Iterable[Sequence[Entry]], rule: Rule) -> Iterator[Entry]:
    """The entry of each sentence that the rule puts first."""
    for entries in lists:
        yield entries[int(rule(entries).argmax())]


def by_total(entries: Sequence[Entry]) -> NDArray[np.float64]:
    """The totals of the list itself."""
    return np.array([entry.total for entry in entries])


def by_weights(weights: Weights, place: str, name: str) -> Rule:
    """The weighted sum of the features; errors call the weights `place` and the list `name`.

    Its entries raise:
        InputError: the weights do not fit the features, or features differ.
    """
    shape: Mapping[str, int] = {}
    vector = np.empty(0)

    def rule(entries: Sequence[Entry]) -> NDArray[np.float64]:
        nonlocal shape, vector
        if not shape:
            shape = shape_of(entries[0])
            vector = as_vector(weights, shape, place)
        for entry in entries:
            require_shape(entry, shape, name)
        return np.array([[value for group in entry.features.values() for value in group] for entry in entries]) @ vector

    return rule


def by_average(names: Sequence[str], name: str) -> Rule:
    """The plain average of the total and of features: rescoring with even weights (Sutskever et al. 2014, section 3.2).

    All must be logarithms of probabilities of whole sentences for that to make sense.

    Its entries raise:
        InputError: the list called `name` lacks a feature.
    """

    def rule(entries: Sequence[Entry]) -> NDArray[np.float64]:
        rows = []
        for entry in entries:
            for feature in names:
                if feature not in entry.features:
                    raise InputError(
                        f"{name}: a hypothesis of sentence {entry.sentence} has no feature {feature}; it has "
                        f"{', '.join(entry.features) or 'none'}"
                    )
            values = [value for feature in names for value in entry.features[feature]]
            rows.append(np.mean([entry.total, *values]))
        return np.array(rows)

    return rule


def by_oracle(references: Sequence[Sequence[str]], place: str, objective: Objective = BLEU) -> Rule:
    """The metric of the sentence against the references of each sentence: what no weights can surpass by much.

    Its entries raise:
        InputError: a sentence has no reference in the file called `place`.
    """

    def rule(entries: Sequence[Entry]) -> NDArray[np.float64]:
        sentence = entries[0].sentence
        if sentence >= len(references):
            raise InputError(
                f"{place}: sentence {sentence} (counted from 0) has no reference; there are {len(references)} lines"
            )
        return objective.oracle(objective.statistics([entry.text for entry in entries], references[sentence]))

    return rule


def by_expectation(scores: Rule, scale: float, most: int, utility: Utility) -> Rule:
    """Minimum Bayes risk: the largest mean utility against all others, each weighted by its posterior, the softmax of
    `scale` times its score. Of each list the `most` best by score take part."""

    def rule(entries: Sequence[Entry]) -> NDArray[np.float64]:
        score = scale * scores(entries)
        best = np.argsort(-score, kind="stable")[:most]
        posterior = np.exp(score[best] - score[best].max())
        result = np.full(len(entries), -np.inf)
        result[best] = expected_utilities([entries[row].text for row in best], posterior, utility)
        return result

    return rule
