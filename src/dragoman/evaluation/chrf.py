"""chrF2 from additive statistics, vectorised: tuning computes it thousands of times over the same hypotheses.

A row of statistics is sacreBLEU's: for each order of character n-grams, 1 to 6, [in the hypothesis, in the reference,
in both]; spaces are not counted. With several references the one with the best chrF counts. sacreBLEU counts the
n-grams; scores are computed here, because sacreBLEU scores one sum at a time. A test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ORDER = 6
"""Longest n-gram."""
SIZE = 3 * ORDER
"""Columns of a row."""
BETA = 2
"""Weight of recall relative to precision (Popović 2016)."""

ChrfStatistics = NDArray[np.float64]
"""[..., SIZE]"""


def chrf_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> ChrfStatistics:
    """Return a row for each of N hypotheses of one sentence, [N, SIZE]; equal hypotheses are counted once."""
    from dragoman.evaluation.metrics import chrf_metric  # imports sacreBLEU, which BLEU does not need

    distinct = list(dict.fromkeys(hypotheses))
    row_of = {hypothesis: row for row, hypothesis in enumerate(distinct)}
    rows = chrf_metric().statistics_against(distinct, references).reshape(-1, SIZE)
    return np.asarray(rows[[row_of[hypothesis] for hypothesis in hypotheses]])


def chrf2(statistics: ChrfStatistics) -> NDArray[np.float64]:
    """Return chrF2, 0-100, of single or summed rows, [..., SIZE] -> [...].

    Precision and recall are means over the orders for which both sides are long enough.
    """
    hypothesis, reference, both = (statistics[..., column::3] for column in range(3))  # each [..., ORDER]
    present = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(present.sum(axis=-1), 1)
    precision = np.where(present, both / np.maximum(hypothesis, 1e-9), 0).sum(axis=-1) / orders
    recall = np.where(present, both / np.maximum(reference, 1e-9), 0).sum(axis=-1) / orders
    weighted = BETA**2 * precision + recall
    return np.where(weighted > 0, 100 * (1 + BETA**2) * precision * recall / np.where(weighted > 0, weighted, 1), 0.0)
