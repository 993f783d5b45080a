"""Attention over the source annotations: context vectors and alignment weights.

Queries are rows grouped by sentence: [B*Q, H] holds Q queries for each of B sentences. The Q queries are the steps of a
given target, the hypotheses of a beam, or a single one. Annotations are stored once per sentence.

Letters: B sentences, Q queries of a sentence, S positions, H units of a query, W units of an annotation, A alignment
size, K heads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from dragoman.model.bridge import InitialState
from dragoman.model.encoder import Annotations
from dragoman.model.scopes import AttentionScope
from dragoman.model.scores import AttentionScore


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
