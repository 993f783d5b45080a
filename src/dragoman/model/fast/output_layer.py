"""Faster losses and log-probabilities of the output layer, which compute logits in blocks of rows.

The logits of a whole batch are its largest tensors by far. Here the logits of a block of rows at a time are computed in
memory that is reused (new pages from the system cost more than the arithmetic on them). Their gradient is computed
with the loss, while they are in memory; the backward pass only scales it.

Letters: N rows, n rows of a block or a chunk, O size of the readout, V vocabulary, M words that are scored.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from dragoman.model.fast.linear import aligned, matmul, pad_rows
from dragoman.model.output_layer import OutputLayer, TokenLosses

BLOCK = 2048
"""Bytes of one column of a block of logits, 512 rows in float32: many rows, so that the products are long, but not so
many that the system reclaims the memory after each block."""

CHUNK = 64
"""Rows of a block whose softmax is computed at a time: few, so that they stay in the processor's cache. In bfloat16 a
block is padded to a multiple of it with rows of zeros (see `linear.missing_rows`)."""

ROWS = 128
"""Rows of logits at a time where only the log-probabilities of given words are needed: they stay in the cache."""


def logits_of(readout: Tensor, weight: Tensor, bias: Tensor | None, precision: torch.dtype) -> Tensor:
    """As `output_layer.logits_of`; the bias is added in place."""
    logits = matmul(readout, weight).to(precision)  # [N, O] -> [N, V]
    return logits if bias is None else logits.add_(bias)


def word_log_probabilities(layer: OutputLayer, readout: Tensor, words: Tensor, rows: Tensor) -> Tensor:
    """As `output_layer.word_log_probabilities`: readouts [N, O], words [M] and their rows [M] -> [M].

    Logits are computed for a block of readouts at a time; over the whole vocabulary only log sum exp is needed.
    """
    order = rows.argsort()
    starts = torch.arange(0, len(readout) + ROWS, ROWS, device=rows.device)
    ends = torch.searchsorted(rows[order], starts).tolist()
    weight, precision = layer.cast(layer.weight), layer.weight.dtype
    result = readout.new_empty(len(words), dtype=precision)
    for block, (start, end) in enumerate(pairwise(ends)):
        wanted = order[start:end]
        block_rows = rows[wanted] - block * ROWS
        logits = logits_of(readout[block * ROWS : (block + 1) * ROWS], weight, layer.bias, precision)  # [ROWS, V]
        of_words = logits[block_rows, words[wanted]]
        largest = logits.amax(dim=1)  # [ROWS, V] -> [ROWS]
        # in place: the logits are not needed any more, and logsumexp would read them three times
        log_sum = largest + logits.sub_(largest.unsqueeze(1)).exp_().sum(dim=1).log_()
        result[wanted] = of_words - log_sum[block_rows]
    return result


def token_losses(layer: OutputLayer, readout: Tensor, words: Tensor, smoothing: float) -> TokenLosses:
    """As `output_layer.token_losses`, of readouts [N, O] and words [N]; the gradients are computed with the losses."""
    cast = layer.cast(layer.weight.detach())
    workspace = _workspaces.setdefault(layer, _Workspace())
    smoothed, nll = _CrossEntropy.apply(readout, layer.weight, layer.bias, cast, words, smoothing, workspace)
    return TokenLosses(smoothed, nll)


class _Workspace:
    """Named buffers that are reused from batch to batch."""

    def __init__(self) -> None:
        self._buffers: dict[str, Tensor] = {}

    def take(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """An uninitialised tensor of that shape, of the type and device of `like`."""
        buffer = self._buffers.get(name)
        size = math.prod(shape)
        if buffer is None or buffer.numel() < size or (buffer.dtype, buffer.device) != (like.dtype, like.device):
            buffer = self._buffers[name] = torch.empty(size, dtype=like.dtype, device=like.device)
        return buffer[:size].view(shape)


_workspaces: WeakKeyDictionary[OutputLayer, _Workspace] = WeakKeyDictionary()
"""The workspace of each output layer, as long as the layer exists."""


class _CrossEntropy(torch.autograd.Function):
    """(readout [N, O], weight [V, O], bias [V], weight in the type of the products, words [N]) -> the two losses."""

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
        padded = _padded_weight(cast, workspace)
        sums = _GradientSums(readout, weight, padded, workspace) if any(ctx.needs_input_grad) else None
        smoothed, nll = (torch.zeros((), dtype=torch.float64, device=weight.device) for _ in range(2))
        softmax = _Softmax(bias, smoothing, workspace.take("logits", (CHUNK, len(weight)), weight))
        at_once = BLOCK // cast.element_size()
        for start in range(0, len(words), at_once):
            block = readout[start : start + at_once]
            rows = pad_rows(block, -len(block) % CHUNK if block.dtype == torch.bfloat16 else 0)
            products = matmul(rows, padded)
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


def _padded_weight(weight: Tensor, workspace: _Workspace) -> Tensor:
    """The weight [V, O] with rows of zeros appended, so that every row of logits begins at a cache line."""
    padded = workspace.take("weight", (aligned(len(weight), weight), weight.shape[1]), weight)
    padded[: len(weight)] = weight
    padded[len(weight) :] = 0
    return padded


class _Softmax:
    """Losses of rows of logits, a chunk at a time; the gradients p - q overwrite the logits.

    `chunk` is a buffer [CHUNK, V] in the precision of the softmax.
    """

    def __init__(self, bias: Tensor | None, smoothing: float, chunk: Tensor) -> None:
        self._bias, self._smoothing, self._chunk = bias, smoothing, chunk
        self.of_bias = None if bias is None else torch.zeros_like(bias)

    def losses(self, logits: Tensor, words: Tensor, *, differentiate: bool) -> TokenLosses:
        """The losses of the first `len(words)` rows of logits; the gradients of the other rows are zero."""
        smoothed, nll = (torch.zeros((), dtype=torch.float64, device=logits.device) for _ in range(2))
        for start in range(0, len(words), CHUNK):
            targets = words[start : start + CHUNK].unsqueeze(1)  # [n] -> [n, 1]
            part = logits[start : start + len(targets)]  # [n, V]
            x = self._chunk[: len(targets)].copy_(part)
            if self._bias is not None:
                x += self._bias
            of_words, largest = x.gather(1, targets), x.amax(dim=1, keepdim=True)
            of_all = x.sum(dim=1, keepdim=True) if self._smoothing else None
            p = torch.softmax(x, dim=1, out=x)
            # log sum exp by the largest p, which is at least 1 / V: one exponential per logit is enough
            log_sum = largest - p.amax(dim=1, keepdim=True).log_()
            own = (log_sum - of_words).sum(dtype=torch.float64)
            nll += own
            smoothed += (1 - self._smoothing) * own
            if of_all is not None:
                smoothed += self._smoothing * (log_sum - of_all / p.shape[1]).sum(dtype=torch.float64)
            if differentiate:
                part.copy_(self._p_minus_q(p, targets))
        logits[len(words) :] = 0
        return TokenLosses(smoothed, nll)

    def _p_minus_q(self, p: Tensor, words: Tensor) -> Tensor:
        """The gradient of the smoothed loss with respect to the logits [n, V]; overwrites the probabilities."""
        if self._smoothing:
            p -= self._smoothing / p.shape[1]
        p.scatter_add_(1, words, p.new_full(words.shape, self._smoothing - 1))
        if self.of_bias is not None:
            self.of_bias += p.sum(dim=0)
        return p


class _GradientSums:
    """Gradients of the readouts and of the padded weight, accumulated over the blocks."""

    def __init__(self, readout: Tensor, weight: Tensor, padded: Tensor, workspace: _Workspace) -> None:
        self._padded = padded
        self.of_readout = torch.empty_like(readout)
        self.of_weight = weight.new_empty(padded.shape)
        self._workspace = workspace

    def add(self, start: int, rows: Tensor, of_logits: Tensor) -> None:
        """Add a block that begins at readout `start`: its padded readouts [n, O], and the gradients of its logits."""
        real = min(len(rows), len(self.of_readout) - start)
        self.of_readout[start : start + real] = matmul(of_logits, self._padded.t())[:real]  # [n, V], [V, O] -> [n, O]
        if rows.dtype == self.of_weight.dtype:
            torch.addmm(self.of_weight, of_logits.t(), rows, beta=0 if start == 0 else 1, out=self.of_weight)
            return
        part = self._workspace.take("part", tuple(self.of_weight.shape), rows)
        torch.mm(of_logits.t(), rows, out=part)
        if start == 0:
            self.of_weight.copy_(part)
        else:
            self.of_weight += part
