"""What a decoder sees of the source at a step: a context vector, and the alignment weights behind it.

Queries come as rows grouped by sentence: [B*Q, H] holds Q queries for each of B sentences, whether these are the
steps of a known target, the hypotheses of a beam, or one. Annotations are kept once per sentence.

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
    """What a batch of sources keeps for the steps of a decoder.

    vectors: h_j, [B, S, W]; a fixed context is one of them, S = 1
    mask:    True on real positions, [B, S]
    keys:    what each annotation contributes to the energies, [B, S, ..]
    """

    vectors: Tensor
    mask: Tensor
    keys: Tensor

    def select(self, sentences: Tensor) -> AttentionMemory:
        """Some of the sentences, cut to the longest of them."""
        mask = self.mask.index_select(0, sentences)  # [B, S] -> [B', S]
        length = int(mask.sum(dim=1).max())
        vectors, keys = (part.index_select(0, sentences)[:, :length] for part in (self.vectors, self.keys))
        return AttentionMemory(vectors, mask[:, :length], keys)  # [B', S'] and [B', S', ..]


class AttentionResult(NamedTuple):
    """One step of attention for each query.

    context: c_t, [B*Q, W]
    weights: alignment weights [B*Q, S]; None where there is nothing to align
    centres: p_t of a local scope, [B*Q]
    """

    context: Tensor
    weights: Tensor | None
    centres: Tensor | None = None


class Attend(Protocol):
    """Attention prepared for one unrolling: queries [B*Q, H] -> contexts and weights.

    Args:
        times: target positions of the queries, from 0, [Q], or [1] for one that is common to all.
        coverage: sums of the weights so far, [B*Q, S]; None at the first step.
    """

    def __call__(self, queries: Tensor, times: Tensor, coverage: Tensor | None = None) -> AttentionResult: ...


def weighted_sums(vectors: Tensor) -> Callable[[Tensor], Tensor]:
    """c_t = sum_j a_tj h_j: weights [B, Q, S] -> contexts [B, Q, W], over vectors [B, S, W]."""
    return lambda weights: torch.bmm(weights, vectors)  # [B, Q, S], [B, S, W] -> [B, Q, W]


class Attention(nn.Module):
    """A context vector for each query: the annotations, weighted by score and scope."""

    weighted_sums = staticmethod(weighted_sums)

    def __init__(self, score: AttentionScore, scope: AttentionScope) -> None:
        super().__init__()
        self.score, self.scope = score, scope

    def precompute(self, annotations: Annotations, initial: InitialState) -> AttentionMemory:
        """What all steps share, once for a batch of sentences."""
        vectors, mask = annotations.vectors, annotations.mask
        return AttentionMemory(vectors, mask, self.score.keys(vectors, mask))

    def prepare(self, memory: AttentionMemory) -> Attend:
        """The attention of one unrolling."""
        mask = memory.mask
        energies, weigh = self.score.prepare(memory.keys), self.scope.prepare(mask)
        contexts = self.weighted_sums(memory.vectors)

        def attend(queries: Tensor, times: Tensor, coverage: Tensor | None = None) -> AttentionResult:
            grouped = queries.view(len(mask), -1, queries.shape[-1])  # [B*Q, H] -> [B, Q, H]
            # the batch may have become narrower since the coverage was summed: a longest sentence has left
            covered = None if coverage is None else coverage[:, : mask.shape[1]].unflatten(0, grouped.shape[:2])
            weights, centres = weigh(energies(grouped, covered), grouped, times)
            return AttentionResult(
                contexts(weights).flatten(0, 1),  # [B, Q, W] -> [B*Q, W]
                weights.flatten(0, 1),  # [B, Q, S] -> [B*Q, S]
                None if centres is None else centres.flatten(),  # [B, Q] -> [B*Q]
            )

        return attend


class FixedContext(nn.Module):
    """The same vector at every step, the summary of the source (Cho et al. 2014; RNNencdec of Bahdanau et al. 2015)."""

    def precompute(self, annotations: Annotations, initial: InitialState) -> AttentionMemory:
        """The summary as the only vector of each sentence."""
        vectors = initial.summary[:, None]  # [B, W] -> [B, 1, W]
        return AttentionMemory(vectors, annotations.mask[:, :1], vectors)

    def prepare(self, memory: AttentionMemory) -> Attend:
        """The summary for every query."""
        summary = memory.vectors[:, 0]  # [B, 1, W] -> [B, W]

        def attend(queries: Tensor, times: Tensor, coverage: Tensor | None = None) -> AttentionResult:
            repeated = summary.repeat_interleave(len(queries) // len(summary), dim=0)  # [B, W] -> [B*Q, W]
            return AttentionResult(repeated, None)

        return attend
