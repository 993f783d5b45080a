"""The loss of the output layer without a long-lived tensor of logits, and probabilities of given words.

Logits of a whole batch are its largest tensors by far. They are made for a block of rows at a time, in memory that is
small enough to be used again (fresh pages from the system cost more than the arithmetic on them), and their gradient
is taken while they are there; the backward pass then only scales.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from dragoman.model.fast.linear import pad_rows
from dragoman.model.fast.matmul import aligned, matmul
from dragoman.model.output_layer import OutputLayer, TokenLosses

BLOCK = 2048
"""Bytes of a word's logits at a time, 512 rows in float32: many, so that the products are long, but not so many that
the system takes the memory back after each block."""

CHUNK = 64
"""Rows of a block whose softmax is taken at a time: few, so that they stay in the processor's cache. Blocks have
multiples of it in bfloat16, filled up with zeros (see `linear.missing_rows`)."""

ROWS = 128
"""Rows of logits at a time where only some words are wanted: those that stay in the processor's cache."""


def logits_of(readout: Tensor, weight: Tensor, bias: Tensor | None, precision: torch.dtype) -> Tensor:
    """As `output_layer.logits_of`; the bias is added in place."""
    logits = matmul(readout, weight).to(precision)  # [N, O] -> [N, V]
    return logits if bias is None else logits.add_(bias)


def word_log_probabilities(layer: OutputLayer, readout: Tensor, words: Tensor, rows: Tensor) -> Tensor:
    """As `output_layer.word_log_probabilities`.

    Logits are made for a block of readouts at a time, and of the whole vocabulary only their sum is taken.
    """
    order = rows.argsort()
    starts = torch.arange(0, len(readout) + ROWS, ROWS, device=rows.device)
    ends = torch.searchsorted(rows[order], starts).tolist()
    weight, precision = layer.cast(layer.weight), layer.weight.dtype
    result = readout.new_empty(len(words), dtype=precision)
    for block, (start, end) in enumerate(pairwise(ends)):
        wanted = order[start:end]
        place = rows[wanted] - block * ROWS
        logits = logits_of(readout[block * ROWS : (block + 1) * ROWS], weight, layer.bias, precision)  # [ROWS, V]
        of_words = logits[place, words[wanted]]
        largest = logits.amax(dim=1)  # [ROWS, V] -> [ROWS]
        # In place: the logits are not needed any more, and logsumexp would go over them thrice.
        log_sum = largest + logits.sub_(largest.unsqueeze(1)).exp_().sum(dim=1).log_()
        result[wanted] = of_words - log_sum[place]
    return result


def token_losses(layer: OutputLayer, readout: Tensor, words: Tensor, smoothing: float) -> TokenLosses:
    """As `output_layer.token_losses`, in blocks, with the gradients taken at once."""
    cast = layer.cast(layer.weight.detach())
    workspace = _workspaces.setdefault(layer, _Workspace())
    smoothed, nll = _CrossEntropy.apply(readout, layer.weight, layer.bias, cast, words, smoothing, workspace)
    return TokenLosses(smoothed, nll)


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


_workspaces: WeakKeyDictionary[OutputLayer, _Workspace] = WeakKeyDictionary()
"""One for each output layer, as long as it lives."""


class _CrossEntropy(torch.autograd.Function):
    """(readout [N, O], weight [V, O], bias [V], weight in the type of products, words [N]) -> the two losses."""

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
        filled = _filled_up_weight(cast, workspace)
        sums = _Sums(readout, weight, filled, workspace) if any(ctx.needs_input_grad) else None
        smoothed, nll = (torch.zeros((), dtype=torch.float64, device=weight.device) for _ in range(2))
        softmax = _Softmax(bias, smoothing, workspace.take("logits", (CHUNK, len(weight)), weight))
        at_once = BLOCK // cast.element_size()
        for start in range(0, len(words), at_once):
            block = readout[start : start + at_once]
            rows = pad_rows(block, -len(block) % CHUNK if block.dtype == torch.bfloat16 else 0)
            products = matmul(rows, filled)
            logits, beyond = products.tensor_split([len(weight)], dim=1)
            losses = softmax.losses(logits, words[start : start + at_once], differentiate=sums is not None)
            beyond.zero_()
            smoothed += losses.smoothed
            nll += losses.nll
            if sums is not None:
                sums.add(start, rows, products)
        ctx.gradients = None if sums is None else (sums.of_readout, sums.of_weight[: len(weight)], softmax.of_bias)
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


