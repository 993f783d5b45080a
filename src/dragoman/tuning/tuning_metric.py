"""What tuning makes large: a metric whose statistics add up over sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation import bleu, chrf

Statistics = NDArray[np.float64]
"""[..., size] of single sentences or sums of them."""


@dataclass(frozen=True)
class Objective:
    """A metric, 0-100, taken apart. Functions of statistics take any number of rows at once: [..., size] -> [...]."""

    name: str
    size: int
    """Numbers of a row."""
    statistics: Callable[[Sequence[str], Sequence[str]], Statistics]
    """Hypotheses of one sentence, and its references -> [N, size]."""
    score: Callable[[Statistics], NDArray[np.float64]]
    """Of a corpus: of a sum."""
    sentence: Callable[[Statistics], NDArray[np.float64]]
    """Of single sentences, smoothed so that good ones and better ones differ; PRO orders by it."""
    oracle: Callable[[Statistics], NDArray[np.float64]]
    """Of single sentences, as sacreBLEU has it."""
    length: Callable[[Statistics], NDArray[np.float64]]
    """What a sentence weighs in MIRA: the words of its reference."""


CHARACTERS_OF_A_WORD = 5
"""About as many as European languages have: steps of MIRA are as long with chrF as with BLEU."""


def _bleu_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> Statistics:
    return bleu.statistics_of(hypotheses, bleu.Reference(references))


BLEU = Objective(
    name="BLEU",
    size=bleu.SIZE,
    statistics=_bleu_statistics,
    score=bleu.corpus_bleu,
    sentence=bleu.add_one_bleu,
    oracle=bleu.sentence_bleu,
    length=lambda statistics: statistics[..., 1],
)
CHRF = Objective(
    name="chrF",
    size=chrf.SIZE,
    statistics=chrf.statistics_of,
    score=chrf.chrf,
    sentence=chrf.chrf,
    oracle=chrf.chrf,
    length=lambda statistics: statistics[..., 1] / CHARACTERS_OF_A_WORD,
)
OBJECTIVES: Mapping[str, Objective] = {"bleu": BLEU, "chrf": CHRF}
"""By the names of options."""
