"""The n-best lists of a set of sentences as arrays: what weights are tried on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import InputError
from dragoman.scoring.nbest import Entry, read_nbest
from dragoman.text.lines import read_lines
from dragoman.tuning.feature_weights import shape_of
from dragoman.tuning.tuning_metric import BLEU, Objective, Statistics

Vector = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Pool:
    """The hypotheses of all sentences, N of them, those of a sentence together."""

    shape: Mapping[str, int]
    """How many values each name of features has; D in all."""
    features: Vector
    """[N, D]"""
    statistics: Statistics
    """[N, objective.size]"""
    starts: Rows
    """[S] the first row of each sentence; each has at least one."""
    objective: Objective = BLEU
    """What `statistics` are of."""

    @cached_property
    def ends(self) -> Rows:
        """[S] the row after the last of each sentence."""
        return np.append(self.starts[1:], len(self.features))

    @cached_property
    def rows(self) -> Rows:
        """[S, K] the rows of each sentence; shorter lists are filled up with their first row, which changes nothing."""
        counts = self.ends - self.starts
        places = np.arange(counts.max())
        return np.where(places < counts[:, None], self.starts[:, None] + places, self.starts[:, None])

    def choose(self, weights: Vector) -> Rows:
        """[S] the row of each sentence with the largest weighted sum; the first of equal ones."""
        scores = self.features @ weights
        best: Rows = scores[self.rows].argmax(axis=1)
        return self.starts + best

    def score(self, weights: Vector) -> float:
        """The objective, 0-100, of what the weights choose."""
        return float(self.objective.score(self.statistics[self.choose(weights)].sum(axis=0)))


def read_pool(lists: Sequence[str | Path], references: Sequence[str | Path], objective: Objective = BLEU) -> Pool:
    """The hypotheses of one or several lists of the same sentences, each distinct one once.

    Raises:
        InputError: a file cannot be read or is malformed, features differ, or a sentence has no reference.
    """
    expected = read_references(references)
    sentences: dict[int, dict[tuple[str, tuple[float, ...]], None]] = {}
    shape: dict[str, int] = {}
    for path in lists:
        for entry in read_nbest(path):
            shape = shape or shape_of(entry)
            require_shape(entry, shape, str(path))
            if entry.sentence >= len(expected):
                raise InputError(
                    f"{path}: sentence {entry.sentence} (counted from 0) has no reference; {references[0]} has "
                    f"{len(expected)} lines"
                )
            values = tuple(value for group in entry.features.values() for value in group)
            sentences.setdefault(entry.sentence, {})[entry.text, values] = None
    if not shape:
        raise InputError(f"{lists[0]}: its hypotheses have no features to weigh")
    ordered = [(expected[number], list(sentences[number])) for number in sorted(sentences)]
    return make_pool(shape, ordered, objective)


def make_pool(
    shape: Mapping[str, int],
    sentences: Iterable[tuple[Sequence[str], Sequence[tuple[str, Sequence[float]]]]],
    objective: Objective = BLEU,
) -> Pool:
    """From (references, [(hypothesis, feature values)]) for each sentence."""
    features: list[Vector] = []
    statistics: list[Statistics] = []
    for references, hypotheses in sentences:
        features.append(np.array([values for _, values in hypotheses], dtype=np.float64))
        statistics.append(objective.statistics([text for text, _ in hypotheses], references))
    starts = np.cumsum([0, *map(len, features)])[:-1]
    return Pool(shape, np.concatenate(features), np.concatenate(statistics), starts, objective)


def read_references(paths: Sequence[str | Path]) -> list[tuple[str, ...]]:
    """The references of each sentence, from one or several files of as many lines.

    Raises:
        InputError: a file cannot be read, or they have different numbers of lines.
    """
    columns = [list(read_lines(path)) for path in paths]
    for path, column in zip(paths, columns, strict=True):
        if len(column) != len(columns[0]):
            raise InputError(f"{paths[0]} has {len(columns[0])} lines but {path} has {len(column)}")
    return list(zip(*columns, strict=True))


def require_shape(entry: Entry, shape: Mapping[str, int], path: str) -> None:
    """Refuse an entry whose features are not those of the list before.

    Raises:
        InputError: names or numbers of values differ.
    """
    found = shape_of(entry)
    if list(found.items()) != list(shape.items()):
        raise InputError(
            f"{path}: a hypothesis of sentence {entry.sentence} has the features {_shown(found)}, others "
            f"{_shown(shape)}; weights need the same ones in the same order"
        )


def _shown(shape: Mapping[str, int]) -> str:
    return " ".join(f"{name}({size})" for name, size in shape.items()) or "none"