def _filled_up_weight(weight: Tensor, workspace: _Workspace) -> Tensor:
    """The weight with rows of zeros below, so that every row of logits begins at a whole cache line."""
    filled = workspace.take("weight", (aligned(len(weight), weight), weight.shape[1]), weight)
    filled[: len(weight)] = weight
    filled[len(weight) :] = 0
    return filled


class _Softmax:
    """Losses of rows of logits, and their gradients p - q in the place of the logits, a chunk at a time.

    `chunk` is memory for one, [CHUNK, V] in the softmax's precision.
    """

    def __init__(self, bias: Tensor | None, smoothing: float, chunk: Tensor) -> None:
        self._bias, self._smoothing, self._chunk = bias, smoothing, chunk
        self.of_bias = None if bias is None else torch.zeros_like(bias)

    def losses(self, logits: Tensor, words: Tensor, *, differentiate: bool) -> TokenLosses:
        """Of the first `len(words)` rows; the gradients of those beyond are zero."""
        smoothed, nll = (torch.zeros((), dtype=torch.float64, device=logits.device) for _ in range(2))
        for start in range(0, len(words), CHUNK):
            wanted = words[start : start + CHUNK].unsqueeze(1)
            part = logits[start : start + len(wanted)]
            x = self._chunk[: len(wanted)].copy_(part)
            if self._bias is not None:
                x += self._bias
            of_words, largest = x.gather(1, wanted), x.amax(dim=1, keepdim=True)
            of_all = x.sum(dim=1, keepdim=True) if self._smoothing else None
            p = torch.softmax(x, dim=1, out=x)
            # The logarithm of the sum, by the largest p: that is 1 / V at least, and one exponential a logit is enough.
            log_sum = largest - p.amax(dim=1, keepdim=True).log_()
            own = (log_sum - of_words).sum(dtype=torch.float64)
            nll += own
            smoothed += (1 - self._smoothing) * own
            if of_all is not None:
                smoothed += self._smoothing * (log_sum - of_all / p.shape[1]).sum(dtype=torch.float64)
            if differentiate:
                part.copy_(self._p_minus_q(p, wanted))
        logits[len(words) :] = 0
        return TokenLosses(smoothed, nll)

    def _p_minus_q(self, p: Tensor, words: Tensor) -> Tensor:
        """The smoothed loss's gradient in the logits, written over the probabilities."""
        if self._smoothing:
            p -= self._smoothing / p.shape[1]
        p.scatter_add_(1, words, p.new_full(words.shape, self._smoothing - 1))
        if self.of_bias is not None:
            self.of_bias += p.sum(dim=0)
        return p


class _Sums:
    """Gradients of readouts and of the filled-up weight, gathered from block to block."""

    def __init__(self, readout: Tensor, weight: Tensor, filled: Tensor, workspace: _Workspace) -> None:
        self._filled = filled
        self.of_readout = torch.empty_like(readout)
        self.of_weight = weight.new_empty(filled.shape)
        self._workspace = workspace

    def add(self, start: int, rows: Tensor, of_logits: Tensor) -> None:
        """A block that begins at readout `start`: its readouts, filled up, and the gradients of its logits."""
        real = min(len(rows), len(self.of_readout) - start)
        self.of_readout[start : start + real] = matmul(of_logits, self._filled.t())[:real]
        if rows.dtype == self.of_weight.dtype:
            torch.addmm(self.of_weight, of_logits.t(), rows, beta=0 if start == 0 else 1, out=self.of_weight)
            return
        part = self._workspace.take("part", tuple(self.of_weight.shape), rows)
        torch.mm(of_logits.t(), rows, out=part)
        if start == 0:
            self.of_weight.copy_(part)
        else:
            self.of_weight += part
