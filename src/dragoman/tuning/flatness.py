"""A warning where the metric of the n-best lists is the same with all weights, so that tuning learns nothing."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from dragoman.evaluation.bleu import ORDER
from dragoman.tuning.mert import GAIN
from dragoman.tuning.pool import HypothesisPool, Vector
from dragoman.tuning.tuning_metric import BLEU

log = logging.getLogger(__name__)

DIRECTIONS = 100
"""Random weights that are tried."""


def is_flat(pool: HypothesisPool, weights: Sequence[Vector]) -> bool:
    """Whether the metric is the same with all of `weights`, [D] each, and with random ones."""
    drawn = np.random.default_rng(1).normal(size=(DIRECTIONS, pool.features.shape[1]))
    scores = [pool.score(one) for one in (*weights, *drawn)]
    return max(scores) - min(scores) <= GAIN


def warn_of_flat_metric(pool: HypothesisPool, weights: Sequence[Vector], advice: str) -> None:
    """Warn where the metric is flat; `weights` are the initial and the tuned ones, `advice` what to do.

    Where no reference is as long as the 4-grams of BLEU, that is the reason given.
    """
    if not is_flat(pool, weights):
        return
    name = pool.metric.name
    if pool.metric is BLEU and (pool.metric.length(pool.statistics) < ORDER).all():
        reason = f"no reference has four tokens, and BLEU counts {ORDER}-grams; {advice}"
    else:
        reason = "check that the references belong to the lists, and that the lists have different hypotheses"
    score = pool.score(weights[-1])
    log.warning("%s is %.2f with all weights that were tried, so the tuned ones mean nothing; %s", name, score, reason)
