"""Minimum Bayes risk with sacreBLEU's metrics of a sentence (with samples: Eikema and Aziz 2020).

Plain samples weigh alike, because the probable ones come more often; candidates that come once
each, those of a search or drawn without replacement, weigh what the model gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dragoman.search.minimum_risk import expected_utilities

Utility = Callable[[str, str], float]
"""(candidate, candidate taken for the reference) -> 0 to 100."""


def sentence_utility(name: Literal["chrf", "bleu"]) -> Utility:
    """sacreBLEU's metric of one sentence: chrF2, or BLEU over the n-gram orders that the sentence has."""
    metric: CHRF | BLEU = CHRF() if name == "chrf" else BLEU(effective_order=True)
    return lambda candidate, reference: float(metric.sentence_score(candidate, [reference]).score)


def by_expected_utility(candidates: Sequence[str], weights: Sequence[float], utility: Utility) -> list[int]:
    """The places of the candidates, highest expected utility first, the earlier of equals first.

    `weights` are those of the candidates, above 0 in sum.
    """

    def table(texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array([[utility(candidate, reference) for reference in texts] for candidate in texts])

    order: list[int] = np.argsort(-expected_utilities(candidates, weights, table), kind="stable").tolist()
    return order
