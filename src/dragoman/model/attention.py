"""Attention over the source annotations: its scope, alignment weights and context vectors.

Queries are rows grouped by sentence: [B*Q, H] holds Q queries for each of B sentences. The Q queries are the steps of a
given target, the hypotheses of a beam, or a single one. Annotations are stored once per sentence.

A scope normalises energies to alignment weights, over all positions or a window. Positions count from 0 in the order of
the source text, whichever direction the encoder reads in; the number of real positions of a sentence includes EOS if
the encoder reads it.

Letters: B sentences, Q queries of a sentence, S positions, H units of a query, W units of an annotation, A alignment
size, K heads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from dragoman.model.encoder import Annotations, InitialState
from dragoman.model.linear import Linear
from dragoman.model.scores import AttentionScore


class Weighed(NamedTuple):
    """Alignment weights [B, Q, S], and for local attention the window centres p_t, [B, Q]."""

    weights: Tensor
    centres: Tensor | None


Weigh = Callable[[Tensor, Tensor, Tensor], Weighed]
"""Maps energies [B, Q, S], queries [B, Q, H] and their target positions [Q] or [1] (from 0) to weights."""


class AttentionScope(Protocol):
    """The interface of a scope: it maps energies to alignment weights."""

    kind: str
    """global, monotonic or predictive; the ONNX export selects its operators by it."""

    def prepare(self, mask: Tensor) -> Weigh:
        """Prepare the scope for one unrolling; `mask` [B, S] is True on real positions."""
        ...


class Global(nn.Module):
    """Global attention: a softmax over all real positions (Bahdanau et al. 2015, eq. 6; Luong et al. 2015, 3.1).

    normalised: the energies are already logarithms of weights
    """

    kind = "global"

    def __init__(self, *, normalised: bool = False) -> None:
        super().__init__()
        self.normalised = normalised

    def prepare(self, mask: Tensor) -> Weigh:
        padding = None

        def weigh(energies: Tensor, queries: Tensor, times: Tensor) -> Weighed:
            nonlocal padding
            if padding is None:
                # -inf, not a large number: the weight of padding is exactly zero whatever the energies are
                addend = torch.zeros_like(mask, dtype=energies.dtype).masked_fill_(~mask, -torch.inf)
                padding = addend[:, None]  # [B, S] -> [B, 1, S]
            masked = energies + padding  # [B, Q, S]
            return Weighed(masked.exp() if self.normalised else torch.softmax(masked, dim=-1), None)

        return weigh


class Monotonic(nn.Module):
    """Local monotonic attention, local-m (Luong et al. 2015, section 3.2): a softmax over [p_t - D, p_t + D], p_t = t.

    Beyond the end of the source p_t stays at its last position, as in the authors' code.
    """

    kind = "monotonic"

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    def prepare(self, mask: Tensor) -> Weigh:
        last = mask.sum(dim=1, keepdim=True) - 1  # [B, 1]
        inside = _windows(mask, self.window)

        def weigh(energies: Tensor, queries: Tensor, times: Tensor) -> Weighed:
            centres = torch.minimum(times, last)  # [B, Q] or [B, 1]
            return Weighed(_softmax_inside(energies, inside(centres)), centres.expand(energies.shape[:2]))

        return weigh


class Predictive(nn.Module):
    """Local predictive attention, local-p (Luong et al. 2015, eqs. 9, 10).

    p_t = S sigmoid(v_p^T tanh(W_p h_t)), W_p [H, H], v_p [H]

    The window is [floor(p_t) - D, floor(p_t) + D]; weights are a softmax inside it times
    exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2, not normalised again. Only that factor has a gradient to p_t.
    """

    kind = "predictive"

    def __init__(self, query: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.position = Linear(query, query)
        self.v = nn.Parameter(torch.empty(query))

    def prepare(self, mask: Tensor) -> Weigh:
        count = mask.sum(dim=1, keepdim=True)  # [B, 1]
        inside = _windows(mask, self.window)
        positions = torch.arange(mask.shape[1], device=mask.device)
        position = self.position.prepare()

        def weigh(energies: Tensor, queries: Tensor, times: Tensor) -> Weighed:
            hidden = torch.tanh(position(queries).to(queries.dtype))  # [B, Q, H] -> [B, Q, H]
            centres = count * torch.sigmoid(hidden @ self.v)  # [B, Q, H] -> [B, Q]
            # rounding may give p_t = S, which is no position
            whole = torch.minimum(centres.detach().floor(), count - 1)
            weights = _softmax_inside(energies, inside(whole))
            distances = positions - centres.unsqueeze(-1)  # [S] - [B, Q, 1] -> [B, Q, S]
            return Weighed(weights * torch.exp(-2 * (distances / self.window).square()), centres)

        return weigh


def _windows(mask: Tensor, reach: int) -> Callable[[Tensor], Tensor]:
    """Windows around whole centres: [B, Q] -> mask [B, Q, S], True on real positions within `reach` of the centre."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    real = mask[:, None]  # [B, S] -> [B, 1, S]
    return lambda centres: ((positions - centres.unsqueeze(-1)).abs() <= reach) & real


