"""The metrics that tuning maximises: corpus metrics computed from sufficient statistics summed over sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation import bleu, chrf

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
