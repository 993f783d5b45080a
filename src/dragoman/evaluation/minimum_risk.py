"""Minimum Bayes risk: of several translations of a line the one that agrees most with all of them.

The expected utility of a translation is the mean of a sentence metric between it and every candidate, each weighted
with its probability, as if the candidate were the reference (Kumar and Byrne 2004; with samples and chrF or BLEU,
Eikema and Aziz 2020). Plain samples weigh alike, because the probable ones come more often; candidates that come once
each, those of a search or drawn without replacement, weigh what the model gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

Utility = Callable[[str, str], float]
"""(candidate, candidate taken for the reference) -> 0 to 100."""


def sentence_utility(name: Literal["chrf", "bleu"]) -> Utility:
    """sacreBLEU's metric of one sentence: chrF2, or BLEU over the n-gram orders that the sentence has."""
    metric: CHRF | BLEU = CHRF() if name == "chrf" else BLEU(effective_order=True)
    return lambda candidate, reference: float(metric.sentence_score(candidate, [reference]).score)


def by_expected_utility(candidates: Sequence[str], weights: Sequence[float], utility: Utility) -> list[int]:
    """The places of the candidates, highest expected utility first, the earlier of equals first.

    `weights` are those of the candidates, above 0 in sum. Equal candidates are compared once.
    """
    texts = list(dict.fromkeys(candidates))
    place = {text: index for index, text in enumerate(texts)}
    shares = np.zeros(len(texts))
    np.add.at(shares, [place[candidate] for candidate in candidates], np.asarray(weights, dtype=np.float64))
    table = np.array([[utility(candidate, reference) for reference in texts] for candidate in texts])
    expected = table @ shares / shares.sum()
    return sorted(range(len(candidates)), key=lambda index: -expected[place[candidates[index]]])
