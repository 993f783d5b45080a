"""chrF2 as numbers that add up, scored for many sums at once: what tuning asks thousands of times.

A row of statistics is sacreBLEU's: for each order of character n-grams, 1 to 6, [in the hypothesis, in the reference,
in both]; blanks are not counted. Of several references the one with the best chrF counts. Counting is sacreBLEU's;
the score of a sum is computed here, because sacreBLEU's takes one sum at a time. A test holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ORDER = 6
"""Longest n-gram."""
SIZE = 3 * ORDER
"""Numbers of a row."""
BETA = 2
"""How often recall weighs as much as precision (Popović 2016)."""

Statistics = NDArray[np.float64]
"""[..., SIZE]"""


def statistics_of(hypotheses: Sequence[str], references: Sequence[str]) -> Statistics:
    """A row for each hypothesis of one sentence, [N, SIZE]; equal hypotheses are counted once."""
    from dragoman.evaluation.metrics import chrf_metric  # sacreBLEU, which choosing and tuning by BLEU do without

    distinct = list(dict.fromkeys(hypotheses))
    place = {hypothesis: row for row, hypothesis in enumerate(distinct)}
    rows = chrf_metric().statistics_against(distinct, references).reshape(-1, SIZE)
    return np.asarray(rows[[place[hypothesis] for hypothesis in hypotheses]])


def chrf(statistics: Statistics) -> NDArray[np.float64]:
    """chrF2 0-100 of single or summed rows [..., SIZE]: precision and recall are means over the orders that both sides
    are long enough for."""
    hypothesis, reference, both = (statistics[..., column::3] for column in range(3))
    there = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(there.sum(axis=-1), 1)
    precision = np.where(there, both / np.maximum(hypothesis, 1e-9), 0).sum(axis=-1) / orders
    recall = np.where(there, both / np.maximum(reference, 1e-9), 0).sum(axis=-1) / orders
    weighed = BETA**2 * precision + recall
    return np.where(weighed > 0, 100 * (1 + BETA**2) * precision * recall / np.where(weighed > 0, weighed, 1), 0.0)
