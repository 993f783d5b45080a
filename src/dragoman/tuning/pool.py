"""The merged n-best lists of a development set as arrays, the data of tuning; and the metrics that tuning maximises.

The metrics are corpus metrics computed from sufficient statistics summed over sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import InputError
from dragoman.evaluation import bleu, chrf
from dragoman.evaluation.tokenised_text import warn_of_lines_without_spaces
from dragoman.scoring.nbest import NBestEntry, read_nbest
from dragoman.text.lines import read_lines, shown_name
from dragoman.text.scripts import is_unsegmented
from dragoman.tuning.feature_weights import shape_of

SufficientStatistics = NDArray[np.float64]
"""[..., size] the counts that a metric needs, of single sentences or summed over several."""


@dataclass(frozen=True)
class TuningMetric:
    """A metric, 0-100, split into statistics and scores. Scores are vectorised: [..., size] -> [...]."""

    name: str
    size: int
    """Statistics per sentence."""
    statistics: Callable[[Sequence[str], Sequence[str]], SufficientStatistics]
    """Hypotheses of one sentence, and its references -> [N, size]."""
    score: Callable[[SufficientStatistics], NDArray[np.float64]]
    """Corpus score from summed statistics."""
    sentence: Callable[[SufficientStatistics], NDArray[np.float64]]
    """Smoothed score of single sentences, by which PRO orders hypotheses."""
    oracle: Callable[[SufficientStatistics], NDArray[np.float64]]
    """Score of single sentences as sacreBLEU computes it."""
    length: Callable[[SufficientStatistics], NDArray[np.float64]]
    """Reference length in words, the weight of a sentence in MIRA."""


CHARACTERS_OF_A_WORD = 5
"""About the mean of European languages; it makes MIRA's steps as large with chrF as with BLEU."""


def _bleu_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> SufficientStatistics:
    return bleu.bleu_statistics(hypotheses, bleu.ReferenceNgrams(references))


BLEU = TuningMetric(
    name="BLEU",
    size=bleu.SIZE,
    statistics=_bleu_statistics,
    score=bleu.corpus_bleu,
    sentence=bleu.add_one_bleu,
    oracle=bleu.sentence_bleu,
    length=lambda statistics: statistics[..., 1],
)
CHRF = TuningMetric(
    name="chrF",
    size=chrf.SIZE,
    statistics=chrf.chrf_statistics,
    score=chrf.chrf2,
    sentence=chrf.chrf2,
    oracle=chrf.chrf2,
    length=lambda statistics: statistics[..., 1] / CHARACTERS_OF_A_WORD,
)
METRICS: Mapping[str, TuningMetric] = {"bleu": BLEU, "chrf": CHRF}
"""The metrics by their names on the command line."""


DIVIDE_INTO_WORDS = "divide them and the hypotheses into words, or use --metric chrf of rerank and tune"
"""What to do where BLEU of an n-best list, which is tokenised text, takes lines for words."""

Vector = NDArray[np.float64]
RowIndices = NDArray[np.int64]


@dataclass(frozen=True)
class HypothesisPool:
    """N hypotheses, consecutive for each of S sentences, with D feature values each."""

    shape: Mapping[str, int]
    """Number of values of each feature; their sum is D."""
    features: Vector
    """[N, D]"""
    statistics: SufficientStatistics
    """[N, metric.size]"""
    starts: RowIndices
    """[S] the first row of each sentence; each has at least one."""
    metric: TuningMetric = BLEU
    """The metric of `statistics`."""

    @cached_property
    def ends(self) -> RowIndices:
        """[S] the row after the last of each sentence."""
        return np.append(self.starts[1:], len(self.features))

    @cached_property
    def rows(self) -> RowIndices:
        """[S, K] the rows of each sentence; shorter lists are padded with their first row, which changes no maximum."""
        counts = self.ends - self.starts
        ranks = np.arange(counts.max())
        return np.where(ranks < counts[:, None], self.starts[:, None] + ranks, self.starts[:, None])

    def choose(self, weights: Vector) -> RowIndices:
        """[S] the row of each sentence with the largest weighted sum; ties go to the first."""
        scores = self.features @ weights
        best: RowIndices = scores[self.rows].argmax(axis=1)
        return self.starts + best

    def score(self, weights: Vector) -> float:
        """The metric, 0-100, of the hypotheses that the weights rank first."""
        return float(self.metric.score(self.statistics[self.choose(weights)].sum(axis=0)))


