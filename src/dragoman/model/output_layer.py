"""The output layer: the softmax over the target vocabulary, and the loss.

Letters: N rows, O units of a readout, V words of the vocabulary, M words that are scored.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.model.linear import Linear


class TokenLosses(NamedTuple):
    """The label-smoothed loss (differentiable) and the negative log-likelihood, both summed over the rows, in nats."""

    smoothed: Tensor
    nll: Tensor


def logits_of(readout: Tensor, weight: Tensor, bias: Tensor | None, precision: torch.dtype) -> Tensor:
    """Logits W o + b in the type `precision`, without a gradient: [N, O] -> [N, V]."""
    logits = (readout @ weight.mT).to(precision)  # [N, O] -> [N, V]
    return logits if bias is None else logits + bias


def word_log_probabilities(layer: OutputLayer, readout: Tensor, words: Tensor, rows: Tensor) -> Tensor:
    """Log-probabilities of words [M] from readouts [N, O]; readout `rows[m]` predicts word m. Without a gradient."""
    logs = torch.log_softmax(layer.logits(readout), dim=-1)  # [N, V]
    return logs[rows, words]  # [N, V] -> [M]


def token_losses(layer: OutputLayer, readout: Tensor, words: Tensor, smoothing: float) -> TokenLosses:
    """Cross entropy -sum_i sum_v q_i(v) log p_i(v), q_i(v) = (1 - s) [v = y_i] + s / V; readout [N, O], words y [N]."""
    logits = (readout @ layer.cast(layer.weight).mT).to(layer.weight.dtype)  # [N, O] -> [N, V]
    logits = logits if layer.bias is None else logits + layer.bias
    nll = functional.cross_entropy(logits, words, reduction="sum")
    smoothed = functional.cross_entropy(logits, words, reduction="sum", label_smoothing=smoothing)
    return TokenLosses(smoothed, nll.detach())


class OutputLayer(nn.Module):
    """The output softmax p(v) = softmax(W o + b), W [V, O].

    Products are computed in `precision` (None: the type of the parameters), the softmax in the type of the parameters.
    With a rank, W is the product of G_l [V, rank] and G_r [rank, O] (Cho et al. 2014, appendix).
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
        """Label-smoothed cross entropy and negative log-likelihood of words [N] given readouts [N, O]."""
        return self.losses_of(self, self._narrowed(readout), words, smoothing)

    @torch.no_grad()
    def log_probabilities(self, readout: Tensor) -> Tensor:
        """Log-probabilities of all words, without a gradient: [N, O] -> [N, V]."""
        return torch.log_softmax(self.logits(self._narrowed(readout)), dim=-1)

    @torch.no_grad()
    def word_log_probabilities(self, readout: Tensor, words: Tensor, rows: Tensor | None = None) -> Tensor:
        """Log-probabilities of words [M] from readouts [N, O], without a gradient.

        Readout `rows[m]` predicts word m; without `rows`, readout m does.
        """
        rows = torch.arange(len(words), device=words.device) if rows is None else rows
        return self.words_of(self, self._narrowed(readout), words, rows)

    def logits(self, readout: Tensor) -> Tensor:
        """Logits of narrowed readouts, in the type of the parameters, without a gradient: [N, rank or O] -> [N, V]."""
        return self.logits_of(readout, self.cast(self.weight), self.bias, self.weight.dtype)

    def cast(self, x: Tensor) -> Tensor:
        """x in the type of the products; the shape stays."""
        return x if self.precision is None else x.to(self.precision)

    def _narrowed(self, readout: Tensor) -> Tensor:
        """Readouts in the type of the products; with a rank, multiplied by G_r: [N, O] -> [N, rank]."""
        return self.cast(readout if self.narrow is None else self.narrow(readout))