def _softmax_inside(energies: Tensor, inside: Tensor) -> Tensor:
    """A softmax over the positions where `inside` [B, Q, S] is True; exactly zero elsewhere."""
    return torch.softmax(energies.masked_fill(~inside, -torch.inf), dim=-1)


class AttentionMemory(NamedTuple):
    """The encoded sources of a batch, in the form that every decoder step attends to.

    vectors: h_j, [B, S, W]; a fixed context is one of them, S = 1
    mask:    True on real positions, [B, S]
    keys:    the annotations as the score compares them with a query, computed once per sentence, [B, S, ..]
    """

    vectors: Tensor
    mask: Tensor
    keys: Tensor

    def select(self, sentences: Tensor) -> AttentionMemory:
        """The memory of the sentences with indices `sentences` [B'], truncated to the longest of them."""
        mask = self.mask.index_select(0, sentences)  # [B, S] -> [B', S]
        length = int(mask.sum(dim=1).max())
        vectors, keys = (part.index_select(0, sentences)[:, :length] for part in (self.vectors, self.keys))
        return AttentionMemory(vectors, mask[:, :length], keys)  # [B', S', W], [B', S'], [B', S', ..]


class AttentionResult(NamedTuple):
    """The contexts and alignment weights of B*Q queries.

    context: c_t, [B*Q, W]
    weights: alignment weights [B*Q, S]; None for a fixed context
    centres: window centres p_t of local attention, [B*Q]; None for global attention
    """

    context: Tensor
    weights: Tensor | None
    centres: Tensor | None = None


class Attend(Protocol):
    """Attention prepared for one unrolling: maps queries [B*Q, H] to contexts and weights.

    Args:
        times: target positions of the queries, from 0: [Q], or [1] for a position that all queries share.
        coverage: weights summed over the previous steps, [B*Q, S]; None at the first step.
    """

    def __call__(self, queries: Tensor, times: Tensor, coverage: Tensor | None = None) -> AttentionResult: ...


def weighted_sums(vectors: Tensor) -> Callable[[Tensor], Tensor]:
    """Weighted sums c_t = sum_j a_tj h_j: weights [B, Q, S] -> contexts [B, Q, W]; vectors [B, S, W]."""
    return lambda weights: torch.bmm(weights, vectors)  # [B, Q, S], [B, S, W] -> [B, Q, W]


def divide(x: Tensor, heads: int) -> Tensor:
    """Slice k of each vector for head k, the heads of a sentence one after the other: [B, n, A] -> [B*K, n, A/K]."""
    if heads == 1:
        return x
    sliced = x.view(*x.shape[:2], heads, -1)  # [B, n, A] -> [B, n, K, A/K]
    return sliced.transpose(1, 2).flatten(0, 1)  # -> [B, K, n, A/K] -> [B*K, n, A/K]


