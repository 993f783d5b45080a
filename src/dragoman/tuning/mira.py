"""k-best batch MIRA (Cherry and Foster 2012): a large-margin update for each sentence, over fixed n-best lists.

Hope is the hypothesis that maximises total plus gain, fear the one that maximises total minus gain. An update moves the
weights just until the margin of hope over fear equals their difference in gain, by a step of at most C (section 3.2).
The gain of a hypothesis is the metric (BLEU in the paper) of its statistics plus a decaying sum over past hopes, times
the reference length of that sum, so that sentences count by length (Chiang et al. 2008). Weights are averaged over the
updates of an epoch; the result is the average with the best score among all epochs.
"""

from __future__ import annotations

import numpy as np

from dragoman.tuning.mert import TunedWeights
from dragoman.tuning.pool import HypothesisPool, TuningMetric, Vector

EPOCHS = 60
STRENGTH = 0.01
"""C, the largest step."""
DECAY = 0.999
"""Decay of the background statistics after each sentence."""


def tune_mira(
    pool: HypothesisPool, start: Vector, random: np.random.Generator, *, epochs: int = EPOCHS
) -> TunedWeights:
    """The averaged weights of the best epoch, or `start` if none is better."""
    weights = start.copy()
    background = np.ones(pool.metric.size)
    best = TunedWeights(start, pool.score(start))
    total, sentences = np.zeros_like(start), 0
    for _ in range(epochs):
        for sentence in random.permutation(len(pool.starts)):
            rows = slice(pool.starts[sentence], pool.ends[sentence])
            features, statistics = pool.features[rows], pool.statistics[rows]
            gains = _gains(pool.metric, statistics, background)
            scores = features @ weights
            hope, fear = int((scores + gains).argmax()), int((scores - gains).argmax())
            difference = features[hope] - features[fear]
            loss = (gains[hope] - gains[fear]) - difference @ weights
            length = difference @ difference
            if loss > 0 and length > 0:
                weights = weights + min(STRENGTH, loss / length) * difference
            background = DECAY * background + statistics[hope]
            total += weights
            sentences += 1
        average = total / sentences
        score = pool.score(average)
        if score > best.score:
            best = TunedWeights(average, score)
        total, sentences = np.zeros_like(start), 0
    return best


def _gains(metric: TuningMetric, statistics: Vector, background: Vector) -> Vector:
    """[K, size] -> [K], the metric 0-1 times the reference length in words."""
    sums = statistics + background
    return metric.length(sums) * metric.score(sums) / 100
