"""k-best batch MIRA (Cherry and Foster 2012): a large-margin update for each sentence, over fixed lists.

Hope is the hypothesis with the best sum of total and gain, fear the one with the best total minus gain. Weights move
just so far that hope leads by as much as it is better, at most C (section 3.2). The gain of a hypothesis is the metric
(BLEU, there) of a decaying sum of past hopes with it, times the reference words of that sum, so that a sentence counts
by its length (Chiang et al. 2008). The weights of an epoch are averaged over its updates; of all epochs the average
whose choices have the best score is taken.
"""

from __future__ import annotations

import numpy as np

from dragoman.tuning.mert import Tuned
from dragoman.tuning.pool import Pool, Vector
from dragoman.tuning.tuning_metric import Objective

EPOCHS = 60
STRENGTH = 0.01
"""C, the longest step."""
DECAY = 0.999
"""What is left of the background after each sentence."""


def tune_mira(pool: Pool, start: Vector, random: np.random.Generator, *, epochs: int = EPOCHS) -> Tuned:
    """The best average of an epoch, or the start if none is better."""
    weights = start.copy()
    background = np.ones(pool.objective.size)
    best = Tuned(start, pool.score(start))
    total, sentences = np.zeros_like(start), 0
    for _ in range(epochs):
        for sentence in random.permutation(len(pool.starts)):
            rows = slice(pool.starts[sentence], pool.ends[sentence])
            features, statistics = pool.features[rows], pool.statistics[rows]
            gains = _gains(pool.objective, statistics, background)
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
            best = Tuned(average, score)
        total, sentences = np.zeros_like(start), 0
    return best


def _gains(objective: Objective, statistics: Vector, background: Vector) -> Vector:
    """[K] in reference words times the metric, 0-1."""
    sums = statistics + background
    return objective.length(sums) * objective.score(sums) / 100