def join(x: Tensor, heads: int) -> Tensor:
    """The slices of all heads side by side, as before `divide`: [B*K, n, A/K] -> [B, n, A]."""
    if heads == 1:
        return x
    return x.view(-1, heads, *x.shape[1:]).transpose(1, 2).flatten(2)  # -> [B, n, K, A/K] -> [B, n, A]


class Attention(nn.Module):
    """Attention: the score gives energies, the scope normalises them to weights, which average the annotations.

    heads: with K > 1 the score compares slice k of the query with slice k of the keys, which weighs slice k of the
           annotations (Vaswani et al. 2017, section 3.2.2, without projections for each head); the alignment weights
           are the mean over the heads
    """

    weighted_sums = staticmethod(weighted_sums)

    def __init__(self, score: AttentionScore, scope: AttentionScope, heads: int = 1) -> None:
        super().__init__()
        self.score, self.scope, self.heads = score, scope, heads

    def precompute(self, annotations: Annotations, initial: InitialState) -> AttentionMemory:
        """Compute the memory of a batch once, before the first step."""
        vectors, mask = annotations.vectors, annotations.mask
        return AttentionMemory(vectors, mask, self.score.keys(vectors, mask))

    def prepare(self, memory: AttentionMemory) -> Attend:
        """Prepare the attention over `memory` for one unrolling."""
        mask, heads = memory.mask, self.heads
        of_heads = mask if heads == 1 else mask.repeat_interleave(heads, 0)  # [B, S] -> [B*K, S]
        energies, weigh = self.score.prepare(divide(memory.keys, heads)), self.scope.prepare(of_heads)
        contexts = self.weighted_sums(divide(memory.vectors, heads))

        def attend(queries: Tensor, times: Tensor, coverage: Tensor | None = None) -> AttentionResult:
            grouped = queries.view(len(mask), -1, queries.shape[-1])  # [B*Q, H] -> [B, Q, H]
            # the longest sentences may have left the batch since coverage was summed: [B*Q, S'] -> [B, Q, S]
            covered = None if coverage is None else coverage[:, : mask.shape[1]].unflatten(0, grouped.shape[:2])
            divided = divide(grouped, heads)  # [B, Q, H] -> [B*K, Q, H/K]
            weights, centres = weigh(energies(divided, covered), divided, times)  # [B*K, Q, S]
            context = join(contexts(weights), heads)  # [B*K, Q, W/K] -> [B, Q, W]
            if heads > 1:
                weights = weights.view(-1, heads, *weights.shape[1:]).mean(1)  # -> [B, K, Q, S] -> [B, Q, S]
            return AttentionResult(
                context.flatten(0, 1),  # [B, Q, W] -> [B*Q, W]
                weights.flatten(0, 1),  # [B, Q, S] -> [B*Q, S]
                None if centres is None else centres.flatten(),  # [B, Q] -> [B*Q]
            )

        return attend


class FixedContext(nn.Module):
    """A fixed context: every step reads the source summary c (Cho et al. 2014; RNNencdec of Bahdanau et al. 2015)."""

    def precompute(self, annotations: Annotations, initial: InitialState) -> AttentionMemory:
        """The memory with the summary as the only vector of each sentence."""
        vectors = initial.summary[:, None]  # [B, W] -> [B, 1, W]
        return AttentionMemory(vectors, annotations.mask[:, :1], vectors)

    def prepare(self, memory: AttentionMemory) -> Attend:
        """Prepare to return the summary of its sentence for every query."""
        summary = memory.vectors[:, 0]  # [B, 1, W] -> [B, W]

        def attend(queries: Tensor, times: Tensor, coverage: Tensor | None = None) -> AttentionResult:
            repeated = summary.repeat_interleave(len(queries) // len(summary), dim=0)  # [B, W] -> [B*Q, W]
            return AttentionResult(repeated, None)

        return attend
