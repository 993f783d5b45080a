"""Guided attention: alignment weights are pulled towards links that somebody else has found (Chen et al. 2016).

    loss = - sum_t sum_s A_ts log a_ts,    A_ts = 1 / (links of target position t) where s and t are linked, else 0

over the target positions t that have links. a_t are the weights of the step that aligns t: its own, or the next one
(`attention_shift`). It is a sum, as the loss of words is, so that the two are divided by the same number afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dragoman.data.batches import BatchLinks

EPSILON = 1e-30
"""A weight up to this adds neither loss nor gradient: a local scope gives exactly zero outside its window, and no
change of the energies would change that."""


class GuidedLoss(NamedTuple):
    """The summed loss (differentiable), in nats, and over how many target positions it is summed."""

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
    linked = weights[row, step, source]
    # where, not clamp: the logarithm of zero must not be taken at all, or its gradient is not a number
    logs = torch.where(linked > EPSILON, linked, 1.0).log()
    return GuidedLoss(-(share.to(logs.dtype) * logs).sum(), len(places))
