"""Guided alignment: a loss that trains alignment weights towards given word alignments (Chen et al. 2016).

    loss = - sum_t sum_s A_ts log a_ts,    A_ts = 1 / (links of target position t) where s and t are linked, else 0

over the target positions t that have links. a_t are the weights of the step that aligns t: step t, or step t + 1 with
an `attention_shift` of 1. The loss is a sum, like that of the words, so that both are divided by the same number later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dragoman.data.batches import BatchLinks

EPSILON = 1e-30
"""Weights up to this add neither loss nor gradient: outside the window of local attention they are exactly zero,
whatever the energies."""


class GuidedLoss(NamedTuple):
    """The summed loss in nats (differentiable, a scalar), and the number of target positions that it is summed over."""

    loss: Tensor
    positions: int


def guided_loss(weights: Tensor, links: BatchLinks, shift: int) -> GuidedLoss:
    """The loss of alignment weights [B, T, S] against links between segments."""
    places = links.rows * weights.shape[1] + links.target + shift
    places, place, counts = np.unique(places, return_inverse=True, return_counts=True)
    row, step, source, share = (
        torch.from_numpy(part).to(weights.device)
        for part in (links.rows, links.target + shift, links.source, 1 / counts[place])
    )
    linked = weights[row, step, source]  # [B, T, S] -> [links]
    # where, not clamp: the logarithm of zero must not be taken at all, or its gradient is not a number
    logs = torch.where(linked > EPSILON, linked, 1.0).log()
    return GuidedLoss(-(share.to(logs.dtype) * logs).sum(), len(places))
