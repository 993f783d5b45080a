"""Reranking: a criterion scores the entries of each n-best list, and the entry with the largest score is selected.

Ties go to the first entry, which is the one that Moses ranked higher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import InputError
from dragoman.evaluation.minimum_risk import Utility, expected_utilities
from dragoman.scoring.nbest import NBestEntry
from dragoman.tuning.feature_weights import Weights, as_vector, shape_of
from dragoman.tuning.pool import BLEU, TuningMetric, require_shape

Criterion = Callable[[Sequence[NBestEntry]], NDArray[np.float64]]
"""Maps the K entries of a sentence to scores [K]."""


def rerank(lists: Iterable[Sequence[NBestEntry]], criterion: Criterion) -> Iterator[NBestEntry]:
    """The best entry of each list under a criterion."""
    for entries in lists:
        yield entries[int(criterion(entries).argmax())]


def by_total(entries: Sequence[NBestEntry]) -> NDArray[np.float64]:
    """The totals of the K entries in the list, [K]."""
    return np.array([entry.total for entry in entries])


def by_weights(weights: Weights, origin: str, name: str) -> Criterion:
    """The weighted sum of the features; messages name the weights `origin` and the list `name`.

    The criterion raises:
        InputError: the weights do not match the features, or features differ between entries.
    """
    shape: Mapping[str, int] = {}
    vector = np.empty(0)

    def criterion(entries: Sequence[NBestEntry]) -> NDArray[np.float64]:
        nonlocal shape, vector
        if not shape:
            shape = shape_of(entries[0])
            vector = as_vector(weights, shape, origin)
        for entry in entries:
            require_shape(entry, shape, name)
        rows = np.array([[value for group in entry.features.values() for value in group] for entry in entries])
        return np.asarray((rows * vector).sum(axis=1))  # a matrix product may round equal rows differently

    return criterion


def by_average(names: Sequence[str], name: str) -> Criterion:
    """The mean of the total and of features: rescoring with equal weights (Sutskever et al. 2014, section 3.2).

    It is meaningful only if all of them are log-probabilities of whole sentences.

    The criterion raises:
        InputError: the list called `name` lacks a feature.
    """

    def criterion(entries: Sequence[NBestEntry]) -> NDArray[np.float64]:
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

    return criterion


def by_oracle(references: Sequence[Sequence[str]], origin: str, metric: TuningMetric = BLEU) -> Criterion:
    """The sentence-level metric against the references, an approximate upper bound of reranking.

    The criterion raises:
        InputError: a sentence has no reference in the file called `origin`.
    """

    def criterion(entries: Sequence[NBestEntry]) -> NDArray[np.float64]:
        sentence = entries[0].sentence
        if sentence >= len(references):
            raise InputError(
                f"{origin}: sentence {sentence} (counted from 0) has no reference; there are {len(references)} lines"
            )
        return metric.oracle(metric.statistics([entry.text for entry in entries], references[sentence]))

    return criterion


def by_expectation(scores: Criterion, scale: float, most: int, utility: Utility) -> Criterion:
    """Minimum Bayes risk: the expected utility of an entry under the posterior, the softmax of `scale` times `scores`.

    Only the `most` best entries of each list by score take part.
    """

    def criterion(entries: Sequence[NBestEntry]) -> NDArray[np.float64]:
        score = scale * scores(entries)
        best = np.argsort(-score, kind="stable")[:most]
        posterior = np.exp(score[best] - score[best].max())
        result = np.full(len(entries), -np.inf)
        result[best] = expected_utilities([entries[row].text for row in best], posterior, utility)
        return result

    return criterion
