"""Attention over the source annotations: context vectors and alignment weights.

Queries are rows grouped by sentence: [B*Q, H] holds Q queries for each of B sentences. The Q queries are the steps of a
given target, the hypotheses of a beam, or a single one. Annotations are stored once per sentence.

Letters: B sentences, Q queries of a sentence, S positions, H units of a query, W units of an annotation, A alignment
size.
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


class Attention(nn.Module):
    """Attention: the score gives energies, the scope normalises them to weights, which average the annotations."""

    weighted_sums = staticmethod(weighted_sums)

    def __init__(self, score: AttentionScore, scope: AttentionScope) -> None:
        super().__init__()
        self.score, self.scope = score, scope

    def precompute(self, annotations: Annotations, initial: InitialState) -> AttentionMemory:
        """Compute the memory of a batch once, before the first step."""
        vectors, mask = annotations.vectors, annotations.mask
        return AttentionMemory(vectors, mask, self.score.keys(vectors, mask))

    def prepare(self, memory: AttentionMemory) -> Attend:
        """Prepare the attention over `memory` for one unrolling."""
        mask = memory.mask
        energies, weigh = self.score.prepare(memory.keys), self.scope.prepare(mask)
        contexts = self.weighted_sums(memory.vectors)

        def attend(queries: Tensor, times: Tensor, coverage: Tensor | None = None) -> AttentionResult:
            grouped = queries.view(len(mask), -1, queries.shape[-1])  # [B*Q, H] -> [B, Q, H]
            # the longest sentences may have left the batch since coverage was summed: [B*Q, S'] -> [B, Q, S]
            covered = None if coverage is None else coverage[:, : mask.shape[1]].unflatten(0, grouped.shape[:2])
            weights, centres = weigh(energies(grouped, covered), grouped, times)
            return AttentionResult(
                contexts(weights).flatten(0, 1),  # [B, Q, W] -> [B*Q, W]
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
