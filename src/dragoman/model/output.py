"""The softmax over the target vocabulary, and its loss without a long-lived tensor of logits.

Logits of a whole batch are its largest tensors by far. They are made for a block of rows at a time, in memory that is
kept from batch to batch (fresh pages from the system cost more than the arithmetic on them), and their gradient is
taken while they are there; the backward pass then only scales.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.model.maps import Map

ROWS = 512
"""Rows of logits at a time. Always as many, filled up with zeros: see `maps.padding`."""


class TokenLosses(NamedTuple):
    """Summed over the rows: the smoothed loss (differentiable) and the plain negative log-likelihood, in nats."""

    smoothed: Tensor
    nll: Tensor


class Output(nn.Module):
    """p(v) = softmax(W o + b), W of [V, O]; products in `precision` (None: the parameters' own), softmax in theirs.

    With a rank, W is the product of two: G_l [V, rank] and G_r [rank, O], linear in between (Cho et al. 2014).
    """

    def __init__(self, n_in: int, vocabulary: int, *, bias: bool, rank: int | None = None) -> None:
        super().__init__()
        self.narrow = Map(n_in, rank) if rank else None
        self.weight = nn.Parameter(torch.empty(vocabulary, rank or n_in))
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None
        self.precision: torch.dtype | None = None
        self._workspace = _Workspace()

    def log_probabilities(self, readout: Tensor) -> Tensor:
        """log p for every word: [N, O] -> [N, V]."""
        return torch.log_softmax(self._logits(readout), dim=-1)

    def _logits(self, readout: Tensor) -> Tensor:
        readout = self._cast(readout if self.narrow is None else self.narrow(readout))
        logits = torch.mm(readout, self._cast(self.weight).t()).to(self.weight.dtype)
        return logits if self.bias is None else logits.add_(self.bias)

    def of_words(self, readout: Tensor, words: Tensor, rows: Tensor | None = None) -> Tensor:
        """log p of given words y [M] from readouts [N, O]: word m is predicted by readout `rows[m]`, or by the m-th.

        Logits are made for a block of readouts at a time, and of the whole vocabulary only their sum is taken.
        """
        rows = torch.arange(len(words), device=words.device) if rows is None else rows
        order = rows.argsort()
        ends = torch.searchsorted(rows[order], torch.arange(0, len(readout) + ROWS, ROWS, device=rows.device)).tolist()
        result = readout.new_empty(len(words), dtype=self.weight.dtype)
        for block, (start, end) in enumerate(pairwise(ends)):
            asking = order[start:end]
            logits = self._logits(readout[block * ROWS : (block + 1) * ROWS])
            whole = logits.logsumexp(dim=1)
            place = rows[asking] - block * ROWS
            result[asking] = logits[place, words[asking]] - whole[place]
        return result

    def loss(self, readout: Tensor, words: Tensor, smoothing: float) -> TokenLosses:
        """-sum_i sum_v q_i(v) log p_i(v) with q_i = (1 - s) [v = y_i] + s / V; readout [N, O], words y [N]."""
        cast = self._cast(self.weight.detach())
        readout = self._cast(readout if self.narrow is None else self.narrow(readout))
        smoothed, nll = _CrossEntropy.apply(readout, self.weight, self.bias, cast, words, smoothing, self._workspace)
        return TokenLosses(smoothed, nll)

    def _cast(self, x: Tensor) -> Tensor:
        return x if self.precision is None else x.to(self.precision)


class _Workspace:
    """Memory that outlives a batch; asked for again under the same name, it is the same memory."""

    def __init__(self) -> None:
        self._held: dict[str, Tensor] = {}

    def take(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """An uninitialised tensor of that shape, of the type and device of `like`."""
        held = self._held.get(name)
        size = math.prod(shape)
        if held is None or held.numel() < size or (held.dtype, held.device) != (like.dtype, like.device):
            held = self._held[name] = torch.empty(size, dtype=like.dtype, device=like.device)
        return held[:size].view(shape)


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        readout: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        cast: Tensor,
        words: Tensor,
        smoothing: float,
        workspace: _Workspace,
    ) -> tuple[Tensor, Tensor]:
        differentiate = any(ctx.needs_input_grad)
        vocabulary = len(weight)
        count, blocks = len(words), -(-len(words) // ROWS)
        readout = functional.pad(readout, (0, 0, 0, blocks * ROWS - count))
        targets = functional.pad(words, (0, blocks * ROWS - count)).unsqueeze(1)
        smoothed, nll = (torch.zeros((), dtype=torch.float64, device=weight.device) for _ in range(2))
        readout_gradient = torch.empty_like(readout)
        weight_gradient = torch.zeros_like(weight)
        bias_gradient = torch.zeros_like(bias) if bias is not None else None
        low = workspace.take("products", (ROWS, vocabulary), readout)
        logits = workspace.take("logits", (ROWS, vocabulary), weight)
        part = workspace.take("part", weight.shape, readout)
        for block in range(blocks):
            rows, wanted = (x[block * ROWS : (block + 1) * ROWS] for x in (readout, targets))
            real = min(ROWS, count - block * ROWS)
            logits.copy_(torch.mm(rows, cast.t(), out=low))
            logs = torch.log_softmax(logits if bias is None else logits.add_(bias), dim=1, out=logits)
            own = -logs[:real].gather(1, wanted[:real]).sum(dtype=torch.float64)
            nll += own
            smoothed += (1 - smoothing) * own
            if smoothing:
                smoothed -= smoothing / vocabulary * logs[:real].sum(dim=1).sum(dtype=torch.float64)
            if not differentiate:
                continue
            gradient = _p_minus_q(logs, wanted, smoothing, real)
            if bias_gradient is not None:
                bias_gradient += gradient.sum(dim=0)
            low.copy_(gradient)
            torch.mm(low, cast, out=readout_gradient[block * ROWS : (block + 1) * ROWS])
            weight_gradient += torch.mm(low.t(), rows, out=part)
        readout_gradient = readout_gradient[:count]
        ctx.gradients = readout_gradient, weight_gradient, bias_gradient
        ctx.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        readout, weight, bias = ctx.gradients
        ctx.gradients = None
        for gradient in (readout, weight, bias):
            if gradient is not None:
                gradient.mul_(scale)
        return readout, weight, bias, None, None, None, None


def _p_minus_q(logs: Tensor, words: Tensor, smoothing: float, real: int) -> Tensor:
    """The smoothed loss's gradient in the logits, written over the log-probabilities; zero beyond `real` rows."""
    gradient = logs.exp_()
    if smoothing:
        gradient -= smoothing / gradient.shape[1]
    gradient.scatter_add_(1, words, gradient.new_full(words.shape, smoothing - 1))
    gradient[real:] = 0
    return gradient