def read_pool(
    lists: Sequence[str | Path], references: Sequence[str | Path], metric: TuningMetric = BLEU
) -> HypothesisPool:
    """Merge one or several n-best lists of the same sentences, without duplicate hypotheses.

    Raises:
        InputError: a file cannot be read or is malformed, features differ, or a sentence has no reference.
    """
    expected = read_references(references, metric)
    sentences: dict[int, dict[tuple[str, tuple[float, ...]], None]] = {}
    shape: dict[str, int] | None = None
    for path in lists:
        for number, entry in enumerate(read_nbest(path), 1):
            origin, shape = f"{shown_name(path)}:{number}", shape_of(entry) if shape is None else shape
            require_shape(entry, shape, origin)
            if entry.sentence >= len(expected):
                raise InputError(
                    f"{origin}: sentence {entry.sentence} (counted from 0) has no reference; "
                    f"{shown_name(references[0])} has {len(expected)} lines"
                )
            values = tuple(value for group in entry.features.values() for value in group)
            sentences.setdefault(entry.sentence, {})[entry.text, values] = None
    if not shape:
        raise InputError(f"{lists[0]}: its hypotheses have no features to weigh")
    ordered = [(expected[number], list(sentences[number])) for number in sorted(sentences)]
    return make_pool(shape, ordered, metric)


def make_pool(
    shape: Mapping[str, int],
    sentences: Iterable[tuple[Sequence[str], Sequence[tuple[str, Sequence[float]]]]],
    metric: TuningMetric = BLEU,
) -> HypothesisPool:
    """Build a pool from (references, [(hypothesis, feature values)]) for each sentence."""
    features: list[Vector] = []
    statistics: list[SufficientStatistics] = []
    for references, hypotheses in sentences:
        features.append(np.array([values for _, values in hypotheses], dtype=np.float64))
        statistics.append(metric.statistics([text for text, _ in hypotheses], references))
    starts = np.cumsum([0, *map(len, features)])[:-1]
    return HypothesisPool(shape, np.concatenate(features), np.concatenate(statistics), starts, metric)


def read_references(paths: Sequence[str | Path], metric: TuningMetric = BLEU) -> list[tuple[str, ...]]:
    """The references of each sentence, from one or several files with equal numbers of lines.

    An empty line is none where the sentence has another: its length would be the closest to that of a short hypothesis.
    Warns where the metric counts words and the lines are not divided into words.

    Raises:
        InputError: a file cannot be read, or they have different numbers of lines.
    """
    columns = [list(read_lines(path)) for path in paths]
    for path, column in zip(paths, columns, strict=True):
        if len(column) != len(columns[0]):
            one, other = shown_name(paths[0]), shown_name(path)
            raise InputError(f"{one} has {len(columns[0])} lines but {other} has {len(column)}")
    if metric is BLEU and is_unsegmented(line for column in columns for line in column):
        warn_of_lines_without_spaces("references", "BLEU", DIVIDE_INTO_WORDS)
    return [tuple(line for line in lines if line.strip()) or lines[:1] for lines in zip(*columns, strict=True)]


def require_shape(entry: NBestEntry, shape: Mapping[str, int], path: str) -> None:
    """Check that an entry has the expected features.

    Raises:
        InputError: names or numbers of values differ.
    """
    own = shape_of(entry)
    if list(own.items()) != list(shape.items()):
        raise InputError(
            f"{path}: a hypothesis of sentence {entry.sentence} has the features {_shown(own)}, others "
            f"{_shown(shape)}; weights need the same ones in the same order"
        )


def _shown(shape: Mapping[str, int]) -> str:
    return " ".join(f"{name}({size})" for name, size in shape.items()) or "none"
