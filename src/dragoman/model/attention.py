"""What a decoder sees of the source at a step: a context vector, and the alignment weights it was made with.

Queries come as rows grouped by sentence: [B*Q, H] holds Q queries for each of B sentences, whether these are the
steps of a known target, the hypotheses of a beam, or one. Annotations are kept once per sentence.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from dragoman.model.bridge import Opening
from dragoman.model.deferred import anchor
from dragoman.model.encoder import Annotations
from dragoman.model.scopes import Scope
from dragoman.model.scores import Score


class Memory(NamedTuple):
    """The source of a batch of sentences as a decoder looks at it.

    vectors: h_j, [B, S, W]; a fixed context is one of them, S = 1
    mask:    True on real positions, [B, S]
    keys:    what each annotation contributes to the energies, [B, S, ..]
    """

    vectors: Tensor
    mask: Tensor
    keys: Tensor

    def select(self, sentences: Tensor) -> Memory:
        """Some of the sentences, cut to the longest of them."""
        mask = self.mask.index_select(0, sentences)
        length = int(mask.sum(dim=1).max())
        vectors, keys = (part.index_select(0, sentences)[:, :length] for part in (self.vectors, self.keys))
        return Memory(vectors, mask[:, :length], keys)


class Seen(NamedTuple):
    """One look at the source for each query.

    context: c_t, [B*Q, W]
    weights: alignment weights [B*Q, S]; None where there is nothing to align
    centres: p_t of a local scope, [B*Q]
    """

    context: Tensor
    weights: Tensor | None
    centres: Tensor | None = None


class Look(Protocol):
    """Queries [B*Q, H] -> what they see.

    Args:
        times: target positions of the queries, from 0, [Q], or [1] for one that is common to all.
        coverage: sums of the weights so far, [B*Q, S]; None at the beginning.
    """

    def __call__(self, queries: Tensor, times: Tensor, coverage: Tensor | None = None) -> Seen: ...


class Source(Protocol):
    """What a decoder asks of the thing through which it sees the source."""

    def remember(self, annotations: Annotations, opening: Opening) -> Memory:
        """What steps will look at, once for a batch of sentences."""
        ...

    def bind(self, memory: Memory) -> Look:
        """The look of one unrolling."""
        ...


class Attention(nn.Module):
    """A context vector for each query: the annotations, weighted by score and scope."""

    def __init__(self, score: Score, scope: Scope) -> None:
        super().__init__()
        self.score, self.scope = score, scope

    def remember(self, annotations: Annotations, opening: Opening) -> Memory:
        vectors, mask = annotations.vectors, annotations.mask
        return Memory(vectors, mask, self.score.keys(vectors, mask))

    def bind(self, memory: Memory) -> Look:
        vectors, mask = memory.vectors, memory.mask
        energies, weigh = self.score.bind(memory.keys), self.scope.bind(mask)
        factors = _ContextFactors(vectors.detach())
        shared = anchor(factors, vectors)

        def look(queries: Tensor, times: Tensor, coverage: Tensor | None = None) -> Seen:
            grouped = queries.view(len(mask), -1, queries.shape[-1])  # [B*Q, H] -> [B, Q, H]
            # the batch may have become narrower since the coverage was summed: a longest sentence has left
            covered = None if coverage is None else coverage[:, : mask.shape[1]].unflatten(0, grouped.shape[:2])
            weights, centres = weigh(energies(grouped, covered), grouped, times)
            contexts: Tensor = _Contexts.apply(weights, shared, factors)
            return Seen(contexts.flatten(0, 1), weights.flatten(0, 1), None if centres is None else centres.flatten())

        return look


class FixedContext(nn.Module):
    """The same vector at every step, the summary of the source (Cho et al. 2014; RNNencdec of Bahdanau et al. 2015)."""

    def remember(self, annotations: Annotations, opening: Opening) -> Memory:
        vectors = opening.summary[:, None]
        return Memory(vectors, annotations.mask[:, :1], vectors)

    def bind(self, memory: Memory) -> Look:
        summary = memory.vectors[:, 0]

        def look(queries: Tensor, times: Tensor, coverage: Tensor | None = None) -> Seen:
            return Seen(summary.repeat_interleave(len(queries) // len(summary), dim=0), None)

        return look


class _ContextFactors:
    """c_t = sum_j a_tj h_j at many steps; the gradient of h is sum_t a_tj g_t, one product at the end."""

    def __init__(self, vectors: Tensor) -> None:
        self.vectors = vectors
        self.weights: list[Tensor] = []
        self.contexts: list[Tensor] = []

    def gradients(self) -> tuple[Tensor]:
        weights, contexts = torch.cat(self.weights, dim=1), torch.cat(self.contexts, dim=1)
        self.weights.clear()
        self.contexts.clear()
        return (torch.bmm(weights.mT, contexts),)


class _Contexts(torch.autograd.Function):
    """[B, Q, S] weights -> [B, Q, W]."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, shared: Tensor, factors: _ContextFactors) -> Tensor:
        ctx.factors, ctx.weights = factors, weights
        return torch.bmm(weights, factors.vectors)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        ctx.factors.weights.append(ctx.weights)
        ctx.factors.contexts.append(gradient)
        return torch.bmm(gradient, ctx.factors.vectors.mT), None, None
