"""The output layer: the softmax over the target vocabulary, and the loss.

Letters: N rows, O units of a readout, V words of the vocabulary, M words whose probability is wanted.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.model.linear import Linear


class TokenLosses(NamedTuple):
    """Summed over the rows: the smoothed loss (differentiable) and the plain negative log-likelihood, in nats."""

    smoothed: Tensor
    nll: Tensor


def logits_of(readout: Tensor, weight: Tensor, bias: Tensor | None, precision: torch.dtype) -> Tensor:
    """W o + b in the type `precision`, without a gradient: [N, O] -> [N, V]."""
    logits = (readout @ weight.mT).to(precision)
    return logits if bias is None else logits + bias


def word_log_probabilities(layer: OutputLayer, readout: Tensor, words: Tensor, rows: Tensor) -> Tensor:
    """log p of words y [M] from readouts [N, O]: word m is predicted by readout `rows[m]`. Without a gradient."""
    logs = torch.log_softmax(layer.logits(readout), dim=-1)  # [N, V]
    return logs[rows, words]  # [N, V] -> [M]


def token_losses(layer: OutputLayer, readout: Tensor, words: Tensor, smoothing: float) -> TokenLosses:
    """-sum_i sum_v q_i(v) log p_i(v) with q_i = (1 - s) [v = y_i] + s / V; readout [N, O], words y [N]."""
    logits = (readout @ layer.cast(layer.weight).mT).to(layer.weight.dtype)  # [N, O] -> [N, V]
    logits = logits if layer.bias is None else logits + layer.bias
    nll = functional.cross_entropy(logits, words, reduction="sum")
    smoothed = functional.cross_entropy(logits, words, reduction="sum", label_smoothing=smoothing)
    return TokenLosses(smoothed, nll.detach())


class OutputLayer(nn.Module):
    """p(v) = softmax(W o + b), W of [V, O]; products in `precision` (None: the parameters' own), softmax in theirs.

    With a rank, W is the product of two: G_l [V, rank] and G_r [rank, O], linear in between (Cho et al. 2014).
    """

    logits_of = staticmethod(logits_of)
    words_of = staticmethod(word_log_probabilities)
    losses_of = staticmethod(token_losses)

    def __init__(self, n_in: int, vocabulary: int, *, bias: bool, rank: int | None = None) -> None:
        super().__init__()
        self.narrow = Linear(n_in, rank) if rank else None
        self.weight = nn.Parameter(torch.empty(vocabulary, rank or n_in))
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None
        self.precision: torch.dtype | None = None

    def loss(self, readout: Tensor, words: Tensor, smoothing: float) -> TokenLosses:
        """The label-smoothed cross entropy of words [N] and their negative log-likelihood, from readouts [N, O]."""
        return self.losses_of(self, self._narrowed(readout), words, smoothing)

    @torch.no_grad()
    def log_probabilities(self, readout: Tensor) -> Tensor:
        """log p of every word, without a gradient: [N, O] -> [N, V]."""
        return torch.log_softmax(self.logits(self._narrowed(readout)), dim=-1)

    @torch.no_grad()
    def word_log_probabilities(self, readout: Tensor, words: Tensor, rows: Tensor | None = None) -> Tensor:
        """log p of given words y [M] from readouts [N, O]: word m is predicted by readout `rows[m]`, or by the m-th.

        Without a gradient.
        """
        rows = torch.arange(len(words), device=words.device) if rows is None else rows
        return self.words_of(self, self._narrowed(readout), words, rows)

    def logits(self, readout: Tensor) -> Tensor:
        """W o + b of narrowed readouts, in the parameters' type, without a gradient: [N, rank or O] -> [N, V]."""
        return self.logits_of(readout, self.cast(self.weight), self.bias, self.weight.dtype)

    def cast(self, x: Tensor) -> Tensor:
        """x in the type that products are computed in."""
        return x if self.precision is None else x.to(self.precision)

    def _narrowed(self, readout: Tensor) -> Tensor:
        """[N, O] -> [N, rank] where there is a rank, in the type of products."""
        return self.cast(readout if self.narrow is None else self.narrow(readout))
